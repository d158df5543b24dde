"""Which charts an application renders, and what is known of them: what is random, how to pin it, what collides.

The knowledge is charts.yaml; its head tells how it was measured and what its placeholders mean. `releases(app)` recognises the
charts of an application from the label `helm.sh/chart` or `chart` of its objects, from its sources and from its images::

    for release in releases(app):
        for item in release.random():      # valid at this chart version
            for secret in item.secrets: release.fill(secret.name); item.pins_for(release)
        for group in release.shared(): ...
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import yaml

from argolint import App, Object, Resource
from argolint.knowledge import load
from argolint.values import dig, labels_of

Version = tuple[int, ...]


@dataclass(frozen=True)
class Pin:
    """One way to make an item constant.

    values   dotted keys of the chart and what to set, without the umbrella's prefix
    keys     keys that the Secret must hold when the values name an existing one; empty when they do not
    since    first chart version that knows each of the values; a key without an entry is as old as the record goes
    """

    values: Mapping[str, Any]
    keys: tuple[str, ...] = ()
    note: str = ""
    since: Mapping[str, str] = field(default_factory=dict)

    @property
    def first_version(self) -> str:
        """The chart version from which on this pin works; empty when it is not known. What picks a key may come later."""
        needed = (v for k, v in self.since.items() if not self._picks_key(k) and parse_version(v))
        return max(needed, key=lambda v: parse_version(v) or (), default="")

    def at(self, version: str) -> Pin | None:
        """This pin as that chart version knows it; None when it lacks a key that counts.

        Values that only pick a key of the Secret (`auth.existingSecretPasswordKey`) are left out where the chart does not
        know them yet: it then reads the key of that very name.
        """
        have, need = parse_version(version), parse_version(self.first_version)
        if have is None:
            return self
        if need is not None and have < need:
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
    """Something that a chart draws anew at each render, in `templates`."""

    what: str
    functions: tuple[str, ...]
    lookup_guarded: bool
    secrets: tuple[RandomSecret, ...]
    checksums: Mapping[str, tuple[str, ...]]
    other_fields: tuple[str, ...]
    when: str
    pins: tuple[Pin, ...]
    note: str
    since: str
    templates: tuple[str, ...]

    @property
    def salted(self) -> bool:
        """A salt is drawn even when the password is fixed, so only a ready hash pins it."""
        return bool({"htpasswd", "bcrypt", "encryptAES"} & set(self.functions))


@dataclass(frozen=True)
class SharedGroup:
    """Objects whose names two releases share; see `shared_cluster_scoped` in charts.yaml.

    scope       fixed: one name for every release; release: it holds the release name, not the namespace; unique: no collision
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
    """One entry of charts.yaml."""

    name: str
    repositories: tuple[str, ...]
    verified_version: str
    random: tuple[Item, ...]
    shared: tuple[SharedGroup, ...]
    note: str
    fullname: str
    source: str


