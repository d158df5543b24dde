#!/usr/bin/env python3
"""Compare argolint's facts on versions with the histories of the projects. Prints each contradicted row; the exit status is then 1.

usage: audit_facts.py --argocd GIT_DIR
       audit_facts.py --external-secrets GIT_DIR
       audit_facts.py --chart NAME GIT_DIR [PATH]

--argocd: every word of argolint/proof/argocd_features.yaml is searched in the tag of each minor release (v2.10.0 and so on); the first one with
it must be the row's `since`. --external-secrets: the CRDs of every release show the served kinds, the fields of stores and ExternalSecrets, and
the defaults; operator_versions.yaml, store_fields.yaml, api_defaults.yaml and the versions of version_bugs.yaml (rules/secrets) must agree.
--chart: the values keys of the chart's pins (rules/shared) are searched in values.yaml at every commit that changes it below PATH; the chart
version of the oldest commit with a key must not be older than the recorded one. The directories are clones with their whole history (bare ones
too); none of their files is run.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
MINOR = re.compile(r"v(\d+)\.(\d+)\.0")


def git(directory: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", directory, *words], capture_output=True, text=True, check=False)


def features(directory: str) -> Iterator[str]:
    tags = [tag for tag in git(directory, "tag").stdout.split() if MINOR.fullmatch(tag)]
    tags.sort(key=lambda tag: tuple(map(int, MINOR.fullmatch(tag).groups())))
    if not tags:
        raise SystemExit(f"{directory}: no tags such as v2.10.0; is it a clone of argo-cd with its tags?")
    for row in yaml.safe_load((ROOT / "argolint/proof/argocd_features.yaml").read_text())["features"]:
        holding = (
            t
            for t in tags
            if not git(directory, "grep", "-qF", "-e", row.get("sought", row["word"]), t, "--", row["where"]).returncode
        )
        first = next(holding, None)
        found = "no release" if first is None else first.removeprefix("v").removesuffix(".0")
        if found != row["since"]:
            yield f"{row['word']}: recorded since {row['since']}, found first in {found}"


@dataclass(frozen=True)
class Crds:
    """The content of one release's CRDs: kinds by group/version/Kind, paths of fields by kind, defaults by the parent property."""

    served: frozenset[str]
    fields: dict[str, dict[str, object]]
    defaults: frozenset[tuple[str, str, str]]


def external_secrets(directory: str) -> Iterator[str]:
    releases = dict(_releases(directory))
    known = {name: yaml.safe_load((ROOT / name).read_text()) for name in _FILES}
    rows = known["argolint/relations/operator_versions.yaml"]
    for row in rows["served"]:
        held = [tag for tag, crds in releases.items() if row["kind"] in crds.served]
        yield from _range(f"served {row['kind']}", row, held, releases, "until")
    for row in rows["fields"]:
        what = f"field {row['path']}" + (f" with default {row['default']}" if "default" in row else "")
        held = [
            tag
            for tag, crds in releases.items()
            if (found := crds.fields.get("ExternalSecret", {})).get(row["path"], _ABSENT)
            == row.get("default", found.get(row["path"], None))
        ]
        yield from _range(what, row, held, releases, "until")
    for path, row in known["rules/secrets/store_fields.yaml"]["fields"].items():
        held = [tag for tag, crds in releases.items() if f"provider.{path}" in crds.fields.get("SecretStore", {})]
        yield from _range(f"store field {path}", row, held, releases, "until")
        frozen = f"provider.{path}" in releases["v0.16.2"].fields.get("SecretStore v1alpha1", {})
        frozen |= f"provider.{path}" in releases["v0.15.1"].fields.get("SecretStore v1alpha1", {})
        if frozen != bool(row.get("v1alpha1")):
            yield f"store field {path}: recorded {'as' if row.get('v1alpha1') else 'not as'} a field of v1alpha1"
    for row in known["rules/secrets/api_defaults.yaml"]:
        held = [
            tag
            for tag, crds in releases.items()
            if any((around, row["field"], str(row["value"])) in crds.defaults for around in row["in"])
        ]
        yield from _range(f"default {row['field']} = {row['value']!r} in {row['in']}", row, held, releases, "gone")
    for row in known["rules/secrets/version_bugs.yaml"]:
        for key in ("from", "until", "fix"):
            if row.get(key) and row[key] not in releases:
                yield f"bug {row['id']}: {key} {row[key]} is no release"
    for row in chain.from_iterable(known["rules/secrets/advice.yaml"].values()):
        if (needed := (row.get("needs") or {}).get("external-secrets")) and needed not in releases:
            yield f"advice {row['title']}: it needs {needed}, which is no release"
    for name in ("rules/secrets/provider_advice.yaml", "rules/secrets/template_functions.yaml"):
        for since in set(re.findall(r"\[(v[\d.]+)\+: |: (v[\d.]+)$", (ROOT / name).read_text(), re.M)):
            if "".join(since) not in releases:
                yield f"{name}: {''.join(since)} is no release"


_FILES = (
    "argolint/relations/operator_versions.yaml",
    *(f"rules/secrets/{name}.yaml" for name in ("store_fields", "api_defaults", "version_bugs", "advice")),
)
_ABSENT = object()


def _range(what: str, row: dict[str, str], held: list[str], releases: dict[str, Crds], end: str) -> Iterator[str]:
    """Faults of a row's first release and, if it has one, of the first release without it."""
    if not held:
        yield f"{what}: in no release"
        return
    if row.get("since") and row["since"] != held[0]:
        yield f"{what}: recorded since {row['since']}, found first in {held[0]}"
    after = [tag for tag in releases if _number(tag) > _number(held[-1])]
    gone = after[0] if after else None
    if row.get(end, gone) != gone and not (end == "until" and row.get(end) is None):
        yield f"{what}: recorded until {row.get(end)}, gone in {gone or 'no release'}"


