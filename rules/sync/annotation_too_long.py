"""The last-applied annotation would exceed its limit

What it finds: an object that is too large for client-side apply. Client-side apply stores the whole manifest in an annotation, and all
annotations together have a limit of 262144 bytes. Reported for a failed sync, or in advance for an object of that size that is new, or that a change in the gate makes so large.

Why it hurts: the API server refuses the object each time, and the sync fails. Large CRDs (Prometheus operator, Argo CD, KEDA) are the usual
case.

How to fix: server-side apply for these objects. It needs no annotation.

Example: the CRD `prometheuses.monitoring.coreos.com`.

Sources: k8s.io/apimachinery pkg/api/validation (TotalAnnotationSizeLimitB); argoproj/argo-cd#820; docs/user-guide/sync-options.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from argolint import Afterwards, App, Edit, Finding, Fix, Fleet, Location, Rank, Related, Resource, Rule, Symptom
from argolint.comparison import LAST_APPLIED, has_sync_option, syncs_server_side
from argolint.edits import application_patch, live_command, manifest_patch, sync_option
from argolint.edits.consequences import consequences
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, sh
from argolint.values.kubernetes import kubectl_name
from argolint.values.patterns import regex

from ..shared.operations import with_end_of_retries
from ._failures import Failed, failures_explained_by
from ._neighbour_checks import LARGEST
from ._options import sync_option_operations

_LIMIT = 262144  # bytes, TotalAnnotationSizeLimitB
_SERVER_SIDE = "ServerSideApply=true"


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for all such objects of the application: one option fixes them."""
    refused = {f.id.key: f for f in failures_explained_by(app, "annotation-too-long") if f.id}
    found = [r for r in app.resources if (refused and r.key in refused) or _will_be_too_long(app, r)]
    if found:
        yield _finding(app, found, [refused[r.key] for r in found if r.key in refused])
    elif failures_explained_by(app, "annotation-too-long"):
        yield _finding(app, [], list(failures_explained_by(app, "annotation-too-long")))


def _will_be_too_long(app: App, resource: Resource) -> bool:
    """True for an object that client-side apply will send, new or changed in the gate, and that is too large by its manifest alone."""
    if not (resource.absent or resource.pending):
        return False
    size = resource.derive(_size)  # before the states are decoded: nearly every object is small
    is_refused_anyway = resource.kind in ("ConfigMap", "Secret") and size > LARGEST
    if size <= _LIMIT or is_refused_anyway:
        return False
    replaces = has_sync_option(app.raw, resource.desired, "Replace=true")
    return not replaces and not syncs_server_side(app.raw, resource.desired)


def _size(resource: Resource) -> int:
    """Bytes of the manifest as JSON; 0 for one that is short by its characters, which have four bytes at most."""
    state = resource.desired_state
    if state is None or (isinstance(state, str) and 4 * len(state) <= _LIMIT):
        return 0
    return len(
        (state if isinstance(state, str) else json.dumps(state, separators=(",", ":"), ensure_ascii=False)).encode()
    )


def _finding(app: App, found: list[Resource], refused: list[Failed]) -> Finding:
    first = found[0] if found else None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    what = f"{first.id}{more}" if first else f"an object of application {app.ref}"
    verb = "are" if len(found) > 1 else "is"
    return Finding(
        message=f"{what} {verb} too large for client-side apply (262144 bytes of annotations), so application {app.ref} does not sync.",
        at=Location(app.ref, first.id if first else None, "/metadata/annotations" if first else ""),
        confidence="proven" if refused else "likely",
        evidence=tuple(f"{f.id or app.ref}: {excerpt(f.message)}" for f in refused[:5])
        or ("the manifest alone is over the limit",),
        related=tuple(Related(app.ref, r.id, role="symptom") for r in found[1:]),
        fixes=with_end_of_retries(app, tuple(_fixes(app, first))),
        explains=(
            *(consequences(app) if refused else ()),
            *(Symptom.missing(r.id) for r in found),
            *(Symptom.health(r.id) for r in found),
            *(Symptom.change(r.id) for r in found),
        ),
    )


def _fixes(app: App, first: Resource | None) -> Iterator[Fix]:
    if by_server := sync_option(app, _SERVER_SIDE):
        yield application_patch(
            app,
            "Apply server-side",
            by_server,
            "then sync by hand: Argo CD does not retry the failed revision by itself",
        )
    elif first is not None:
        yield from _other_release_fixes(first) if _has_short_annotations(first) else _leftover_fixes(app, first)
        return
    if first is not None and first.desired is not None:
        yield manifest_patch(first.id, "Or for these objects only", sync_option_operations(first.desired, _SERVER_SIDE))


def _has_short_annotations(first: Resource) -> bool:
    """True if neither side holds long annotations: the annotation that this Argo CD adds is too long."""
    if first.live is None or first.desired is None:
        return False
    return all(
        len(str(dig(state, "metadata", "annotations"))) < _LIMIT // 2
        and LAST_APPLIED not in (dig(state, "metadata", "annotations") or {})
        for state in (first.live, first.desired)
    )


def _other_release_fixes(first: Resource) -> Iterator[Fix]:
    yield Fix(
        "Use another Argo CD release: this one ignores ServerSideApply, at least in dry runs",
        "argocd-settings",
        "Argo CD",
        Edit("command", "argocd version"),
        caveat="3.5.0-rc1 did so (argo-cd#28421)",
    )
    yield manifest_patch(
        first.id,
        "Or replace the object for the time being",
        sync_option_operations(first.desired or {}, "Replace=true"),
        "every sync then replaces the whole object, so what others have written in it is lost",
    )


def _leftover_fixes(app: App, first: Resource) -> Iterator[Fix]:
    """Fixes for an annotation that exists already, from earlier applies or in Git: server-side apply writes none."""
    yield live_command(
        first.id,
        "Remove the annotation that client-side apply has left on the live object, then sync",
        f"kubectl annotate {kubectl_name(first.id)} {LAST_APPLIED}- && argocd app sync {sh(app.ref)}",
        "if the manifest's own annotations are that long, move what they hold",
    )


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The API server's answer once the objects come without the annotation of client-side apply, if it refused them for nothing else.

    It reports all faults of an object at once (k8s.io/apiserver pkg/registry/rest, BeforeCreate: an aggregate of all faults).
    """
    refused = {f.id.key: f for f in failures_explained_by(after, "annotation-too-long") if f.id}
    objects = [r for key in refused if (r := after.resource(key)) and r.desired]
    if not refused or len(objects) < len(refused):
        return None
    for resource in objects:
        if not syncs_server_side(after.raw, resource.desired):
            return Afterwards(refused=f"{resource.id} would still be applied client-side")
        if len(str(dig(resource.desired, "metadata", "annotations"))) >= _LIMIT // 2 or LAST_APPLIED in annotations_of(
            resource.live
        ):
            return Afterwards(unknown=f"what annotations {resource.id} keeps is not known")
        if _TOO_LONG.search(refused[resource.key].message) is None:
            return Afterwards(unknown=f"the API server refuses {resource.id} for something else too")
    return Afterwards(live={r.key: r.desired for r in objects if r.desired})


_TOO_LONG = regex(r"^\S+ \"[^\"]+\" is invalid: metadata\.annotations: Too long: [^:\[\]]*$")
"""The whole message of the API server if this is the only fault: several faults are in brackets."""


RULE = Rule(**Rule.page(__name__), severity="error", check=check, then=then, rank=Rank.CAUSE)
