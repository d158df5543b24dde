"""No render changes without the gate looking: real helm and kustomize render generated repositories before and after a change.

An application that the gate leaves alone is rendered all the same. `ARGOLINT_CASES` is how many of those are tried.
"""

from __future__ import annotations

import json
import os
import posixpath
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.application.app import App
from argolint.gate.candidates import Candidate, candidate_files
from argolint.gate.reads import whole_checkout_files
from argolint.sources.git import Git
from tests.conftest import PROFILE

from .gitops import REPO, git
from .test_gate_reads import app

CASES = int(os.environ.get("ARGOLINT_CASES") or (2_000 if PROFILE == "long" else 30))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "argolint-ci"


def program(name: str, cached: str) -> str | None:
    kept = CACHE / cached / name
    return (
        os.environ.get(f"ARGOLINT_TEST_{name.upper()}") or shutil.which(name) or (str(kept) if kept.exists() else None)
    )


HELM, KUSTOMIZE = program("helm", "helm-v3.19.2"), program("kustomize", "kustomize-v5.7.1")
Files = dict[str, str]
"""The files of a repository; a text that begins with LINK is a link's target."""
LINK = "\0link "


@dataclass
class Repository:
    """Folders of a generated repository by what they are, and the applications."""

    files: Files = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    components: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    apps: list[tuple[App, str]] = field(default_factory=list)


def manifest(name: str, value: object = 1) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: '{value}'}}\n"


def up(folder: str, to: str) -> str:
    return posixpath.relpath(to, folder)


def generated(draw: random.Random) -> Repository:
    """Folders that name one another in every way that a tool knows, through links and otherwise."""
    made = Repository()
    files = made.files
    files |= {f"shared/{n}.yaml": manifest(f"shared-{n}") for n in range(3)}
    files |= {
        "shared/a.env": "A=1\n",
        "shared/b.txt": "b 1\n",
        "shared/v.yaml": "a: 1\nv: 1\n",
        "shared/w.yaml": "w: 1\n",
    }
    files |= {"README.md": "1\n", "docs/a.md": "1\n", "envs/prod/v.yaml": "v: 2\n", "envs/dev/v.yaml": "v: 3\n"}
    for n in range(3):
        chart(draw, made, f"{draw.choice(('charts', 'lib'))}/c{n}", f"c{n}")
    if draw.random() < 0.5:
        files["linked"] = LINK + draw.choice((*made.charts, "shared", "envs/prod"))
    for n in range(5):
        kustomization(draw, made, f"{draw.choice(('bases', 'over/lays', 'k'))}/k{n}", n, is_component=n == 1)
    if draw.random() < 0.6:
        files["current"] = LINK + draw.choice(made.bases)
        made.bases.append("current")
    kinds: Sequence[Callable[[random.Random, Repository], tuple[App, str]]] = (
        plain,
        *((helm,) * bool(HELM)),
        *((kustomized,) * bool(KUSTOMIZE)),
    )
    made.apps = [draw.choice(kinds)(draw, made) for _ in range(6)]
    return made


def chart(draw: random.Random, made: Repository, folder: str, name: str) -> None:
    files = made.files
    meta: dict[str, Any] = {"apiVersion": "v2", "name": name, "version": "0.1.0"}
    if made.charts and draw.random() < 0.6:
        other = draw.choice(made.charts)
        meta["dependencies"] = [
            {"name": other.rpartition("/")[2], "version": "0.1.0", "repository": f"file://{up(folder, other)}"}
        ]
    if draw.random() < 0.3:
        meta["apiVersion"], old = "v1", meta.pop("dependencies", None)
        if old:
            files[f"{folder}/requirements.yaml"] = json.dumps({"dependencies": old})
    files[f"{folder}/Chart.yaml"] = json.dumps(meta) + draw.choice(("\n", "\n---\na: 1\n", "\n# x\n"))
    files[f"{folder}/values.yaml"] = "v: 1\n"
    files[f"{folder}/templates/a.yaml"] = manifest(
        f"{{{{ .Release.Name }}}}-{name}", '{{ .Values.v }} {{ .Values.w }} {{ .Files.Get "x.txt" }} {{ .Values.set }}'
    )
    files[f"{folder}/x.txt"] = draw.choice(("1", f"{LINK}{up(folder, 'shared/b.txt')}"))
    if draw.random() < 0.2:
        files[f"{folder}/templates/l.yaml"] = LINK + up(f"{folder}/templates", "shared/1.yaml")
    if draw.random() < 0.2:
        files[f"{folder}/values.schema.json"] = '{"type": "object"}'
    made.charts.append(folder)


