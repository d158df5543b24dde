"""`.argolint.yaml`: the user's configuration. Strict: a typo is an error that names file, line, key and the most similar key."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from argolint import DOCS
from argolint.application.rule import Rule
from argolint.errors import UsageError
from argolint.host.folder import readable
from argolint.sources.files import read_text
from argolint.suppression.entries import Entry, Ignore
from argolint.values import strict_yaml
from argolint.values.decoding import converted, schema_of
from argolint.values.strict_yaml import nearest

DEFAULT_FILE = Path(".argolint.yaml")


class RuleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule: another severity, and its own options (`argolint explain RULE` lists them)."""

    severity: Literal["info", "warning", "error"] | None = None
    options: dict[str, Any] = {}


class Metrics(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Metrics of single applications in `-o prometheus` and `argolint serve`; the sums of the fleet are always complete.

    per-app       a series for each application and rule
    min-severity  only of findings at least this severe
    max-series    the largest number of these series: infos are left out first, then warnings
    app-labels    labels of Applications to export, for example so that alerts reach the owning team
    """

    per_app: bool = True
    min_severity: Literal["info", "warning", "error"] = "info"
    max_series: Annotated[int, msgspec.Meta(ge=0)] = 20_000
    app_labels: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=317)], ...], msgspec.Meta(max_length=20)
    ] = ()

    def __post_init__(self) -> None:
        names: dict[str, str] = {}
        for key in self.app_labels:
            other = names.setdefault(metric_label(key), key)
            if other != key:
                raise ValueError(f"app-labels: {other} and {key} would be one label, {metric_label(key)}")


def metric_label(key: str) -> str:
    """The metric label for an Application's label, spelled as kube-state-metrics does: `app.kubernetes.io/part-of` becomes `label_app_kubernetes_io_part_of`."""
    return "label_" + re.sub(r"[^A-Za-z0-9_]", "_", key)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The whole file; every key is optional. It cannot set the target of a token, since the file is in a checkout.

    select, deselect   rules by id, family or severity
    rules              settings of single rules by id
    ignore             findings not to be reported, each with a reason
    fail-on, output    as the options of the command line
    baseline           file of accepted findings
    pedantic           also show rules that are advice on GitOps itself
    require-plugins    packages that must provide rules for the run to start
    metrics            which series `-o prometheus` writes
    """

    select: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    rules: dict[str, RuleSettings] = {}
    ignore: tuple[Ignore, ...] = ()
    fail_on: Literal["error", "warning", "info", "never"] | None = None
    output: tuple[str, ...] = ()
    baseline: str | None = None
    pedantic: bool = False
    require_plugins: tuple[str, ...] = ()
    metrics: Metrics = Metrics()


@dataclass(frozen=True)
class Loaded:
    """A configuration and its file, with the lines of its values."""

    config: Config
    file: Path | None = None
    entries: tuple[Entry, ...] = ()
    lines: Mapping[strict_yaml.Path, int] = dataclasses.field(default_factory=dict, compare=False)

    def place(self, *path: str | int) -> str:
        """File and line of the value at the path, else of the nearest value around it."""
        return f"{self.file}:{strict_yaml.Document(None, self.lines).line(path)}"


LOOK_ALIKES = (".argolint.yml", "argolint.yaml", "argolint.yml", ".argolint.json", ".argolint.toml")
"""Common wrong names of the file, which are not read."""


def find() -> Path | None:
    """`.argolint.yaml` here, else in the nearest folder above within the Git clone: folders above the clone belong to someone else."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was removed meanwhile
        return None
    for folder in (here, *here.parents):
        if (folder / DEFAULT_FILE).exists():
            return DEFAULT_FILE if folder == here else folder / DEFAULT_FILE
        if os.path.lexists(folder / ".git"):
            return None
        if folder == here and not any(os.path.lexists(above / ".git") for above in here.parents):
            return None
    return None


def look_alike() -> Path | None:
    """A file here whose name is one of the wrong ones."""
    return next((Path(name) for name in LOOK_ALIKES if Path(name).exists()), None)


def load(file: Path | None) -> Loaded:
    """The named file, else `.argolint.yaml` here or above (`find`), else the defaults."""
    path = file or find()
    if path is None:
        return Loaded(Config())
    with readable(f"the configuration {path}", "name another with --config-file"):
        text = read_text(path, strict_yaml.MAX_BYTES)
    return parse(text, path)


def parse(text: str, path: Path) -> Loaded:
    """The configuration in `text`; UsageError names file, line, key and the most similar key."""
    document = strict_yaml.parse(text, str(path))
    try:
        config = converted({} if document.data is None else document.data, Config)
    except msgspec.ValidationError as error:
        raise _explained(error, document, path) from None
    entries = tuple(Entry(own, str(path), document.line(("ignore", n))) for n, own in enumerate(config.ignore))
    for entry in entries:
        if not entry.ignore.reason.strip():
            raise UsageError(
                f"{entry.place}: ignore entry for {entry.ignore.rule} has an empty reason",
                "say why, for the next reader",
            )
    return Loaded(config, path, entries, document.lines)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the file."""
    made = schema_of(Config)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{DOCS}schema/config-1.json",
        "title": ".argolint.yaml",
        **made,
    }


def check_rules(loaded: Loaded, rules: Mapping[str, Rule], plugins: Sequence[str]) -> None:
    """UsageError for a rule that does not exist, or a required plugin that is not installed."""
    missing = sorted(set(loaded.config.require_plugins) - set(plugins))
    if missing:
        place = loaded.place("require-plugins", loaded.config.require_plugins.index(missing[0]))
        raise UsageError(f"{place}: required plugin {missing[0]} is not installed", f"pip install {missing[0]}")
    for name in loaded.config.rules:
        if name not in rules:
            raise UsageError(
                f"{loaded.place('rules', name)}: rules: there is no rule {name!r}{nearest(name, rules)}",
                "`argolint rules` lists them",
            )
    for placed in loaded.entries:
        entry, line = placed.ignore, placed.line
        if not set("*?[") & set(entry.rule) and entry.rule not in rules:
            raise UsageError(
                f"{loaded.file}:{line}: ignore: there is no rule {entry.rule!r}{nearest(entry.rule, rules)}",
                "`argolint rules` lists them",
            )


def rule_options(rule: Rule, loaded: Loaded) -> Any:
    """The rule's options with those of the configuration; UsageError for an unknown name or a wrong type."""
    given = loaded.config.rules.get(rule.id, RuleSettings()).options
    where = ("rules", rule.id, "options")
    names = {f.name: "" for f in dataclasses.fields(rule.options)}
    for name in given:
        if (field := name.replace("-", "_")) not in names:
            known = f"its options: {', '.join(names)}" if names else "it has none"
            place = loaded.place(*where, name)
            raise UsageError(f"{place}: rule {rule.id} has no option {name!r}{nearest(name, names)}", known)
        names[field] = name
    values = {name.replace("-", "_"): value for name, value in given.items()}
    try:
        return converted(values, rule.options)
    except msgspec.ValidationError as error:
        found = strict_yaml.misfit(error, strict_yaml.Document(values, {}), rule.options)
        name = names.get(str(found.path[0]), "") if found.path else ""
        said = ": ".join(filter(None, (f"rule {rule.id}", name, found.message)))
        place = loaded.place(*where, name or "", *found.path[1:])
        raise UsageError(f"{place}: {said}", f"`argolint explain {rule.id}` lists its options") from None


def _explained(error: msgspec.ValidationError, document: strict_yaml.Document, path: Path) -> UsageError:
    """The error of msgspec with its line and, for an unknown key, the most similar known one."""
    found = strict_yaml.misfit(error, document, Config)
    name = found.unknown
    if name and found.path == (name,) and name in _connection_keys():
        return UsageError(
            f"{path}:{found.line}: a configuration cannot hold {name!r}: a change to the checkout could then "
            "choose where your token goes",
            f"remove it; {_INSTEAD.get(name, f'pass --{name} or set ARGOCD_OPTS')}",
        )
    hint = "`argolint schema config` prints the schema"
    if "enum value" in found.message and found.path:
        choices = _CHOICES["fail-on" if found.path[-1] == "fail-on" else "severity"]
        hint = f"one of {', '.join(choices)}"
    return found.refused(str(path), hint)


_INSTEAD = {
    "server": "pass --server, set ARGOCD_SERVER, or write it to ~/.config/argolint/config.yaml, which is yours alone",
    "argocd-context": "pass --argocd-context, or write it to ~/.config/argolint/config.yaml, which is yours alone",
    "auth-token": "set ARGOCD_AUTH_TOKEN, and revoke this token: anyone who can read the file has it",
}


def _connection_keys() -> frozenset[str]:
    """Options that say where and how to connect: a configuration must not contain them."""
    from argolint.server.connection import Flags

    return frozenset(field.name.replace("_", "-") for field in dataclasses.fields(Flags))


_CHOICES = {"fail-on": ("error", "warning", "info", "never"), "severity": ("error", "warning", "info")}