@dataclass(frozen=True)
class Release:
    """A chart as one application renders it.

    chart      its name as rendered, which is the alias when the umbrella gives one
    version    empty when no label and no source tells it
    name       Helm release name;   namespace   the destination's
    prefix     what to put before each values key: empty for the chart of the source itself, else `airflow.`
    assumed    True when the prefix is deduced from names and the source may as well be the chart itself
    values_at  the file, or the field of the Application, where values belong
    inline     values that the Application itself sets, nested; `complete` says that there are no others to read
    known      the entry of charts.yaml, or None
    stem       what the names of its workloads begin with
    """

    chart: str
    version: str
    name: str
    namespace: str
    prefix: str = ""
    assumed: bool = False
    values_at: str = ""
    inline: Mapping[str, Any] = field(default_factory=dict, compare=False)
    complete: bool = False
    known: Chart | None = field(default=None, compare=False)
    stem: str = ""

    @property
    def label(self) -> str:
        return f"{self.chart} {self.version}".rstrip()

    @property
    def fullnames(self) -> tuple[str, ...]:
        """What `{fullname}` may be: the override, else the chart's helper; then what its workloads' names begin with."""
        override = dig(self.inline, *self._path("fullnameOverride"))
        if isinstance(override, str) and override:
            return (override,)
        base = dig(self.inline, *self._path("nameOverride")) or self.chart
        default = self.name if base in self.name else f"{self.name}-{base}"
        if self.known and self.known.fullname:
            default = self.known.fullname.replace("{release}", self.name)
        return tuple(dict.fromkeys(filter(None, (default[:63].rstrip("-"), self.stem))))

    def fill(self, template: str) -> str:
        """A name or text of the knowledge with this release's names in it."""
        return self._fill(template, self.fullnames[0])

    def named(self, template: str, name: str) -> bool:
        """Whether `name` is what the chart makes of `template`; `*` stands for a random part."""
        return any(_same(self._fill(template, full), name) for full in self.fullnames)

    def values_key(self, key: str) -> str:
        """A key of the chart as the application's values spell it."""
        return key if key.startswith("global.") else self.prefix + key

    def values_block(self, values: Mapping[str, Any]) -> str:
        """YAML to paste: the dotted keys, prefixed and nested."""
        nested: dict[str, Any] = {}
        for key, value in values.items():
            *parents, last = self.values_key(key).split(".")
            node = nested
            for parent in parents:
                node = node.setdefault(parent, {})
            node[last] = value
        return str(yaml.safe_dump(nested, sort_keys=False, width=1000, allow_unicode=True))

    def sets(self, key: str) -> bool:
        """Whether the Application itself gives this key of the chart a value."""
        return dig(self.inline, *self._path(key)) not in (None, "", [], {})

    def random(self) -> Iterator[Item]:
        """What this chart draws at random, at this version."""
        for item in self.known.random if self.known else ():
            have, first = parse_version(self.version), parse_version(item.since)
            if have is None or first is None or have >= first:
                yield item

    def shared(self) -> Iterator[SharedGroup]:
        """Objects of this chart that may collide with another release's, at this version."""
        return (g for g in (self.known.shared if self.known else ()) if _in_range(self.version, g.versions))

    def _fill(self, template: str, fullname: str) -> str:
        return (
            template.replace("{fullname}", fullname)
            .replace("{release}", self.name)
            .replace("{namespace}", self.namespace)
        )

    def _path(self, key: str) -> tuple[str, ...]:
        return tuple(self.values_key(key).split("."))


def pins(item: Item, release: Release) -> tuple[Pin, ...]:
    """The pins that this chart version knows, in the order of charts.yaml; pins that are only a remark are left out."""
    return tuple(found for p in item.pins if p.values and (found := p.at(release.version)) is not None)


def pinned(item: Item, release: Release) -> bool:
    """Whether the Application itself already sets every key of one of the pins."""
    return any(p.values and all(release.sets(key) for key in p.values) for p in item.pins)


def releases(app: App) -> tuple[Release, ...]:
    """Every chart that the application renders, as far as labels, sources and images tell; the root chart first.

    Without states (an application that was not read) only sources and images speak.
    """
    labels = _chart_labels(app)
    found: dict[str, Release] = {}
    for index, source in enumerate(app.sources):
        root = _root(source)
        if not root or not _is_helm(app, index, source):
            continue
        names = list(labels) or ([] if _by_kustomize(app, index) else [root, *_by_image(app, root)])
        if root not in names and source.get("chart"):
            names.insert(0, root)
        for name in sorted(names, key=lambda n: (n != root, n)):
            if name in found and name != root:
                continue
            found[name] = _release(app, index, name, labels)
    return tuple(found.values())


def release_of(resource: Resource, among: Sequence[Release]) -> Release | None:
    """The release whose chart rendered this object, by its label; the only one when there is no other."""
    label = chart_label(resource.any)
    if label:
        return next((r for r in among if r.chart == label[0]), None)
    return among[0] if len(among) == 1 else None


def chart_label(obj: Object) -> tuple[str, str] | None:
    """(chart, version) of the label `helm.sh/chart` or `chart`; the version may be empty."""
    labels = labels_of(obj)
    text = labels.get("helm.sh/chart") or labels.get("chart")
    return split_chart(text) if text else None


