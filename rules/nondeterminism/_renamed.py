"""Finds objects whose generated name changes with each render of one revision.

The last sync and the present render have the same revision, but differ in one object each, of the same kind and shape: the name was generated
again. A pair counts only if neither has another partner. Time: linear in the number of objects and the length of their names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from argolint import App, Object, Resource, ResourceId, Symptom
from argolint.comparison import TRACKING_ID
from argolint.values import annotations_of, dig, maps, text_at
from argolint.values.kubernetes import data_keys, images
from argolint.values.patterns import regex

from ._shapes import TIME, look_alike
from ._sign import Sign
from ._syncs import SLACK, LastSync, last_written_at

Kind = tuple[str, str, str]
Shape = tuple[str, ...]
"""A name without its variable part, and that part's length."""


def renamed_object_signs(app: App, at: LastSync) -> Iterator[Sign]:
    """Every object of the present render whose name the last sync of the same revision did not have."""
    wanted = [r for r in app.missing if r.key not in at.applied]
    asked = tuple(_asked_objects(app)) if wanted else ()
    former = [*_former_objects(app, at), *((id_, None) for id_ in asked)] if wanted else []
    for new, old, live in _renamed_pairs(wanted, former):
        reason = f"the sync of this very revision created {old}, which the revision now renders as {new.name}"
        gone_note = (
            "" if live is not None else "; it is gone since, as a Job with a time to live is once it has finished"
        )
        claims = (Symptom.missing(new.id), Symptom.health(new.id))
        extra = (Symptom.extra(old),) if live is not None else ()
        sign = Sign(new.id, "/metadata/name", "name", "proven", reason + gone_note, (*claims, *extra))
        if old in asked:
            yield replace(sign, why=f"self-heal was to sync {old} of this very revision, which now renders {new.name}")
        elif at.listed:
            yield sign
        else:
            why = f"this very revision was synced whole, {old} is left of that sync, and the revision now renders {new.name}"
            yield replace(sign, confidence="likely", why=why)


Former = tuple[ResourceId, Resource | None]


def _former_objects(app: App, at: LastSync) -> Iterator[Former]:
    """The objects of the last sync that the present render lacks, live or deleted since."""
    for resource in app.extra:
        if resource.key in at.applied or (not at.listed and at.whole and _belongs_to_sync(app, at, resource)):
            yield resource.id, resource
    operation = app.operation
    for row in operation.results if operation is not None else ():
        if text_at(row, "status") != "Synced" or text_at(row, "hookType"):
            continue
        group, kind, namespace, name = (text_at(row, field) for field in ("group", "kind", "namespace", "name"))
        id_ = ResourceId(group, kind, namespace, name, text_at(row, "version"), app.cluster)
        if app.resource(id_.key) is None:
            yield id_, None


def _asked_objects(app: App) -> Iterator[ResourceId]:
    """The objects that the last self-heal was to sync, by the comparison before it, and that neither it nor the present render has."""
    operation = app.operation
    if operation is None or not operation.automated:
        return
    for row in maps(operation.raw, "operation", "sync", "resources"):
        group, kind, name = (text_at(row, field) for field in ("group", "kind", "name"))
        namespace = text_at(row, "namespace") or app.destination_namespace
        id_ = ResourceId(group, kind, namespace, name, cluster=app.cluster)
        if app.resource(id_.key) is None and not operation.results_of(id_):
            yield id_


def _belongs_to_sync(app: App, at: LastSync, resource: Resource) -> bool:
    """Whether an undesired object belongs to the last sync and to no older one: that one pruned, or wrote it."""
    tracked = annotations_of(resource.live).get(TRACKING_ID, "")
    if tracked and tracked.partition(":")[0] != app.instance:
        return False
    written = last_written_at(resource)
    started = app.operation.started_at if app.operation is not None else None
    since = started or at.until
    if written is not None and since is not None:
        return written >= since - SLACK
    return app.prune or dig(app.operation and app.operation.raw, "operation", "sync", "prune") is True


def _renamed_pairs(
    wanted: Iterable[Resource], former: Iterable[Former]
) -> Iterator[tuple[Resource, ResourceId, Resource | None]]:
    """Each desired object with the only former object whose name has its shape, if neither has another partner."""
    new_at: Mapping[tuple[Kind, Shape], list[Resource]] = defaultdict(list)
    old_at: Mapping[tuple[Kind, Shape], list[Former]] = defaultdict(list)
    for new in wanted:
        for shape in name_shapes(new.name):
            new_at[(new.group, new.kind, new.namespace), shape].append(new)
    for was in former:
        for shape in name_shapes(was[0].name):
            old_at[(was[0].group, was[0].kind, was[0].namespace), shape].append(was)
    partners: dict[ResourceId, dict[ResourceId, tuple[Resource, Former]]] = defaultdict(dict)
    shared: dict[ResourceId, set[ResourceId]] = defaultdict(set)
    for place, new_objects in new_at.items():
        old_objects = old_at.get(place, ())
        if len(new_objects) == 1 and len(old_objects) == 1:
            partners[new_objects[0].id][old_objects[0][0]] = new_objects[0], old_objects[0]
            shared[old_objects[0][0]].add(new_objects[0].id)
        elif old_objects:
            for new in new_objects:  # several candidates: ambiguous, so no claim
                partners[new.id][new.id] = new, old_objects[0]
    for found in partners.values():
        if len(found) == 1:
            ((new, (old, live)),) = found.values()
            if (
                len(shared[old]) == 1
                and is_random_rename(old.name, new.name)
                and (live is None or _have_one_shape(new, live))
            ):
                yield new, old, live


def name_shapes(name: str) -> Iterator[Shape]:
    """The name without its time, else without each of its parts in turn."""
    without = TIME.sub("\0", name)
    if without != name:
        yield ("time", without)
        return
    parts = _PARTS.split(name)[:_FEW]
    if len(parts) > 1:
        for number, part in enumerate(parts):
            yield ("word", *parts[:number], str(len(part)), *parts[number + 1 :], name[len("-".join(parts)) :])


_PARTS = regex(r"[-.]")
_FEW = 12
"""Most parts of a name that are tried: a name of 253 characters may have a hundred."""


def is_random_rename(one: str, other: str) -> bool:
    """Whether two names differ only in a time, a random word or a hash, not in a counter or a word of a language."""
    if TIME.search(one) and TIME.sub("", one) == TIME.sub("", other):
        return True
    words = [pair for pair in zip(_PARTS.split(one), _PARTS.split(other), strict=False) if pair[0] != pair[1]]
    return bool(words) and all(len(a) >= 4 and _are_random_words(a, b) for a, b in words)


def _are_random_words(one: str, other: str) -> bool:
    odd = any(re.search("[0-9]", word) for word in (one, other)) or not any(
        re.search("[aeiou]", w) for w in (one, other)
    )
    return odd and look_alike(one.ljust(5, "_"), other.ljust(5, "_"))


def _have_one_shape(new: Resource, old: Resource) -> bool:
    """Whether two objects have one shape: the same images, the same keys of data."""
    return _object_shape(new.desired) == _object_shape(old.live)


def _object_shape(obj: Object | None) -> tuple[list[str], list[str]]:
    return images(obj), sorted(data_keys(obj))
