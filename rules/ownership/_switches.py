"""A chart's options for one of its objects: values that switch it off or rename it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from argolint import App, Json, Resource
from argolint.edits import application_place
from argolint.values.patterns import regex

from ..shared.chart_catalogue import SharedGroup, charts_named
from ..shared.charts import Release, nested_block, release_of

_IN_APPLICATION = " (Application)"
"""Prefix of a key in charts.yaml that is a field of the Application, not a value of the chart."""
_MORE = regex(r"and \d+ more")
_OF_GROUP = regex(r"\d+ (?:in crds/ )?of group (.+)")
_NAME_LIMIT = 40
"""Longest override that leaves space for the chart's suffixes (63 characters in all)."""


def chart_switches(app: App, resource: Resource, found: Sequence[Release]) -> list[Mapping[str, Json]]:
    """The options of the releases `found` in the application, as plain data, the best matching chart first:

    chart      name and version;   where: the values file or the Application's field
    fixed      every release gets the same name
    off        YAML texts, each of which alone switches the object off; `part`: a whole component is switched off with it
    along      the application's other objects that `off` switches off
    spec       `off` belongs in the Application's spec, not in values
    note       a remark of the record, or empty
    rename     YAML text that gives this release its own name; empty if the chart has none
    """
    release = release_of(resource, found)
    return [
        _switch_data(app, resource, release, group)
        for release in sorted(found, key=lambda r: r is not release)
        for group in _matching_groups(release, resource)
    ]


def _matching_groups(release: Release, resource: Resource) -> Sequence[SharedGroup]:
    """The chart's groups that name the object; else those that name its kind and count the others (`and 6 more`)."""
    groups = [g for g in _version_groups(release) if resource.kind in g.resources]
    exact = [g for g in groups if any(_is_name_of(release, n, resource) for n in g.resources[resource.kind])]
    if exact:
        return exact
    rest = [g for g in groups if any(_MORE.fullmatch(n) for n in g.resources[resource.kind])]
    return [g for g in rest if any(resource.name.startswith(f"{full}-") for full in release.fullnames)]


def _version_groups(release: Release) -> Iterator[SharedGroup]:
    """The groups of every record of this chart that apply to this version: a chart may be recorded at several versions."""
    known = release.known
    for chart in charts_named(known.name) if known else ():
        if known and set(chart.repositories) & set(known.repositories):
            yield from replace(release, known=chart).shared()


def _is_name_of(release: Release, template: str, resource: Resource) -> bool:
    counted = _OF_GROUP.fullmatch(template)
    if counted:
        return any(resource.name.endswith(f".{group.strip()}") for group in counted[1].split(","))
    return not _MORE.fullmatch(template) and release.makes_name(template, resource.name)


def _switch_data(app: App, resource: Resource, release: Release, group: SharedGroup) -> Mapping[str, Json]:
    ways = sorted([*group.toggle, *group.component_switch], key=_enables_other_feature)
    of_application = [w for w in ways if any(key.endswith(_IN_APPLICATION) for key in w)]
    return {
        "chart": release.label,
        "where": f"the Helm source of {application_place(app)}" if of_application else _values_place(app, release),
        "fixed": group.scope == "fixed",
        "off": [_application_yaml(w) for w in of_application] or [release.values_block(w) for w in ways],
        "part": not group.toggle,
        "along": _others_of_group(app, resource, release, group),
        "note": group.note,
        "spec": bool(of_application),
        "rename": "".join(_rename_keys(app, resource, release, group)),
    }


def _others_of_group(app: App, resource: Resource, release: Release, group: SharedGroup) -> list[str]:
    kinds = frozenset(group.resources)
    return [
        str(other.id)
        for other in app.resources
        if other.kind in kinds and other.key != resource.key and other.claimed
        if any(_is_name_of(release, name, other) for name in group.resources[other.kind])
    ]


def _enables_other_feature(way: Mapping[str, Any]) -> bool:
    """True for a key with another value than false: it turns another feature on, so it is the second choice."""
    return any(value is not False for value in way.values())


def _values_place(app: App, release: Release) -> str:
    return release.values_at.replace("the Application's ", f"{application_place(app)}: ")


def _application_yaml(way: Mapping[str, Any]) -> str:
    """`spec.source.helm.skipCrds (Application): true` as the YAML of an Application."""
    return nested_block({key.removesuffix(_IN_APPLICATION): value for key, value in way.items()})


def _rename_keys(app: App, resource: Resource, release: Release, group: SharedGroup) -> Iterator[str]:
    """The first key that renames: an override for all names of the release, or a key for this object alone."""
    for key in group.rename[:1]:
        if key.endswith("Override"):
            value = app.name if len(app.name) <= _NAME_LIMIT else f"{release.name}-{release.namespace}"[:_NAME_LIMIT]
        else:
            value = f"{resource.name}-{release.namespace}"
        yield release.values_block({key: value})