def split_chart(text: str) -> tuple[str, str]:
    """`cert-manager-v1.2.3` as (`cert-manager`, `v1.2.3`); Helm writes `_` for `+` in labels."""
    match = re.fullmatch(r"(.+?)-(v?\d+\.\d+.*)", text)
    return (match[1], match[2].replace("_", "+")) if match else (text, "")


def deterministic(chart: str, version: str) -> bool:
    """Whether a chart of this name and major version was rendered twice at default values and came out equal."""
    have = parse_version(version)
    return have is not None and (chart, have[0]) in _deterministic() and chart not in _random_names()


def parse_version(text: str | None) -> Version | None:
    """The leading dotted number of a version; None for a date (`2024-04-29`), a branch or nothing."""
    match = re.match(r"v?(\d+(?:\.\d+)+)", str(text or ""))
    return tuple(int(part) for part in match[1].split(".")) if match else None


@cache
def catalogue() -> tuple[Chart, ...]:
    """Every chart of charts.yaml."""
    return tuple(_chart(raw) for raw in _data()["charts"])


@cache
def _random_names() -> frozenset[str]:
    return frozenset(chart.name for chart in catalogue() if chart.random)


@cache
def _by_name() -> Mapping[str, tuple[Chart, ...]]:
    found: dict[str, list[Chart]] = {}
    for chart in catalogue():
        found.setdefault(chart.name, []).append(chart)
    return {name: tuple(same) for name, same in found.items()}


def _data() -> Mapping[str, Any]:
    return load(__package__, "charts.yaml")  # type: ignore[no-any-return]


@cache
def _deterministic() -> frozenset[tuple[str, int]]:
    rows = [str(row).rpartition(" ") for found in _data()["deterministic_at_defaults"].values() for row in found]
    return frozenset((name, seen[0]) for name, _, version in rows if (seen := parse_version(version)))


@cache
def _bundles() -> Mapping[tuple[str, str], str]:
    """(parent chart, subchart or alias) -> prefix, for charts that bundle random subcharts."""
    found: dict[tuple[str, str], str] = {}
    for parent in _data()["umbrellas"]:
        for sub in parent["subcharts"]:
            alias = sub["prefix"].rstrip(".").rpartition(".")[2]
            for name in (sub["chart"], alias):
                found.setdefault((parent["chart"], name), sub["prefix"])
    for chart in catalogue():
        for name in _bundled(chart.name):
            found.setdefault((chart.name, name), f"{name}.")
    return found


@cache
def _bundled(chart: str) -> frozenset[str]:
    return frozenset(
        n for raw in _data()["charts"] if raw["chart"] == chart for n in raw.get("bundled_random_subcharts") or ()
    )


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
        raw["lookup_guarded"] is True,
        tuple(RandomSecret(s["name"], tuple(s["keys"]), s.get("helm_hook", "")) for s in raw.get("secrets") or ()),
        {key: tuple(where) for key, where in (raw.get("checksums") or {}).items()},
        tuple(raw.get("other_fields") or ()),
        str(raw["when"]),
        tuple(_pin(p) for p in raw["pin"]),
        raw.get("note", ""),
        str(raw.get("since") or ""),
        tuple(raw["source"]),
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


def _in_range(version: str, versions: str) -> bool:
    """Whether a chart version fits `< 1.14.0 (...)` or `>= 1.14.0 (...)`; an unknown version fits."""
    match = re.match(r"(<|>=)\s*([\d.]+)", versions)
    have = parse_version(version)
    if match is None or have is None:
        return True
    bound = parse_version(match[2]) or ()
    return have < bound if match[1] == "<" else have >= bound


_LABELLED = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Secret", "Service", "ServiceAccount")


def _chart_labels(app: App) -> Mapping[str, str]:
    """chart -> the version that most of its objects name. Kinds whose objects are small are enough."""
    counts: dict[str, Counter[str]] = {}
    for resource in (r for kind in _LABELLED for r in app.of_kind(kind)):
        label = chart_label(resource.any)
        if label:
            counts.setdefault(label[0], Counter())[label[1]] += 1
    return {name: max(versions, key=lambda v: (v != "", versions[v], v)) for name, versions in sorted(counts.items())}


