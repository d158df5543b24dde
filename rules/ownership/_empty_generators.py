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
from ._application_sets import element_name, selected_clusters


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
            return _reason_of_matrix(fleet, places if kind == "matrix" else places[:1])
    return _certain(fleet, generator, at) or _of_git(fleet, generator, at)


def _reason_of_matrix(fleet: Fleet, places: Sequence[tuple[Object, str]]) -> Empty | None:
    """The child that is surely empty; else the one Git generator, if every other child surely yields something."""
    sure = next((reason for child, at in places if (reason := _certain(fleet, child, at))), None)
    others = [(child, at) for child, at in places if not _yields(fleet, child)]
    return sure or (_of_git(fleet, *others[0]) if len(others) == 1 else None)


def _yields(fleet: Fleet, generator: Object) -> bool:
    if generator.get("selector"):
        return False
    if isinstance(generator.get("clusters"), dict):
        return any(selected_clusters(fleet, mapping(generator, "clusters")))
    return bool(maps(generator, "list", "elements"))


def _is_templated(generator: Object) -> bool:
    """Whether another generator fills it in, so that what it asks for is not known."""
    return "{{" in str(generator)


def _certain(fleet: Fleet, generator: Object, at: str) -> Empty | None:
    """The reason that the set and the clusters themselves show."""
    if _is_templated(generator):
        return None
    clusters, elements = mapping(generator, "clusters"), maps(generator, "list", "elements")
    selector = label_selector(mapping(clusters, "selector"))
    if clusters and selector and not selector.empty and not any(selected_clusters(fleet, clusters)):
        having: Having = [(text_at(raw, "name") or server, labels_at(raw)) for server, raw in fleet.clusters.items()]
        return _unmatched(f"{at}/clusters/selector", "clusters", selector, having)
    selector = label_selector(mapping(generator, "selector"))
    if elements and not mapping(generator, "list").get("elementsYaml") and selector and not selector.empty:
        having = [(element_name(each, number), dict(_flat(each))) for number, each in enumerate(elements)]
        if not any(selector.matches(labels) for _, labels in having):
            return _unmatched(f"{at}/selector", "list", selector, having)
    return None


Having = Sequence[tuple[str, Mapping[str, str]]]
"""The labels of each cluster, or the parameters of each element, with its name."""
_SAYS = {
    "clusters": ("no cluster of this Argo CD has the label {}", "its selector fits no cluster"),
    "list": ("no element of its list has {}", "its selector fits no element of its list"),
}


def _unmatched(pointer: str, kind: str, selector: Selector, having: Having) -> Empty:
    wanted = _words(selector)
    near, where = _near(selector, having)
    named, unnamed = _SAYS[kind]
    return Empty(pointer, kind, named.format(wanted) if wanted else unnamed, near, _facts(wanted, near, where, having))


def _of_git(fleet: Fleet, generator: Object, at: str) -> Empty | None:
    """A Git generator alone that found nothing, as the set's status shows."""
    body = mapping(generator, "git")
    kinds = [kind for kind in ("directories", "files") if kind in body]
    if _is_templated(generator) or generator.get("selector") or len(kinds) != 1:
        return None
    kind, noun = kinds[0], "directory" if kinds[0] == "directories" else "file"
    wanted = [text_at(entry, "path") for entry in maps(body, kind) if entry.get("exclude") is not True]
    if not wanted:
        return None
    revision = excerpt(text_at(body, "revision") or "HEAD", 60)
    url = text_at(body, "repoURL")
    near = _near_path(fleet, url, wanted[0]) if kind == "directories" and len(wanted) == 1 else ""
    paths = enumerated([excerpt(path, 80) for path in wanted], limit=2)
    says = f"no {noun} of {excerpt(without_secrets(url), 120)} at {revision} matches {paths}"
    if len(wanted) < len(maps(body, kind)):
        says += " without being excluded"
    facts = {"near": near, "noun": noun, "revision": revision, "path": f"{at}/git/{kind}/0/path"}
    return Empty(f"{at}/git/{kind}", "git", says, near, facts)


def _near_path(fleet: Fleet, url: str, path: str) -> str:
    """The pattern with a first folder that Applications of the same repository come from, if that is nearly the one it has."""
    first, _, rest = path.partition("/")
    sources = (s for app in fleet.apps for s in app.sources if same_repository(text_at(s, "repoURL"), url))
    known = sorted({posixpath.normpath(text_at(s, "path")).split("/")[0] for s in sources if text_at(s, "path")})
    near = [] if first in known or "*" in first else get_close_matches(first, known, 1, 0.7)
    return "/".join(filter(None, (near[0], rest))) if near else ""


def _words(selector: Selector) -> str:
    return excerpt(",".join(f"{key}={value}" for key, value in selector.equal.items()), 100)


def _near(selector: Selector, having: Having) -> tuple[str, Sequence[str]]:
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


def _facts(wanted: str, near: str, where: Sequence[str], having: Having) -> Mapping[str, str]:
    return {
        "wanted": wanted,
        "near": excerpt(near, 100),
        "yaml": excerpt(near.replace("=", ": ", 1), 100),
        "where": enumerated([excerpt(name, 60) for name in where], limit=2),
        "first": excerpt(having[0][0], 60) if having else "NAME",
    }


def _flat(node: Json, before: str = "") -> Iterator[tuple[str, str]]:
    """The parameters of an element as the selector of a generator sees them: nested keys joined by dots."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        elif isinstance(value, str):
            yield f"{before}{key}", value
