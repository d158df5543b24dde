"""The configuration file: strict, and every error names file, line, key and the nearest match."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jsonschema
import pytest
import yaml

from argolint.engine import config
from argolint.errors import UsageError
from argolint.server.connection import Flags
from argolint.values import strict_yaml
from tests.conftest import recording, run_argolint
from tests.fits import require_fit

GOOD = """\
select: [drift, error]
fail-on: warning
rules:
  unexplained-drift: {severity: info}
ignore:
- rule: unexplained-drift
  app: team-*
  reason: the team knows
  expires: 2027-01-01
"""


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        config.parse(text, Path("x.yaml"))
    return f"{caught.value.message} | {caught.value.hint}"


def test_a_good_file_is_read_whole() -> None:
    loaded = config.parse(GOOD, Path("x.yaml"))
    assert loaded.config.select == ("drift", "error")
    assert loaded.config.rules["unexplained-drift"].severity == "info"
    assert str(loaded.config.ignore[0].expires) == "2027-01-01"
    assert [entry.line for entry in loaded.entries] == [6]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fail_on: error", "x.yaml:1: unknown key 'fail_on'; did you mean 'fail-on'?"),
        ("select: drift", "x.yaml:1: select: a list is expected, not text"),
        (
            "select: [drift]\nrules:\n  a:\n    severty: info",
            "x.yaml:4: unknown key 'severty'; did you mean 'severity'?",
        ),
        (
            "ignore:\n- {rule: a, reason: b}\n- {rule: a, reason: b, ap: c}",
            "x.yaml:3: unknown key 'ap'; did you mean 'app'?",
        ),
        ("ignore:\n- rule: a\n", "x.yaml:2: ignore.0: Object missing required field `reason`"),
        ("ignore:\n- {rule: a, reason: ' '}", "x.yaml:2: ignore entry for a has an empty reason"),
        (
            "ignore:\n- {rule: a, reason: b,\n   expires: next year}",
            "x.yaml:3: ignore.0.expires: Invalid RFC3339 encoded date",
        ),
        ("fail-on: loud", "x.yaml:1: fail-on: Invalid enum value 'loud'"),
        ("fail-on: error\nfail-on: info", "x.yaml:2: key 'fail-on' occurs twice (first on line 1)"),
        ("rules:\n\tx: y", "x.yaml:2: found character '\\t' that cannot start any token | indent with spaces"),
        ("- a\n- b", "x.yaml:1: the file: a mapping is expected, not a list"),
        (
            "rules:\n  live-edit: {severity: info}\n  job-ttl: {severity: bad}",
            "x.yaml:3: rules.job-ttl.severity: Invalid enum value 'bad' | one of error, warning, info",
        ),
        ("select: [", "x.yaml:1: expected the node content"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_nearest_match(text: str, told: str) -> None:
    assert told in refused(text)


@pytest.mark.parametrize("key", [field.name.replace("_", "-") for field in dataclasses.fields(Flags)])
def test_no_connection_setting_is_taken_from_a_configuration(key: str) -> None:
    told = refused(f"fail-on: error\n{key}: x\n")
    assert told.startswith(f"x.yaml:2: a configuration cannot hold '{key}': a change to the checkout could then choose")
    assert key in told.partition(" | ")[2] or key == "auth-token"
    assert "revoke this token" in refused("auth-token: eyJhbGciOiJ.x.y")
    assert "eyJ" not in refused("auth-token: eyJhbGciOiJ.x.y")


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
    )
    assert "expands to more than" in refused(bomb)


def test_deep_nesting_is_refused() -> None:
    assert "x.yaml" in refused("[" * 1500 + "]" * 1500)


def test_a_line_is_the_nearest_one_above_when_the_value_is_missing() -> None:
    assert strict_yaml.parse("a:\n  b: 1\n", "x").line(("a", "c")) == 1


def test_the_schema_accepts_what_the_reader_accepts_and_refuses_a_typo() -> None:
    data = yaml.safe_load(GOOD)
    data["ignore"][0]["expires"] = "2027-01-01"
    require_fit(data, config.schema())
    with pytest.raises(jsonschema.ValidationError):
        require_fit({"fail_on": "error"}, config.schema())


def test_an_unknown_rule_or_option_or_plugin_stops_the_run(tmp_path: Path) -> None:
    for text, told in (
        (
            "rules:\n  unexplained-drft: {}",
            ":2: rules: there is no rule 'unexplained-drft'; did you mean 'unexplained-drift'?",
        ),
        (
            "rules:\n  unexplained-drift:\n    options:\n      loud: 1",
            ":4: rule unexplained-drift has no option 'loud'",
        ),
        (
            "rules:\n  self-heal-loop:\n    options:\n      recent-minutes: 9\n      attempts: five",
            ":5: rule self-heal-loop: attempts: a whole number is expected, not text",
        ),
        (
            "rules:\n  self-heal-loop:\n    options:\n      recent-minutes: soon",
            ":4: rule self-heal-loop: recent-minutes: a whole number is expected, not text",
        ),
        ("require-plugins:\n- team-rules", ":2: required plugin team-rules is not installed"),
        ("select:\n- sync\n- drif", ":3: 'drif' is no rule, family or severity; did you mean 'drift'?"),
        ("deselect:\n- [drif]", ":2: deselect.0: text is expected, not a list"),
        ("output: [jsn]", ".argolint.yaml: output jsn: there is no format 'jsn'"),
    ):
        (tmp_path / ".argolint.yaml").write_text(text)
        ran = run_argolint("config", cwd=tmp_path)
        assert ran.code == 2
        assert told in ran.err
        assert "configuration    not usable, see above\n" in ran.out
        assert "fail-on          error  (default)\n" in ran.out
        assert run_argolint("schema", "config", cwd=tmp_path).code == 0


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    (tmp_path / ".argolint.yaml").write_text(GOOD)
    told = [
        next(line for line in ran.out.splitlines() if line.startswith("fail-on"))
        for ran in (
            run_argolint("config", cwd=tmp_path),
            run_argolint("config", cwd=tmp_path, env={"ARGOLINT_FAIL_ON": "info"}),
            run_argolint("config", "--fail-on", "never", cwd=tmp_path, env={"ARGOLINT_FAIL_ON": "info"}),
        )
    ]
    assert told == [
        "fail-on          warning  (.argolint.yaml)",
        "fail-on          info  (environment)",
        "fail-on          never  (flag)",
    ]


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warning", 0)])
def test_a_severity_of_the_configuration_is_the_findings_severity(
    severity: str, code: int, tmp_path: Path, pair: Path
) -> None:
    (tmp_path / "c.yaml").write_text(f"rules: {{shared-resource: {{severity: {severity}}}}}\n")
    ran = run_argolint("check", "--config-file", tmp_path / "c.yaml", "--snapshot", pair, "-q")
    assert ran.code == code
    assert f"1 {severity}" in ran.out


def test_the_configuration_of_a_folder_above_counts_within_the_clone_with_its_baseline(tmp_path: Path) -> None:
    below = tmp_path / "clone" / "team" / "web"
    below.mkdir(parents=True)
    (tmp_path / "clone" / ".git").mkdir()
    (tmp_path / "clone" / ".argolint.yaml").write_text("fail-on: info\nbaseline: base.json\n")
    (tmp_path / ".argolint.yaml").write_text("fail-on: never\n")
    snapshot = ("--snapshot", recording("seeds/1-stuck"))
    written = run_argolint("baseline", "-o", tmp_path / "clone" / "base.json", *snapshot, cwd=below)
    assert written.code == 0, "the old baseline, which is not there, is not needed"
    ran = run_argolint("check", *snapshot, cwd=below)
    assert (ran.code, ran.out.count("suppressed")) == (0, 1)
    assert "fail-on          info  (" in run_argolint("config", cwd=below).out
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    assert "configuration    none\n" in run_argolint("config", cwd=alone).out, "a folder that nobody vouches for"


def test_a_name_that_is_nearly_the_configurations_is_told(tmp_path: Path) -> None:
    (tmp_path / ".argolint.yml").write_text("fail-on: never\n")
    told = ".argolint.yml is not read: argolint's configuration is called .argolint.yaml"
    assert told in run_argolint("config", cwd=tmp_path).out
    ran = run_argolint("check", "--snapshot", recording("seeds/1-stuck"), "-o", "markdown", cwd=tmp_path)
    assert "is not read: argolint's configuration is called" in ran.out


def test_config_says_where_the_connection_comes_from_and_never_the_token(tmp_path: Path) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJhcmdvY2QifQ.c2lnbmF0dXJl"
    env = {"ARGOCD_SERVER": "argocd.example.com", "ARGOCD_AUTH_TOKEN": token}
    ran = run_argolint("config", cwd=tmp_path, env=env)
    assert "server           https://argocd.example.com  (ARGOCD_SERVER)\n" in ran.out
    assert "token            set  (ARGOCD_AUTH_TOKEN)\n" in ran.out
    assert "eyJ" not in ran.out + ran.err
    flag = run_argolint("config", "--server", "other.example.com", cwd=tmp_path, env=env)
    assert "server           https://other.example.com  (flag)\n" in flag.out


def test_an_application_that_does_not_exist_gets_the_nearest_name() -> None:
    ran = run_argolint("check", "legacy-mising-key", "--snapshot", recording("seeds/1-stuck"))
    assert ran.code == 2
    assert "there is no application 'legacy-mising-key'" in ran.err
    assert "did you mean 'legacy-missing-key'?" in ran.err
