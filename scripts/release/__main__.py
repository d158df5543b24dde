"""`make release VERSION=1.2.3 OUT=dist/release`: every artefact of a release, only from a clean checkout and the package registries.

The release's own commit (version and changelog) is made in a clone, and its bundle has the tag: the checkout stays unchanged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from scripts.release import archives, bom, packagers, version
from scripts.release.names import ROOT, Names, Refused, read

_SITE_PACKAGES = """
import importlib.metadata as m, json
print(json.dumps({d.metadata["Name"]: d.version for d in m.distributions(path=[__import__("sysconfig").get_path("purelib")])}))
"""


@dataclass
class Release:
    """The state that all steps share. `tree` has the release's own commit; `files` are the artefacts by name."""

    version: str
    names: Names
    out: Path
    work: Path
    tree: Path
    commit: str = ""
    when: int = 0
    notes: str = ""
    base: str = ""
    took: dict[str, float] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        return f"{self.names.package}-{self.version}"

    @property
    def created(self) -> str:
        return datetime.fromtimestamp(self.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def wheel(self) -> Path:
        return self.out / f"{self.names.package.replace('-', '_')}-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> Path:
        return self.out / f"{self.names.package.replace('-', '_')}-{self.version}.tar.gz"

    def put(self, name: str, data: bytes) -> Path:
        file = self.out / name
        file.write_bytes(data)
        return file


def run(command: Sequence[str | Path], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """The standard output of a program; Refused with its last lines when it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise Refused(f"there is no {command[0]} in PATH", "install it, and run again") from None
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise Refused(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{said}")
    return done.stdout


def require_clean(root: Path, wanted: str) -> None:
    """Raise Refused for a checkout that differs from its last commit, and for a version that is released already."""
    if shutil.which("git") is None:
        raise Refused("there is no git in PATH", "a release is made of a commit: install git")
    try:
        dirty = run(["git", "status", "--porcelain"], root)
    except Refused as error:
        raise Refused(f"{root} is no Git checkout: {error}", "clone the repository, and release from there") from None
    if dirty.strip():
        names = [line[3:] for line in dirty.splitlines()]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        raise Refused(
            f"the checkout has changes that are in no commit: {', '.join(names[:3])}{more}", "commit or remove them"
        )
    if run(["git", "tag", "--list", f"v{wanted}"], root).strip():
        raise Refused(f"the tag v{wanted} exists already", "a released version is never made again: take the next")


def require_out(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Refused(f"{out} is there already and not empty", "remove it, or name another: make release OUT=DIR")


def commit(made: Release, root: Path) -> None:
    """The commit of the release in a clone: version and changelog. The same input makes the same commit."""
    run(["git", "clone", "--quiet", "--no-checkout", "--no-hardlinks", root, made.tree])
    head = run(["git", "rev-parse", "HEAD"], root).strip()
    run(["git", "checkout", "--quiet", "--detach", head], made.tree)
    made.when = int(run(["git", "log", "-1", "--format=%ct"], made.tree))
    changelog = made.tree / "CHANGELOG.md"
    text, made.notes = version.cut(changelog.read_text(encoding="utf-8"), made.version, made.created[:10])
    changelog.write_text(text, encoding="utf-8")
    version.stamp(made.tree, made.version, made.names)
    run([sys.executable, "-m", "scripts.promises"], made.tree)
    who = {"NAME": made.names.author, "EMAIL": made.names.email, "DATE": f"{made.when} +0000"}
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    settings = ("-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false", "-c", "core.hooksPath=/dev/null")
    run(["git", *settings, "commit", "--quiet", "--all", "-m", f"Release {made.version}"], made.tree, env=env)
    run(
        ["git", *settings, "tag", "--annotate", f"v{made.version}", "-m", f"Release {made.version}"], made.tree, env=env
    )
    made.commit = run(["git", "rev-parse", "HEAD"], made.tree).strip()
    threads = ("-c", "pack.threads=1")  # otherwise the same history packs into other bytes
    run(
        ["git", *threads, "bundle", "create", "--quiet", made.out / f"{made.stem}.bundle", f"v{made.version}"],
        made.tree,
    )


def packages(made: Release) -> None:
    """sdist and wheel, each built twice from a fresh tree, the wheel from the sdist. Both builds must have the same bytes."""
    turns = []
    for turn in ("one", "two"):
        source, built = made.work / turn, made.work / f"dist-{turn}"
        source.mkdir()
        archive = made.work / "source.tar"
        run(["git", "archive", "--output", archive, "HEAD"], made.tree)
        run(["tar", "-x", "-f", archive, "-C", source])
        run([sys.executable, "-m", "build", "--outdir", built, source], env={"SOURCE_DATE_EPOCH": str(made.when)})
        sdist = built / made.sdist.name
        sdist.write_bytes(archives.tar_gz(archives.of_archive(sdist), made.when))
        turns.append({file.name: file.read_bytes() for file in built.iterdir()})
    wanted = {made.wheel.name, made.sdist.name}
    if set(turns[0]) != wanted:
        raise Refused(f"the build made {', '.join(sorted(turns[0]))} and not {', '.join(sorted(wanted))}")
    differ = [name for name in wanted if turns[0][name] != turns[1].get(name)]
    if differ:
        raise Refused(f"two builds of one commit differ: {', '.join(differ)}")
    for name, data in turns[0].items():
        made.put(name, data)
    run([sys.executable, "-m", "twine", "check", "--strict", made.wheel, made.sdist])
    shutil.copyfile(made.tree / "deploy/requirements.lock", made.out / "requirements.lock")


def python_bom(made: Release) -> dict[str, Any]:
    """The wheel's dependencies, installed by the lock's hashes, as CycloneDX."""
    env = made.work / "installed"
    run([sys.executable, "-m", "venv", "--without-pip", env])
    python = env / "bin/python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    run([*pip, "--require-hashes", "-r", made.out / "requirements.lock"])
    run([*pip, "--no-deps", made.wheel])
    file = made.work / "python.cdx.json"
    run(
        [
            *(sys.executable, "-m", "cyclonedx_py", "environment", python),
            *("--pyproject", made.tree / "pyproject.toml", "--output-reproducible", "--validate", "-o", file),
        ],
        env={"SOURCE_DATE_EPOCH": str(made.when)},
    )
    found: dict[str, Any] = json.loads(file.read_text())
    found = packagers.without_paths(found)
    found["metadata"]["component"]["version"] = made.version  # pyproject.toml takes it from the code
    made.put(f"{made.stem}.python.cdx.json", bom.written(found))
    return found


def image(made: Release, listed: Mapping[str, Any]) -> None:
    """The image as an OCI archive, its dependencies by the lock's hashes, and its bill of materials."""
    env = {"BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs", "SOURCE_DATE_EPOCH": str(made.when)}
    storage = made.work / "storage"
    buildah: list[str | Path] = ["buildah", "--root", storage, "--runroot", made.work / "run"]
    env |= {"CONTAINERS_STORAGE_CONF": str(made.work / "storage.conf")}
    (made.work / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{storage}"\nrunroot = "{made.work / "run"}"\n'
    )
    base, said = made.base, made.base
    if not base:
        base = "localhost/argolint-base:debian"
        said = f"Debian {made.names.suite}, python3, git and ca-certificates, by mmdebstrap"
        run(["bash", ROOT / "scripts/base.sh", base, made.names.suite], env=env)
    context = made.work / "context"
    wheels = context / "dist/wheels"
    wheels.mkdir(parents=True)
    (context / "deploy").mkdir()
    shutil.copy(made.wheel, context / "dist")
    shutil.copy(made.out / "requirements.lock", context / "deploy")
    python = run([*buildah, "from", base], env=env).strip()
    asked = 'import sys; print("%d.%d" % sys.version_info[:2])'
    minor = run([*buildah, "run", python, "--", "python3", "-c", asked], env=env).strip()
    run([*buildah, "rm", python], env=env)
    run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--python-version", minor),
            *("--require-hashes", "-r", made.out / "requirements.lock", "-d", wheels),
        ]
    )
    labels = {
        "source": made.names.repository,
        "version": made.version,
        "revision": made.commit,
        "created": made.created,
        "url": made.names.docs,
    }
    tag = f"{made.names.image}:{made.version}"
    run(
        [*buildah, "build", "--quiet", "--timestamp", str(made.when), "-f", made.tree / "deploy/Containerfile"]
        + ["--build-arg", f"BASE={base}", "--build-arg", "PIP_NO_INDEX=1", "--pull-never", "--target", "argolint"]
        + [word for k, v in labels.items() for word in ("--label", f"org.opencontainers.image.{k}={v}")]
        + ["-t", tag, str(context)],
        env=env,
    )
    container = run([*buildah, "from", "--pull-never", tag], env=env).strip()
    held = json.loads(
        run([*buildah, "run", container, "--", "/opt/argolint/bin/python", "-c", _SITE_PACKAGES], env=env)
    )
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\\n"]
    debian = run([*buildah, "run", container, "--", *query], env=env).splitlines()
    made.put(f"{made.stem}.image.cdx.json", bom.written(bom.of_image(listed, held, debian, made.names.suite)))
    raw = made.work / "image.tar"
    run([*buildah, "push", "--quiet", tag, f"oci-archive:{raw}:{made.version}"], env=env)
    made.put(f"{made.stem}.image.oci.tar", archives.tar(archives.of_archive(raw), made.when))
    made.base = said


