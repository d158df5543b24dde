"""Measures how many messages of the programs around Argo CD are known: `scripts/census.py [FOLDER] [--every N] [--write]`.

FOLDER has the census (`make_cases.py` and `templates.yaml`; ../shared/census). Each message that wraps no other is put into a small fixture,
which all rules check. Prints a line for each group of programs; `--write` stores it as tests/census.yaml, the least values that a test accepts.

named    a rule of its own explains it, or `unhealthy` with the cause of its entry
sorted   `unhealthy` with the kind of fault, by words that many programs share (`knows: sort`)
stage    only its stage (`knows: stage`), and its text
unknown  a rule with only its text
silent   no finding
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from argolint_rules.shared.messages import catalogue

from argolint import testing
from argolint.plugins import load_rules

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests" / "census.yaml"
LEVELS = ("named", "sorted", "stage", "unknown", "silent")
_APPLICATIONS = 40
"""Most messages of one fixture."""
_EVERY = 20
_OTHERS = frozenset(
    {
        *(
            "floating-revision",
            "orphaned-resources",
            "ambiguous-short-name",
            "not-synced",
            "suppression-unused",
            "eso-default",
        ),
        *(
            "external-secret-hot-interval",
            "external-secret-deletion-risk",
            "external-secret-prune-risk",
            "retry-exhausted",
        ),
        *("external-secret-wave-order", "external-secret-stale", "skip-reconcile", "unexplained-drift", "removed-api"),
        *("crd-default", "server-field-in-git"),
    }
)
"""Rules whose findings are about the fixture, not the message."""
_STAGE = {"cause": "named", "sort": "sorted", "stage": "stage"}
_GROUPS = {
    "argo-cd": "Argo CD",
    "gitops-engine": "Argo CD",
    "argo-cd-health": "health checks",
    **dict.fromkeys(
        ("helm", "sprig", "semver", "go-template", "jsonschema", "kustomize", "yaml", "gojq", "oras"), "rendering"
    ),
    **dict.fromkeys(("go-git", "x-crypto-ssh", "go-net", "go-std", "grpc", "git-host", "helm-repo-host"), "network"),
}


def group_of(source: str) -> str:
    """The group of programs of a source in the census."""
    if source in _GROUPS:
        return _GROUPS[source]
    return (
        "Kubernetes"
        if source.startswith("k8s")
        else "External Secrets"
        if source.startswith(("eso", "kes"))
        else "operators"
    )


def cases(folder: Path, every: int) -> Iterator[Mapping[str, Any]]:
    """Every Nth message of the census that wraps no other."""
    spec = importlib.util.spec_from_file_location("make_cases", folder / "make_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    alone = (c for c in module.cases(str(folder / "templates.yaml"), "") if not c["x"])
    return islice(alone, 0, None, every)


def coverage(found: Iterator[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """By group of programs: the number of messages for each level of knowledge."""
    rules = list(load_rules().values())
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    while batch := list(islice(found, _APPLICATIONS)):
        sets = [one for case in batch for one in case["sets"]]
        server = {"version": "v3.5.1", "applicationsets": sets}
        fixture = {"about": "census", "server": server, "apps": [case["app"] for case in batch]}
        report = testing.check(testing.Fixture(Path("census.yaml"), fixture), rules)
        said: dict[str, list[Any]] = defaultdict(list)
        for finding in report.findings:
            if finding.rule not in _OTHERS:
                of_set = finding.rule == "applicationset-error" and finding.resource
                said[finding.resource.name if of_set else finding.app.name].append(finding)
        for case in batch:
            levels = [_level(finding, str(case["said"])) for finding in said[case["app"]["name"]]]
            counted[group_of(case["src"])][min(levels, key=LEVELS.index, default="silent")] += 1
    return counted


def _level(finding: Any, said: str) -> str:
    """The level of knowledge on the message in the finding."""
    known = None
    if finding.rule == "unhealthy":
        known = catalogue().match(said, "health", kind=finding.resource.kind if finding.resource else "")
    elif finding.rule == "comparison-error":
        known = catalogue().match(said)
    elif finding.rule == "applicationset-error":
        return "named" if catalogue().match(said, "generate") else "unknown"
    elif finding.rule == "sync-failed":
        known = catalogue().match(said, "sync")
    else:
        return "unknown" if finding.cause == "unknown" else "named"
    if finding.cause in ("unknown", None):
        return "unknown"
    return _STAGE[known.entry.knows] if known else "named"


def main(arguments: Sequence[str]) -> int:
    """Print the coverage; store it if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT.parent / "shared" / "census")
    parser.add_argument("--every", type=int, default=_EVERY)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    counted = coverage(cases(given.folder, given.every))
    print(f"{'':20}" + "".join(f"{level:>9}" for level in LEVELS))
    for group, counts in sorted(counted.items()):
        print(f"{group:20}" + "".join(f"{counts[level]:>9}" for level in LEVELS))
    if given.write:
        head = f"# Of every {given.every}th message of the census, how many are known how well: `scripts/census.py --write`.\n"
        kept = {group: {level: counts[level] for level in LEVELS} for group, counts in sorted(counted.items())}
        KEPT.write_text(
            head + yaml.safe_dump({"every": given.every, "groups": kept}, sort_keys=False), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
