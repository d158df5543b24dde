"""A custom resource embeds a Kubernetes type that Argo CD does not know

What it finds: a custom resource with a pod template or pod spec whose live fields mean the same as Git's in another spelling (quantities,
numbers as text, empty values): the operator read them as the Kubernetes type and wrote them back. For Deployments Argo CD normalizes them; for a
custom kind it compares text.

Why it hurts: the object is OutOfSync forever, field by field.

How to fix: declare the type to Argo CD with `resource.customizations.knownTypeFields`, once for the kind; or write the canonical forms.

Example: `spec.template.spec.containers[].resources.limits.cpu: 1000m` in a workload kind of an operator.

Sources: argoproj/argo-cd#6154; docs/user-guide/diffing.md ("Known Kubernetes types in CRDs").
"""

from collections.abc import Iterator

from argolint import MISSING, App, Change, Finding, Fleet, Rank, Resource, Rule
from argolint.application.applied import git_moved
from argolint.values import dig, get, join_pointer, split_pointer
from argolint.values.kubernetes import is_custom

from ._fields import Drift, drifts
from ._grammar import is_hollow_difference
from ._known_types import dotted, known_type_fields
from ._spelling import is_same_amount


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""

    def lasting(resource: Resource, change: Change) -> bool:
        return _is_respelled(resource, change) and not git_moved(app, resource, change)

    for drift in drifts(app, lasting):
        first = drift.changes[0]
        root = _pod_spec(drift.resource, first.pointer)
        written = tuple(change for change in drift.changes if change.live is not MISSING)
        yield drift.finding(
            f"{drift.resource.id} stays OutOfSync over {drift.places()}, which differs in spelling alone.",
            fixes=(
                known_type_fields(drift.resource, (root,), "core/v1/PodSpec"),
                Drift(app, drift.resource, written).write_live("Write it as the operator does")
                if written == drift.changes
                else None,
            ),
            evidence=(
                f"Argo CD knows the types of a {drift.resource.kind} only by knownTypeFields",
                f"a pod spec is embedded at {root}",
                f"knownTypeFields for {drift.resource.group}_{drift.resource.kind} would name {dotted(root)}",
            ),
        )


def _is_respelled(resource: Resource, change: Change) -> bool:
    if change.masked or not is_custom(resource.group) or not _pod_spec(resource, change.pointer):
        return False
    one, other = change.desired, change.live
    as_text = not isinstance(one, dict | list) and not isinstance(other, dict | list) and str(one) == str(other)
    return is_same_amount(change) or is_hollow_difference(one, other) or as_text


def _pod_spec(resource: Resource, pointer: str) -> str:
    """The pointer of the pod spec above this place: the nearest map with `containers`; empty if there is none."""
    tokens = split_pointer(pointer)
    for length in range(len(tokens) - 1, 0, -1):
        above = join_pointer(*tokens[:length])
        if isinstance(dig(get(resource.normalized, above, None), "containers"), list):
            return above
    return ""


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, rank=Rank.CAUSE)
