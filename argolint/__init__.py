"""The API for rule authors. Rules may also import these modules, and built-in rules use no others (`make lint`):

values               functions on decoded JSON; with: kubernetes, quantities, manifests (foreign YAML), knowledge (YAML files next to
                     a rule), memo (caches of functions on decoded objects)
comparison           Argo CD's comparison: ignore rules, differences, field managers, the result of a sync
application.applied  what Argo CD applied last
edits                operations that change an Application or a manifest; with: consequences of a failed sync, pruning,
                      advice (fixes from a table)
relations            relations of an object to those in an error message; with: blocked (objects of a sync that wait for later ones)
sequence             a model of a sync: what it applies, in which order, and what it waits for
messages             the meaning of a server's text: its parts, its fields, a catalogue of entries
redaction            masks secrets in values and texts
testing              the fixture harness, for tests

The other folders are internal and may change at any time.

A rule is a module with a docstring (its page) and one `Rule`::

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

# The names under which argolint is published, from release.toml: `python -m scripts.release.names` writes them.
REPOSITORY = "https://github.com/argolint/argolint"
DOCS = "https://github.com/argolint/argolint/blob/main/docs/"
ACTION = "argolint/argolint"
PACKAGE = "argolint"
IMAGE = "registry.example/argolint/argolint"
CHARTS = "registry.example/argolint/charts"
PUBLISHED = False
"""Whether the owner has confirmed these names. Until then none of them is a place to install from."""

# Names are imported on first use, so that `argolint --help` is quick.
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
