"""Finds the charts that an application renders, by labels, sources and images.

`releases(app)` reads the label `helm.sh/chart` or `chart` of the objects, the sources (repository, chart, path, values) and the images in use,
and joins each chart with its record in chart_catalogue.py::

    for release in releases(app):
        for item in release.random():      # valid at this chart version
            for secret in item.secrets: release.fill(secret.name); pins(item, release)
        for group in release.shared(): ...
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from argolint import App, Object, Resource
from argolint.values import dig, items, labels_of, leaves, mapping, maps, parse_version, split_pointer, text_at, texts
from argolint.values.knowledge import dump
from argolint.values.kubernetes import images
from argolint.values.manifests import ManifestError, mapping_of
from argolint.values.patterns import regex

from .chart_catalogue import (
    Chart,
    Item,
    Pin,
    SharedGroup,
    Version,
    bundle_prefixes,
    charts_named,
    in_range,
    is_measured_random,
    is_random_chart,
    newest_version,
    verified_version,
)

__all__ = [
    "Chart",
    "Item",
    "Pin",
    "Release",
    "SharedGroup",
    "chart_label",
    "is_pinned",
    "nested_block",
    "pins",
    "release_of",
    "releases",
    "source_type",
    "split_chart",
]


@dataclass(frozen=True)
class Release:
    """A chart as one application renders it.

    chart      its rendered name, which is the alias if the umbrella sets one
    version    empty if no label and no source shows it
    name       Helm release name;   namespace   the destination's
    prefix     prefix of each values key: empty for the chart of the source itself, else `airflow.`
    assumed    True if the prefix is deduced from names and the source may also be the chart itself
    values_at  the file, or the field of the Application, for values
    inline     values that the Application itself sets, nested; `complete`: there are no other values
    known      the entry of charts.yaml, or None
    stem       the common beginning of its workloads' names
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
        """The possible values of `{fullname}`: the override, else the chart's helper; then the beginning of its workloads' names."""
        override = dig(self.inline, *self._path("fullnameOverride"))
        if isinstance(override, str) and override:
            return (override,)
        base = dig(self.inline, *self._path("nameOverride")) or self.chart
        default = self.name if base in self.name else f"{self.name}-{base}"
        if self.known and self.known.fullname:
            default = self.known.fullname.replace("{release}", self.name)
        return tuple(dict.fromkeys(filter(None, (default[:63].rstrip("-"), self.stem))))

    def fill(self, template: str) -> str:
        """A name or text of the record with this release's names."""
        return self._fill(template, self.fullnames[0])

    def makes_name(self, template: str, name: str) -> bool:
        """Whether `name` is the chart's result for `template`; `*` is a random part."""
        return any(_is_name_match(self._fill(template, full), name) for full in self.fullnames)

    def values_key(self, key: str) -> str:
        """A key of the chart as a key of the application's values."""
        return key if key.startswith("global.") else self.prefix + key

    def values_block(self, values: Mapping[str, Any]) -> str:
        """YAML to paste: the dotted keys, prefixed and nested."""
        return nested_block({self.values_key(key): value for key, value in values.items()})

    def sets_key(self, key: str, wished: Any = None) -> bool:
        """Whether the Application itself sets this key of the chart; for a switch or mode, whether it has the wished value."""
        value = dig(self.inline, *self._path(key))
        if isinstance(wished, bool) or (isinstance(wished, str) and _MODE.fullmatch(wished)):
            return str(value).lower() == str(wished).lower()
        return value not in (None, "", [], {})

    def random(self) -> Iterator[Item]:
        """The values that this chart generates at random, in this version."""
        for item in self.known.random if self.known else ():
            have = parse_version(self.version)
            first, end = parse_version(item.since), parse_version(item.until)
            if have is None or ((first is None or have >= first) and (end is None or have < end)):
                yield item

    def shared(self) -> Iterator[SharedGroup]:
        """Objects of this chart that may collide with another release's, in this version."""
        return (g for g in (self.known.shared if self.known else ()) if in_range(self.version, g.versions))

    def _fill(self, template: str, fullname: str) -> str:
        return (
            template.replace("{fullname}", fullname)
            .replace("{release}", self.name)
            .replace("{namespace}", self.namespace)
        )

    def _path(self, key: str) -> tuple[str, ...]:
        return tuple(self.values_key(key).split("."))


