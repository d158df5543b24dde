"""A manifest is applied with its values still encrypted, or as placeholders

What it finds: an object that Argo CD renders as SOPS encrypted it, with a value that SOPS encrypted, or with a placeholder of argocd-vault-plugin
(`<path:…#…>`) or vals (`ref+vault://…`). Nothing in the render of its Application decrypts or replaces it. Kinds of operators, such as
SopsSecret, are not reported: they are meant to hold such values.

Why it hurts: the API server refuses a Secret whose data is no base64, or pods get the ciphertext as their password. SOPS' own metadata is in no
schema, so the object never becomes Synced.

How to fix: render it by what decrypts it. KSOPS is a generator of Kustomize, helm-secrets reads values files (not templates), and
argocd-vault-plugin is a plugin that the Application must name. Argo CD itself decrypts nothing.

Example:

    Argo CD renders Secret shop/db as SOPS encrypted it: nothing on the way to the cluster decrypts it.

Sources: viaduct-ai/kustomize-sops README; jkroepke/helm-secrets docs (ArgoCD integration); argocd-vault-plugin docs/howitworks.md; helmfile/vals README.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint import App, Finding, Fleet, Json, Location, Object, Rank, Resource, Rule, Symptom
from argolint.comparison import builtin
from argolint.edits.advice import advice
from argolint.edits.consequences import consequences
from argolint.values import annotations_of, dig, leaves, texts
from argolint.values.patterns import regex

from ..shared import charts

_MARKS = ('"sops":', '"ENC[AES256_GCM,', "<path:", r"\u003cpath:", '"ref+', '"avp.kubernetes.io/path"')
"""One of them is in the text of every such object."""
_VALUE = regex(r"ENC\[AES256_GCM,data:[^\]]{0,4000}\]")
_AVP = regex(r"<path:[^#<>]{1,200}#[^<>]{1,200}>")
_VALS = regex(r"ref\+[a-z0-9]{2,20}://\S{1,500}")
_AVP_PATH = "avp.kubernetes.io/path"


@dataclass(frozen=True, slots=True)
class Left:
    """What a tool was to replace: of `sops`, `avp` or `vals`; `whole`: the file itself is encrypted, `sure`: it is seen."""

    tool: str
    pointer: str
    whole: bool = False
    sure: bool = True


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object with something that a tool was to replace."""
    for resource in app.stated:
        if resource.desired_known and resource.derive(_is_marked):
            left = _left(app, resource.desired or {})
            if left is not None:
                yield _finding(app, resource, left)


def _is_marked(resource: Resource) -> bool:
    return any(resource.mentions(mark, "desired") for mark in _MARKS)


def _left(app: App, manifest: Object) -> Left | None:
    if annotations_of(manifest).get("avp.kubernetes.io/ignore") == "true" or not builtin(manifest):
        return None
    if isinstance(dig(manifest, "sops", "mac"), str):
        return Left("sops", "/sops", whole=True)
    found = (Left(tool, pointer) for pointer, value in leaves(manifest) for tool in _tool_of(value))
    unseen = Left("avp", "", sure=False) if _AVP_PATH in annotations_of(manifest) and not _has_plugin(app) else None
    return next(found, unseen)


def _tool_of(value: Json) -> Iterator[str]:
    """The tool whose whole value, or whose placeholder in a longer one, this is."""
    if not isinstance(value, str):
        return
    if _VALUE.fullmatch(value):
        yield "sops"
    elif _AVP.search(value):
        yield "avp"
    elif _VALS.fullmatch(value):
        yield "vals"


def _types(app: App) -> frozenset[str]:
    return frozenset(filter(None, (charts.source_type(app, index) for index in range(len(app.sources)))))


def _has_plugin(app: App) -> bool:
    return not _types(app) or "Plugin" in _types(app)


_TITLES = {"sops": "SOPS", "avp": "argocd-vault-plugin", "vals": "vals"}


def _finding(app: App, resource: Resource, left: Left) -> Finding:
    tool, types = _TITLES[left.tool], _types(app)
    if left.whole:
        what = f"Argo CD renders {resource.id} as SOPS encrypted it: nothing on the way to the cluster decrypts it."
    elif left.sure:
        held = "a value that SOPS encrypted" if left.tool == "sops" else f"a placeholder of {tool}"
        what = f"{resource.id} holds at {left.pointer} {held}, and nothing in the Application's render replaces it."
    else:
        what = f"{resource.id} likely keeps its placeholders: its Application is not rendered by {tool}, which fills them in."
    by = f"Argo CD renders the Application as {', '.join(sorted(types))}"
    facts = {name.lower(): types == {name} for name in ("Directory", "Kustomize", "Helm", "Plugin")}
    files = tuple(file for source in app.sources for file in texts(source, "helm", "valueFiles"))
    decrypts = any("://" in file and file.startswith("secrets") for file in files)
    return Finding(
        message=what,
        at=Location(app.ref, resource.id, left.pointer),
        severity=None if left.sure else "warning",
        confidence="proven" if left.sure else "likely",
        evidence=(
            *(("the manifest has the metadata of SOPS (/sops/mac)",) if left.whole else ()),
            *((by,) if types else ()),
        ),
        fixes=advice(
            __package__,
            f"undecrypted/{left.tool}",
            {**facts, "object": str(resource.id), "whole": left.whole, "scheme": decrypts, "app": str(app.ref)},
        ),
        explains=tuple(_claims(app, resource)),
    )


def _claims(app: App, resource: Resource) -> Iterator[Symptom]:
    yield from (Symptom.change(resource.id, change.pointer) for change in resource.changes)
    operation = app.operation
    rows = operation.results_of(resource.id) if operation is not None and operation.failed else ()
    if any(row.get("status") == "SyncFailed" for row in rows):
        yield from consequences(app)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.ROOT)
