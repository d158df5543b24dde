"""Fields of Applications and AppProjects that older releases of Argo CD lack (data in fields.yaml)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from argolint import App, Change, Fleet, Resource
from argolint.application.fleet import IN_CLUSTER
from argolint.values import index_of, join_pointer, leaves, parse_version, split_pointer
from argolint.values.knowledge import load


def newer_fields(app: App, fleet: Fleet, resource: Resource, change: Change) -> Mapping[str, str]:
    """The fields that Git has there and only a later Argo CD keeps, each with its first release; none if one of them is older, so that the whole
    place would be kept. The CRD in Argo CD's own cluster counts as being of its release."""
    runs = parse_version(fleet.version)
    found: dict[str, str] = {}
    if runs is None or resource.group != "argoproj.io" or app.cluster != IN_CLUSTER:
        return found
    for pointer, _ in leaves(change.desired, change.pointer):
        tokens = split_pointer(pointer)
        places = (
            (tokens[:end], _first_releases().get((resource.kind, _path(tokens[:end]))))
            for end in range(2, len(tokens) + 1)
        )
        newer = next(((place, since) for place, since in places if since and runs < (parse_version(since) or ())), None)
        if newer is None:
            return {}
        found[join_pointer(*newer[0])] = newer[1]
    return found


@cache
def _first_releases() -> Mapping[tuple[str, str], str]:
    rows = load(__package__, "fields.yaml")["argocd"]
    return {(str(row["kind"]), str(row["path"])): str(row["since"]) for row in rows}


def _path(tokens: Sequence[str]) -> str:
    """The path below spec as the table has it: `source.kustomize.patches`."""
    path = "".join("[]" if index_of(token) is not None else f".{token}" for token in tokens[1:])
    return path.removeprefix(".").replace("sources[]", "source")
