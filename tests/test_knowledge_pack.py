"""Knowledge packs: what a later one says counts, and one that is altered, cut, older or of another form is refused before anything runs."""

from __future__ import annotations

import copy
import hashlib
import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import msgspec
import pytest

from argolint.cli.demo import RECORDING
from argolint.errors import UsageError
from argolint.host.programs import find
from argolint.values import knowledge, knowledge_pack
from argolint.values.knowledge import BUILT_IN, load
from tests.conftest import ROOT, run_argolint
from tests.gitops import commit, git

LATER = ("2099.01.02", "2099-01-02")
FINALIZERS = "argolint_rules.sync/finalizers.yaml"
WRITERS = "argolint_rules.drift/writers.yaml"


@pytest.fixture(autouse=True)
def _own_again() -> Iterator[None]:
    yield
    knowledge.use(BUILT_IN, {})


def own(place: str) -> Any:
    return copy.deepcopy(knowledge_pack.own_files()[place])


def written(folder: Path, files: dict[str, Any], version: str = LATER[0], day: str = LATER[1]) -> Path:
    file = folder / "pack.json"
    file.write_bytes(knowledge_pack.pack(version, day, files))
    return file


def test_what_argolint_brings_is_a_pack_that_it_reads(tmp_path: Path) -> None:
    """Nothing is lost on the way: JSON knows all that the YAML files hold."""
    every = knowledge_pack.own_files()
    assert knowledge_pack.read(written(tmp_path, dict(every))).files == every
    names = {p.relative_to(ROOT).as_posix() for d in ("rules", "argolint") for p in (ROOT / d).rglob("*.yaml")}
    assert len(every) == len(names)


def test_what_a_pack_says_counts_and_what_it_leaves_out_stays(tmp_path: Path) -> None:
    entries = own(FINALIZERS)
    about = knowledge_pack.use(written(tmp_path, {FINALIZERS: entries[:1]}))
    assert (about.version, knowledge.about()) == (LATER[0], about)
    assert load("argolint_rules.sync", "finalizers.yaml") == entries[:1]
    assert load("argolint_rules.drift", "writers.yaml") == own(WRITERS)


def test_a_pack_may_bring_charts_and_messages_of_its_own(tmp_path: Path) -> None:
    charts = {"argolint_rules.shared/chart_data/harbour.yaml": own("argolint_rules.shared/chart_data/airflow.yaml")}
    knowledge_pack.use(written(tmp_path, charts))
    assert "harbour.yaml" in knowledge.names("argolint_rules.shared", "chart_data")
    assert "airflow.yaml" in knowledge.names("argolint_rules.shared", "chart_data")
    assert "harbour.yaml" not in knowledge.names("argolint_rules.shared")


def test_the_report_says_which_knowledge_it_rests_on(tmp_path: Path, pair: Path) -> None:
    pack = written(tmp_path, {FINALIZERS: own(FINALIZERS)})
    check = ("check", "--quiet", "--fail-on", "never", "--snapshot", pair, "-o", "json=-")
    plain = json.loads(run_argolint(*check).out)
    with_pack = json.loads(run_argolint(*check, "--knowledge", pack).out)
    assert plain["knowledge"] == {"version": BUILT_IN.version, "date": BUILT_IN.date}
    assert with_pack["knowledge"] == {"version": LATER[0], "date": LATER[1]}
    assert with_pack["findings"] == plain["findings"] != []


def test_the_users_own_settings_name_a_pack(tmp_path: Path) -> None:
    written(tmp_path, {FINALIZERS: own(FINALIZERS)})
    settings = tmp_path / "xdg" / "argolint" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("knowledge: ../../pack.json\n")
    ran = run_argolint("version", "--json", env={"XDG_CONFIG_HOME": str(tmp_path / "xdg")})
    assert json.loads(ran.out)["knowledge"] == LATER[0]
    settings.write_text("knowledge: ../../no-pack.json\n")
    ran = run_argolint("version", env={"XDG_CONFIG_HOME": str(tmp_path / "xdg")})
    assert (ran.code, "cannot read the knowledge pack" in ran.err) == (2, True)


def _altered(pack: Path) -> None:
    made = json.loads(pack.read_text())
    made["files"][FINALIZERS] = []
    pack.write_text(json.dumps(made))


