"""What a rule author imports; everything else may change.

A rule is a module with a docstring (its page) and one value::

    from argolint import App, Fleet, Finding, Location, Rule

    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]: ...

    RULE = Rule(id="my-fault", family="drift", severity="warning", doc=__doc__, check=check)
"""

from argolint.app import App, Condition, Event, Health, Node, Operation, Resource
from argolint.fleet import Fleet
from argolint.model import (
    MISSING,
    AppRef,
    Change,
    Edit,
    Fact,
    Finding,
    Fix,
    Json,
    Location,
    Object,
    Related,
    ResourceId,
    ResourceKey,
    Severity,
    Source,
    Symptom,
    Writer,
)
from argolint.rule import NoOptions, Rule, Want

__version__ = "0.1.0"

__all__ = [
    "MISSING",
    "App",
    "AppRef",
    "Change",
    "Condition",
    "Edit",
    "Event",
    "Fact",
    "Finding",
    "Fix",
    "Fleet",
    "Health",
    "Json",
    "Location",
    "NoOptions",
    "Node",
    "Object",
    "Operation",
    "Related",
    "Resource",
    "ResourceId",
    "ResourceKey",
    "Rule",
    "Severity",
    "Source",
    "Symptom",
    "Want",
    "Writer",
    "__version__",
]
