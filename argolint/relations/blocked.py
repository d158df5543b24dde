"""Finds objects of a sync that wait for something that the same sync applies only later.

A sync goes on to the next wave, or phase, only when everything of this one is healthy and its hooks have completed (`argolint.sequence`).
An earlier object that does not become healthy without a later one (`waits.yaml`) stops it permanently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.model import Object, ResourceId, Want
from argolint.relations.made import made_kinds, makers_of_kinds, skips_dry_run
from argolint.relations.makers import made_secrets, makers
from argolint.relations.named import hosts, named_jobs, written_secrets
from argolint.relations.references import Reference
from argolint.relations.waits import Wait, claims_of, is_idle, late_binding, needs, place_in, wait_of
from argolint.sequence.order import MARKS, SYNC, SYNC_FAIL, Place, is_hook, phases_of, place_of
from argolint.values import annotations_of, dig, get, mapping, text_at
from argolint.values.kubernetes import CLUSTER_SCOPED, api_of, reads

How = Literal["reads", "made", "written", "consumer", "job", "host"]
"""Why an object needs the other: it refers to it; the other makes the Secret that it refers to; a Job of that name writes it; a claim waits
for its first pod; its pods wait for the Job; a hook calls its Service.
"""
_STORAGE = "storage.k8s.io"


@dataclass(frozen=True, eq=False)
class Member:
    """An object that a sync applies. `resource` is None for a hook that only the render has."""

    id: ResourceId
    place: Place
    hook: bool
    resource: Resource | None
    rendered: Object | None = None

    @cached_property
    def manifest(self) -> Object:
        """The manifest that the sync applies; for a hook without a render, the object of its last run."""
        if self.rendered is not None:
            return self.rendered
        assert self.resource is not None
        return self.resource.desired or self.resource.live or {}

    @property
    def absent(self) -> bool:
        """True if the cluster does not have it now, as far as is known."""
        return self.resource is None or self.resource.live is None

    @property
    def starts(self) -> bool:
        """True if the next sync creates it or something of it that waits: a hook runs each time, a workload creates pods for a new template."""
        if self.hook or self.absent:
            return True
        assert self.resource is not None
        if get(self.manifest, "/spec/updateStrategy/type", None) == "OnDelete":
            return False
        template = "/spec/template" if get(self.manifest, "/spec/template", None) is not None else "/spec"
        changes = (
            (*self.resource.changes, *self.resource.pending) if self.resource.modified or self.resource.pending else ()
        )
        return any(change.pointer.startswith(template) for change in changes)

    def __str__(self) -> str:
        return f"{'hook ' if self.hook else ''}{self.id}"


@dataclass(frozen=True)
class Blocked:
    """`waiting` does not become healthy, or complete, without `later`, which the sync applies only after it.

    pointer   the field of `waiting` with the dependency
    name      what it needs, if that is not `later` itself: the Secret that `later` makes
    now       True if the next sync stops here; else only a first sync to a new cluster would
    sure      False if a controller or a shell decides
    says      the rest of a sentence that begins with `later`
    """

    waiting: Member
    later: Member
    how: How
    pointer: str
    name: str
    now: bool
    sure: bool
    says: str


def members(app: App) -> tuple[Member, ...]:
    """The objects that a sync of the application applies; hooks only if the render or their last run shows them."""
    found = [
        Member(r.id, place, False, r)
        for r in app.resources
        if r.desired_known and not r.hook and r.desired_state not in (None, "", "null") and (place := r.derive(_place))
    ]
    rendered = app.evidence.get(Want("manifests"))
    if rendered is None:
        left = (app.as_read(r) for r in app.resources if r.hook)
        found += [Member(r.id, place_of(r.live), True, r) for r in left if r.live is not None and phases_of(r.live)]
    for manifest in rendered or ():
        if is_hook(manifest) and phases_of(manifest):
            found.append(_hook(app, manifest))
    return tuple(member for member in found if member.place.phase < SYNC_FAIL)


def _place(resource: Resource) -> Place | None:
    """When a sync applies the object, if it does. Most manifests have no sync annotation, and are not decoded."""
    if not any(resource.mentions(mark, "desired") for mark in MARKS):
        return Place(SYNC, 0)
    return place_of(resource.desired) if phases_of(resource.desired) else None


def _hook(app: App, manifest: Object) -> Member:
    group, version = api_of(manifest)
    kind = text_at(manifest, "kind")
    namespace = (
        ""
        if (group, kind) in CLUSTER_SCOPED
        else text_at(manifest, "metadata", "namespace") or app.destination_namespace
    )
    name = text_at(manifest, "metadata", "name") or text_at(manifest, "metadata", "generateName")
    id_ = ResourceId(group, kind, namespace, name, version, app.cluster)
    return Member(id_, place_of(manifest), True, app.resource(id_.key), manifest)


def in_steps(app: App) -> bool:
    """True if a sync has more than one wave or phase, as far as is known: within one step nothing waits."""
    return len({member.place for member in app.derive(members)}) > 1


def blocked(app: App, fleet: Fleet) -> tuple[Blocked, ...]:
    """All objects that wait for a later one, in the order of the sync."""
    if app.deleting or not app.desired_known or not app.derive(in_steps):
        return ()
    sync = app.derive(_sync_index, fleet)
    found = {(b.waiting.id, b.waiting.place, b.later.id): b for b in sync.all()}
    return tuple(
        sorted(found.values(), key=lambda b: (b.later.place, str(b.later.id), b.waiting.place, str(b.waiting.id)))
    )


def movable(app: App, fleet: Fleet, pair: Blocked) -> tuple[bool, bool]:
    """Whether the later object can move to the step of the waiting one, and whether the waiting one can move to the later step."""
    sync = app.derive(_sync_index, fleet)
    wait = wait_of(pair.later.id.group, pair.later.id.kind, fleet)
    needed = [known.place for _, known, _ in sync.needed_by(pair.later, wait)] if wait else []
    early = all(place <= pair.waiting.place for place in needed)
    late = all(m.place >= pair.later.place for m in sync.that_need(pair.waiting))
    return early, late


def _sync_index(app: App, fleet: Fleet) -> _SyncIndex:
    return _SyncIndex(fleet, app.derive(members))


@dataclass(frozen=True, eq=False)
class _SyncIndex:
    """The objects of one sync, indexed by what others refer to."""

    fleet: Fleet
    members: Sequence[Member]

    @cached_property
    def _last(self) -> Place:
        return max(member.place for member in self.members)

    @cached_property
    def _by_identity(self) -> Mapping[tuple[str, str, str, str], Member]:
        """The first member of each identity: an object may be both a hook and an ordinary object."""
        found: dict[tuple[str, str, str, str], Member] = {}
        for member in sorted(self.members, key=lambda m: m.place):
            found.setdefault((member.id.group, member.id.kind, member.id.namespace, member.id.name), member)
        return found

    @cached_property
    def _by_secret(self) -> Mapping[tuple[str, str], Member]:
        """The maker of each Secret, by namespace and name of the Secret."""
        kinds = frozenset(makers())
        found: dict[tuple[str, str], Member] = {}
        for member in sorted(self.members, key=lambda m: m.place):
            if (member.id.group, member.id.kind) in kinds:
                for name in made_secrets(member.manifest):
                    found.setdefault((member.id.namespace, name), member)
        return found

    @cached_property
    def _by_written(self) -> Mapping[tuple[str, str], Member]:
        """The Job that writes a Secret or ConfigMap, by its namespace and the name in the Job's command or script."""
        found: dict[tuple[str, str], Member] = {}
        for member in sorted(self.members, key=lambda m: m.place):
            if (member.id.group, member.id.kind) == ("batch", "Job"):
                for name in written_secrets(member.manifest, self._scripts(member)):
                    found.setdefault((member.id.namespace, name), member)
        return found

    def _scripts(self, job: Member) -> Iterator[str]:
        """The texts of the ConfigMaps that a Job mounts."""
        for read in reads(job.manifest):
            held = self._by_identity.get(("", "ConfigMap", job.id.namespace, read.name))
            if held is not None and read.kind == "ConfigMap" and read.by == "volume":
                yield from (text for text in mapping(held.manifest, "data").values() if isinstance(text, str))

    @cached_property
    def _consumers(self) -> Mapping[tuple[str, str], Sequence[Member]]:
        """The workloads with pods that mount a claim, by its namespace and name."""
        found: dict[tuple[str, str], list[Member]] = {}
        for member in self.members:
            wait = wait_of(member.id.group, member.id.kind, self.fleet)
            if wait and wait.pods and not is_idle(member.manifest, wait):
                for claim in claims_of(member.manifest):
                    found.setdefault((member.id.namespace, claim.name), []).append(member)
        return found

    @cached_property
    def _needing(self) -> Mapping[Member, Sequence[Member]]:
        found: dict[Member, list[Member]] = {}
        for member in self.members:
            wait = wait_of(member.id.group, member.id.kind, self.fleet) if member.place < self._last else None
            for _, known, _ in self.needed_by(member, wait) if wait else ():
                found.setdefault(known, []).append(member)
        return found

    def that_need(self, other: Member) -> Sequence[Member]:
        """The objects that do not become healthy without this one."""
        return self._needing.get(other, ())

    def all(self) -> Iterator[Blocked]:
        for member in self.members:
            wait = wait_of(member.id.group, member.id.kind, self.fleet) if member.place < self._last else None
            if wait is not None and not is_idle(member.manifest, wait):
                yield from self._of_references(member, wait)
                yield from self._of_pods(member) if wait.pods else ()
                yield from self._of_claim(member)

    def needed_by(self, member: Member, wait: Wait) -> Iterator[tuple[Reference, Member, How]]:
        """The objects of this sync that the object needs, by its references."""
        for reference in needs(member.manifest, wait):
            if reference.kind == "StorageClass" and dig(member.manifest, "spec", "volumeName"):
                continue  # it is bound to that volume, whatever its class
            identity = place_in(reference, member.id.namespace)
            how: How = "reads"
            known = self._by_identity.get(identity)
            if known is None and reference.kind == "Secret":
                known, how = self._by_secret.get(identity[2:]), "made"
            if known is None and reference.kind in ("Secret", "ConfigMap"):
                known, how = self._by_written.get(identity[2:]), "written"
            if known is not None and known.id != member.id:
                yield reference, known, how

    def _of_references(self, member: Member, wait: Wait) -> Iterator[Blocked]:
        for reference, known, how in self.needed_by(member, wait):
            if known.place <= member.place:
                continue
            name = f"{reference.kind} {reference.name}" if how != "reads" else ""
            says = f"{wait.says.removesuffix('it')}its {name}" if name and wait.says.endswith(" it") else wait.says
            # whether what a hook wrote is there shows nowhere: of a workload that is there it may well be
            absent = known.absent if how != "written" else member.absent
            sure = not wait.likely and how == "reads"
            yield Blocked(member, known, how, reference.pointer, name, absent and member.starts, sure, says)

    def _of_pods(self, member: Member) -> Iterator[Blocked]:
        """Jobs that an init container waits for, and Services that a hook calls."""
        for pointer, name in named_jobs(member.manifest):
            job = self._by_identity.get(("batch", "Job", member.id.namespace, name))
            if job is not None and job.id != member.id and job.place > member.place:
                now = member.starts and (job.hook or job.absent)
                yield Blocked(member, job, "job", pointer, "", now, False, "for which an init container of it waits")
        for pointer, name in hosts(member.manifest, member.id.namespace) if member.hook else ():
            service = self._by_identity.get(("", "Service", member.id.namespace, name))
            if service is not None and service.place > member.place:
                yield Blocked(member, service, "host", pointer, "", service.absent, False, "which calls it")

    def _of_claim(self, member: Member) -> Iterator[Blocked]:
        """A claim that is bound only when a pod uses it, if all its users come later."""
        if (member.id.group, member.id.kind) != ("", "PersistentVolumeClaim") or dig(
            member.manifest, "spec", "volumeName"
        ):
            return
        users = sorted(self._consumers.get((member.id.namespace, member.id.name), ()), key=lambda m: m.place)
        late = self._binds_late(member)
        if users and users[0].place > member.place and late is not False:
            now = member.absent
            yield Blocked(
                member, users[0], "consumer", "", "", now, late is True, "and is bound only when a pod mounts it"
            )

    def _binds_late(self, claim: Member) -> bool | None:
        """Whether the claim's class waits for a first consumer; None if unknown."""
        live = claim.resource.live if claim.resource else None
        if "volume.kubernetes.io/selected-node" in annotations_of(live):
            return True
        name = text_at(claim.manifest, "spec", "storageClassName") or text_at(live, "spec", "storageClassName")
        own = self._by_identity.get((_STORAGE, "StorageClass", "", name))
        if own is not None:
            return text_at(own.manifest, "volumeBindingMode") == "WaitForFirstConsumer"
        if text_at(live, "status", "phase") == "Bound":
            return False  # the scheduler marks the claims that waited
        return True if name in late_binding() else None