def nested_block(values: Mapping[str, Any]) -> str:
    """YAML to paste, of dotted keys: `a.b` is b within a."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *parents, last = key.split(".")
        node = nested
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    return dump([nested])


_MODE = regex(r"(?!my-)[A-Za-z][A-Za-z-]{3,}")
"""A literal value of a pin, `cert-manager` or `none`: neither an example nor the name of a Secret."""


def pins(item: Item, release: Release) -> tuple[Pin, ...]:
    """The pins for this chart version, in the order of charts.yaml, without those that are only a remark."""
    return tuple(found for p in item.pins if p.values and (found := p.for_version(release.version)) is not None)


def is_pinned(item: Item, release: Release) -> bool:
    """Whether the Application itself already sets every key of one of the pins, or a global value with such a name."""
    if any(
        p.values and all(release.sets_key(k, None if v in p.keys else v) for k, v in p.values.items())
        for p in item.pins
    ):
        return True
    last = {key.rpartition(".")[2] for p in item.pins for key in p.values}
    shared = {
        split_pointer(pointer)[-1] for pointer, value in leaves(release.inline.get("global") or {}) if pointer and value
    }
    return bool(last & shared)


def releases(app: App) -> tuple[Release, ...]:
    """Every chart that the application renders, by labels, sources and images; the root chart first.

    Without states (an application that was not read) only sources and images count.
    """
    return app.derive(_releases)


def _releases(app: App) -> tuple[Release, ...]:
    labels = _chart_labels(app)
    found: dict[tuple[str, str], Release] = {}
    rendered = [(i, s, root) for i, s in enumerate(app.sources) if (root := _root_chart(s)) and _is_helm(app, i, s)]
    roots = {root for *_, root in rendered}
    for index, source, root in rendered:
        names = list(labels) or ([] if _is_kustomize(app, index) else [root, *_charts_by_image(app, root)])
        if root not in names and source.get("chart"):
            names.insert(0, root)
        for name in sorted(names, key=lambda n: (n != root, n)):
            if name != root and (name in roots or any(name == chart for chart, _ in found)):
                continue  # a source of its own is better evidence than a bundle; two sources may be two releases of one chart
            made = _release(app, index, name, labels)
            found[name, made.name] = made
    return tuple(found.values())


def release_of(resource: Resource, among: Sequence[Release]) -> Release | None:
    """The release whose chart rendered this object, by its label and then its name; the only one if there is no other."""
    label = chart_label(resource.any)
    if label:
        of_chart = [r for r in among if r.chart == label[0]]
        named = (r for r in of_chart if any(resource.name.startswith(full) for full in r.fullnames))
        return next(named, of_chart[0] if of_chart else None)
    return among[0] if len(among) == 1 else None


def chart_label(obj: Object) -> tuple[str, str] | None:
    """(chart, version) of the label `helm.sh/chart` or `chart`; the version may be empty."""
    labels = labels_of(obj)
    text = labels.get("helm.sh/chart") or labels.get("chart")
    return split_chart(str(text)) if text else None


def split_chart(text: str) -> tuple[str, str]:
    """`cert-manager-v1.2.3` as (`cert-manager`, `v1.2.3`); Helm writes `_` for `+` in labels."""
    match = re.fullmatch(r"(.+?)-(v?\d+\.\d+.*)", text, re.DOTALL)
    return (match[1], match[2].replace("_", "+")) if match else (text, "")


_LABELLED = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Secret", "Service", "ServiceAccount")


def _chart_labels(app: App) -> Mapping[str, str]:
    """chart -> the version of most of its objects. Kinds with small objects are enough."""
    counts: dict[str, Counter[str]] = {}
    for resource in (r for kind in _LABELLED for r in app.of_kind(kind)):
        label = chart_label(resource.any)
        if label:
            counts.setdefault(label[0], Counter())[label[1]] += 1
    return {name: max(versions, key=lambda v: (v != "", versions[v], v)) for name, versions in sorted(counts.items())}


def source_type(app: App, index: int = 0) -> str:
    """Helm, Kustomize, Directory or Plugin, as Argo CD found it; empty for a source that it never rendered."""
    types = texts(app.status, "sourceTypes") or (text_at(app.status, "sourceType"),)
    return types[index] if index < len(types) else ""


def uses(app: App, tool: str) -> bool:
    """Whether a source of the application is rendered by this tool (see `source_type`)."""
    return any(source_type(app, index) == tool for index in range(len(app.sources)))


def _is_kustomize(app: App, index: int) -> bool:
    return source_type(app, index) == "Kustomize"


def _is_helm(app: App, index: int, source: Object) -> bool:
    """Whether it is Helm, by Argo CD's type of this source, else by the source's own fields. Kustomize may inflate charts."""
    found = source_type(app, index)
    return found in ("Helm", "Kustomize") if found else bool(source.get("chart") or source.get("helm"))


def _root_chart(source: Object) -> str:
    """The chart name of a source: exact for a chart repository, the directory's name in Git."""
    text = source.get("chart") or source.get("path") or ""
    return str(text).rstrip("/").rpartition("/")[2]


