"""`helm template` as Argo CD's repo-server runs it: what the command is, and the one place that runs it.

A chart is somebody else's: the process gets no token, no proxy, no cluster and no plugin, its own empty HELM_* folders, a
time limit and a bounded answer. `helm template` itself runs no code of the chart and asks nobody for anything.

Sources: Argo CD reposerver/repository/repository.go (helmTemplate) and util/helm/cmd.go (template).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from argolint.errors import ArgolintError, UsageError
from argolint.leftovers import end, running
from argolint.manifests import ManifestError, documents, mapping_of, objects
from argolint.model import Json, Object
from argolint.values import items

TIMEOUT_S = 90
"""Argo CD's own limit for one command (ARGOCD_EXEC_TIMEOUT)."""
MAX_BYTES = 64_000_000
"""A larger answer is no set of manifests."""


class HelmError(ArgolintError):
    """The chart does not render here; `message` has Helm's own words."""


class NotHereError(HelmError):
    """The repo-server may well render it; here something lacks that is not fetched."""


@dataclass(frozen=True)
class Template:
    """One run, in the fields of an Application's source.

    chart      the chart's folder; helm runs in it
    root       the repository's top folder, out of which nothing may lead
    values     files, the one that counts most last
    set, set_string, set_file   pairs of key and value; set_file's values are files
    """

    chart: Path
    root: Path
    release: str
    namespace: str = ""
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    set: tuple[tuple[str, str], ...] = ()
    set_string: tuple[tuple[str, str], ...] = ()
    set_file: tuple[tuple[str, Path], ...] = ()
    values: tuple[Path, ...] = ()
    skip_crds: bool = False
    skip_tests: bool = False
    skip_schema_validation: bool = False


def arguments(template: Template) -> tuple[str, ...]:
    """What follows `helm`, in the order of util/helm/cmd.go."""
    found = ["template", ".", "--name-template", template.release]
    if template.namespace:
        found += ["--namespace", template.namespace]
    if version := _SEMVER.search(template.kube_version):
        found += ["--kube-version", version[0]]
    for option, pairs in (("--set", template.set), ("--set-string", template.set_string)):
        for key, value in pairs:
            found += [option, f"{key}={_without_commas(value)}"]
    for key, file in template.set_file:
        found += ["--set-file", f"{key}={_without_commas(str(file))}"]
    for file in template.values:
        found += ["--values", str(file)]
    for version_ in template.api_versions:
        found += ["--api-versions", version_]
    wanted = (
        ("--include-crds", not template.skip_crds),
        ("--skip-schema-validation", template.skip_schema_validation),
        ("--skip-tests", template.skip_tests),
    )
    return (*found, *(option for option, on in wanted if on))


_SEMVER = re.compile(r"(?<!\d)\d+\.\d+(?:\.\d+)?")
"""Clouds append what Helm's comparisons stumble over: `v1.31.2-gke.100`, `1.30+`."""


def _without_commas(value: str) -> str:
    """Helm parts lists at commas; a value in braces is meant as a list (util/helm/cmd.go, cleanSetParameters)."""
    return value if value.startswith("{") and value.endswith("}") else re.sub(r"(?<!\\),", r"\\,", value)


def find() -> str:
    """The helm on PATH. UsageError when there is none."""
    found = shutil.which("helm")
    if found is None:
        raise UsageError("--helm-render needs helm, and there is none on PATH", "install Helm 3 or 4")
    return found


def render(binary: str, template: Template, home: Path) -> tuple[Object, ...]:
    """The chart's manifests, tests and hooks included. `home` is an empty folder for Helm's own files.

    HelmError when the chart does not render, or not within time and size.
    """
    _build_dependencies(binary, template, home)
    return manifests(_run(binary, arguments(template), template.chart, home))


