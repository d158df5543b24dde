"""Relates an object that complains to the objects that its sentence names: the stage between a message and its explanation.

A rule calls `resolved`: it looks up every name of a sentence, and the references of the object's own manifest, in the application and the
fleet. The relation that decides (`Relation.kind`) then says what is wrong and how to fix it. The kinds of relation are a closed list, in
the order in which they decide: causes that someone can change in Git come first.
"""

from argolint.relations.look_up import Complaint
from argolint.relations.resolve import related_wants, relation_of, resolved

__all__ = ["Complaint", "related_wants", "relation_of", "resolved"]