def _release(app: App, index: int, name: str, labels: Mapping[str, str]) -> Release:
    source = app.sources[index]
    root = _root_chart(source)
    version = labels.get(name, "")
    if not version and source.get("chart") and name == root:
        version = _resolved_version(app, index)
    helm = mapping(source, "helm")
    kustomize = _is_kustomize(app, index)
    prefix, assumed = ("", False) if kustomize else _values_prefix(root, name, labels, exact=bool(source.get("chart")))
    made = Release(
        name,
        version,
        str(helm.get("releaseName") or app.name),
        app.destination_namespace,
        prefix,
        assumed,
        _values_at(app, index, source, kustomize),
        inline_values(helm),
        bool(source.get("chart"))
        and not helm.get("valueFiles")
        and not helm.get("fileParameters")
        and (name == root or is_measured_random(root, name, _resolved_version(app, index))),
        stem=_name_stem(app, name),
    )
    known = _known_chart(app, source, made)
    return replace(made, known=known if known or name == root else _chart_behind_alias(app, made))


def _resolved_version(app: App, index: int) -> str:
    """The chart's version that Argo CD deploys from this source; empty for another source."""
    revision = str(app.sources[index].get("targetRevision") or "")
    resolved = app.revisions[index] if index < len(app.revisions) else revision
    return next((v for v in (resolved, revision) if parse_version(v)), "")


def _values_prefix(root: str, name: str, labels: Mapping[str, str], *, exact: bool) -> tuple[str, bool]:
    """The values prefix of a chart below `root`, and whether it is only deduced."""
    if name == root:
        return "", False
    if (root, name) in bundle_prefixes():
        return bundle_prefixes()[root, name], False
    parent = next((p for p in labels if p not in (name, root) and (p, name) in bundle_prefixes()), None)
    if parent is not None:
        above, assumed = _values_prefix(root, parent, {}, exact=exact)
        return above + bundle_prefixes()[parent, name], assumed
    return f"{name}.", not exact and root not in labels


def _values_at(app: App, index: int, source: Object, kustomize: bool) -> str:
    """The last value file, which takes precedence; a `$ref/` one with the repository of that ref's source.

    An Application with `values` has its values there: a valuesObject next to them would replace them all (ValuesYAML of its source).
    """
    if kustomize:
        return f"helmCharts[].valuesInline in {source.get('path')}/kustomization.yaml"
    files = items(source, "helm", "valueFiles")
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
    helm = mapping(source, "helm")
    text = isinstance(helm.get("values"), str) and helm["values"].strip() and not helm.get("valuesObject")
    return f"the Application's spec.{place}.helm.{'values' if text else 'valuesObject'}"


def inline_values(helm: Mapping[str, Any]) -> dict[str, Any]:
    """valuesObject, else values, overridden by parameters: the Application's own values."""
    values = helm.get("valuesObject")
    if not values and isinstance(helm.get("values"), str):
        try:
            values = mapping_of(helm["values"])
        except ManifestError:
            values = None
    merged: dict[str, Any] = dict(values) if isinstance(values, dict) else {}
    for parameter in maps(helm, "parameters"):
        *parents, last = re.split(r"(?<!\\)\.", str(parameter.get("name", "")))
        node = merged
        for parent in parents:
            below = node.get(parent)
            node[parent] = node = dict(below) if isinstance(below, dict) else {}
        node[last] = parameter.get("value")
    return merged


_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Service")


