"""The rule protocol: a rule is a value with metadata and pure functions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypedDict

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import Fact, Finding, Fix, Object, ResourceKey, Severity, Want


class Rank(IntEnum):
    """The rank of a claim if two findings explain one symptom: the higher one wins. Negative ranks are fallbacks."""

    CATCH_ALL = -100
    """No other rule knows a reason."""
    NOT_DONE = -50
    """Something has not happened yet, for an unknown reason."""
    FAILURE = -40
    """It failed for a reason that no rule knows."""
    WAITING = -20
    """It waits for an object without a fault of its own."""
    WRITER = -10
    """The writer is known, the reason is not."""
    DEFAULTED = -5
    """A schema's default; a rule on a webhook or an operator knows more."""
    USUAL = 0
    SPELLING = 5
    """One value in two spellings."""
    CAUSE = 10
    """A known cause."""
    CONSEQUENCE = 15
    """A consequence of a known cause."""
    ROOT = 20
    """The root of other faults: two owners, a render with generated values."""


@dataclass(frozen=True)
class NoOptions:
    """For rules without options."""


@dataclass(frozen=True)
class Afterwards:
    """The prediction after a fix for a symptom that no comparison shows: the API server or a controller looks again at what it refuses or fails now.

    refused   why it still refuses or fails
    unknown   an unknown on which its answer depends, and where to look
    live      without both: the resulting objects, `status` included
    """

    refused: str = ""
    unknown: str = ""
    live: Mapping[ResourceKey, Object] = field(default_factory=dict)


Check = Callable[[App, Fleet, Any], Iterable[Finding]]
Wants = Callable[[App, Fleet, Any], Iterable[Want]]
Collect = Callable[[App, Fleet, Any], Iterable[Fact]]
Join = Callable[[str, Sequence[Fact], Any], Iterable[Finding]]
Reads = Callable[[App, Fleet, Any], bool]
Then = Callable[[Fix, Finding, App, Fleet], Afterwards | None]


class Page(TypedDict):
    """What the file of a rule says of it."""

    id: str
    family: str
    doc: str


@dataclass(frozen=True)
class Rule:
    """A fault that can be found.

    id        kebab slug = file name = suppression key = docs anchor; named for the fault
    severity  the usual level; a finding may state another
    doc       the module's docstring: the rule's page (first line = title)
    check     finds the fault in one application
    wants     evidence for `check` that costs more requests; called again until it wants nothing new (at most three rounds)
    collect   facts of one application for a fleet-wide rule; `join` gets all facts of one key, sorted by application
    across    `join` gets the facts of all Argo CDs of a run, not of one
    reads     True if this rule needs the states of an application that the list shows as Synced, Healthy and idle
    then      the prediction for one of its fixes, for symptoms that no comparison shows, on the application after the edit and its sync;
              called by the proof; None if unknown
    options   a frozen dataclass with defaults: the user's settings
    causes    values of `Finding.cause`
    rank      which finding wins if two explain one symptom (`Rank`), see `Finding.explains`
    standing  describes a permanent condition and not the effect of a change: it is no news for the gate
    intent    someone stated on purpose what it finds: `fix --write` changes it only if the rule is named
    pedantic  advice on GitOps itself and no fault: shown with --pedantic, or if it is selected by name
    """

    id: str
    family: str
    severity: Severity
    doc: str
    check: Check | None = None
    wants: Wants | None = None
    collect: Collect | None = None
    join: Join | None = None
    reads: Reads | None = None
    then: Then | None = None
    options: type = NoOptions
    causes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    rank: int = Rank.USUAL
    standing: bool = False
    across: bool = False
    pedantic: bool = False
    intent: bool = False
    default_options: Any = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "default_options", self.options())
        if (self.collect is None) != (self.join is None):
            raise ValueError(f"rule {self.id}: collect and join go together")

    @staticmethod
    def page(module: str) -> Page:
        """The id, family and page of the rule in this module: its file's name, folder and docstring."""
        _, family, name = module.rsplit(".", 2)
        return {"id": name.replace("_", "-"), "family": family, "doc": sys.modules[module].__doc__ or ""}

    @property
    def title(self) -> str:
        """The first line of the page."""
        return inspect.cleandoc(self.doc).partition("\n")[0].rstrip(".")