def kustomization(draw: random.Random, made: Repository, folder: str, n: int, *, is_component: bool) -> None:
    files = made.files
    files[f"{folder}/own.yaml"] = manifest(f"own-{n}")
    said: dict[str, Any] = {} if is_component else {"resources": ["own.yaml"]}
    if is_component:
        said |= {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
    resources = said.setdefault(
        draw.choice(("resources", "resources", "Resources")) if is_component else "resources", []
    )
    bases = [] if is_component else [b for b in made.bases if draw.random() < 0.4]
    said["namePrefix"] = f"p{n}-"
    resources += [up(folder, b) + draw.choice(("", "/")) for b in bases[:1]]
    if made.components and not is_component and draw.random() < 0.5:
        said["components"] = [up(folder, made.components[0])]
    for chance, key, value in (
        (0.3, "resources", [up(folder, f"shared/{draw.randrange(3)}.yaml")]),
        (
            0.3,
            "configMapGenerator",
            [{"name": f"g{n}", "files": [f"k={up(folder, 'shared/b.txt')}"], "envs": [up(folder, "shared/a.env")]}],
        ),
        (0.2, "SecretGenerator", [{"name": f"s{n}", "files": [up(folder, "shared/b.txt")]}]),
        (0.2, "helmCharts", [{"name": "c0", "releaseName": f"r{n}", "valuesFile": up(folder, "shared/v.yaml")}]),
        (0.1, "generators", ["gen.yaml"]),
        (0.1, "transformers", ["tr.yaml"]),
        (0.2, "patches", [{"path": up(folder, "k/patch.yaml"), "target": {"kind": "ConfigMap"}}]),
        (0.1, "patchesStrategicMerge", [up(folder, "k/merge.yaml").replace("merge", f"merge{n}")]),
        (0.1, "replacements", [{"path": up(folder, f"k/replace{n}.yaml")}]),
        (0.1, "configurations", [up(folder, "k/config.yaml")]),
    ):
        if is_component and key in ("resources", "patchesStrategicMerge", "replacements"):
            continue
        if draw.random() < chance and (key != "helmCharts" or HELM):
            said[key] = [*said.get(key, []), *value]
    if "helmCharts" in said:
        home = next(c for c in made.charts if c.endswith("/c0"))
        said["helmGlobals"] = {"chartHome": up(folder, posixpath.dirname(home))}
        if draw.random() < 0.3:  # by a name that climbs out of the folder of charts
            said["helmGlobals"]["chartHome"] = draw.choice((".", up(folder, "envs/prod")))
            base = folder if said["helmGlobals"]["chartHome"] == "." else "envs/prod"
            said["helmCharts"] = [{**said["helmCharts"][0], "name": up(base, home)}]
    files["k/patch.yaml"] = '[{"op": "add", "path": "/data/p", "value": "1"}]\n'
    files[f"k/merge{n}.yaml"] = manifest(f"own-{n}", 7)
    files[f"k/replace{n}.yaml"] = json.dumps(
        {
            "source": {"kind": "ConfigMap", "name": f"own-{n}", "fieldPath": "data.v"},
            "targets": [{"select": {"kind": "ConfigMap"}, "fieldPaths": ["data.v"]}],
        }
    )
    files["k/config.yaml"] = "commonAnnotations: [{path: metadata/annotations, create: true}]\n"
    files[f"{folder}/gen.yaml"] = json.dumps(
        {
            "apiVersion": "builtin",
            "kind": "ConfigMapGenerator",
            "metadata": {"name": f"x{n}"},
            "files": [up(folder, "shared/b.txt")],
        }
    )
    files[f"{folder}/tr.yaml"] = json.dumps(
        {
            "apiVersion": "builtin",
            "kind": "PatchTransformer",
            "metadata": {"name": f"t{n}"},
            "path": up(folder, "k/patch.yaml"),
            "target": {"kind": "ConfigMap"},
        }
    )
    name = draw.choice(("kustomization.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization"))
    text = draw.choice((json.dumps, yaml.safe_dump))(said) + draw.choice(("", "", "\n---\na: 1\n"))
    if draw.random() < 0.15:
        files[f"k/said-{n}"] = text
        files[f"{folder}/{name}"] = LINK + up(folder, f"k/said-{n}")
    else:
        files[f"{folder}/{name}"] = text
    (made.components if is_component else made.bases).append(folder)


def plain(draw: random.Random, made: Repository) -> tuple[App, str]:
    folder = draw.choice(
        ("shared", "envs", "k", "docs", f"plain/p{draw.randrange(3)}", "plain/[p0]", "plain/a b", "plain/é")
    )
    made.files[f"{folder}/m.yaml"] = manifest("plain")
    if draw.random() < 0.4:
        made.files[f"{folder}/l.yaml"] = LINK + up(
            folder, draw.choice(("shared/0.yaml", "k/own.yaml", "bases/k0/own.yaml"))
        )
    return app({}, folder, directory={"recurse": draw.random() < 0.5, "x": 1})(""), folder


def helm(draw: random.Random, made: Repository) -> tuple[App, str]:
    folder = draw.choice(made.charts)
    named = [f for f in ("shared/v.yaml", "envs/prod/v.yaml", "shared/w.yaml") if draw.random() < 0.4]
    values = [draw.choice((f"/{f}", up(folder, f))) for f in named]
    values += [up(folder, "envs/*/v.yaml")] * (draw.random() < 0.2) + [up(folder, "linked/v.yaml")] * (
        draw.random() < 0.1
    )
    more: dict[str, Any] = {"valueFiles": values, "ignoreMissingValueFiles": True, "x": 1}
    if draw.random() < 0.2:
        more["fileParameters"] = [{"name": "set", "path": up(folder, "shared/b.txt")}]
    if draw.random() < 0.15:
        made.files[f"{folder}/{draw.choice(('.argocd-source.yaml', '.argocd-source-shop.yaml'))}"] = json.dumps(
            {"helm": {"valueFiles": [up(folder, "shared/w.yaml")]}}
        )
    path = "linked" if made.files.get("linked") == LINK + folder else folder
    return app({}, path, helm=more)(""), path


def kustomized(draw: random.Random, made: Repository) -> tuple[App, str]:
    folder = draw.choice(made.bases)
    more: dict[str, Any] = {}
    if made.components and folder != "current" and draw.random() < 0.2:
        more["components"] = [up(folder, made.components[0])]
    return app({"sourceType": "Kustomize"}, folder, **({"kustomize": more} if more else {}))(""), folder


def changed(draw: random.Random, files: Files) -> Files:
    """One or two files written otherwise, gone, new or led elsewhere."""
    made = dict(files)
    for _ in range(draw.choice((1, 1, 1, 2))):
        name = draw.choice(sorted(made))
        folder = posixpath.dirname(name)
        text = made[name]
        way = draw.random()
        if text.startswith(LINK):
            made[name] = LINK + up(folder, draw.choice(("shared/2.yaml", "shared", "k", "envs/prod")))
        elif way < 0.7:
            made[name] = (
                text.replace("1", "4")
                if "1" in text and not name.endswith(("tion.yaml", "Chart.yaml"))
                else text + "# \n"
            )
        elif way < 0.8:
            del made[name]
        elif way < 0.9:
            made[f"{folder}/new.yaml".lstrip("/")] = manifest("new")
        elif name.endswith((".yaml", ".yml")):
            made[name] = (
                text.replace("k0", "k2").replace("c0", "c1").replace("shared/0", "shared/1").replace("../", "./../")
            )
    return made


def write(top: Path, files: Files, before: Mapping[str, str]) -> None:
    for name in before.keys() - files.keys():
        (top / name).unlink()
    for name, text in files.items():
        if before.get(name) == text:
            continue
        place = top / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        if text.startswith(LINK):
            place.symlink_to(text.removeprefix(LINK))
        else:
            place.write_text(text)


def run(*words: str, cwd: Path) -> str:
    done = subprocess.run(
        words,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "HELM_CACHE_HOME": "/nonexistent"},
    )
    return done.stdout