def _name_stem(app: App, chart: str) -> str:
    """The common beginning of the names of the chart's workloads and services: it shows {fullname} even with fullnameOverride."""
    names = {
        r.name
        for kind in _WORKLOADS
        for r in app.of_kind(kind)
        if (label := chart_label(r.any)) is not None and label[0] == chart
    }
    return posixpath.commonprefix([f"{name}-" for name in sorted(names)]).rpartition("-")[0]


def _charts_by_image(app: App, root: str) -> tuple[str, ...]:
    """Known charts with the name of an image in use, such as `bitnami/postgresql:17`."""
    images = {str(i).split("@")[0].rpartition("/")[2].split(":")[0] for i in items(app.status, "summary", "images")}
    return tuple(sorted(name for name in images - {root} if is_random_chart(name)))


def _known_chart(app: App, source: Object, release: Release) -> Chart | None:
    """The best matching record if several charts share a name: by repository, by object names, by version.

    A record does not match a rendered version a whole major above its newest one: that is another chart.
    """
    ranked = [
        (score, _version_distance(entry, release.version), number, entry)
        for number, entry in enumerate(charts_named(release.chart))
        for score in [_fit_score(app, source, release, entry)]
        if score >= 0
    ]
    return min(ranked, key=lambda r: (-r[0], r[1], r[2]))[3] if ranked else None


_MAJORS = 5
"""Most major versions between an alias and the newest known version: a chart with exactly that name may be older."""


def _chart_behind_alias(app: App, release: Release) -> Chart | None:
    """The known chart behind a dependency's alias, with which Helm replaces the chart's name in labels and names.

    Evidence: an image of that name runs in the alias's workloads, and the alias's Secrets have the chart's random names and keys.
    """
    have = parse_version(release.version)
    if have is None:
        return None
    candidates = [
        r
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "Secret")
        for r in app.of_kind(kind)
        if (label := chart_label(r.any)) is not None and label[0] == release.chart
    ]
    programs = {image.split("@")[0].rpartition("/")[2].split(":")[0] for r in candidates for image in images(r.any)}
    for name in sorted(filter(is_random_chart, programs)):
        for entry in charts_named(name):
            last = newest_version(entry)
            if last is None or not last[0] - _MAJORS <= have[0] <= last[0]:
                continue
            for secret in (s for item in entry.random for s in item.secrets):
                if any(
                    r.kind == "Secret"
                    and release.makes_name(secret.name, r.name)
                    and set(secret.keys) <= set(mapping(r.any, "data"))
                    for r in candidates
                ):
                    return entry
    return None


def _fit_score(app: App, source: Object, release: Release, entry: Chart) -> int:
    repo = _bare_url(str(source.get("repoURL") or ""))
    if source.get("chart") == entry.name and repo in {_bare_url(r) for r in entry.repositories}:
        return 100
    last, have = newest_version(entry), parse_version(release.version)
    if last and have and have[0] > last[0]:
        return -1
    secrets = {r.name: mapping(r.any, "data").keys() for r in app.of_kind("Secret", "")}
    generated = [
        (s, name) for item in entry.random for s in item.secrets for name in secrets if release.makes_name(s.name, name)
    ]
    names = len(generated)
    keys = sum(set(secret.keys) <= secrets[name] for secret, name in generated)
    images = _images(app)
    is_bitnami = any("bitnami" in repository for repository in entry.repositories)
    used = any("bitnami" in image for image in images)
    if is_bitnami and images and not used and not names:
        return -1
    return 4 * min(names, 10) + 2 * min(keys, 10) + (is_bitnami == used if images else 0)


def _images(app: App) -> list[str]:
    """The images in use, from Argo CD's summary; else from the workloads' manifests."""
    found = [str(image) for image in items(app.status, "summary", "images")]
    workloads = (r for kind in _LABELLED for r in app.of_kind(kind))
    return found or [image for r in workloads for image in images(r.any)]


def _version_distance(entry: Chart, version: str) -> tuple[bool, int, Version]:
    """Sort key: the oldest record at least as new as the version first; the newest without a version."""
    recorded, have = verified_version(entry) or (10**6,), parse_version(version)
    if have is None:
        return False, -recorded[0], tuple(-part for part in recorded)
    return recorded < have, 0, recorded


def _bare_url(url: str) -> str:
    return re.sub(r"^[a-z]+://", "", url).rstrip("/").removesuffix(".git").lower()


def _is_name_match(pattern: str, name: str) -> bool:
    return name == pattern or (
        "*" in pattern and re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), name) is not None
    )
