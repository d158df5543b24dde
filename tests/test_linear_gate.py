"""What a change writes is read in a time that grows with its length: counted in calls, with n, 2n and 4n of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from argolint.application.application_sets import Controller
from argolint.application.fleet import Fleet
from argolint.gate.candidates import Candidate, candidate_files
from argolint.gate.declared import declared
from argolint.gate.generated import Tree, Trees, generated_change
from argolint.gate.projects import _unjudged_fields
from argolint.model import Object
from argolint.relations.names import mentions
from argolint.sources.git import Entry, Git

from .gitops import REPO, git
from .test_gate_reads import KUSTOMIZE, app, holds
from .test_linear import MOST_GROWTH, _growth

APPLICATION = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n"
YAML: dict[str, Callable[[int], str]] = {
    "merges": lambda n: "".join(f"  <<: {{k{i}: 1}}\n" for i in range(n)),
    "maps of one merge": lambda n: "  <<: [" + ", ".join(f"{{k{i}: 1}}" for i in range(n)) + "]\n",
    "merges behind keys": lambda n: "".join(f"  a{i}: 1\n  <<: {{k{i}: 1}}\n" for i in range(n)),
    "keys that are no text": lambda n: "".join(f"  {i}: 1\n" for i in range(n)),
    "keys alike": lambda n: "  a: 1\n" * n,
    "tags": lambda n: "".join(f"  a{i}: !x{i} b\n" for i in range(n)),
    "exclamation marks": lambda n: f"  a: {'{!' * n}\n",
    "marks of an order": lambda n: "  a: b\n" + "# \ufeff\n" * n,
    "aliases": lambda n: "  a: &a {b: 1}\n" + "".join(f"  k{i}: *a\n" for i in range(n)),
    "separators": lambda n: "  a: 1\n" + "---\na: 1\n" * n,
    "JSON, one after the other": lambda n: "  a: 1\n---\n" + '{"a": 1}\n' * n,
    "turns from JSON to YAML": lambda n: "  a: 1\n---\n" + '{"a": 1}\nb: 1\n---\n' * n,
    "templates": lambda n: "  a: {{ x }}\n" * n,
    "escapes": lambda n: '  a: "' + "\\x41" * n + '"\n',
}


@pytest.mark.parametrize("what", YAML)
def test_a_manifest_is_read_in_a_time_that_grows_with_it(what: str) -> None:
    assert _growth(lambda n: declared(APPLICATION + YAML[what](n)), 200) < MOST_GROWTH


MENTIONED: dict[str, Callable[[int], str]] = {
    "names": lambda n: " ".join(f'secret "name-{i}"' for i in range(n)),
    "words": lambda n: "a " * n,
    "hosts": lambda n: " ".join(f"a{i}.b.svc" for i in range(n)),
    "slashes": lambda n: "a/" * n,
    "one word": lambda n: "a" * n * 20,
    "dashes": lambda n: "a-" * n * 10,
    "quotes": lambda n: "\"'`" * n,
}


@pytest.mark.parametrize("what", MENTIONED)
def test_names_are_found_in_a_time_that_grows_with_the_text(what: str) -> None:
    assert _growth(lambda n: mentions.__wrapped__(MENTIONED[what](n)), 200) < MOST_GROWTH


NAMING: dict[str, Callable[[int], str]] = {
    "resources": lambda n: "resources: [" + ", ".join(f"../x{i}" for i in range(n)) + "]\n",
    "addresses": lambda n: "resources: [" + ", ".join(f"'{REPO}//x{i}?ref=main'" for i in range(n)) + "]\n",
    "other addresses": lambda n: "resources: [" + ", ".join(f"'https://git.example.com/a/b{i}?ref=main'" for i in range(n)) + "]\n",
    "charts that climb": lambda n: "helmCharts: [" + ", ".join(f"{{name: ../c{i}}}" for i in range(n)) + "]\n",
    "keys of files": lambda n: "a: [" + ", ".join(f"k{i}=../x{i}" for i in range(n)) + "]\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linear")
    git(folder, "init", "--quiet")
    return folder


@pytest.mark.parametrize("what", NAMING)
def test_a_kustomization_is_followed_in_a_time_that_grows_with_it(top: Path, what: str) -> None:
    sizes = (200, 400, 800)
    holds(top, {f"w{n}/kustomization.yaml": NAMING[what](n) for n in sizes})
    clone = Git(top)
    clone.derived(
        "warm",
        ("HEAD",),
        lambda: candidate_files(Candidate(app(KUSTOMIZE, "w200")(""), (1,)), ["a"], clone, ("HEAD",), REPO, "main"),
    )

    def read(n: int) -> None:
        one = app(KUSTOMIZE, f"w{n}")("")
        candidate_files(Candidate(one, (1,)), ["docs/a"], clone, ("HEAD",), REPO, "main")

    assert _growth(read, sizes[0]) < MOST_GROWTH


def test_values_files_and_changed_files_cost_what_they_are_many(top: Path) -> None:
    holds(top, {"web/Chart.yaml": "name: a\n"})
    clone = Git(top)

    def values(n: int) -> None:
        one = app({}, helm={"valueFiles": [f"../x{i}/*.yaml" for i in range(n)]})("")
        candidate_files(Candidate(one, (1,)), [f"x{i}/a" for i in range(n)], clone, ("HEAD",), REPO, "main")

    assert _growth(values, 200) < MOST_GROWTH


def _set(**git_generator: Any) -> Fleet:
    made: Object = {"metadata": {"name": "s"}, "spec": {"generators": [{"git": {"repoURL": REPO, **git_generator}}]}}
    return replace(Fleet("", "v3.5.1", {}), application_sets=(made,))


def test_generators_and_projects_cost_what_they_are_long() -> None:
    def tree(files: Sequence[str]) -> Tree:
        return Tree(Git(Path()), REPO, "main", dict.fromkeys(files, Entry("100644", "")))

    def sets(given: Object, files: Sequence[str]) -> None:
        generated_change(
            _set(**given), (), (), Trees(tree(files), tree([*files, "envs/new/a"]), ["envs/new/a"]), Controller
        )

    def files(n: int) -> None:
        sets({"files": [{"path": f"e{i}/*.json"} for i in range(n)]}, [f"e{i}/a.yaml" for i in range(n)])

    def folders(n: int) -> None:
        sets({"directories": [{"path": "envs/*"}]}, [f"envs/e{i}/a" for i in range(n)])

    def project(n: int) -> None:
        kinds = [{"group": "a", "kind": f"K{i}"} for i in range(n)]
        _unjudged_fields({"clusterResourceWhitelist": kinds}, {"clusterResourceWhitelist": kinds[::-1]})

    assert _growth(files, 200) < MOST_GROWTH
    assert _growth(folders, 200) < MOST_GROWTH
    assert _growth(project, 400) < MOST_GROWTH
