"""What one sync has to do, sorted as Argo CD sorts it (gitops-engine pkg/sync/sync_context.go, getSyncTasks; pkg/sync/sync_tasks.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from argolint.model import Object
from argolint.sequence.order import PHASES, SYNC, SYNC_FAIL, Place, is_hook, phases_of
from argolint.values import annotations_of, comma_list, dig, text_at
from argolint.values.kubernetes import SYNC_OPTIONS, group_of, wave

_KINDS = (
    "Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList ConfigMap StorageClass "
    "PersistentVolume PersistentVolumeClaim CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding ClusterRoleBindingList Role RoleList "
    "RoleBinding RoleBindingList Service DaemonSet Pod ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet Job CronJob "
    "IngressClass Ingress APIService"
).split()
_RANK = {kind: number - len(_KINDS) for number, kind in enumerate(_KINDS)}
"""Kinds within a wave; every other kind comes last."""


@dataclass(frozen=True)
class Item:
    """One object of an application: what Git wants and what is live; one of them may lack. `modified`: Argo CD shows it as different."""

    target: Object | None
    live: Object | None = None
    modified: bool = True


@dataclass(frozen=True)
class Options:
    """What the Application and the operation ask of a sync.

    namespace            where objects go that name none
    create_namespace     CreateNamespace=true, or labels for the namespace: a task of its own, before all others
    prune, prune_last    delete what left Git; after everything else
    out_of_sync_only     ApplyOutOfSyncOnly=true: objects without a difference are passed over
    skip_missing_kinds   SkipDryRunOnMissingResource=true
    confirm              Prune=confirm of the Application: someone confirms each prune that says nothing else; `confirmed`: someone has
    chosen               the objects of a selective sync, which runs no hooks; None for all
    revision             goes into the names of hooks that have only a generateName
    """

    namespace: str = ""
    create_namespace: bool = False
    prune: bool = True
    prune_last: bool = False
    out_of_sync_only: bool = False
    skip_missing_kinds: bool = False
    confirm: bool = False
    confirmed: bool = False
    chosen: Callable[[Object], bool] | None = None
    revision: str = ""


PLAIN = Options()
"""Those of a whole sync with prune."""


@dataclass(frozen=True)
class Task:
    """One thing to do. `prune`: the object is deleted; `hook`: it is made again in its phase."""

    item: Item
    place: Place
    namespace: str
    hook: bool = False
    made: bool = False

    @property
    def manifest(self) -> Object:
        return self.item.target or self.item.live or {}

    @property
    def prune(self) -> bool:
        return self.item.target is None

    @property
    def group(self) -> str:
        return group_of(self.manifest)

    @property
    def kind(self) -> str:
        return text_at(self.manifest, "kind")

    @property
    def name(self) -> str:
        return text_at(self.manifest, "metadata", "name")

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def tasks(items: Iterable[Item], options: Options = PLAIN) -> tuple[Task, ...]:
    """What a sync has to do, in the order in which it does it."""
    everything = tuple(items)
    found = [task for item in everything for task in _of_item(item, options)]
    if options.create_namespace and options.namespace:
        found += _namespace(everything, options)
    return tuple(_adjusted(sorted(_pruned(found, options), key=_key)))


def _of_item(item: Item, options: Options) -> Iterator[Task]:
    manifest = item.target or item.live or {}
    hook = is_hook(manifest)
    if hook and (item.target is None or options.chosen is not None):
        return  # what its last run left is no object of the sync
    if options.chosen is not None and not options.chosen(manifest):
        return
    for phase in phases_of(manifest):
        kept = item if not hook or text_at(manifest, "metadata", "name") else _named(item, phase, options.revision)
        namespace = text_at(manifest, "metadata", "namespace") or (options.namespace if item.target else "")
        yield Task(kept, Place(phase, wave(manifest)), namespace, hook)


def _named(item: Item, phase: int, revision: str) -> Item:
    """A hook with a generateName gets a name of its own in each phase (the time that ends it is left out here)."""
    target = item.target or {}
    metadata = dict(target.get("metadata") or {})
    short = revision[:7] if len(revision) >= 8 else revision
    metadata["name"] = f"{text_at(target, 'metadata', 'generateName')}{short}-{PHASES[phase]}".lower()
    return replace(item, target={**target, "metadata": metadata})


def _namespace(items: Sequence[Item], options: Options) -> Iterator[Task]:
    """The application's namespace, where no manifest brings it."""
    if any(_is_namespace(item.target) and dig(item.target, "metadata", "name") == options.namespace for item in items):
        return
    target = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace}}
    yield Task(Item(target), Place(0, 0), "", made=True)


