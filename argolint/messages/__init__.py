"""Interprets a message of Argo CD, Kubernetes, Helm or an operator: removes its wrappers and looks up its meaning.

wrapping     `unwrap`: the stage, the program's own words and the innermost sentence of a text
telling      `quoting`, `in_passing`: a sentence of at most 25 words that quotes the important part
fields       `field_errors`: the fields that a validation refuses
catalogue    `Catalogue.of(package).match(text, stage)`: the entry that matches the sentence, with the facts in it
entry        the form of an entry

docs/messages.md describes how to write an entry.
"""

from argolint.messages.catalogue import Catalogue, Match
from argolint.messages.entry import CatalogueError, Entry
from argolint.messages.fields import FieldError, Named, field_errors, named
from argolint.messages.telling import WORDS, in_passing, quoting, telling
from argolint.messages.wrapping import Unwrapped, quoted, shortened, unwrap

__all__ = [
    "WORDS",
    "Catalogue",
    "CatalogueError",
    "Entry",
    "FieldError",
    "Match",
    "Named",
    "Unwrapped",
    "field_errors",
    "in_passing",
    "named",
    "quoted",
    "quoting",
    "shortened",
    "telling",
    "unwrap",
]
