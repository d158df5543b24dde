"""Runs `helm template` as Argo CD's repo-server does: builds the command, and is the only module that runs it.

A chart is foreign: the process gets no token, no proxy, no cluster, no plugin and its own empty HELM_* folders, with limits of time, memory
and output. `helm template` runs no code of the chart; anything that would use the network is left out: remote dependencies, and schemas
that refer to anything outside of themselves.

Sources: Argo CD reposerver/repository/repository.go (helmTemplate) and util/helm/cmd.go (template).
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from argolint.errors import HelmError, NotHereError, UsageError
from argolint.host import programs
from argolint.host.folder import FileError, Folder, named_bytes
from argolint.host.programs import LimitError, Limits
from argolint.model import Json, Object
from argolint.redaction.findings import Known, secrets_of
from argolint.values import items
from argolint.values.manifests import ManifestError, mapping_of, sound_objects
from argolint.values.patterns import regex

TIMEOUT_S = 90
"""Argo CD's own limit for one command (ARGOCD_EXEC_TIMEOUT)."""
MAX_BYTES = 64_000_000
"""A larger answer is no set of manifests."""
MEMORY_BYTES = 2_000_000_000
_MAX_VALUES_BYTES = 1_000_000
_LIMITS = Limits(TIMEOUT_S, MAX_BYTES, MEMORY_BYTES)
_AT_ONCE = threading.BoundedSemaphore(max(2, min(4, os.cpu_count() or 2)))
"""Most processes at a time: each may use a processor and all of its memory."""
_SKIP_VALIDATION = "--skip-schema-validation"
MAX_NODES = 5_000_000
"""Most values of all manifests together; an alias counts at each use."""


@dataclass(frozen=True)
class Template:
    """One run, in the fields of an Application's source.

    chart      the chart's folder; helm runs in it
    root       the repository's root, which no path may leave
    values     files; later ones override earlier ones
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
    """The arguments after `helm`, in the order of util/helm/cmd.go."""
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
        (_SKIP_VALIDATION, template.skip_schema_validation),
        ("--skip-tests", template.skip_tests),
    )
    return (*found, *(option for option, on in wanted if on))


_SEMVER = regex(r"(?<!\d)\d+\.\d+(?:\.\d+)?")
"""Clouds append suffixes that break Helm's comparisons: `v1.31.2-gke.100`, `1.30+`."""


def _without_commas(value: str) -> str:
    """The value with commas escaped, since Helm splits lists there; a value in braces stays a list (util/helm/cmd.go, cleanSetParameters)."""
    return value if value.startswith("{") and value.endswith("}") else re.sub(r"(?<!\\),", r"\\,", value)


def find(*checkouts: Path) -> str:
    """The helm on PATH, outside of any checkout. UsageError if there is none."""
    found = programs.find("helm", *checkouts)
    if found is None:
        raise UsageError(
            "--helm-render needs helm, and there is none on PATH",
            "install Helm 3 or 4; a folder of PATH that is relative or inside the checkout does not count",
        )
    return found


def render(binary: str, template: Template, home: Path) -> tuple[Object, ...]:
    """The chart's manifests, tests and hooks included. `home`: an empty folder for Helm's own files.

    Values are not validated by a schema that refers elsewhere, since Helm would fetch the reference. HelmError if the chart does not render
    within the limits of time, size and memory.
    """
    from argolint.sources.chart_schemas import refers_outside

    _build_dependencies(binary, template, home)
    if refers_outside(template.chart):
        template = replace(template, skip_schema_validation=True)
    try:
        return manifests(_run(binary, arguments(template), template.chart, home))
    except HelmError as error:
        raise type(error)(_known_to(template).without(error.message), error.hint) from None


def _known_to(template: Template) -> Known:
    """The secrets among the values: the chart's error may repeat them."""
    pairs = [*template.set, *template.set_string, *((key, _text(file)) for key, file in template.set_file)]
    values = [_text(file) for file in (*template.values, template.chart / "values.yaml")]
    return Known(secrets_of({"parameters": [{"name": k, "value": v} for k, v in pairs], "values": values}))


