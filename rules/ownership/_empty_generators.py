"""Why each generator of an ApplicationSet yields nothing."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from argolint import Fleet, Json, Object
from argolint.redaction import excerpt, without_secrets
from argolint.values import enumerated, mapping, maps, same_repository, text_at

from ..shared.labels import Selector, label_selector, labels_at
from ._application_sets import selected_clusters


@dataclass(frozen=True)
class Empty:
    """One generator that yields nothing: its pointer, its kind, a clause that says why, and the facts of the advice.

    near    a label, folder or file that is there and nearly the one that is asked for; else empty
    """

    pointer: str
    kind: str
    says: str
    near: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def empty_generators(fleet: Fleet, raw: Object) -> Sequence[Empty]:
    """One reason for each generator of the set; nothing if one of them may be empty for a reason that is not known here."""
    found = []
    for index, generator in enumerate(maps(raw, "spec", "generators")):
        reason = _reason(fleet, generator, f"/spec/generators/{index}")
        if reason is None:
            return ()
        found.append(reason)
    return found


def _reason(fleet: Fleet, generator: Object, at: str) -> Empty | None:
    for kind in ("matrix", "merge"):
        if generator.get(kind) and not generator.get("selector"):
            children = maps(generator, kind, "generators")
            # A merge yields what its first child yields; a matrix yields nothing if one of its children does.
            places = [(child, f"{at}/{kind}/generators/{i}") for i, child in enumerate(children)]
            places = places if kind == "matrix" else places[:1]
            return _reason_of_matrix(fleet, places)
    return (
        None if "{{" in str(generator) else next(_certain(fleet, generator, at), None) or _of_git(fleet, generator, at)
    )


def _reason_of_matrix(fleet: Fleet, places: Sequence[tuple[Object, str]]) -> Empty | None:
    """The child that is surely empty; else the one Git generator, if every other child surely yields something."""
    reasons = [
        (child, at, None if "{{" in str(child) else next(_certain(fleet, child, at), None)) for child, at in places
    ]
    sure = next((reason for *_, reason in reasons if reason is not None), None)
    if sure is not None:
        return sure
    others = [(child, at) for child, at, _ in reasons if not _yields(fleet, child)]
    return _of_git(fleet, *others[0]) if len(others) == 1 and "{{" not in str(others[0][0]) else None


def _yields(fleet: Fleet, generator: Object) -> bool:
    if generator.get("selector"):
        return False
    if isinstance(generator.get("clusters"), dict):
        return any(selected_clusters(fleet, mapping(generator, "clusters")))
    return bool(maps(generator, "list", "elements"))


def _certain(fleet: Fleet, generator: Object, at: str) -> Iterator[Empty]:
    """The reason that the set and the clusters themselves show."""
    body = mapping(generator, "clusters")
    selector = label_selector(mapping(body, "selector"))
    if body and selector and not selector.empty and not any(selected_clusters(fleet, body)):
        having = [(text_at(raw, "name") or server, labels_at(raw)) for server, raw in fleet.clusters.items()]
        wanted = _words(selector)
        near, where = _near(selector, having)
        says = f"no cluster of this Argo CD has the label {wanted}" if wanted else "its selector fits no cluster"
        yield Empty(f"{at}/clusters/selector", "clusters", says, near, _facts(wanted, near, where, having))
    elements = maps(generator, "list", "elements")
    selector = label_selector(mapping(generator, "selector"))
    if elements and not mapping(generator, "list").get("elementsYaml") and selector and not selector.empty:
        having = [(_name(each, number), dict(_flat(each))) for number, each in enumerate(elements)]
        if not any(selector.matches(labels) for _, labels in having):
            wanted = _words(selector)
            near, where = _near(selector, having)
            says = f"no element of its list has {wanted}" if wanted else "its selector fits no element of its list"
            yield Empty(f"{at}/selector", "list", says, near, _facts(wanted, near, where, having))


def _of_git(fleet: Fleet, generator: Object, at: str) -> Empty | None:
    """A Git generator alone that found nothing, as the set's status shows."""
    body = mapping(generator, "git")
    url, revision = text_at(body, "repoURL"), text_at(body, "revision") or "HEAD"
    for kind, noun in (("directories", "directory"), ("files", "file")):
        wanted = [text_at(entry, "path") for entry in maps(body, kind) if entry.get("exclude") is not True]
        if (
            not wanted
            or generator.get("selector")
            or (body.get(kind) and len(body.keys() & {"directories", "files"}) > 1)
        ):
            continue
        paths = enumerated([excerpt(path, 80) for path in wanted], limit=2)
        repository = excerpt(without_secrets(url), 120)
        near = _near_path(fleet, url, wanted[0]) if kind == "directories" and len(wanted) == 1 else ""
        says = f"no {noun} of {repository} at {excerpt(revision, 60)} matches {paths}"
        if any(entry.get("exclude") is True for entry in maps(body, kind)):
            says += " without being excluded"
        facts = {"near": near, "noun": noun, "revision": excerpt(revision, 60), "path": f"{at}/git/{kind}/0/path"}
        return Empty(f"{at}/git/{kind}", "git", says, near, facts)
    return None


def _near_path(fleet: Fleet, url: str, path: str) -> str:
    """The pattern with a first folder that Applications of the same repository come from, if that is nearly the one it has."""
    first, _, rest = path.partition("/")
    sources = (s for app in fleet.apps for s in app.sources if same_repository(text_at(s, "repoURL"), url))
    known = sorted({posixpath.normpath(text_at(s, "path")).split("/")[0] for s in sources if text_at(s, "path")})
    near = [] if first in known or "*" in first else get_close_matches(first, known, 1, 0.7)
    return f"{near[0]}/{rest}" if near and rest else near[0] if near else ""


def _words(selector: Selector) -> str:
    return excerpt(",".join(f"{key}={value}" for key, value in selector.equal.items()), 100)


def _near(selector: Selector, having: Sequence[tuple[str, Mapping[str, str]]]) -> tuple[str, Sequence[str]]:
    """The one equality in the spelling of a cluster or element that has nearly that key and value, and all that have it."""
    if len(selector.equal) != 1 or selector.others:
        return "", ()
    ((key, value),) = selector.equal.items()
    there = {f"{k}={v}": (k, v) for _, labels in having for k, v in labels.items() if k == key or v == value}
    for label, (k, v) in sorted(there.items()):
        other, meant = (v, value) if k == key else (k, key)
        if get_close_matches(meant, [other], 1, 0.8) or _is_short_for(meant, other):
            return label, [name for name, labels in having if labels.get(k) == v]
    return "", ()


def _is_short_for(one: str, other: str) -> bool:
    """Whether one is the beginning of the other, as prod of production."""
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and long.startswith(short) and not set(long[len(short) :]) & set("-_./0123456789")


def _facts(
    wanted: str, near: str, where: Sequence[str], having: Sequence[tuple[str, Mapping[str, str]]]
) -> Mapping[str, str]:
    return {
        "wanted": wanted,
        "near": excerpt(near, 100),
        "yaml": excerpt(near.replace("=", ": ", 1), 100),
        "where": enumerated([excerpt(name, 60) for name in where], limit=2),
        "first": excerpt(having[0][0], 60) if having else "NAME",
    }


def _name(element: Object, number: int) -> str:
    return text_at(element, "name") or text_at(element, "cluster") or str(number)


def _flat(node: Json, before: str = "") -> Iterator[tuple[str, str]]:
    """The parameters of an element as the selector of a generator sees them: nested keys joined by dots."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif isinstance(value, str):
            yield f"{before}{key}", value
