"""A field that the schema does not declare

What it finds: a comparison or a sync that fails since a field of the manifest (a slip of the pen, a field of another version)
or of the live object (newer than what Argo CD knows) is not declared. The field is named.

Why it hurts: under server-side apply the whole application cannot be compared, or the object never gets applied.

How to fix: correct or remove the field in Git. Where the field stands in the live object only, Argo CD is older than the
cluster: upgrade it, or compare without server-side apply until then.

Example: `topologySpreadConstraint` in place of `topologySpreadConstraints`.

Sources: sigs.k8s.io/structured-merge-diff (typed); argoproj/argo-cd#13585, #17358, #20458, #26619.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Resource, Rule, Symptom
from argolint.consequences import consequences
from argolint.edits import removals
from argolint.knowledge import load
from argolint.redaction import excerpt
from argolint.values import get, index_of, join_pointer, sh, split_pointer

from ._failures import answered_by

_TYPED = re.compile(r"((?<![^\s(])\.[^\s:\[]*+(?:\[[^\]]*+\][^\s:\[]*+)*+): field not declared in schema")
_OBJECT = re.compile(r"\((?:([^/;()]*)/)?([^/;()]+); ([^,()]+), Kind=(\w+)\)")
_STRICT = re.compile(r'unknown field "([^"]+)"')
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class _Undeclared:
    message: str
    path: str
    resource: Resource | None
    live_only: bool


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ComparisonError and each failed object that names such a field."""
    for condition in app.conditions:
        if condition.type in ("ComparisonError", "UnknownError") and _path(condition.message):
            told = _read(app, condition.message, None)
            yield _finding(
                app, told, (condition.symptom, Symptom.sync(), Symptom.operation(), Symptom.condition("SyncError"))
            )
    for failed in answered_by(app, "schema-field-unknown"):
        resource = app.resource(failed.id.key) if failed.id else None
        yield _finding(app, _read(app, failed.message, resource), tuple(consequences(app)))


def _path(message: str) -> str:
    found = _TYPED.search(message) or _STRICT.search(message)
    return found.group(1) if found else ""


def _read(app: App, message: str, resource: Resource | None) -> _Undeclared:
    named = _OBJECT.search(message)
    if resource is None and named:
        namespace, name, _, kind = named.groups()
        resource = next((r for r in app.of_kind(kind) if r.name == name and r.namespace in (namespace or "", "")), None)
    path = _path(message)
    return _Undeclared(message, path, resource, "live resource" in message or path.startswith(".status"))


def _pointer(path: str, obj: Json) -> str:
    """`.spec.containers[name="web"].imagee` as a pointer; items are looked up in the object by their key."""
    pointer = ""
    for name, key in _STEP.findall(path):
        if name:
            pointer += join_pointer(name)
        else:
            pointer += f"/{_index(get(obj, pointer, None), key)}"
    return pointer


def _index(found: Json, key: str) -> str:
    wanted = dict(re.findall(r'(?<!\w)(\w+)="([^"]*)"', key))
    if index_of(key) is not None or not wanted or not isinstance(found, list):
        return key if index_of(key) is not None else "0"
    return str(
        next(
            (
                i
                for i, item in enumerate(found)
                if isinstance(item, dict) and all(str(item.get(k)) == v for k, v in wanted.items())
            ),
            0,
        )
    )


def _finding(app: App, told: _Undeclared, claims: tuple[Symptom, ...]) -> Finding:
    resource = told.resource
    pointer = _pointer(told.path, resource.any if resource else None)
    meant = _meant(pointer)
    what = str(resource.id) if resource else f"an object of application {app.ref}"
    if told.live_only:
        fact = f"The live state of {what} has the field {pointer}, which this Argo CD does not know, so the application cannot be compared."
    else:
        guess = f" ({meant!r} may be meant)" if meant else ""
        fact = f"{what} has the field {pointer}{guess}, which its schema does not declare, so it is refused and application {app.ref} does not sync."
    own = (Symptom.change(resource.id), Symptom.missing(resource.id), Symptom.health(resource.id)) if resource else ()
    return Finding(
        message=fact[0].upper() + fact[1:],
        at=Location(app.ref, resource.id if resource else None, pointer if resource else ""),
        evidence=(excerpt(told.message, 500),),
        fixes=tuple(_fixes(app, told, pointer, meant)),
        explains=(*claims, *own),
    )


def _meant(pointer: str) -> str:
    """The declared name that the last token is probably a slip of; empty when none is close."""
    tokens = split_pointer(pointer)
    if not tokens:
        return ""
    known = load(__package__, "fields.yaml")
    names = (
        known["container"] if len(tokens) > 1 and index_of(tokens[-2]) is not None else [*known["pod"], *known["spec"]]
    )
    return next(iter(difflib.get_close_matches(tokens[-1], names, 1, cutoff=0.85)), "")


def _fixes(app: App, told: _Undeclared, pointer: str, meant: str) -> Iterator[Fix]:
    here, resource = f"Application {app.ref}", told.resource
    if told.live_only:
        yield Fix(
            "Upgrade Argo CD to a release that knows the cluster's Kubernetes version",
            "argocd-settings",
            "the Argo CD installation",
            Edit("command", "argocd version && kubectl version"),
        )
        yield Fix(
            "Until then, sync and compare this application without server-side apply",
            "application",
            here,
            Edit(
                "text",
                "drop ServerSideApply=true from spec.syncPolicy.syncOptions and from the objects' argocd.argoproj.io/sync-options; drop ServerSideDiff=true from compare-options",
            ),
            caveat="fields of other managers count as differences again",
        )
        return
    if resource is not None and meant and get(resource.desired, pointer, None) is not None:
        to = pointer[: pointer.rindex("/")] + join_pointer(meant)
        yield Fix(
            f"Rename the field to {meant}",
            "manifest",
            str(resource.id),
            Edit("json-patch", [{"op": "move", "from": pointer, "path": to}]),
            caveat="the field takes effect then, as it was meant to",
            resource=resource.id,
        )
    if resource is not None and get(resource.desired, pointer, None) is not None:
        yield Fix(
            "Or remove the field" if meant else "Remove the field, or correct its name",
            "manifest",
            str(resource.id),
            Edit("json-patch", removals(resource.desired, [pointer])),
            resource=resource.id,
        )
    else:
        yield Fix(
            f"Remove or correct {told.path} in Git",
            "manifest",
            here,
            Edit("command", f"argocd app manifests {sh(app.ref)} | grep -n {sh(told.path.rpartition('.')[2])}"),
        )


RULE = Rule(id="schema-field-unknown", family="sync", severity="error", doc=__doc__, check=check, rank=10)
