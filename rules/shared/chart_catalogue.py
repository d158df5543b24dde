"""The records of charts: charts.yaml, and for each chart name a file in chart_data/, read at its first use.

The head of charts.yaml describes the measurement and the placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from argolint.values import parse_version
from argolint.values.knowledge import load
from argolint.values.knowledge import names as knowledge_names

Version = tuple[int, ...]
_FOLDER = "chart_data"


@dataclass(frozen=True)
class Pin:
    """One way to make an item constant.

    values   dotted keys of the chart with their values, without the umbrella's prefix
    keys     keys that the Secret must have if the values name an existing one; else empty
    since    oldest chart version with each of the values: an older one may have it too; a key without an entry is as old as the record
    until    first chart version without them; empty if the newest one has them
    """

    values: Mapping[str, Any]
    keys: tuple[str, ...] = ()
    note: str = ""
    since: Mapping[str, str] = field(default_factory=dict)
    until: str = ""

    @property
    def first_version(self) -> str:
        """The first chart version in which this pin is known to work; empty if there is none. Keys that only select may come later."""
        needed = (v for k, v in self.since.items() if not self._picks_key(k) and parse_version(v))
        return max(needed, key=lambda v: parse_version(v) or (), default="")

    def for_version(self, version: str) -> Pin | None:
        """This pin for that chart version; None if the version lacks an essential key.

        Values that only select a key of the Secret (`auth.existingSecretPasswordKey`) are left out if the chart does not have them yet: it then
        reads the key with that name.
        """
        have, need = parse_version(version), parse_version(self.first_version)
        if have is None:
            return self
        end = parse_version(self.until)
        if (need is not None and have < need) or (end is not None and have >= end):
            return None
        unknown = {k for k, v in self.since.items() if (first := parse_version(v)) is not None and have < first}
        return replace(self, values={k: v for k, v in self.values.items() if k not in unknown}) if unknown else self

    def _picks_key(self, key: str) -> bool:
        return self.values.get(key) in self.keys


@dataclass(frozen=True)
class RandomSecret:
    """A Secret with generated keys; `hook` is its Helm hook and delete policy, as text."""

    name: str
    keys: tuple[str, ...]
    hook: str = ""


@dataclass(frozen=True)
class Item:
    """A value that a chart generates again at each render, in `templates`; `usual` if it does so at its default values.

    since, until   the first chart version that generates it, and the first one that no longer does; empty if not known
    """

    what: str
    functions: tuple[str, ...]
    secrets: tuple[RandomSecret, ...]
    checksums: Mapping[str, tuple[str, ...]]
    other_fields: tuple[str, ...]
    when: str
    pins: tuple[Pin, ...]
    note: str
    since: str
    templates: tuple[str, ...]
    usual: bool = True
    until: str = ""

    @property
    def salted(self) -> bool:
        """True for a salt: it is generated even with a fixed password, so only a complete hash pins it."""
        return bool({"htpasswd", "bcrypt", "encryptAES"} & set(self.functions))

    @property
    def signs(self) -> bool:
        """True for certificates, which others trust."""
        return any(name.startswith("genCA") or name.endswith("SignedCert") for name in self.functions)


@dataclass(frozen=True)
class SharedGroup:
    """Objects whose names two releases share; see `shared_cluster_scoped` in the head of charts.yaml.

    scope       fixed: one name for every release; release: it has the release name, not the namespace; unique: no collision
    resources   kind -> names, with placeholders
    toggle      values that switch the group off, one key at a time; `component_switch` switches a whole component off
    rename      values that change the names
    """

    scope: str
    resources: Mapping[str, tuple[str, ...]]
    toggle: tuple[Mapping[str, Any], ...]
    component_switch: tuple[Mapping[str, Any], ...]
    rename: tuple[str, ...]
    versions: str
    when: str
    note: str


@dataclass(frozen=True)
class Chart:
    """One entry of a file in chart_data/."""

    name: str
    repositories: tuple[str, ...]
    verified_version: str
    random: tuple[Item, ...]
    shared: tuple[SharedGroup, ...]
    note: str
    fullname: str
    source: str


@cache
def charts_named(name: str) -> tuple[Chart, ...]:
    """The charts of this name, each from another repository; none if there is no record."""
    return tuple(map(_chart, load(__package__, f"{_FOLDER}/{name}.yaml"))) if name in names() else ()


@cache
def names() -> frozenset[str]:
    """The names of all charts with a record."""
    return frozenset(name.removesuffix(".yaml") for name in knowledge_names(__package__, _FOLDER))


def is_random_chart(name: str) -> bool:
    """Whether a chart of this name generates a new value at each render."""
    return any(chart.random for chart in charts_named(name))


def is_deterministic(chart: str, version: str) -> bool:
    """Whether a chart of this name and major version rendered equally twice at default values."""
    have = parse_version(version)
    return have is not None and (chart, have[0]) in _deterministic() and not is_random_chart(chart)


@cache
def bundle_prefixes() -> Mapping[tuple[str, str], str]:
    """(parent chart, subchart or alias) -> prefix, for charts that bundle random subcharts."""
    found: dict[tuple[str, str], str] = {}
    for parent in _data()["umbrellas"]:
        for sub in parent["subcharts"]:
            alias = sub["prefix"].rstrip(".").rpartition(".")[2]
            for name in (sub["chart"], alias):
                found.setdefault((parent["chart"], name), sub["prefix"])
    for parent, names_below in _data()["bundled"].items():
        for name in names_below:
            found.setdefault((parent, name), f"{name}.")
    return found


def is_measured_random(root: str, name: str, version: str) -> bool:
    """Whether a measurement of this umbrella, in this major version, found the subchart's value random.

    An umbrella's own values may pin it, and no Application shows them: kube-prometheus-stack long set Grafana's password.
    """
    have = parse_version(version)
    return have is not None and any(
        parent["chart"] == root
        and (seen := parse_version(str(parent["version"]))) is not None
        and seen[0] == have[0]
        and any(name in (sub["chart"], sub["prefix"].rstrip(".").rpartition(".")[2]) for sub in parent["subcharts"])
        for parent in _data()["umbrellas"]
    )


def newest_version(entry: Chart) -> Version | None:
    """The newest known version of this chart in any of its repositories; for a Git head its newest release tag."""
    same = (e for e in charts_named(entry.name) if set(e.repositories) & set(entry.repositories))
    return max((v for e in same if (v := verified_version(e))), default=None)


def verified_version(entry: Chart) -> Version | None:
    return parse_version(entry.verified_version.rpartition("release tag ")[2])


def in_range(version: str, versions: str) -> bool:
    """Whether a chart version is within `< 1.14.0 (...)` or `>= 1.14.0 (...)`; an unknown version is."""
    match = re.match(r"(<|>=)\s*([\d.]+)", versions)
    have = parse_version(version)
    if match is None or have is None:
        return True
    bound = parse_version(match[2]) or ()
    return have < bound if match[1] == "<" else have >= bound


def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = load(__package__, "charts.yaml")
    return found


@cache
def _deterministic() -> frozenset[tuple[str, int]]:
    rows = [str(row).rpartition(" ") for found in _data()["deterministic_at_defaults"].values() for row in found]
    return frozenset((name, seen[0]) for name, _, version in rows if (seen := parse_version(version)))


def _chart(raw: Mapping[str, Any]) -> Chart:
    return Chart(
        raw["chart"],
        tuple(raw["repositories"]),
        str(raw["verified_version"]),
        tuple(_item(i) for i in raw.get("random") or ()),
        tuple(_shared(g) for g in raw.get("shared_cluster_scoped") or ()),
        raw.get("note", ""),
        raw.get("fullname_default", ""),
        raw["source"],
    )


def _item(raw: Mapping[str, Any]) -> Item:
    return Item(
        raw["what"],
        tuple(raw["functions"]),
        tuple(RandomSecret(s["name"], tuple(s["keys"]), s.get("helm_hook", "")) for s in raw.get("secrets") or ()),
        {key: tuple(where) for key, where in (raw.get("checksums") or {}).items()},
        tuple(raw.get("other_fields") or ()),
        str(raw["when"]),
        tuple(_pin(p) for p in raw["pin"]),
        raw.get("note", ""),
        str(raw.get("since") or ""),
        tuple(raw["source"]),
        "enabled_by" not in raw,
        str(raw.get("until") or ""),
    )


def _pin(raw: Mapping[str, Any]) -> Pin:
    existing = raw.get("existing_secret") or {}
    values = {**(raw.get("values") or {}), **(existing.get("values") or {})}
    since = raw.get("key_since") or {}
    return Pin(
        values,
        tuple(existing.get("keys") or ()),
        raw.get("note", ""),
        since if isinstance(since, dict) else dict.fromkeys(values, str(since)),
        str(raw.get("key_until") or ""),
    )


def _shared(raw: Mapping[str, Any]) -> SharedGroup:
    return SharedGroup(
        raw["scope"],
        {kind: tuple(names) for kind, names in raw["resources"].items()},
        tuple(raw.get("toggle") or ()),
        tuple(raw.get("component_switch") or ()),
        tuple(raw["rename"] or ()),
        raw.get("versions", ""),
        raw.get("when", ""),
        raw.get("note", ""),
    )
