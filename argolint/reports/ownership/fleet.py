"""Ownership from one list of the Applications, without reading manifests or objects.

The list has every object of every Application. The SharedResourceWarning, which Argo CD puts on every claimant except the owner, names the
owner of the live object; before the first comparison there is none, and the owner is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.shared_warnings import shared_warnings
from argolint.edits.pruning import cascades
from argolint.errors import UsageError
from argolint.model import AppRef, ResourceKey
from argolint.redaction import in_name, without_secrets
from argolint.reports.ownership.graph import Claim, Held
from argolint.values.short_kinds import kinds


def contested_objects(fleet: Fleet) -> tuple[Held, ...]:
    """The objects that two Applications claim, also across Argo CDs, and objects whose tracking data names another owner."""
    keys = set(fleet.contested) | set(_crossed_keys(fleet))
    for app in fleet.apps:
        for warning in shared_warnings(app):
            keys |= set(_meant_keys(app, warning.kind, warning.name))
    return tuple(holding_of(fleet, key) for key in sorted(keys))


@dataclass(frozen=True)
class Wanted:
    """The objects that the user wants: `KIND`, `KIND/NAME` or `KIND/NAMESPACE/NAME`, with globs."""

    kinds: frozenset[str]
    namespace: str = "*"
    name: str = "*"

    @property
    def is_one(self) -> bool:
        """True for a kind and a name, both without globs."""
        return not set("*?[") & set("".join((self.name, *self.kinds)))

    def takes(self, kind: str, namespace: str, name: str) -> bool:
        return (
            any(fnmatchcase(kind.lower(), own) for own in self.kinds)
            and fnmatchcase(name, self.name)
            and fnmatchcase(namespace, self.namespace)
        )


def parse_wanted(text: str) -> Wanted:
    """The parsed text; the kind may be in any case, a short name or a plural. UsageError if it is no such text."""
    kind, *rest = text.split("/")
    if not kind or len(rest) > 2:
        raise UsageError(f"{text!r} names no object", "KIND, KIND/NAME or KIND/NAMESPACE/NAME; * stands for any text")
    return Wanted(kinds(kind), rest[0] if len(rest) == 2 else "*", rest[-1] if rest else "*")


def matching_objects(fleet: Fleet, wanted: Wanted) -> tuple[Held, ...]:
    """The wanted objects; empty if no Application lists one."""
    found = {
        ResourceKey(app.cluster, row.group, row.kind, row.namespace, row.name)
        for app in fleet.apps
        for row in app.rows
        if not row.hook and wanted.takes(row.kind, row.namespace, row.name)
    }
    return tuple(holding_of(fleet, key) for key in sorted(found))


def joined(parts: Iterable[tuple[Fleet, Iterable[Held]]], common: Mapping[tuple[str, str], str]) -> tuple[Held, ...]:
    """The objects of several Argo CDs; Applications get the name of their Argo CD, and objects of a common cluster are merged.

    `common`: the name of a cluster that several of them deploy to, by the Argo CD's name and its address of the cluster.
    """
    found: dict[ResourceKey, list[Claim]] = defaultdict(list)
    via: dict[ResourceKey, tuple[ResourceKey, ...]] = {}
    for fleet, held in parts:
        for one in held:
            cluster = common.get((fleet.name, one.key.cluster)) or f"{one.key.cluster} of {fleet.name}"
            claims = (replace(claim, app=f"{fleet.name}/{claim.app}") for claim in one.claims)
            found[one.key._replace(cluster=cluster)] += claims
            via[one.key._replace(cluster=cluster)] = one.via
    return tuple(Held(key, tuple(sorted(claims)), via[key]) for key, claims in sorted(found.items()))


def printed(held: Iterable[Held]) -> tuple[Held, ...]:
    """The objects without secrets: the address of a cluster may contain a login."""
    return tuple(replace(one, key=_printed(one.key), via=tuple(map(_printed, one.via))) for one in held)


def _printed(key: ResourceKey) -> ResourceKey:
    return ResourceKey(*map(in_name, key))


def _crossed_keys(fleet: Fleet) -> Iterator[ResourceKey]:
    """The objects that an Application of another Argo CD lists, too."""
    for crossing in {c for crossings in fleet.crossings.values() for c in crossings}:
        for claimant in (*crossing.claimants, *crossing.pruners):
            if claimant.argocd == fleet.name:
                yield from (ResourceKey(claimant.cluster, *key) for key in crossing.objects)


def holding_of(fleet: Fleet, key: ResourceKey) -> Held:
    """An object with all its claims."""
    apps = [fleet.by_ref[ref] for ref in fleet.claimants(key) or fleet.owners(key)]
    warned = {app.ref: named for app in apps if (named := _warned_owner(app, key))}
    owner, phantom = _owner(fleet, key, apps, warned)
    claims = [
        Claim(
            without_secrets(str(app.ref)),
            "owner" if app.ref == owner else "claimant",
            without_secrets(app.ref.project),
            None if owner is None and not phantom else app.ref == owner and cascades(app),
        )
        for app in apps
    ]
    # owns it, though its manifests no longer contain it
    if owner is not None and owner not in {app.ref for app in apps}:
        away = fleet.by_ref[owner]
        claims.append(Claim(without_secrets(str(owner)), "owner", without_secrets(owner.project), cascades(away)))
    if phantom:
        claims.append(Claim(without_secrets(phantom), "phantom"))
    return Held(key, tuple(sorted(claims)))


def _owner(fleet: Fleet, key: ResourceKey, apps: Sequence[App], warned: dict[AppRef, str]) -> tuple[AppRef | None, str]:
    """The owner, or the phantom that the warnings name; neither if the list does not show it."""
    if not warned:
        return (apps[0].ref if len(apps) == 1 else None), ""
    names = set(warned.values())
    if len(names) > 1:
        return None, ""  # the warnings have different ages
    (name,) = names
    owner = fleet.app_of_instance(name)
    if owner is not None and owner.cluster == key.cluster and owner.ref not in warned:
        return owner.ref, ""
    return None, name if owner is None else ""


def _warned_owner(app: App, key: ResourceKey) -> str:
    """The owner that Argo CD's warning about this object names; empty without a warning, or if it may be about another object."""
    for warning in shared_warnings(app):
        if list(_meant_keys(app, warning.kind, warning.name)) == [key]:
            return warning.owner
    return ""


def _meant_keys(app: App, kind: str, name: str) -> Iterator[ResourceKey]:
    """All objects that a warning may be about: it has neither group nor namespace."""
    for row in app.rows:
        if (row.kind, row.name) == (kind, name) and not row.hook:
            yield ResourceKey(app.cluster, row.group, row.kind, row.namespace, row.name)
