#!/usr/bin/env python3
"""Hold what argolint knows of versions against the histories that tell it. Prints each row that they contradict; exit status 1 then.

usage: audit_facts.py --argocd GIT_DIR
       audit_facts.py --chart NAME GIT_DIR [PATH]

--argocd: every word of argolint/proof/argocd_features.yaml is looked for in the tag of each minor release (v2.10.0 and so on); the first
one that holds it must be the row's `since`. --chart: the values keys of the chart's pins (rules/shared) are looked for in values.yaml at
every commit that touches it below PATH; the chart version of the oldest commit that holds a key must not be older than what is recorded.
The directories are clones with their whole history (bare ones too); nothing of them runs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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
            t for t in tags if not git(directory, "grep", "-qF", "-e", row["word"], t, "--", row["where"]).returncode
        )
        first = next(holding, None)
        found = "no release" if first is None else first.removeprefix("v").removesuffix(".0")
        if found != row["since"]:
            yield f"{row['word']}: recorded since {row['since']}, found first in {found}"


def chart(name: str, directory: str, path: str) -> Iterator[str]:
    sys.path.insert(0, str(ROOT))
    from argolint_rules.shared.chart_catalogue import by_name

    keys = {
        (key, since)
        for entry in by_name().get(name, ())
        for item in entry.random
        for pin in item.pins
        for key, since in pin.since.items()
    }
    if not keys:
        raise SystemExit(f"chart {name}: no key with a version is recorded")
    oldest: dict[str, str] = {}
    for commit in git(directory, "log", "--format=%H", "--reverse", "--", f"{path}values.yaml").stdout.split():
        values, version = (
            _yaml(git(directory, "show", f"{commit}:{path}{file}").stdout) for file in ("values.yaml", "Chart.yaml")
        )
        for key, _ in keys:
            if key not in oldest and _holds(values, key.split(".")):
                oldest[key] = str(version.get("version", "?"))
    for key, since in sorted(keys):
        if key not in oldest:
            yield f"{name} {key}: recorded since {since}, in no values.yaml of the history (a template may read it all the same)"
        elif _number(oldest[key]) != _number(since):
            yield f"{name} {key}: recorded since {since}, found first in {oldest[key]}"


def _yaml(text: str) -> dict[str, object]:
    try:
        found = yaml.safe_load(text)
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
    parser.add_argument("--chart", nargs="+", metavar="WORD")
    given = parser.parse_args()
    found = [*(features(given.argocd) if given.argocd else ())]
    if given.chart:
        name, directory, *path = given.chart
        found += chart(name, directory, f"{path[0].strip('/')}/" if path else "")
    print("\n".join(found) or "nothing contradicts the record")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