def _text(file: Path) -> str:
    """The text of a file; empty if it cannot be read, or is too large to search for secrets."""
    with contextlib.suppress(OSError, FileError):
        return named_bytes(file, _MAX_VALUES_BYTES).decode("utf-8", "replace")
    return ""


def _build_dependencies(binary: str, template: Template, home: Path) -> None:
    """Pack local dependencies (`file://`) that are not vendored, as Argo CD would; others would need the network.

    `helm dependency build` in the chart itself would also fetch remote ones that are vendored, so it runs in a temporary chart that has
    only the local ones.
    """
    chart = template.chart
    missing = [d for d in _dependencies(chart) if not _vendored(chart, str(d.get("name")))]
    remote = [d for d in missing if not str(d.get("repository") or "").startswith("file://.")]
    if remote:
        names = ", ".join(str(d.get("name")) for d in remote)
        raise NotHereError(
            f"dependencies of the chart are not in its charts/ folder, and nothing is downloaded: {names}",
            "vendor them: `helm dependency build`, and commit charts/; or let the server render: leave out --helm-render",
        )
    if not missing:
        return
    local = []
    for dependency in missing:
        folder = (chart / str(dependency["repository"]).removeprefix("file://")).resolve()
        if not folder.is_relative_to(template.root.resolve()):
            raise HelmError(f"dependency {dependency.get('name')} leads out of the repository")
        named = {key: str(dependency[key]) for key in ("name", "version") if dependency.get(key) is not None}
        local.append({**named, "repository": f"file://{folder}"})
    packing = home / "packing"
    packing.mkdir()
    ours = {"apiVersion": "v2", "name": "packing", "version": "1.0.0", "dependencies": local}
    (packing / "Chart.yaml").write_text(yaml.safe_dump(ours), encoding="utf-8")
    _run(binary, ("dependency", "build", "--skip-refresh", "."), packing, home)
    try:
        with Folder.open(chart, ("charts",), make=True) as charts:
            for packed in (packing / "charts").iterdir():
                charts.make_file(packed.name, [packed.read_bytes()])
    except (OSError, FileError) as error:
        raise HelmError(f"a local dependency cannot be put into the chart: {error}") from None


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
    """The output of helm. HelmError with its message if it fails or is stopped."""
    name = f"helm {command[0]}"
    try:
        with _AT_ONCE:
            ended = programs.run((binary, *command), name=name, env=_environment(home), limits=_LIMITS, cwd=folder)
    except LimitError as error:
        raise (NotHereError if "took longer" in error.message else HelmError)(error.message) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
        raise NotHereError(f"cannot run {binary}: {error}") from None
    if ended.code == 0:
        return ended.out.decode("utf-8", "replace")
    text = ended.err.decode("utf-8", "replace").strip().removeprefix("Error: ")
    if re.match(r"(?:fatal error|runtime): .*(?:out of memory|cannot allocate)", text):
        raise NotHereError(f"{name} needs more than {MEMORY_BYTES:,} bytes of memory")
    if f"unknown flag: {_SKIP_VALIDATION}" in text:
        raise NotHereError(
            "the chart's values.schema.json refers to what is outside of it, and nothing is fetched",
            "Helm 3.16 and later can render without it",
        )
    text = re.sub(rf"{re.escape(str(home.parent))}/[^/\s]+/", "", text)  # the path of a temporary folder is no help
    raise HelmError(text.rpartition("\nError: ")[2] or f"{name} ended with {ended.code}")


def _environment(home: Path) -> Mapping[str, str]:
    """A clean environment: no token, proxy, cluster, registry login or plugin of the caller."""
    folders = {
        f"HELM_{name}": str(home / name.lower())
        for name in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "PLUGINS", "REGISTRY_CONFIG", "REPOSITORY_CONFIG")
    }
    return {"PATH": "", "HOME": str(home), "TMPDIR": str(home), "KUBECONFIG": str(home / "none"), **folders}


def manifests(text: str) -> tuple[Object, ...]:
    """Rendered text as objects. HelmError for invalid YAML, or too much of it."""
    try:
        return sound_objects(text)
    except ManifestError as error:
        raise HelmError(f"the chart renders invalid YAML, or too much of it: {error}") from None
