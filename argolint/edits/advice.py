"""Fixes from a table: `advice.yaml` next to the rules of a family says by topic what ends a fault, root cause first.

An entry holds `title`, `target`, `where`, `kind` and `content`, perhaps `caveat`, `safe`, and::

    when, unless   a fact, or several: the entry counts when all of them hold something (are not empty), or none of them does
    needs          versions that the fix asks for next to what its content says by itself: {argocd: '2.13'}
    holds          what a rule has seen before it gives this advice, for people; a topic that an entry of the catalogue of messages leads to needs none
    of_object      true for a patch of the manifest that `advice` is given, rather than the finding's own

`$name` (or `${name}`) stands for a fact. In a command it is quoted for the shell: names come from manifests and servers that no one has
checked; in a comment of one (`# …`) it stands as it is, on that line. In a json-patch a text that is nothing but `$name` becomes the fact itself, whatever its type. `$$` is a dollar sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Template
from typing import Any

from argolint.model import Edit, Fix, Json, Need, ResourceId
from argolint.values import plain, sh
from argolint.values.knowledge import load

Facts = Mapping[str, Any]
"""What a rule knows, by the names that its table uses. A list is several words of a command."""


class Shell(str):
    """Text that is written for the shell already: it goes into a command as it is."""

    __slots__ = ()


def advice(package: str, topic: str, facts: Facts, resource: ResourceId | None = None) -> tuple[Fix, ...]:
    """The fixes for a topic by the table of this package; none when it has no such topic. KeyError names a fact that is missing."""
    return tuple(
        _fix(entry, facts, resource) for entry in load(package, "advice.yaml").get(topic, ()) if _counts(entry, facts)
    )


def _counts(entry: Facts, facts: Facts) -> bool:
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
    """One line of a command; None for a comment that has nothing to say. A comment is for people: its facts are not quoted, and stay on its line."""
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
    """The facts as words of a command; each is quoted when it is asked for."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts

    def __missing__(self, name: str) -> str:
        fact = self._facts[name]
        if isinstance(fact, Shell):
            return fact
        words = fact if isinstance(fact, list | tuple) else (fact,)
        return " ".join(sh(word) for word in words)