@dataclass(frozen=True)
class Halted:
    """An object that Argo CD shows as Suspended by its own field, so that no later step is applied. `after`: the later objects."""

    member: Member
    pointer: str
    after: tuple[Member, ...]


def halted(app: App, fleet: Fleet) -> Iterator[Halted]:
    """Objects that their own field suspends, in a step that is not the last."""
    if app.deleting or not app.desired_known or not app.derive(in_steps):
        return
    everything = app.derive(members)
    last = max(member.place for member in everything)
    for member in everything:
        wait = wait_of(member.id.group, member.id.kind, fleet) if member.place < last or member.hook else None
        if wait is None or not wait.suspended or get(member.manifest, wait.suspended, None) is not True:
            continue
        same = not (member.hook or member.absent) and not (member.resource and member.resource.modified)
        if not (same and "ApplyOutOfSyncOnly=true" in app.sync_options):  # otherwise a sync skips it
            yield Halted(member, wait.suspended, tuple(m for m in everything if m.place > member.place))


def derived_kinds(app: App, fleet: Fleet) -> Iterator[tuple[Resource, Resource]]:
    """Objects of a kind that a controller defines from another object of this application, while the dry run does not yet know it: (object, maker)."""
    made = {
        of: resource
        for (group, kind), maker in makers_of_kinds().items()
        if maker.derived
        for resource in app.of_kind(kind, group)
        if resource.desired is not None
        for of in made_kinds(maker, resource.desired)
    }
    if not made or "v1/ConfigMap" not in fleet.api_versions(app.cluster):
        return
    for resource in app.resources:
        maker = made.get((resource.group, resource.kind))
        unserved = maker is not None and not fleet.served_versions(app.cluster, resource.group, resource.kind)
        if maker is None or not unserved or resource.desired is None or resource.live is not None:
            continue
        if not skips_dry_run(app, fleet, resource.desired):
            yield resource, maker