def _is_namespace(manifest: Object | None) -> bool:
    return dig(manifest, "kind") == "Namespace" and group_of(manifest or {}) == ""


def _pruned(found: list[Task], options: Options) -> Iterator[Task]:
    """Waves of prunes are mirrored: what came last goes first; PruneLast comes after all else of the phase Sync."""
    waves = sorted({task.place.wave for task in found if task.prune})
    mirrored = dict(zip(waves, reversed(waves), strict=True))
    turned = [_at(task, mirrored[task.place.wave]) if task.prune else task for task in found]
    last = max((task.place.wave for task in turned if task.place.phase == SYNC), default=0)
    for task in turned:
        own = comma_list(annotations_of(task.item.live).get(SYNC_OPTIONS))
        is_last = task.prune and (options.prune_last or "PruneLast=true" in own)
        yield _at(task, max(last, 0) + 1) if is_last else task


def _at(task: Task, number: int) -> Task:
    return replace(task, place=Place(task.place.phase, number))


def _key(task: Task) -> tuple[Place, int, str]:
    return task.place, _RANK.get(task.kind, 0), task.name


def _adjusted(ordered: list[Task]) -> list[Task]:
    """Namespaces before the first object in them, then CRDs before the first object of their kind: in its phase and wave."""
    ordered = _moved(ordered, lambda t: t.name if _is_namespace(t.item.target) else None, lambda t: t.namespace or None)
    return _moved(ordered, _defined, lambda t: f"{t.group}/{t.kind}")


def _defined(task: Task) -> str | None:
    manifest = task.item.target
    if task.kind != "CustomResourceDefinition" or task.group != "apiextensions.k8s.io":
        return None
    group, kind = dig(manifest, "spec", "group"), dig(manifest, "spec", "names", "kind")
    return f"{group}/{kind}" if isinstance(group, str) and isinstance(kind, str) else None


_Key = Callable[[Task], str | None]


def _moved(ordered: list[Task], brings: _Key, needs: _Key) -> list[Task]:
    """What brings a key goes before the first task that needs it, where that comes earlier; a list of the same tasks."""
    first: dict[str, int] = {}
    early: dict[int, list[Task]] = {}
    late: set[int] = set()
    for number, task in enumerate(ordered):
        if task.item.target is None:
            continue
        if (key := brings(task)) is not None:
            if key in first:
                early.setdefault(first[key], []).append(replace(task, place=ordered[first[key]].place))
                late.add(number)
        elif (key := needs(task)) is not None:
            first.setdefault(key, number)
    return [t for n, task in enumerate(ordered) for t in (*early.get(n, ()), *(() if n in late else (task,)))]


def steps(ordered: Sequence[Task]) -> Iterator[tuple[Place, tuple[Task, ...]]]:
    """The tasks of each phase and wave; those of SyncFail run only when the sync fails, and are left out."""
    group: list[Task] = []
    for task in ordered:
        if task.place.phase == SYNC_FAIL:
            break
        if group and group[0].place != task.place:
            yield group[0].place, tuple(group)
            group = []
        group.append(task)
    if group:
        yield group[0].place, tuple(group)