def source_type(app: App, index: int = 0) -> str:
    """Helm, Kustomize, Directory or Plugin, as Argo CD found it; empty when it never rendered that source."""
    types = app.status.get("sourceTypes") or (app.status.get("sourceType"),)
    return str(types[index] or "") if index < len(types) else ""


def _by_kustomize(app: App, index: int) -> bool:
    return source_type(app, index) == "Kustomize"


def _is_helm(app: App, index: int, source: Object) -> bool:
    """By the type that Argo CD found for this source, else by the source's own fields. Kustomize may inflate charts."""
    found = source_type(app, index)
    return found in ("Helm", "Kustomize") if found else bool(source.get("chart") or source.get("helm"))


def _root(source: Object) -> str:
    """The name of the chart that a source itself is: exact for a chart repository, the directory's name in Git."""
    text = source.get("chart") or source.get("path") or ""
    return str(text).rstrip("/").rpartition("/")[2]


def _release(app: App, index: int, name: str, labels: Mapping[str, str]) -> Release:
    source = app.sources[index]
    root = _root(source)
    version = labels.get(name, "")
    if not version and source.get("chart") and name == root:
        version = _resolved(app, index)
    helm = source.get("helm") or {}
    kustomize = _by_kustomize(app, index)
    prefix, assumed = ("", False) if kustomize else _prefix(root, name, labels, exact=bool(source.get("chart")))
    made = Release(
        name,
        version,
        str(helm.get("releaseName") or app.name),
        app.destination_namespace,
        prefix,
        assumed,
        _values_at(app, index, source, kustomize),
        _inline(helm),
        bool(source.get("chart"))
        and not helm.get("valueFiles")
        and not helm.get("fileParameters")
        and (name == root or _measured(root, name, _resolved(app, index))),
        stem=_stem(app, name),
    )
    return replace(made, known=_known(app, source, made))


def _resolved(app: App, index: int) -> str:
    """The chart's version that Argo CD deploys from this source; empty when it is none."""
    revision = str(app.sources[index].get("targetRevision") or "")
    resolved = app.revisions[index] if index < len(app.revisions) else revision
    return next((v for v in (resolved, revision) if parse_version(v)), "")


def _measured(root: str, name: str, version: str) -> bool:
    """Whether this umbrella, in this major version, was seen to leave the subchart's value to chance.

    An umbrella's own values may pin it, and no Application tells those: kube-prometheus-stack long set Grafana's password.
    """
    have = parse_version(version)
    return have is not None and any(
        parent["chart"] == root
        and (seen := parse_version(str(parent["version"]))) is not None
        and seen[0] == have[0]
        and any(name in (sub["chart"], sub["prefix"].rstrip(".").rpartition(".")[2]) for sub in parent["subcharts"])
        for parent in _data()["umbrellas"]
    )


def _prefix(root: str, name: str, labels: Mapping[str, str], *, exact: bool) -> tuple[str, bool]:
    """The values prefix of a chart below `root`, and whether it is only deduced."""
    if name == root:
        return "", False
    if (root, name) in _bundles():
        return _bundles()[root, name], False
    parent = next((p for p in labels if p not in (name, root) and (p, name) in _bundles()), None)
    if parent is not None:
        above, assumed = _prefix(root, parent, {}, exact=exact)
        return above + _bundles()[parent, name], assumed
    return f"{name}.", not exact and root not in labels


def _values_at(app: App, index: int, source: Object, kustomize: bool) -> str:
    """The last value file, which wins; a `$ref/` one with the repository of the source of that ref."""
    if kustomize:
        return f"helmCharts[].valuesInline in {source.get('path')}/kustomization.yaml"
    helm = source.get("helm") or {}
    files = helm.get("valueFiles") or ()
    if files:
        last = str(files[-1])
        ref, _, file = last.partition("/")
        repo = next((s.get("repoURL") for s in app.sources if ref == f"${s.get('ref')}"), None)
        if repo:
            return f"{file} of {repo}"
        return last if "://" in last else posixpath.normpath(posixpath.join(str(source.get("path") or ""), last))
    if source.get("path"):
        return f"{source['path']}/values.yaml"
    place = f"sources[{index}]" if len(app.sources) > 1 else "source"
    return f"the Application's spec.{place}.helm.valuesObject"


