"""Positions of objects in the files of checkouts, and why a fix has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from argolint.model import Object
from argolint.quick.records import dataclass
from argolint.reports.document import ReportedResource
from argolint.sources.checkout import Checkout
from argolint.sources.yaml_text import Document, EditError
from argolint.values import dig, items, mapping, same_repository
from argolint.values.kubernetes import group_of


class Unplaced(Exception):
    """Why a fix has no place in the checkouts, and what to do instead. `missing`: the files should have the place, but no readable one does."""

    def __init__(self, why: str, todo: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.why, self.todo, self.missing = why, todo, missing


@dataclass(frozen=True)
class Spot:
    """One object of one file: the index of its document, and a pointer within it for an item of a `kind: List`."""

    checkout: Checkout
    file: str
    index: int = 0
    prefix: str = ""


@dataclass(frozen=True)
class Layer:
    """A kustomization that changes an object; `data`: its file's content."""

    checkout: Checkout
    file: str
    data: Object

    @property
    def folder(self) -> str:
        return self.file.rpartition("/")[0]


@dataclass(frozen=True)
class Found:
    """The object in its file, the kustomizations above it (inner ones first), and the number of the source."""

    spot: Spot
    obj: Object
    layers: tuple[Layer, ...] = ()
    source: int = 0
    notes: tuple[str, ...] = ()


def sources_of(app: Object) -> tuple[Object, ...]:
    spec = mapping(app, "spec")
    dry = dig(spec, "sourceHydrator", "drySource")
    found = (dry,) if dry else items(spec, "sources") or (spec.get("source"),)
    return tuple(source if isinstance(source, Mapping) else {} for source in found)


def tool_options(source: Object, tool: str) -> Object:
    """The source's options for `helm`, `kustomize` or `directory`."""
    found = source.get(tool)
    return found if isinstance(found, Mapping) else {}


def checkout_of(checkouts: Iterable[Checkout], url: str) -> Checkout | None:
    return next((c for c in checkouts if any(same_repository(url, own) for own in c.urls)), None)


def only_one(
    found: Sequence[Found], resource: ReportedResource, folder: str, hint: str = "", *, remote: bool = False
) -> Found:
    exact = [f for f in found if dig(f.obj, "metadata", "namespace") == (resource.namespace or None)]
    if len(found) == 1 or len(exact) == 1:
        return found[0] if len(found) == 1 else exact[0]
    if found:
        files = ", ".join(dict.fromkeys(f.spot.file for f in found))
        raise Unplaced(f"{display_name(resource)} is {len(found)} times in {files}", "keep one of them")
    why = f"no file in {folder or 'the top folder'} holds {display_name(resource)}{hint}"
    raise Unplaced(why, "is it the right branch?", missing=not remote)


def mentions(checkout: Checkout, file: str, *words: str) -> bool:
    try:
        text = checkout.text(file)
    except EditError:
        return False
    return all(word in text for word in words)


def split_objects(stream: Iterable[Document], word: str = "") -> Iterator[tuple[tuple[int, str], Object]]:
    """The objects of a stream with their positions; documents without the word are not parsed."""
    for index, document in enumerate(stream):
        if word not in document.text or not isinstance(document.data, Mapping):
            continue
        if str(document.data.get("kind", "")).endswith("List") and isinstance(document.data.get("items"), list):
            for number, item in enumerate(document.data["items"]):
                if isinstance(item, Mapping):
                    yield (index, f"/items/{number}"), item
        else:
            yield (index, ""), document.data


def objects_in(checkout: Checkout, file: str, word: str = "") -> Iterator[tuple[Spot, Object]]:
    return ((Spot(checkout, file, *place), obj) for place, obj in split_objects(checkout.documents(file), word))


def is_named(obj: Object, name: str, namespace: str) -> bool:
    metadata = obj.get("metadata") or {}
    return metadata.get("name") == name and metadata.get("namespace") in (None, "", namespace)


def is_same(one: Object, other: Object) -> bool:
    return all(
        dig(one, *path) == dig(other, *path) for path in (("kind",), ("metadata", "name"), ("metadata", "namespace"))
    )


def is_object(obj: Object, resource: ReportedResource, default_namespace: str) -> bool:
    """True for this object. Argo CD puts one without a namespace into the destination's, if its kind has one."""
    return (
        obj.get("kind") == resource.kind
        and group_of(obj) == resource.group
        and is_named(obj, resource.name, resource.namespace)
        and (not resource.namespace or (dig(obj, "metadata", "namespace") or default_namespace) == resource.namespace)
    )


def display_name(resource: ReportedResource) -> str:
    return (
        f"{resource.kind} {resource.namespace}/{resource.name}"
        if resource.namespace
        else f"{resource.kind} {resource.name}"
    )


def path_below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
