#!/usr/bin/env python3
"""Check a release, and install and run each part of it. The files of the release are next to this script: ./verify

Exit codes: 0 all is well, 1 a part is wrong, 3 a part was skipped because a tool is missing (--allow-skipped turns this off). Python's
dependencies come from the index in pip's configuration, by the hashes of requirements.lock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MAX_BYTES = 2 << 30
_HELD = 'import importlib.metadata as m, json; print(json.dumps({d.metadata["Name"]: d.version for d in m.distributions()}))'
_TO_JSON = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"
_VALIDATE = """
import sys, yaml, kubernetes_validate as k
objects = [o for o in yaml.safe_load_all(sys.stdin) if o]
for o in objects:
    if o["apiVersion"].partition("/")[0] not in ("monitoring.coreos.com", "gateway.networking.k8s.io"):
        k.validate(o, sys.argv[1], strict=True)
print(len(objects))
"""


class Wrong(Exception):
    """A wrong part of the release."""


class Skipped(Exception):
    """A skipped part, with the missing tool."""


class Verify:
    def __init__(self, folder: Path, work: Path, helm: str, buildah: str) -> None:
        self.folder, self.work = folder, work
        self.facts: dict[str, Any] = json.loads((folder / "release.json").read_text())
        self.version: str = self.facts["version"]
        self.stem = f"{self.facts['package']}-{self.version}"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("ARGO", "GITHUB_", "PYTHON"))}
        self.env["SOURCE_DATE_EPOCH"] = str(self.when)
        self.venv = work / "venv"
        self.helm, self.buildah = helm, buildah

    @property
    def when(self) -> int:
        import calendar

        return calendar.timegm(time.strptime(self.facts["created"], "%Y-%m-%dT%H:%M:%SZ"))

    def steps(self) -> dict[str, Callable[[], str]]:
        return {
            "checksums": self.checksums,
            "tag and commit": self.tag,
            "wheel": self.wheel,
            "sdist": self.sdist,
            "bills of materials": self.boms,
            "chart": self.chart,
            "image": self.image,
            "action": self.action,
            "site": self.site,
            "knowledge pack": self.knowledge,
            "extension": self.extension,
            "Homebrew and krew": self.packagers,
        }

    def file(self, name: str) -> Path:
        found = self.folder / name
        if not found.is_file():
            raise Wrong(f"{name} is missing")
        return found

    def run(self, command: Sequence[str | Path], *, code: int = 0, given: str = "", **how: Any) -> str:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            **{"env": self.env, **how},
        )
        if done.returncode != code:
            said = (done.stdout + done.stderr).strip()[-800:]
            raise Wrong(f"{' '.join(map(str, command))[:200]}\n    ended with {done.returncode}, not {code}: {said}")
        return str(done.stdout)

    def checksums(self) -> str:
        lines = self.file("SHA256SUMS").read_text().splitlines()
        listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        there = {p.name for p in self.folder.iterdir()} - {"SHA256SUMS"}
        if odd := there ^ listed.keys():
            raise Wrong(f"not in the list, or listed and not there: {', '.join(sorted(odd))}")
        for name, wanted in listed.items():
            if (found := hashlib.sha256((self.folder / name).read_bytes()).hexdigest()) != wanted:
                raise Wrong(f"{name} has the sum {found}, and not {wanted}: it was altered or is damaged")
        return f"{len(listed)} files"

    def tag(self) -> str:
        bundle = self.file(f"{self.stem}.bundle")
        if shutil.which("git") is None:
            raise Skipped("there is no git")
        self.run(["git", "clone", "--quiet", "--branch", f"v{self.version}", bundle, self.work / "source"])
        head = self.run(["git", "rev-parse", "HEAD"], cwd=self.work / "source").strip()
        if head != self.facts["commit"]:
            raise Wrong(f"the tag v{self.version} is commit {head}, and not {self.facts['commit']}")
        said = (self.work / "source/argolint/__init__.py").read_text()
        if f'__version__ = "{self.version}"' not in said:
            raise Wrong(f"the source of the tag does not say that it is {self.version}")
        if f"## [{self.version}]" not in (self.work / "source/CHANGELOG.md").read_text():
            raise Wrong("the changelog of the tag has no section of the version")
        return head[:12]

    def wheel(self) -> str:
        wheel = self._wheel()
        with zipfile.ZipFile(wheel) as held:
            if held.testzip():
                raise Wrong("the wheel is damaged")
            names = held.namelist()
        for wanted in (
            "share/man/man1/argolint.1",
            "completions/argolint",
            "site-functions/_argolint",
            "argolint.fish",
        ):
            if not any(name.endswith(wanted) for name in names):
                raise Wrong(f"the wheel lacks {wanted}")
        self.run([sys.executable, "-m", "venv", self.venv])
        pip: list[str | Path] = [
            self.venv / "bin/python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        self.run([*pip, "--require-hashes", "-r", self.file("requirements.lock")])
        self.run([*pip, "--no-deps", wheel])
        for program in ("argolint", "argocd-lint", "kubectl-argolint"):
            said = self.run([self.venv / "bin" / program, "--version"]).strip()
            if said != f"argolint {self.version}":
                raise Wrong(f"{program} --version says {said!r}")
        self._tried([self.venv / "bin/argolint"], self._demo())
        return f"{wheel.stat().st_size / 1e6:.2f} MB, installed by hashes and run"

    def _wheel(self) -> Path:
        return self.file(f"{self.facts['package'].replace('-', '_')}-{self.version}-py3-none-any.whl")

    def _demo(self) -> str:
        return next(map(str, self.venv.glob("lib/python3*/site-packages/argolint/snapshots/demo/harbourline.tar.gz")))

    def _tried(self, argolint: Sequence[str | Path], demo: str) -> None:
        """The exit codes that pipelines depend on: 1 with findings, 0 without --fail-on, 2 without a server."""
        check: list[str | Path] = [*argolint, "check", "--quiet"]
        self.run([*check, "--snapshot", demo], code=1)
        self.run([*check, "--snapshot", demo, "--fail-on", "never"])
        self.run([*check, "--server", "127.0.0.1:9", "--plaintext", "--auth-token", "none"], code=2)
        self.run([*argolint, "demo", "--quiet"])

    def sdist(self) -> str:
        sdist = self.file(f"{self.facts['package'].replace('-', '_')}-{self.version}.tar.gz")
        out = self.work / "from-sdist"
        self.run([self.venv / "bin/pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, sdist])
        (made,) = out.iterdir()
        if made.read_bytes() != self._wheel().read_bytes():
            raise Wrong("the wheel that the sdist makes is not the wheel of this release")
        return "makes the same wheel, byte for byte"

    def boms(self) -> str:
        held = json.loads(self.run([self.venv / "bin/python", "-c", _HELD]))
        wanted = {_normal(n): v for n, v in held.items() if _normal(n) not in ("pip", "setuptools", "wheel")}
        counts = []
        for name in (f"{self.stem}.python.cdx.json", f"{self.stem}.image.cdx.json"):
            bom = json.loads(self.file(name).read_text())
            if bom.get("bomFormat") != "CycloneDX":
                raise Wrong(f"{name} is no CycloneDX document")
            parts = [*bom["components"], *([c] if (c := bom["metadata"].get("component")) else [])]
            python = {
                _normal(p["name"]): p["version"] for p in parts if p.get("purl", "pkg:pypi").startswith("pkg:pypi")
            }
            if python != wanted:
                odd = sorted(n for n in python.keys() | wanted.keys() if python.get(n) != wanted.get(n))
                raise Wrong(f"{name} does not list what the wheel installs: {', '.join(odd)}")
            counts.append(f"{len(parts)} parts")
        return " and ".join(counts)

    def chart(self) -> str:
        package = self.file(f"argolint-{self.version}.tgz")
        with tarfile.open(self.file(f"argolint-{self.version}.chart.oci.tar")) as layout:
            blob = layout.extractfile(f"blobs/sha256/{hashlib.sha256(package.read_bytes()).hexdigest()}")
            if blob is None or blob.read() != package.read_bytes():
                raise Wrong("the OCI layout holds another chart than the package")
        if not self.helm:
            raise Skipped("there is no helm: name one with --helm")
        name = f"image.repository={self.facts['image'].rpartition(':')[0]}"
        self.run([self.helm, "lint", "--strict", package, "--set", name])
        pip: list[str | Path] = [self.venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        self.run([*pip, "kubernetes-validate"])
        objects = 0
        examples = sorted((self.work / "source/deploy/helm/argolint/examples").glob("*.yaml"))
        for values in (None, *examples):
            more: list[str | Path] = ["--values", values] if values else []
            made = [
                self.run([self.helm, "template", "linter", package, "--kube-version", "1.28", "--set", name, *more])
                for _ in range(2)
            ]
            if made[0] != made[1]:
                raise Wrong(f"the chart renders otherwise each time, with {values}")
            if f"{self.facts['image']}" not in made[0]:
                raise Wrong(f"the chart names another image than {self.facts['image']}, with {values}")
            for kubernetes in ("1.28", "1.37"):
                objects += int(self.run([self.venv / "bin/python", "-c", _VALIDATE, kubernetes], given=made[0]))
        return f"linted; {objects} objects of {len(examples) + 1} renders are valid"

    def image(self) -> str:
        archive = self.file(f"{self.stem}.image.oci.tar")
        with tarfile.open(archive) as layout:
            config = self._config(layout)
        labels = config["config"].get("Labels", {})
        for key in ("version", "commit"):
            label = labels.get(f"org.opencontainers.image.{'revision' if key == 'commit' else key}")
            if label != self.facts[key]:
                raise Wrong(f"the image says that its {key} is {label}, and not {self.facts[key]}")
        if config["config"].get("User") in ("", "0", "root", "0:0", None):
            raise Wrong("the image runs as root")
        size = f"{archive.stat().st_size / 1e6:.0f} MB, {config['os']}/{config['architecture']}"
        if not self.buildah:
            raise Skipped("there is no buildah to run the image; its labels and user are right")
        root: list[str | Path] = ["--root", self.work / "storage", "--runroot", self.work / "run"]
        env = {**self.env, "BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
        container = self.run([self.buildah, *root, "from", f"oci-archive:{archive}"], env=env).strip()
        inside: list[str | Path] = [self.buildah, *root, "run", container, "--"]
        said = self.run([*inside, "argolint", "--version"], env=env).strip()
        if said != f"argolint {self.version}":
            raise Wrong(f"the image says {said!r}")
        if self.run([*inside, "id", "-u"], env=env).strip() == "0":
            raise Wrong("the image runs as root")
        self.run([*inside, "git", "--version"], env=env)
        self.run([*inside, "python3", "-c", "import pip"], code=1, env=env)
        check: list[str | Path] = [*inside, "argolint", "check", "--quiet"]
        self.run([*check, "--snapshot", "/opt/argolint/demo.tar.gz"], code=1, env=env)
        self.run([*check, "--server", "127.0.0.1:9", "--plaintext", "--auth-token", "none"], code=2, env=env)
        self.run([*inside, "argolint", "demo", "--quiet"], env=env)
        self.run([self.buildah, *root, "rm", container], env=env)
        return f"{size}; runs, not as root, with git and without pip"

    @staticmethod
    def _config(layout: tarfile.TarFile) -> dict[str, Any]:
        def blob(digest: str) -> dict[str, Any]:
            data = _read(layout, f"blobs/{digest.replace(':', '/')}")
            if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
                raise Wrong(f"the image is damaged: {digest}")
            return dict(json.loads(data))

        index = json.loads(_read(layout, "index.json"))
        return blob(blob(index["manifests"][0]["digest"])["config"]["digest"])

    def action(self) -> str:
        """The steps of action.yml at the tag, each in a shell as a runner starts it, on the demo's recording."""
        source, temp = self.work / "source", self.work / "runner"
        if not source.exists():
            raise Skipped("there is no source: git is missing")
        text = (source / "action.yml").read_text()
        steps = json.loads(self.run([self.venv / "bin/python", "-c", _TO_JSON], given=text))
        temp.mkdir()
        files = {
            name: str(temp / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH", "GITHUB_ENV")
        }
        defaults = {name: str(i.get("default", "")) for name, i in steps["inputs"].items()}
        given = {
            "snapshot": self._demo(),
            "repo": "http://git.example.com/tracking.git",
            "head": "main",
            "base": "main",
        }
        given |= {"trusted-config": "", "comment": "false"}
        values = {k: "" if "${{" in v else v for k, v in defaults.items()} | given
        outputs: dict[str, dict[str, str]] = {}
        for step in steps["runs"]["steps"]:
            if "run" not in step or step["name"] == "Comment":
                continue
            env = {
                **self.env,
                **files,
                "RUNNER_TEMP": str(temp),
                "GITHUB_ACTION_PATH": str(source),
                "RUNNER_OS": "Linux",
            }
            for name, value in step.get("env", {}).items():
                env[name] = _expression(value, values, outputs)
            code = int(outputs["gate"]["exit-code"]) if step["name"] == "Decide" else 0
            Path(files["GITHUB_OUTPUT"]).write_text("")
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            self.run(shell, code=code, env=env, cwd=self.work)
            lines = Path(files["GITHUB_OUTPUT"]).read_text().splitlines()
            outputs[step.get("id", step["name"])] = dict(line.split("=", 1) for line in lines)
        judged = outputs["gate"]
        if (
            judged["exit-code"] == "2"
            or json.loads(Path(judged["json"]).read_text())["tool"]["version"] != self.version
        ):
            raise Wrong(f"the action's gate ended with {judged['exit-code']}")
        return f"its steps run; the gate ended with {judged['exit-code']}"

    def site(self) -> str:
        with tarfile.open(self.file(f"{self.stem}.site.tar.gz")) as archive:
            pages = [m.name for m in archive if m.isfile()]
        for wanted in ("site/index.html", "site/rules/shared-resource/index.html", "site/gate/index.html"):
            if wanted not in pages:
                raise Wrong(f"the site has no {wanted}")
        return f"{len(pages)} files"

    def knowledge(self) -> str:
        (pack,) = self.folder.glob("argolint-knowledge-*.json")
        argolint = self.venv / "bin/argolint"
        report = self.work / "with-pack.json"
        self.run(
            [argolint, "check", "--quiet", "--snapshot", self._demo(), "--knowledge", pack, "-o", f"json={report}"],
            code=1,
        )
        taken = json.loads(report.read_text())["knowledge"]["version"]
        if f"argolint-knowledge-{taken}.json" != pack.name:
            raise Wrong(f"{pack.name} is read as {taken}")
        cut = self.work / "cut.json"
        cut.write_bytes(pack.read_bytes()[:-1000])
        self.run([argolint, "check", "--quiet", "--snapshot", self._demo(), "--knowledge", cut], code=2)
        return f"{taken}, read by the wheel"

    def extension(self) -> str:
        name = "extension-argolint.tar.gz"
        with tarfile.open(self.file(name)) as archive:
            (script,) = [m.name for m in archive if m.isfile()]
        return script

    def packagers(self) -> str:
        sdist = hashlib.sha256(
            self.file(f"{self.facts['package'].replace('-', '_')}-{self.version}.tar.gz").read_bytes()
        )
        if sdist.hexdigest() not in self.file("argolint.rb").read_text():
            raise Wrong("the formula does not name the sum of the sdist")
        plugin = self.file("kubectl-argolint.tar.gz")
        if hashlib.sha256(plugin.read_bytes()).hexdigest() not in self.file("argolint.krew.yaml").read_text():
            raise Wrong("the manifest of krew does not name the sum of the plugin")
        with tarfile.open(plugin) as archive:
            (self.work / "kubectl-argolint").write_bytes(_read(archive, "kubectl-argolint"))
        (self.work / "kubectl-argolint").chmod(0o755)
        env = {**self.env, "PATH": f"{self.venv / 'bin'}:{self.env['PATH']}"}
        said = self.run([self.work / "kubectl-argolint", "--version"], env=env).strip()
        if said != f"argolint {self.version}":
            raise Wrong(f"the plugin says {said!r}")
        return "name what is here; the plugin runs"


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(name)
    if found is None:
        raise Wrong(f"an archive holds no {name}")
    return found.read(MAX_BYTES)


def _expression(text: str, inputs: dict[str, str], outputs: dict[str, dict[str, str]]) -> str:
    """The runner's value for `${{ inputs.X }}` and `${{ steps.X.outputs.Y }}`."""
    if not text.startswith("${{"):
        return text
    words = text.removeprefix("${{").removesuffix("}}").strip().split(".")
    if words[0] == "inputs":
        return inputs[words[1]]
    if words[0] == "steps":
        return outputs[words[1]][words[3]]
    return ""


@contextmanager
def _timed() -> Iterator[list[float]]:
    took, began = [0.0], time.monotonic()
    try:
        yield took
    finally:
        took[0] = time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, default=HERE, help="where the release lies [default: next to this script]"
    )
    parser.add_argument("--helm", default=os.environ.get("ARGOLINT_TEST_HELM") or shutil.which("helm") or "")
    parser.add_argument("--buildah", default=shutil.which("buildah") or "")
    parser.add_argument(
        "--only", action="append", default=[], help="some of the steps (repeatable); wheel is always one"
    )
    parser.add_argument("--allow-skipped", action="store_true")
    given = parser.parse_args()
    if not (given.folder / "release.json").is_file():
        print(f"{given.folder} holds no release.json: name the folder of a release with --folder")
        return 1
    wrong = skipped = 0
    with tempfile.TemporaryDirectory(prefix="argolint-verify-") as work:
        verify = Verify(given.folder.resolve(), Path(work), given.helm, given.buildah)
        for name, step in verify.steps().items():
            if given.only and name not in (*given.only, "wheel", "tag and commit"):
                continue
            with _timed() as took:
                try:
                    state, said = "ok", step()
                except Skipped as error:
                    state, said, skipped = "skipped", str(error), skipped + 1
                except Wrong as error:
                    state, said, wrong = "WRONG", str(error), wrong + 1
                except Exception as error:  # after any fault of a part, the others are still checked
                    state, said, wrong = "WRONG", f"{type(error).__name__}: {error}", wrong + 1
            print(f"{state:8}{name:20}{took[0]:6.1f} s  {said}", flush=True)
    if wrong:
        return 1
    return 3 if skipped and not given.allow_skipped else 0


if __name__ == "__main__":
    sys.exit(main())
