"""The rule protocol: a rule is a value that holds metadata and pure functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

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
    """It waits for something that shows no fault of its own."""
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
    """What follows a fix where no comparison shows it: the API server or a controller, which refuses or fails something today, looks at it again.

    refused   why it does so all the same
    unknown   what its answer rests on that is not at hand, and where to look
    live      with neither: the objects as they are left then, `status` included
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


@dataclass(frozen=True)
class Rule:
    """A fault that can be found.

    id        kebab slug = file name = suppression key = docs anchor; named for the fault
    severity  the usual level; a finding may state another
    doc       the module's docstring: the rule's page (first line = title)
    check     finds the fault in one application
    wants     evidence for `check` that costs more requests; asked again until it names nothing new (three rounds at most)
    collect   facts of one application for a fleet-wide rule; `join` gets all facts of one key, sorted by application
    across    facts of all Argo CDs of a run meet in `join`, rather than those of one
    reads     True when this rule needs the states of an application that the list shows Synced, Healthy and quiet
    then      what follows one of its fixes for symptoms that no comparison shows, on the application after the edit and its sync: asked by
              the proof; None where it does not know
    options   a frozen dataclass with defaults: what the user may set
    causes    values of `Finding.cause`
    rank      who speaks when two findings explain one symptom (`Rank`), see `Finding.explains`
    standing  tells how things stand and not what a change does: the gate does not call it news
    intent    what it finds is stated on purpose: `fix --write` changes it only where the rule is named
    pedantic  advice on GitOps itself and no fault: its findings are shown with --pedantic, or when it is selected by name
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

    @property
    def title(self) -> str:
        """The first line of the page."""
        return inspect.cleandoc(self.doc).partition("\n")[0].rstrip(".")