def _build_dependencies(binary: str, template: Template, home: Path) -> None:
    """Local dependencies (`file://`) that are not vendored are packed as Argo CD would; others would need the network."""
    chart = template.chart
    missing = [d for d in _dependencies(chart) if not _vendored(chart, str(d.get("name")))]
    remote = [d for d in missing if not str(d.get("repository") or "").startswith("file://.")]
    if remote:
        names = ", ".join(str(d.get("name")) for d in remote)
        raise NotHereError(
            f"dependencies of the chart are not in its charts/ folder, and nothing is downloaded: {names}",
            "vendor them: `helm dependency build`, and commit charts/",
        )
    for dependency in missing:
        folder = chart / str(dependency["repository"]).removeprefix("file://")
        if not folder.resolve().is_relative_to(template.root.resolve()):
            raise HelmError(f"dependency {dependency.get('name')} leads out of the repository")
    if missing:
        _run(binary, ("dependency", "build", "--skip-refresh", "."), chart, home)


def _dependencies(chart: Path) -> Iterator[Mapping[str, Json]]:
    for name in ("Chart.yaml", "requirements.yaml"):
        file = chart / name
        try:
            data = mapping_of(file.read_text(encoding="utf-8") if file.is_file() else None)
        except (OSError, UnicodeDecodeError, ManifestError) as error:
            raise HelmError(f"{name} of the chart cannot be read: {error}") from None
        yield from (d for d in items(data, "dependencies") if isinstance(d, Mapping))


def _vendored(chart: Path, name: str) -> bool:
    folder = chart / "charts"
    return (folder / name / "Chart.yaml").is_file() or any(
        re.fullmatch(re.escape(name) + r"-v?\d.*\.tgz", file.name) for file in folder.glob("*.tgz")
    )


def _run(binary: str, command: tuple[str, ...], folder: Path, home: Path) -> str:
    """What helm prints. HelmError with its own words when it fails, or is stopped."""
    try:
        process = subprocess.Popen(  # noqa: S603  the helm on PATH, arguments are passed as such
            [binary, *command],
            cwd=folder,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
        raise NotHereError(f"cannot run {binary}: {error}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    late = threading.Event()
    kill = partial(end, process)

    def stop() -> None:
        late.set()
        end(process)

    timer = threading.Timer(TIMEOUT_S, stop)
    timer.start()
    said: list[bytes] = []
    reader = threading.Thread(target=lambda stream: said.append(_bounded(stream, kill)), args=(process.stderr,))
    reader.start()
    try:
        with process, running(process):
            out = _bounded(process.stdout, kill)
            reader.join()
    finally:
        timer.cancel()
    if late.is_set():
        raise NotHereError(f"helm {command[0]} took longer than {TIMEOUT_S} s")
    if len(out) > MAX_BYTES or len(said[0]) > MAX_BYTES:
        raise HelmError(f"helm {command[0]} printed more than {MAX_BYTES:,} bytes")
    if process.returncode != 0:
        told = said[0].decode("utf-8", "replace").strip().removeprefix("Error: ")
        told = re.sub(rf"{re.escape(str(home.parent))}/[^/\s]+/", "", told)  # a temporary folder says nothing
        raise HelmError(told.rpartition("\nError: ")[2] or f"helm {command[0]} ended with {process.returncode}")
    return out.decode("utf-8", "replace")


def _bounded(stream: IO[bytes], kill: Callable[[], None]) -> bytes:
    found = stream.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        kill()
    return found


def _environment(home: Path) -> Mapping[str, str]:
    """Nothing of the caller's: no token, proxy, cluster, registry login or plugin."""
    folders = {
        f"HELM_{name}": str(home / name.lower())
        for name in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "PLUGINS", "REGISTRY_CONFIG", "REPOSITORY_CONFIG")
    }
    return {"PATH": "", "HOME": str(home), "TMPDIR": str(home), "KUBECONFIG": str(home / "none"), **folders}


def manifests(text: str) -> tuple[Object, ...]:
    """Rendered text as objects. HelmError for what is no YAML, or far too much of it."""
    try:
        return tuple(objects(documents(text)))
    except ManifestError as error:
        raise HelmError(f"the chart renders what is no YAML, or too much of it: {error}") from None