def rendered(top: Path, one: App, path: str) -> str:
    """What Argo CD's repo-server would make of an application, by the same programs; `failed` where they fail."""
    folder, source = top / path, one.sources[0]
    try:
        if source.get("helm"):
            return of_helm(top, folder, dict(source["helm"]))
        if source.get("directory"):
            return of_plain(folder, recurse=source["directory"]["recurse"])
        return of_kustomize(top, folder, source.get("kustomize") or {})
    except (subprocess.CalledProcessError, OSError, ValueError):
        return "failed"


def of_helm(top: Path, folder: Path, said: dict[str, Any]) -> str:
    assert HELM
    for override in (folder / ".argocd-source.yaml", folder / ".argocd-source-shop.yaml"):
        if override.is_file():
            said |= (yaml.safe_load(override.read_text()) or {}).get("helm") or {}
    options: list[str] = []
    for name in said.get("valueFiles") or []:
        place = os.path.normpath(top / name.lstrip("/") if name.startswith("/") else folder / name)
        found = (
            sorted(map(str, top.glob(os.path.relpath(place, top))))
            if "*" in place
            else [place]
            if Path(place).exists()
            else []
        )
        options += [word for file in found for word in ("--values", file)]
    for one in said.get("fileParameters") or []:
        options += ["--set-file", f"{one['name']}={os.path.normpath(folder / one['path'])}"]
    try:
        return run(HELM, "template", ".", *options, cwd=folder)
    except subprocess.CalledProcessError as error:
        if "missing in charts" not in error.stderr:
            raise
    made = folder.parent / f".{folder.name}.made"
    shutil.copytree(folder, made, symlinks=True)  # beside it, so that relative names lead where they did
    try:
        run(HELM, "dependency", "build", "--skip-refresh", cwd=made)
        return run(HELM, "template", ".", *options, cwd=made)
    finally:
        shutil.rmtree(made)


