"""Records what the examination of one application reads from the fleet, so that its result stays valid until an answer changes.

A rule looks at one application and asks about others: who owns this object, is that application deleted. `RecordingFleet` passes each question
on and records it; `Answers` gives one fleet's answers as short digests that can be compared.

Every public method of `Fleet` is recorded, so new ones are, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import AppRef
from argolint.values import mapping

Question = tuple[Any, ...]
Mark = object
"""A digest: equal marks mean equal answers."""

_BY_KEY = frozenset({"by_ref", "clusters", "projects", "contested", "crossings"})
"""Mappings that rules read one key at a time."""
_COMMON = ("server", "version", "settings", "projects", "clusters", "repositories", "application_sets")
_NOISE = frozenset({"resourceVersion", "managedFields", "generation"})
"""Metadata that changes with every write of an object, whatever the content."""
_REFRESH = "argocd.argoproj.io/refresh"
_CLUSTER_NOISE = frozenset({"attemptedAt", "cacheInfo", "applicationsCount"})
"""Fields of a registered cluster that its controller writes every few seconds (controller/clusterinfoupdater.go)."""


def entry_mark(app: App) -> bytes:
    """A digest of an application's entry in the list, without what each reconcile rewrites."""
    metadata = {k: v for k, v in mapping(app.raw, "metadata").items() if k not in _NOISE}
    if isinstance(annotations := metadata.get("annotations"), Mapping) and _REFRESH in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _REFRESH}
    status = {k: v for k, v in app.status.items() if k != "reconciledAt"}
    steady = {k: v for k, v in app.raw.items() if k not in ("metadata", "status", "kind", "apiVersion")}
    text = msgspec.json.encode((metadata, steady, status, app.rows, app.cluster, app.control_plane), order="sorted")
    return hashlib.blake2b(text, digest_size=16).digest()


class Answers:
    """The answers of one fleet, each computed once. `entries`: the marks of its applications."""

    def __init__(self, fleet: Fleet, entries: Mapping[AppRef, bytes]) -> None:
        self.fleet = fleet
        self._entries = entries
        self._known: dict[Question, tuple[Any, Mark]] = {}

    def entry(self, ref: AppRef) -> bytes | None:
        return self._entries.get(ref)

    def ask(self, question: Question) -> tuple[Any, Mark]:
        """The answer and its mark. If a question raises, the error is its answer, and the rule receives it."""
        known = self._known.get(question)
        if known is None:
            answer = self._answer(*question)
            known = self._known[question] = answer, self._mark(answer)
        return known

    def mark(self, question: Question) -> Mark:
        return self.ask(question)[1]

    def _answer(self, kind: str, name: str, *about: Any) -> Any:
        try:
            if kind == "entry":
                return self._entries.get(about[0])
            if kind == "derived":
                return _item(self.fleet.derive(*about[0]), about[1])
            found = getattr(self.fleet, name)
            if kind == "call":
                found = found(*about)
                return tuple(found) if isinstance(found, Iterator) else found
            if kind == "item":
                return _item(found, about[0])
            return found
        except Exception as error:  # from a rule's own function: it is raised where the rule asks
            return _Raised(error)

    def _mark(self, answer: Any) -> Mark:
        if answer is None or isinstance(answer, bool | int | str | bytes):
            return answer
        return hashlib.blake2b(repr(self._stable_value(answer)).encode("utf-8", "replace"), digest_size=16).digest()

    def _stable_value(self, value: Any) -> Any:
        """The value without parts that change all the time; a value without a stable text differs from everything."""
        if isinstance(value, App):
            return self._entries.get(value.ref)
        if isinstance(value, Mapping):
            noise = _NOISE | _CLUSTER_NOISE
            return {k: self._stable_value(v) for k, v in value.items() if k not in noise}
        if isinstance(value, list | tuple):
            return [self._stable_value(v) for v in value]
        if isinstance(value, set | frozenset):
            return sorted(repr(self._stable_value(v)) for v in value)
        return value


class RecordingFleet(Fleet):
    """The fleet during the examination of one application. `questions`: what was asked, with the marks of the answers."""

    def __init__(self, answers: Answers) -> None:
        self._answers: Answers
        self.questions: dict[Question, Mark]
        self.__dict__.update(_answers=answers, questions={})  # a Fleet is frozen

    def note(self, ref: AppRef) -> None:
        """Record that something of this other application was read from the server."""
        self._ask("entry", "", ref)

    def derive(self, function: Callable[..., Any], *arguments: Hashable) -> Any:
        """See Fleet.derive. For a mapping, only the keys that are read count."""
        made = self._answers.fleet.derive(function, *arguments)
        if isinstance(made, Mapping):
            return _Items(made, partial(self._ask, "derived", "", (function, *arguments)))
        return self._ask("call", "derive", function, *arguments)

    def with_apps(self, apps: Iterable[App]) -> Fleet:
        """See Fleet.with_apps. Questions to the new fleet are not recorded, so everything that both share counts as asked."""
        for name in _COMMON:
            self._ask("whole", name)
        return self._answers.fleet.with_apps(apps)

    def _look_up(self, name: str) -> Any:
        found = getattr(self._answers.fleet, name)
        if name in _BY_KEY:
            return _Items(found, partial(self._ask, "item", name))
        if callable(found):
            return partial(self._call, name)
        return self._ask("whole", name)

    def _call(self, name: str, *arguments: Any) -> Any:
        try:
            hash(arguments)
        except TypeError:  # an application or a manifest cannot be a key
            self._ask("whole", "apps")
            return getattr(self._answers.fleet, name)(*arguments)
        return self._ask("call", name, *arguments)

    def _ask(self, *question: Any) -> Any:
        answer, self.questions[question] = self._answers.ask(question)
        if isinstance(answer, _Raised):
            raise answer.error
        return answer


def _recorded_property(name: str) -> property:
    return property(lambda fleet: fleet._look_up(name))


for _name in {field.name for field in fields(Fleet)} | set(dir(Fleet)) - set(vars(RecordingFleet)):
    if not _name.startswith("_"):
        setattr(RecordingFleet, _name, _recorded_property(_name))


class _Raised:
    """The error that a question raised."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Nothing:
    """The answer of a mapping for a missing key."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


def _item(found: Mapping[Any, Any], key: Any) -> Any:
    return _NOTHING if key is _ALL and not found else tuple(found) if key is _ALL else found.get(key, _NOTHING)


_ALL = "\0all keys"


class _Items(Mapping[Any, Any]):
    """A mapping whose look-ups are recorded one by one."""

    def __init__(self, found: Mapping[Any, Any], ask: Callable[[Any], Any]) -> None:
        self._found = found
        self._ask = ask

    def __getitem__(self, key: Any) -> Any:
        value = self._ask(key)
        if value is _NOTHING:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self._ask(key) is not _NOTHING

    def __iter__(self) -> Iterator[Any]:
        self._ask(_ALL)
        return iter(self._found)

    def __len__(self) -> int:
        self._ask(_ALL)
        return len(self._found)