def chart(made: Release) -> None:
    """The chart as a package, and as an OCI layout for a registry."""
    helm = run(["bash", ROOT / "scripts/helm.sh"]).strip().splitlines()[-1]
    folder, packed = made.tree / "deploy/helm/argolint", made.work / "chart"
    run([helm, "lint", "--strict", folder, "--set", f"image.repository={made.names.image}"])
    run([helm, "package", folder, "--destination", packed])
    data = archives.tar_gz(archives.of_archive(packed / f"argolint-{made.version}.tgz"), made.when)
    made.put(f"argolint-{made.version}.tgz", data)
    about = yaml.safe_load((folder / "Chart.yaml").read_text(encoding="utf-8"))
    layout = archives.chart_layout(about, data, made.created)
    made.put(f"argolint-{made.version}.chart.oci.tar", archives.tar(layout, made.when))


def site(made: Release) -> None:
    """The documentation as a site."""
    run([sys.executable, "-m", "zensical", "build", "--clean"], made.tree)
    entries = archives.of_folder(made.tree / "build/site", "site/")
    if not any(name == "site/index.html" for name, _, _ in entries):
        raise Refused("the site has no index.html", "`make site` shows what is wrong")
    made.put(f"{made.stem}.site.tar.gz", archives.tar_gz(entries, made.when))


