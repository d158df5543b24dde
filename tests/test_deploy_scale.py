"""The manifests for many machines: valid, with one list call, the token where it is needed alone, and commands that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml

from argolint.cli.group import cli
from tests.conftest import ROOT

FOLDER = ROOT / "deploy" / "scale"
FILES = sorted(FOLDER.glob("*.yaml"))


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def containers(node: Any) -> Iterator[Mapping[str, Any]]:
    """Everything that runs an image, wherever it stands."""
    if isinstance(node, dict):
        if "image" in node:
            yield node
        for child in node.values():
            yield from containers(child)
    elif isinstance(node, list):
        for child in node:
            yield from containers(child)


def commands(node: Any) -> Iterator[list[str]]:
    """The argolint commands in it, as a shell would split them."""
    if isinstance(node, dict):
        for child in node.values():
            yield from commands(child)
        if node.get("command") == ["argolint"]:
            yield ["argolint", *node["args"]]
    elif isinstance(node, list):
        for child in node:
            yield from commands(child)
    elif isinstance(node, str) and "argolint " in node:
        text = re.sub(r"\$\(\([^)]*\)\)|\{\{item\}\}|\$\w+", "1", node)
        for part in text.split("&&"):
            if part.strip().startswith("argolint "):
                yield shlex.split(part)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_what_kubernetes_itself_knows_is_valid(file: Path) -> None:
    core = [d for d in documents(file) if d["apiVersion"] in ("v1", "batch/v1")]
    for version in ("1.28", "1.33"):
        for found in core:
            kubernetes_validate.validate(found, version, strict=True)
    for container in containers(documents(file)):
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", **container}]}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}}
        kubernetes_validate.validate(job, "1.33", strict=True)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_every_command_has_these_options(file: Path) -> None:
    found = list(commands(documents(file)))
    assert found
    for _, name, *args in found:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, args, resilient_parsing=False)


def test_there_is_one_list_call_and_the_shards_take_their_part_of_it() -> None:
    for files in (FILES[:3], [FOLDER / "workflow.yaml"]):
        found = [command for file in files for command in commands(documents(file))]
        names = [command[1] for command in found]
        assert names == ["snapshot", "check", "merge"]
        assert "--fleet-only" in found[0]
        fleet = found[0][found[0].index("-o") + 1]
        assert found[1][found[1].index("--fleet") + 1] == fleet
    spec = documents(FOLDER / "2-shards.yaml")[0]["spec"]
    shard = next(commands(spec))
    assert (spec["completionMode"], shard[shard.index("--shard") + 1]) == ("Indexed", f"1/{spec['completions']}")
    steps = documents(FOLDER / "workflow.yaml")[0]["spec"]["templates"][0]["dag"]["tasks"]
    assert [(s["name"], s.get("depends")) for s in steps] == [("list", None), ("shards", "list"), ("merge", "shards")]


def test_no_command_of_a_comment_gives_up_after_half_a_minute() -> None:
    """`kubectl wait` does unless it is given a time: a list of ten thousand applications takes longer."""
    found = [line for file in FILES for line in file.read_text().splitlines() if "kubectl wait" in line]
    assert len(found) == 3
    assert all(re.search(r"--timeout=\d+[mh]", line) for line in found)


def test_the_token_comes_from_a_secret_and_the_scheduler_has_none() -> None:
    for file in FILES:
        for container in containers(documents(file)):
            tokens = [e for e in container.get("env", ()) if e["name"] == "ARGOCD_AUTH_TOKEN"]
            assert all(set(e) == {"name", "valueFrom"} and "secretKeyRef" in e["valueFrom"] for e in tokens)
            assert bool(tokens) == (container.get("name") not in ("scheduler", "merge"))


def test_the_dask_cluster_speaks_tls_everywhere_and_runs_one_image() -> None:
    cluster, job = documents(FOLDER / "dask.yaml")
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    assert set(cluster["spec"]) == {"worker", "scheduler"}
    found = list(containers([cluster, job]))
    assert len({c["image"] for c in found}) == 1
    for container in found:
        role = {"worker": "WORKER", "scheduler": "SCHEDULER"}.get(container["name"], "CLIENT")
        names = {e["name"] for e in container["env"]}
        assert {f"DASK_DISTRIBUTED__COMM__TLS__{n}" for n in ("CA_FILE", f"{role}__CERT", f"{role}__KEY")} <= names
        assert not any("tcp://" in arg for arg in container["args"])
    service = cluster["spec"]["scheduler"]["service"]
    address = f"tls://{cluster['metadata']['name']}-scheduler:{service['ports'][0]['port']}"
    assert address in found[0]["args"]
    assert address in found[2]["args"]
