"""made-by: the cluster does not know the kind, since a controller defines it from another object of the same sync."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison import has_sync_option
from argolint.edits.advice import Shell, advice
from argolint.model import Object
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint, KnownObject, peer
from argolint.values import annotations_of, comma_list, get, text_at, texts
from argolint.values.knowledge import load
from argolint.values.kubernetes import SYNC_OPTIONS, containers
from argolint.values.patterns import regex

_SKIP = "SkipDryRunOnMissingResource=true"
_UNKNOWN_KIND = (
    "no matches for kind",
    "could not find the requested resource",
    "could not find ",
    "resource mapping not found",
    "ensure CRDs are installed first",
)


def skips_dry_run(app: App, fleet: Fleet, manifest: Object | None) -> bool:
    """Whether a sync passes over the dry run of this object while its kind is unknown; releases before 3.1 read the option of objects alone."""
    whole = app.raw if fleet.at_least(3, 1) or not fleet.version else {}
    return has_sync_option(whole, manifest, _SKIP)


@dataclass(frozen=True, slots=True)
class Maker:
    """An entry of kinds.yaml."""

    kind: tuple[str, ...]
    group: str
    fixed: str
    derived: bool


@cache
def makers_of_kinds() -> Mapping[tuple[str, str], Maker]:
    """The kinds whose objects define other kinds, by group and kind."""
    found = {}
    for entry in load(__package__, "kinds.yaml"):
        group, _, kind = entry["by"].partition("/")
        found[group, kind] = Maker(
            tuple(entry["kind"]), entry.get("group", ""), entry.get("in", ""), entry.get("derived", False)
        )
    return found


def made_kinds(maker: Maker, obj: Object) -> Iterator[tuple[str, str]]:
    """(group, kind) that the operator defines from this object."""
    group = maker.fixed or get(obj, maker.group, "")
    for pointer in maker.kind:
        if isinstance(kind := get(obj, pointer, None), str):
            yield str(group), kind


def maker_of_kind(complaint: Complaint) -> Iterator[Explained]:
    """The object of this application, or of another one of the cluster, from which a controller defines the unknown kind."""
    id_ = complaint.id
    if id_ is None or not any(words in text for text in complaint.texts for words in _UNKNOWN_KIND):
        return
    for known in _possible_origins(complaint, id_.group, id_.kind):
        yield _explained(complaint, known)
        return
    yield from _installing_object(complaint)


@cache
def _installers() -> Mapping[tuple[str, str], str]:
    """The kinds of installers.yaml, by group and kind, and how to recognize the end of an installation."""
    found = {}
    for entry in load(__package__, "installers.yaml"):
        group, _, kind = entry["by"].partition("/")
        found[group, kind] = str(entry["wait"])
    return found


def _installing_object(complaint: Complaint) -> Iterator[Explained]:
    """The object of this application that installs the operator; of several the one with a word of the kind's group."""
    app, id_ = complaint.app, complaint.id
    assert id_ is not None  # `maker_of_kind` has checked it
    if "." not in id_.group or (id_.group, id_.kind) in _installers():
        return
    known = [
        KnownObject(app, r) for group, kind in _installers() for r in app.of_kind(kind, group) if r.desired is not None
    ]
    known = [k for k in known if k.id.kind != "Job" or _INSTALLS.search(_commands(k.resource.desired))]
    alike = [k for k in known if _is_installer_of(k.resource.any, id_.group, id_.kind)]
    only = known if len(known) == 1 and known[0].id.kind != "Job" else ()
    for installer in alike[:1] or only:
        yield _explained(complaint, installer, installs=True)


_INSTALLS = regex(
    r"\b(?:kubectl|oc)\b[^|;&\n]{0,200}?\s(?:apply|create|replace)\s|\bhelm\b[^|;&\n]{0,200}?\s(?:install|upgrade)\s"
)


def _commands(manifest: Object | None) -> str:
    """What the containers of a Job run, as one text."""
    words = (texts(c, "command") + texts(c, "args") for _, c in containers(manifest))
    return "\n".join(" ".join(each) for each in words)[:8000]