def pack(made: Release) -> None:
    """The knowledge files as a pack, also for an older argolint."""
    file = made.work / "pack.json"
    env = {"PYTHONPATH": str(made.tree)}
    run([made.work / "installed/bin/python", made.tree / "scripts/knowledge.py", file], made.tree, env=env)
    version = json.loads(file.read_text())["version"]
    made.put(f"argolint-knowledge-{version}.json", file.read_bytes())


def extras(made: Release) -> None:
    """Files for other packagers and Argo CD's UI: the extension, a formula of Homebrew, a manifest of krew."""
    argolint = made.work / "installed/bin/argolint"
    extension = made.out / "extension-argolint.tar.gz"
    run([argolint, "extension", "-o", extension], made.work)
    sums = hashlib.sha256(extension.read_bytes()).hexdigest()
    made.put("extension-argolint.tar.gz.sha256", f"{sums}  {extension.name}\n".encode())
    plugin = archives.tar_gz(
        [
            ("kubectl-argolint", 0o755, (made.tree / "contrib/krew/kubectl-argolint").read_bytes()),
            ("LICENSE", 0o644, (made.tree / "LICENSE").read_bytes()),
        ],
        made.when,
    )
    made.put("kubectl-argolint.tar.gz", plugin)
    download = f"{made.names.repository}/releases/download/v{made.version}"
    filled = {
        "version": made.version,
        "repository": made.names.repository,
        "docs": made.names.docs,
        "package": made.names.package,
        "sdist": f"{download}/{made.sdist.name}",
        "sdist_sha256": hashlib.sha256(made.sdist.read_bytes()).hexdigest(),
        "plugin": f"{download}/kubectl-argolint.tar.gz",
        "plugin_sha256": hashlib.sha256(plugin).hexdigest(),
    }
    for source, name in (("homebrew/argolint.rb", "argolint.rb"), ("krew/argolint.yaml", "argolint.krew.yaml")):
        text = (made.tree / "contrib" / source).read_text(encoding="utf-8")
        lock = (made.out / "requirements.lock").read_text(encoding="utf-8")
        made.put(name, packagers.filled(text, {**filled, "resources": packagers.resources(lock)}).encode())


