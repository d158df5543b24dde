"""Fixes from a table: `advice.yaml` next to the rules of a family has the fixes by topic, root cause first.

An entry has `title`, `target`, `where`, `kind` and `content`, perhaps `caveat`, `safe`, `effects`, and::

    when, unless   one or more facts: the entry applies if all of them are non-empty, or all empty
    needs          required versions in addition to those that its content shows: {argocd: '2.13'}, {external-secrets: v0.7.0}
    holds          the condition for this advice, for people; not needed for a topic of an entry in the catalogue of messages
    of_object      true for a patch of the manifest that `advice` gets, rather than the finding's own

`$name` (or `${name}`) is replaced by a fact. In a command it is quoted for the shell, since names come from unchecked manifests and
servers; in a comment of a command (`# …`) it is not quoted, and stays on that line. In a json-patch, a text that is only `$name` becomes
the fact itself, of any type. `$$` is a dollar sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Template
from typing import Any

from argolint.model import Edit, Fix, Json, Need, ResourceId
from argolint.values import plain, sh
from argolint.values.knowledge import load

Facts = Mapping[str, Any]
"""The facts of a rule by the names in its table. A list is several words of a command."""


class Shell(str):
    """Text that is already quoted for the shell: it goes into a command as it is."""

    __slots__ = ()


def advice(package: str, topic: str, facts: Facts, resource: ResourceId | None = None) -> tuple[Fix, ...]:
    """The fixes for a topic in this package's table; none for an unknown topic. KeyError names a missing fact."""
    return tuple(
        _fix(entry, facts, resource) for entry in load(package, "advice.yaml").get(topic, ()) if _applies(entry, facts)
    )


def _applies(entry: Facts, facts: Facts) -> bool:
    return all(facts[name] for name in _names(entry.get("when"))) and not any(
        facts[name] for name in _names(entry.get("unless"))
    )


def _names(given: str | list[str] | None) -> Iterable[str]:
    return (given,) if isinstance(given, str) else given or ()


def _fix(entry: Facts, facts: Facts, resource: ResourceId | None) -> Fix:
    return Fix(
        _filled(entry["title"], facts),
        entry["target"],
        _filled(entry["where"], facts),
        Edit(entry["kind"], _content(entry, facts)),
        _filled(entry.get("caveat", ""), facts),
        safe=entry.get("safe", False),
        effects=tuple(entry.get("effects", ())),
        resource=resource if entry.get("of_object") else None,
        needs=tuple(Need(of, at_least) for of, at_least in (entry.get("needs") or {}).items()),
    )


def _content(entry: Facts, facts: Facts) -> Json:
    if entry["kind"] == "json-patch":
        return _patch(entry["content"], facts)
    if entry["kind"] == "command":
        lines = (_command(line, facts) for line in entry["content"].splitlines())
        return "\n".join(line for line in lines if line is not None)
    return _filled(entry["content"], facts)


def _command(line: str, facts: Facts) -> str | None:
    """One line of a command; None for a comment without content. Facts in a comment are for people: not quoted, but without line breaks."""
    if not line.lstrip().startswith("# "):
        return Template(line).substitute(_Quoted(facts))
    text = " ".join(plain(Template(line).substitute(facts)).split())
    return text if text != "#" else None


def _filled(text: str, facts: Facts) -> str:
    return Template(text).substitute(facts)


def _patch(node: Json, facts: Facts) -> Json:
    if isinstance(node, dict):
        return {key: _patch(value, facts) for key, value in node.items()}
    if isinstance(node, list):
        return [_patch(item, facts) for item in node]
    if not isinstance(node, str):
        return node
    whole = Template.pattern.fullmatch(node)
    name = (whole["named"] or whole["braced"]) if whole else None
    return facts[name] if name else _filled(node, facts)


class _Quoted(dict[str, str]):
    """The facts as words of a command; each is quoted on access."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts

    def __missing__(self, name: str) -> str:
        fact = self._facts[name]
        if isinstance(fact, Shell):
            return fact
        words = fact if isinstance(fact, list | tuple) else (fact,)
        return " ".join(sh(word) for word in words)
