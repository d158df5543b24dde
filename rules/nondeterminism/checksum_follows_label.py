"""A checksum changes only because a version label does

What it finds: a chart moves to another version, and checksum annotations of its workloads move with it. But no ConfigMap or Secret of the chart
has other data, and nothing else in the pods changes. The hashed template prints `helm.sh/chart` or `app.kubernetes.io/version`, and the checksum
covers the rendered text, with labels and comments.

Why it hurts: every change of the chart's version restarts the pods of every application that uses the chart. In a public survey a change of only
`version:` changed 319 of 679 checksum annotations.

How to fix: hash only the data, in the chart's template.

Example: `checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}` becomes
`checksum/config: {{ (include (print $.Template.BasePath "/configmap.yaml") . | fromYaml).data | toJson | sha256sum }}`.

Sources: argoproj/argo-helm pull request 4044; measured on 223 charts that carry checksums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint import App, Finding, Fleet, Location, Rank, Related, Resource, Rule, Symptom
from argolint.edits import manifest_text
from argolint.values import below, dig, enumerated, join_pointer, labels_of, mapping
from argolint.values.kubernetes import images

from ..shared import charts
from . import _evidence as evidence
from ._shapes import classify

_TEMPLATE = "/spec/template/metadata/annotations"
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Rollout")
_LABELS = ("helm.sh/chart", "chart", "app.kubernetes.io/version")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each chart that moved, with every workload whose checksum moved because of it."""
    both = [
        r
        for kind in _WORKLOADS
        for r in app.of_kind(kind)
        if (r.modified or r.pending) and not r.hook and r.desired and r.live
    ]
    for chart, (old, new) in sorted(_version_changes(both).items()):
        if _has_content_change(app, chart):
            continue
        random = {(s.resource.key, s.pointer) for s in evidence.signs(app, fleet)}
        places = [
            (r, key)
            for r in both
            if _chart_name(r) == chart and not _do_pods_change(r)
            for key in _changed_checksums(r)
            if (r.key, _TEMPLATE + join_pointer(key)) not in random
        ]
        if places:
            yield _finding(app, chart, old, new, places)


def _chart_name(resource: Resource) -> str:
    label = charts.chart_label(resource.any)
    return label[0] if label else ""


def _do_pods_change(resource: Resource) -> bool:
    """Whether the pods change in more than metadata, so that they restart in any case."""
    changed = any(below(change.pointer, "/spec/template/spec") for change in (*resource.changes, *resource.pending))
    return changed or images(resource.desired) != images(resource.live)


def _version_changes(both: list[Resource]) -> Mapping[str, tuple[str, str]]:
    """chart -> (live version, desired version), if they differ."""
    found: dict[str, tuple[str, str]] = {}
    for resource in both:
        new, old = charts.chart_label(resource.desired or {}), charts.chart_label(resource.live or {})
        if new and old and new[0] == old[0] and new[1] != old[1]:
            found.setdefault(new[0], (old[1], new[1]))
    return found


def _has_content_change(app: App, chart: str) -> bool:
    """Whether a ConfigMap or Secret of the chart is added, removed or has other data: then the checksum has a real cause."""
    for kind in ("ConfigMap", "Secret"):
        for resource in app.of_kind(kind, ""):
            label = charts.chart_label(resource.any)
            if label is None or label[0] != chart:
                continue
            sides = [resource.desired or {}, resource.live or {}]
            if any(dig(sides[0], part) != dig(sides[1], part) for part in ("data", "binaryData")):
                return True
    return False


def _changed_checksums(resource: Resource) -> Iterator[str]:
    """Checksum annotations of the pod template that differ between the two sides."""
    sides = [mapping(o, "spec", "template", "metadata", "annotations") for o in (resource.desired, resource.live)]
    for key in sorted(sides[0].keys() & sides[1].keys()):
        pointer = _TEMPLATE + join_pointer(key)
        if (
            sides[0][key] != sides[1][key]
            and classify(resource.id, pointer, sides[0][key], sides[1][key]) == "checksum"
        ):
            yield key


def _finding(app: App, chart: str, old: str, new: str, places: list[tuple[Resource, str]]) -> Finding:
    first, key = places[0]
    keys = enumerated([f'"{k}"' for k in dict.fromkeys(k for _, k in places)], limit=1)
    restarted = enumerated([str(r) for r in dict.fromkeys(r.id for r, _ in places)], "object", limit=1)
    claimed = {(r.key, _TEMPLATE + join_pointer(k)) for r, k in places}
    explains = tuple(
        Symptom.change(r.id, change.pointer)
        for r in app.changed
        if _chart_name(r) == chart
        for change in r.changes
        if (r.key, change.pointer) in claimed or _is_label(change.pointer)
    )
    return Finding(
        message=f"{restarted} restarts for a label alone: {keys} hashes the version of chart {chart}.",
        at=Location(app.ref, first.id, _TEMPLATE + join_pointer(key)),
        evidence=(
            f"chart {chart} moves from {old} to {new}",
            f"label of {first.id}: {labels_of(first.live).get('helm.sh/chart') or labels_of(first.live).get('chart')} live, "
            f"{labels_of(first.desired).get('helm.sh/chart') or labels_of(first.desired).get('chart')} desired",
            "data of every ConfigMap and Secret of the chart is equal, and so are the pods but for their metadata",
        ),
        confidence="likely",
        related=tuple(Related(app.ref, r.id, _TEMPLATE + join_pointer(k), "symptom") for r, k in places[1:]),
        fixes=(
            manifest_text(
                f"templates of chart {chart}",
                "Hash only the data in the chart's templates",
                '{{ (include (print $.Template.BasePath "/configmap.yaml") . | fromYaml).data | toJson | sha256sum }}',
                "The pods restart once more.",
            ),
        ),
        explains=explains,
    )


def _is_label(pointer: str) -> bool:
    return any(pointer.endswith("/labels" + join_pointer(label)) for label in _LABELS)


RULE = Rule(**Rule.page(__name__), severity="info", check=check, rank=Rank.ROOT)
"""It outranks rules that report a changed label as drift: the label and the checksum are one change."""