def _inline(helm: Mapping[str, Any]) -> dict[str, Any]:
    """valuesObject, else values, with parameters laid over: the values that the Application itself carries."""
    values = helm.get("valuesObject")
    if not values and isinstance(helm.get("values"), str):
        try:
            values = yaml.safe_load(helm["values"])
        except yaml.YAMLError:
            values = None
    merged: dict[str, Any] = dict(values) if isinstance(values, dict) else {}
    for parameter in helm.get("parameters") or ():
        *parents, last = re.split(r"(?<!\\)\.", str(parameter.get("name", "")))
        node = merged
        for parent in parents:
            below = node.get(parent)
            node[parent] = node = dict(below) if isinstance(below, dict) else {}
        node[last] = parameter.get("value")
    return merged


_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Service")


def _stem(app: App, chart: str) -> str:
    """What the names of the chart's workloads and services begin with: after fullnameOverride it shows {fullname}."""
    names = {
        r.name
        for kind in _WORKLOADS
        for r in app.of_kind(kind)
        if (label := chart_label(r.any)) is not None and label[0] == chart
    }
    return posixpath.commonprefix([f"{name}-" for name in sorted(names)]).rpartition("-")[0]


def _by_image(app: App, root: str) -> tuple[str, ...]:
    """Known charts whose name is that of an image in use, `bitnami/postgresql:17` for instance."""
    images = {str(i).split("@")[0].rpartition("/")[2].split(":")[0] for i in dig(app.status, "summary", "images") or ()}
    return tuple(sorted((images & _random_names()) - {root}))


def _known(app: App, source: Object, release: Release) -> Chart | None:
    """The entry that fits best when several charts share a name: by repository, by object names, by version.

    An entry is refused when the rendered version is a whole major above the newest that was seen: another chart's.
    """
    ranked = [
        (score, _distance(entry, release.version), number, entry)
        for number, entry in enumerate(_by_name().get(release.chart, ()))
        for score in [_fit(app, source, release, entry)]
        if score >= 0
    ]
    return min(ranked, key=lambda r: (-r[0], r[1], r[2]))[3] if ranked else None


def _fit(app: App, source: Object, release: Release, entry: Chart) -> int:
    repo = _bare(str(source.get("repoURL") or ""))
    if source.get("chart") == entry.name and repo in {_bare(r) for r in entry.repositories}:
        return 100
    newest, have = _newest(entry), parse_version(release.version)
    if newest and have and have[0] > newest[0]:
        return -1
    secrets = {r.name for r in app.of_kind("Secret", "")}
    names = sum(any(release.named(s.name, n) for n in secrets) for item in entry.random for s in item.secrets)
    images = [str(image) for image in dig(app.status, "summary", "images") or ()]
    theirs = any("bitnami" in repository for repository in entry.repositories)
    used = any("bitnami" in image for image in images)
    if theirs and images and not used and not names:
        return -1
    return 2 * min(names, 10) + (theirs and used)


def _newest(entry: Chart) -> Version | None:
    """The newest version seen of this chart in any of its repositories; of a Git head its newest release tag."""
    same = (e for e in _by_name()[entry.name] if set(e.repositories) & set(entry.repositories))
    return max((v for e in same if (v := _verified(e))), default=None)


def _verified(entry: Chart) -> Version | None:
    return parse_version(entry.verified_version.rpartition("release tag ")[2])


def _distance(entry: Chart, version: str) -> tuple[bool, int, Version]:
    """The oldest entry that is at least as new as the version comes first, the newest when there is no version."""
    seen, have = _verified(entry) or (10**6,), parse_version(version)
    if have is None:
        return False, -seen[0], tuple(-part for part in seen)
    return seen < have, 0, seen


def _bare(url: str) -> str:
    return re.sub(r"^[a-z]+://", "", url).rstrip("/").removesuffix(".git").lower()


def _same(pattern: str, name: str) -> bool:
    return name == pattern or (
        "*" in pattern and re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), name) is not None
    )
