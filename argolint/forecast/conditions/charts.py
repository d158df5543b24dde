"""Conditions on objects of a chart: what its next releases change in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import has_sync_option
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.model import Json
from argolint.values import enumerated, get, labels_of, mapping, parse_version
from argolint.values.glob import matches
from argolint.values.kubernetes import SYNC_OPTIONS, kubectl_name


def _chart(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Live objects of the chart, from a release before `in`, that match one of `changes`."""
    kinds = {change["kind"] for change in args["changes"]}
    for r in app.resources:
        if r.kind not in kinds or r.live is None or r.hook or not _is_older(r, args):
            continue
        fitting = [
            c
            for c in args["changes"]
            if c["kind"] == r.kind and _is_changed_object(r, c) and not _is_made_again(app, r, c)
        ]
        if not fitting:
            continue
        hook = any(c.get("hook") for c in fitting)
        fields = {
            "object": str(r.id),
            "app": str(app.ref),
            "what": _object_texts(fitting),
            "then": "Argo CD deletes it and makes it again at each sync" if hook else _THEN,
            "delete": f"kubectl delete {kubectl_name(r.id)}",
            "keep": f"kubectl annotate {kubectl_name(r.id)} --overwrite {SYNC_OPTIONS}=Prune=false",
        }
        yield Hit(app.ref, r.id, fitting[0].get("at", ""), fields, (f"rendered by {_release(r)}",))


def _is_made_again(app: App, r: Resource, change: Mapping[str, Json]) -> bool:
    """Whether a sync deletes and recreates the object anyway, so that no field change is refused."""
    force = all(has_sync_option(app.raw, r.desired, option) for option in ("Force=true", "Replace=true"))
    return force and "gone" not in change


_THEN = "a sync with prune deletes it, and what replaces it begins without its data"


def _object_texts(fitting: list[Mapping[str, Json]]) -> str:
    if "gone" in fitting[0]:
        return "makes a hook of" if fitting[0].get("hook") else "no longer renders"
    return enumerated(list(dict.fromkeys(str(c["at"]).split("/")[2] for c in fitting)))


def _release(r: Resource) -> str:
    labels = labels_of(r.live)
    return labels.get("helm.sh/chart") or labels.get("chart") or ""


def _is_older(r: Resource, args: Args) -> bool:
    name, _, version = _release(r).partition(f"{args['chart']}-")
    release = parse_version(version)
    return not name and release is not None and release < args["in"]


def _is_changed_object(r: Resource, change: Mapping[str, Json]) -> bool:
    """True if the object has the old value of the chart and not yet the new one."""
    if "gone" in change:
        return matches(str(change["gone"]), r.name)
    value, becomes = get(r.live, change["at"], None), change["becomes"]
    if isinstance(change["was"], Mapping):
        labels, wanted = mapping(value), mapping(change["was"])
        return labels.keys() == wanted.keys() and all(matches(str(wanted[k]), str(labels[k])) for k in wanted)
    text = str(value or "OrderedReady")
    return matches(str(change["was"]), text) and not matches(str(becomes), text)


def _reads(app: App, world: World, args: Args) -> bool:
    kinds = {change["kind"] for change in args["changes"]}
    return _is_helm(app) and any(row.kind in kinds for row in app.rows)


def _is_helm(app: App) -> bool:
    """Whether a chart may be in it: Kustomize and plugins can inflate charts, too."""
    types = app.status.get("sourceTypes") or [app.status.get("sourceType")]
    return any(kind != "Directory" for kind in types)


CONDITIONS: Mapping[str, Condition] = {"chart": Condition(of_app=_chart, reads=_reads)}