_WORD = regex(r"[a-z0-9]{4,}")
_COMMON = frozenset(("operator", "operators", "controller", "cluster", "infra", "infrastructure"))
_NAMES = (
    ("metadata", "name"),
    ("spec", "name"),
    ("spec", "package"),
    ("spec", "chart"),
    ("spec", "chart", "spec", "chart"),
)


def _is_installer_of(installer: Object, group: str, kind: str) -> bool:
    """Whether the installed package's name, or a command, contains the kind's name, or a word of the group other than its vendor's domain."""
    labels = group.split(".")
    words = frozenset(_WORD.findall(f"{' '.join(labels[: max(1, len(labels) - 2)])} {kind}".lower())) - _COMMON
    names = (text_at(installer, *path).rpartition("/")[2] for path in _NAMES)
    package = " ".join((*names, _commands(installer))).lower()
    return any(word in package or word in package.replace("-", "") for word in words)


def _possible_origins(complaint: Complaint, group: str, kind: str) -> Iterator[KnownObject]:
    for (of_group, of_kind), maker in makers_of_kinds().items():
        if not maker.derived or (maker.fixed and maker.fixed != group):
            continue
        for resource in complaint.app.of_kind(of_kind, of_group):
            if (group, kind) in made_kinds(maker, resource.any):
                yield KnownObject(complaint.app, resource)
        for other, listed in _objects_elsewhere(complaint, of_group, of_kind):
            read = peer(complaint.app, other, listed.id)
            by_custom = listed.name in (kind.lower(), f"{kind.lower()}s.{group}", f"{kind.lower()}.{group}")
            if (read and (group, kind) in made_kinds(maker, read.any)) or (read is None and by_custom):
                yield KnownObject(other, read or listed)


def _objects_elsewhere(complaint: Complaint, group: str, kind: str) -> Iterator[tuple[App, Resource]]:
    fleet = complaint.fleet
    for key in fleet.of_kind(complaint.app.cluster, group, kind):
        for ref in fleet.owners(key):
            other = fleet.by_ref.get(ref)
            listed = other.resource(key) if other and ref != complaint.app.ref else None
            if other is not None and listed is not None:
                yield other, listed


def _explained(complaint: Complaint, known: KnownObject, *, installs: bool = False) -> Explained:
    app, id_ = complaint.app, complaint.id
    assert id_ is not None  # `maker_of_kind` has checked it
    same = known.app.ref == app.ref
    skipped = skips_dry_run(app, complaint.fleet, complaint.manifest)
    misplaced = same and not skipped and has_sync_option({}, known.resource.desired, _SKIP)
    owner = "" if same else f" of Application {known.app.ref}"
    facts: dict[str, Any] = {
        "object": str(id_),
        "maker": str(known.id),
        "kind": id_.kind,
        "app": str(known.app.ref),
        "own_app": str(app.ref),
        "wave": str(max(known.place.wave + 1, complaint.place.wave)),
        "options": ",".join(dict.fromkeys((*comma_list(annotations_of(complaint.manifest).get(SYNC_OPTIONS)), _SKIP))),
        "other": "" if same else str(known.app.ref),
        "wait": Shell(_installers()[known.id.group, known.id.kind]) if installs else "",
    }
    if installs:
        evidence = [f"{known.id} installs an operator, whose CRDs come after it was applied"]
    else:
        evidence = [f"{known.id}{owner} defines kind {id_.kind}; its controller makes the CRD after it was applied"]
    if misplaced:
        evidence.append(f"{_SKIP} is written on {known.id}, where it has no effect: it belongs on {id_}")
    return Explained(
        "made-by",
        known.app.ref,
        known.id,
        f"The sync fails at {id_}: kind {id_.kind} comes with an operator, which {known.id} installs only after it is applied."
        if installs
        else f"A controller makes kind {id_.kind} from {known.id}{owner} only after that is applied, so the sync of {id_} fails.",
        evidence=tuple(evidence),
        fixes=advice(__package__, "made-by/elsewhere" if not same else "made-by/same", facts, id_),
        pointer="/kind",
        likely=installs,
    )
