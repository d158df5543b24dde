"""How the object that complains stands to the objects that its sentence names: the stage between a message and its explanation.

`resolved` is what a rule calls: it looks up every name of a sentence, and what the object's own manifest names, in the application and the
fleet, and lets the relation that decides (`Relation.kind`) say what is wrong and what ends it. The kinds of relation are a closed list, in
the order in which they decide: nearest to what someone can change in Git first.
"""

from argolint.relations.look_up import Complaint
from argolint.relations.resolve import related_wants, relation_of, resolved

__all__ = ["Complaint", "related_wants", "relation_of", "resolved"]