def of_kustomize(top: Path, folder: Path, said: Mapping[str, Any]) -> str:
    assert KUSTOMIZE
    kept = {p: p.read_text() for p in folder.iterdir() if p.name.lower().startswith("kustomization") and p.is_file()}
    try:
        if said.get("components"):
            run(KUSTOMIZE, "edit", "add", "component", *said["components"], cwd=folder)
        more = ("--enable-helm", "--helm-command", HELM) if HELM else ()
        return run(KUSTOMIZE, "build", str(folder), "--load-restrictor", "LoadRestrictionsNone", *more, cwd=top)
    finally:
        for place, text in kept.items():
            if place.read_text() != text:
                place.write_text(text)


def of_plain(folder: Path, *, recurse: bool) -> str:
    found = sorted(folder.rglob("*") if recurse else folder.iterdir())
    if not folder.is_dir():
        raise ValueError(folder)
    texts = (p.read_text() for p in found if p.suffix in (".yaml", ".yml", ".json") and p.is_file())
    return "\n---\n".join(texts)


def cases(top: Path, draw: random.Random) -> Iterator[tuple[str, bool, bool]]:
    """For each application and each of a few changes: what to know of it, whether the gate looks, whether the render changed."""
    made = generated(draw)
    git(top, "checkout", "--quiet", "--orphan", "next")
    git(top, "rm", "-rf", "--quiet", "--ignore-unmatch", ".")
    write(top, made.files, {})
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "base")
    git(top, "branch", "--move", "--force", "main")
    before = [rendered(top, *one) for one in made.apps]
    clone = Git(top)
    git(top, "checkout", "--quiet", "-B", "pr")
    for _ in range(8):
        after = changed(draw, made.files)
        write(top, after, made.files)
        git(top, "add", "--all")
        if git(top, "status", "--porcelain"):
            git(top, "commit", "--quiet", "--message", "change")
            head = git(top, "rev-parse", "HEAD").strip()
            changes = clone.changes("main", head)
            whole = list(whole_checkout_files(changes, clone, ("main", head)))
            paths = [c.path for c in changes]
            for (one, path), was in zip(made.apps, before, strict=True):
                found = candidate_files(Candidate(one, (1,)), paths, clone, ("main", head), REPO, "main").files
                looks = bool(whole or found)
                is_changed = False if looks and draw.random() < 0.9 else rendered(top, one, path) != was
                yield f"{path} {json.dumps(one.sources[0])} after {paths}", looks, is_changed
        git(top, "reset", "--quiet", "--hard", "main")


@pytest.mark.skipif(
    not (HELM or KUSTOMIZE), reason="no helm and no kustomize: name them in ARGOLINT_TEST_HELM and _KUSTOMIZE"
)
def test_no_render_changes_without_the_gate_looking(tmp_path: Path) -> None:
    draw = random.Random(int(os.environ.get("ARGOLINT_SEED") or 30))
    git(tmp_path, "init", "--quiet")
    missed, left, looked = [], 0, 0
    while left < CASES:
        for what, looks, is_changed in cases(tmp_path, draw):
            left += not looks
            looked += looks
            if is_changed and not looks:
                missed.append(what)
    print(f"{left} left alone, {looked} looked at, {len(missed)} missed")  # noqa: T201 - with -s
    assert missed == []
    assert left > looked / 4, "the gate looks at nearly everything"