def _releases(directory: str) -> Iterator[tuple[str, Crds]]:
    tags = [tag for tag in git(directory, "tag").stdout.split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    if not tags:
        raise SystemExit(f"{directory}: no tags such as v0.9.0; is it a clone of external-secrets with its tags?")
    read: dict[str, list[Any]] = {}
    for tag in sorted(tags, key=_number):
        listed = [
            line.split(maxsplit=3)
            for line in git(directory, "ls-tree", "-r", tag, "config/crds/bases", "deploy/crds").stdout.splitlines()
        ]
        bases = [(blob, path) for _, _, blob, path in listed if path.startswith("config/")] or [
            (blob, path) for _, _, blob, path in listed
        ]
        served: set[str] = set()
        fields: dict[str, dict[str, object]] = {}
        defaults: set[tuple[str, str, str]] = set()
        for blob, path in bases:
            if path.endswith(".yaml") and "bundle" not in path and "kustomization" not in path:
                if blob not in read:
                    read[blob] = list(
                        _versions(yaml.load(git(directory, "cat-file", "blob", blob).stdout, yaml.CSafeLoader))
                    )
                for served_as, name, stored, known, written in read[blob]:
                    served |= {served_as} if served_as else set()
                    if stored or name.endswith("v1alpha1"):
                        fields[name.split(" ")[0] if stored else name] = known
                        defaults |= written if stored else set()
        yield tag, Crds(frozenset(served), fields, frozenset(defaults))


def _versions(crd: Any) -> Iterator[tuple[str, str, bool, dict[str, object], set[tuple[str, str, str]]]]:
    kind, group = crd["spec"]["names"]["kind"], crd["spec"]["group"]
    for version in crd["spec"]["versions"]:
        spec = version.get("schema", {}).get("openAPIV3Schema", {}).get("properties", {}).get("spec", {})
        known: dict[str, object] = {}
        written: set[tuple[str, str, str]] = set()
        _walk(spec, "", "spec", known, written)
        served = f"{group}/{version['name']}/{kind}" if version.get("served") else ""
        yield served, f"{kind} {version['name']}", bool(version.get("storage")), known, written


def _walk(schema: Any, path: str, around: str, known: dict[str, object], written: set[tuple[str, str, str]]) -> None:
    for name, inner in (schema.get("properties") or {}).items():
        place = f"{path}.{name}".lstrip(".")
        known[place] = inner.get("default")
        if "default" in inner:
            written.add((around, name, str(inner["default"])))
        _walk(inner, place, name, known, written)
        if isinstance(inner.get("items"), dict):
            _walk(inner["items"], f"{place}.[]", name, known, written)
        if isinstance(inner.get("additionalProperties"), dict):
            _walk(inner["additionalProperties"], f"{place}.*", name, known, written)


def chart(name: str, directory: str, path: str) -> Iterator[str]:
    sys.path.insert(0, str(ROOT))
    from argolint_rules.shared.chart_catalogue import charts_named

    keys = {
        (key, since)
        for entry in _of_source(charts_named(name), path)
        for item in entry.random
        for pin in item.pins
        for key, since in pin.since.items()
    }
    if not keys:
        raise SystemExit(f"chart {name}: no key with a version is recorded")
    oldest: dict[str, str] = {}
    for commit in git(directory, "log", "--format=%H", "--reverse", "--", f"{path}values.yaml").stdout.split():
        if len(oldest) == len({key for key, _ in keys}):
            break
        values, version = (
            _yaml(git(directory, "show", f"{commit}:{path}{file}").stdout) for file in ("values.yaml", "Chart.yaml")
        )
        for key, _ in keys:
            if key not in oldest and _holds(values, key.split(".")):
                oldest[key] = str(version.get("version", "?"))
    for key, since in sorted(keys):
        if key not in oldest:
            yield f"{name} {key}: recorded since {since}, in no values.yaml of the history (a template may read it all the same)"
        elif not re.fullmatch(r"v?\d+\.\d+\.\d+", oldest[key]):
            yield f"{name} {key}: recorded since {since}, found first in {oldest[key]}, which is no release"
        elif _number(oldest[key]) > _number(since):
            yield f"{name} {key}: CONTRADICTED: recorded since {since}, found first in {oldest[key]}"
        elif _number(oldest[key]) < _number(since):
            yield f"{name} {key}: recorded since {since}, known from {oldest[key]} on"


def _of_source(entries: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    """Of several charts with one name, the one whose source ends with this folder."""
    return tuple(entry for entry in entries if path and entry.source.endswith(path.rstrip("/"))) or entries


def _yaml(text: str) -> dict[str, object]:
    try:
        found = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def _holds(node: object, path: list[str]) -> bool:
    for token in path:
        if not isinstance(node, dict) or token not in node:
            return False
        node = node[token]
    return True


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--argocd", metavar="GIT_DIR")
    parser.add_argument("--external-secrets", metavar="GIT_DIR")
    parser.add_argument("--chart", nargs="+", metavar="WORD")
    given = parser.parse_args()
    found = [*(features(given.argocd) if given.argocd else ())]
    found += external_secrets(given.external_secrets) if given.external_secrets else ()
    if given.chart:
        name, directory, *path = given.chart
        found += chart(name, directory, f"{path[0].strip('/')}/" if path else "")
    print("\n".join(found) or "nothing contradicts the record")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