def about(made: Release) -> None:
    """Notes, the sources of the build, the script that verifies it, and the checksums of all."""
    made.put("NOTES.md", packagers.notes(made.notes, made.version, made.commit, made.names).encode())
    shutil.copyfile(ROOT / "scripts/release/verify.py", made.out / "verify")
    (made.out / "verify").chmod(0o755)
    facts = {
        "version": made.version,
        "commit": made.commit,
        "created": made.created,
        "published": made.names.published,
        "package": made.names.package,
        "repository": made.names.repository,
        "image": f"{made.names.image}:{made.version}",
        "chart": f"{made.names.charts}/argolint:{made.version}",
        "base": made.base,
    }
    made.put("release.json", (json.dumps(facts, indent=1) + "\n").encode())
    files = sorted(file for file in made.out.iterdir() if file.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    made.put("SHA256SUMS", "".join(lines).encode())


@contextmanager
def timed(made: Release, step: str) -> Iterator[None]:
    began = time.monotonic()
    sys.stderr.write(f"{step} ...\n")
    yield
    made.took[step] = time.monotonic() - began


def release(wanted: str, out: Path, base: str, root: Path = ROOT) -> Release:
    """The whole release, or Refused; an unfinished release leaves nothing behind."""
    version.checked(wanted)
    require_clean(root, wanted)
    version.cut((root / "CHANGELOG.md").read_text(encoding="utf-8"), wanted, "")
    names = read(root)
    require_out(out)
    for tool in ("tar", *(() if base else ("mmdebstrap",)), "buildah"):
        if shutil.which(tool) is None:
            raise Refused(f"there is no {tool} in PATH", f"apt-get install {tool}")
    parent = out.resolve().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".release-", dir=parent) as folder:
        work = Path(folder)
        (work / "out").mkdir()
        made = Release(wanted, names, work / "out", work, work / "tree", base=base)
        listed: dict[str, Any] = {}

        def bill() -> None:
            listed.update(python_bom(made))

        steps: Mapping[str, Callable[[], None]] = {
            "commit and tag": lambda: commit(made, root),
            "sdist and wheel, twice": lambda: packages(made),
            "bill of materials": bill,
            "image": lambda: image(made, listed),
            "chart": lambda: chart(made),
            "site": lambda: site(made),
            "knowledge pack": lambda: pack(made),
            "extension, Homebrew, krew": lambda: extras(made),
            "notes and checksums": lambda: about(made),
        }
        for step, does in steps.items():
            with timed(made, step):
                does()
        if out.exists():
            out.rmdir()
        made.out.rename(out)
        made.out = out
    return made


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=Path, default=Path("dist/release"))
    parser.add_argument("--base", default="", help="the image's base [default: made of Debian's packages]")
    given = parser.parse_args()
    try:
        made = release(given.version, given.out, given.base)
    except Refused as error:
        sys.stderr.write(f"make release: {error}\n")
        return 2
    for step, seconds in made.took.items():
        print(f"{seconds:7.1f} s  {step}")
    for file in sorted(made.out.iterdir()):
        print(f"{file.stat().st_size / 1e6:7.2f} MB  {file.name}")
    print(f"{made.out}: {made.stem} of commit {made.commit}; {made.out}/verify checks it")
    if not made.names.published:
        print("release.toml says `published = false`: its names are placeholders, and nothing of this may be pushed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
