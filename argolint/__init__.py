"""What a rule author imports. Rules may import these modules too, and built-in rules use no others (`make lint`):

values               small questions to decoded JSON; below it: kubernetes, quantities, manifests (YAML that someone else wrote),
                     knowledge (YAML files next to a rule), memo (what a function makes of a decoded object)
comparison           Argo CD's comparison: ignore rules, differences, field managers, what a sync leaves
application.applied  what Argo CD applied last
edits                operations that change an Application or a manifest; below it: consequences of a failed sync, pruning,
                      advice (fixes from a table)
relations            how an object stands to what a sentence of trouble names; below it: blocked (what of a sync waits for what comes later)
sequence             what one sync applies, in which order, and what it waits for
messages             what a server's text means: taken apart, its fields, a catalogue of entries
redaction            what of a value or a text may be printed
testing              the fixture harness, for tests

The other folders are machinery and may change at any time.

A rule is a module with a docstring (its page) and one value::

    from argolint import App, Fleet, Finding, Location, Rule

    def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]: ...

    RULE = Rule(id="my-fault", family="drift", severity="warning", doc=__doc__, check=check)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argolint.application.app import App
    from argolint.application.fleet import Fleet
    from argolint.application.operation import Awaited, Condition, Event, Operation
    from argolint.application.resource import Health, Node, Resource
    from argolint.application.rule import Afterwards, NoOptions, Rank, Rule
    from argolint.edits.narrowest_ignore import narrowest_ignore
    from argolint.model import (
        GONE,
        MISSING,
        AppRef,
        Change,
        Edit,
        Fact,
        Finding,
        Fix,
        Follows,
        Json,
        Location,
        Need,
        Object,
        Related,
        ResourceId,
        ResourceKey,
        Severity,
        Source,
        Symptom,
        Trial,
        Want,
        Writer,
    )

__version__ = "0.1.0"

# Names under which argolint is published, out of release.toml: `python -m scripts.release.names` writes them.
REPOSITORY = "https://github.com/argolint/argolint"
DOCS = "https://github.com/argolint/argolint/blob/main/docs/"
ACTION = "argolint/argolint"
PACKAGE = "argolint"
IMAGE = "registry.example/argolint/argolint"
CHARTS = "registry.example/argolint/charts"
PUBLISHED = False
"""Whether the owner of these names has said that they are theirs. Until then none of them is a place to install from."""

# Names are imported when they are asked for: `argolint --help` needs none of them, and quick is a feature.
_HOME = {
    "argolint.application.app": "App",
    "argolint.application.fleet": "Fleet",
    "argolint.edits.narrowest_ignore": "narrowest_ignore",
    "argolint.model": "GONE MISSING AppRef Change Edit Fact Finding Fix Follows Json Location Need Object Related ResourceId ResourceKey Severity Source Symptom Trial Want Writer",
    "argolint.application.operation": "Awaited Condition Event Operation",
    "argolint.application.resource": "Health Node Resource",
    "argolint.application.rule": "Afterwards NoOptions Rank Rule",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'argolint' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


__all__ = [
    "GONE",
    "MISSING",
    "Afterwards",
    "App",
    "AppRef",
    "Awaited",
    "Change",
    "Condition",
    "Edit",
    "Event",
    "Fact",
    "Finding",
    "Fix",
    "Fleet",
    "Follows",
    "Health",
    "Json",
    "Location",
    "Need",
    "NoOptions",
    "Node",
    "Object",
    "Operation",
    "Rank",
    "Related",
    "Resource",
    "ResourceId",
    "ResourceKey",
    "Rule",
    "Severity",
    "Source",
    "Symptom",
    "Trial",
    "Want",
    "Writer",
    "__version__",
    "narrowest_ignore",
]