def _of_a_later_form(pack: Path) -> None:
    pack.write_text(json.dumps({**json.loads(pack.read_text()), "argolint_knowledge": 2, "more": []}))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_altered, "was altered or damaged"),
        (_of_a_later_form, "is a knowledge pack of form 2, and this argolint reads form 1"),
        (lambda pack: pack.write_bytes(pack.read_bytes()[:-200]), "is no knowledge pack, or a part of one"),
        (lambda pack: pack.write_text("[]"), "does not say argolint_knowledge"),
        (lambda pack: pack.write_text('{"argolint_knowledge": 1}'), "is a damaged knowledge pack"),
        (lambda pack: pack.write_text("[" * 100_000), "is no knowledge pack, or a part of one"),
        (Path.unlink, "cannot read the knowledge pack"),
    ],
)
def test_a_pack_that_is_not_what_was_published_is_refused(
    tmp_path: Path, harm: Callable[[Path], object], says: str
) -> None:
    pack = written(tmp_path, {FINALIZERS: own(FINALIZERS)})
    harm(pack)
    with pytest.raises(UsageError, match=says):
        knowledge_pack.use(pack)
    assert knowledge.about() is BUILT_IN


def _without_a_key() -> Any:
    made = own(FINALIZERS)
    key = set.intersection(*(set(entry) for entry in made)).pop()
    del made[3][key]
    return made


def _with_a_slow_pattern() -> Any:
    made = own(WRITERS)
    made["writers"][0]["name"] = "([a-z]+-?)*controller"
    return made


@pytest.mark.parametrize(
    ("place", "data", "says"),
    [
        ("argolint_rules.sync/no_such.yaml", list, "has no such file"),
        ("argolint_rules.shared/chart_data/../x.yaml", list, "has no such file"),
        ("os/path.yaml", list, "has no such file"),
        (FINALIZERS, lambda: {"a": 1}, "is a map, and a list is read there"),
        (FINALIZERS, lambda: [7], "/0 is a number, and a map is read there"),
        (FINALIZERS, _without_a_key, "/3 lacks"),
        (WRITERS, _with_a_slow_pattern, "repeats what repeats"),
    ],
)
def test_a_file_that_this_argolint_cannot_read_is_named(
    tmp_path: Path, place: str, data: Callable[[], Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        knowledge_pack.use(written(tmp_path, {place: data()}))
    assert place in refused.value.message


def test_an_older_pack_and_one_without_a_day_are_refused(tmp_path: Path) -> None:
    files = {FINALIZERS: own(FINALIZERS)}
    with pytest.raises(UsageError, match="this argolint brings that of"):
        knowledge_pack.use(written(tmp_path, files, "2020.01.01", "2020-01-01"))
    for version, day in (("soon", LATER[1]), (LATER[0], "soon")):
        with pytest.raises(UsageError, match="these are no days"):
            knowledge_pack.use(written(tmp_path, files, version, day))
    with pytest.raises(UsageError, match="holds 0 files"):
        knowledge_pack.use(written(tmp_path, {}))


def test_what_is_larger_than_a_pack_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = written(tmp_path, {FINALIZERS: own(FINALIZERS)})
    monkeypatch.setattr(knowledge_pack, "MAX_BYTES", pack.stat().st_size - 1)
    with pytest.raises(UsageError, match="is larger than"):
        knowledge_pack.use(pack)


def test_a_pack_of_the_checkout_is_not_taken(tmp_path: Path) -> None:
    """A change may have written it. The exit code is 2, and nothing was checked."""
    assert find("git")
    git(tmp_path, "init", "--quiet")
    pack = written(tmp_path, {FINALIZERS: own(FINALIZERS)})
    commit(tmp_path, {"pack.json": pack.read_text()})
    ran = run_argolint("check", "--snapshot", RECORDING, "--knowledge", "pack.json", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "is part of the checkout" in ran.err
    assert "cannot say what is known" in ran.err


def test_the_script_makes_a_pack_of_this_tree(tmp_path: Path) -> None:
    out = tmp_path / "made.json"
    command = [sys.executable, "scripts/knowledge.py", str(out), "--version", "2099.01.01"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["files"].keys() == knowledge_pack.own_files().keys()


def test_a_build_holds_the_data_of_every_file(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "setup.py"))["compile_knowledge"](tmp_path)
    made = json.loads((tmp_path / "compiled.json").read_bytes())
    sources = [file for folder in ("argolint", "rules") for file in (ROOT / folder).rglob("*.yaml")]
    texts = {hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest(): file for file in sources}
    assert made == {digest: knowledge.parse(file.read_bytes()) for digest, file in texts.items()}


def test_built_data_counts_for_the_same_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    package, name = "argolint.values", "kubernetes_types.yaml"
    text = resources(package).joinpath(name).read_bytes()
    built = {hashlib.blake2b(text, digest_size=16).hexdigest(): msgspec.Raw(b'{"built":1}')}
    monkeypatch.setattr(knowledge, "_compiled", lambda: built)
    assert knowledge.read(package, name) == {"built": 1}
    monkeypatch.setattr(knowledge, "_compiled", lambda: {"0" * 32: msgspec.Raw(b"{}")})
    assert knowledge.read(package, name) == knowledge.parse(text)
