"""The tasks of one sync, sorted as Argo CD sorts them (gitops-engine pkg/sync/sync_context.go, getSyncTasks; pkg/sync/sync_tasks.go)."""

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
"""The order of kinds within a wave; other kinds come last."""


@dataclass(frozen=True)
class Item:
    """One object of an application: desired and live state; one of them may be missing. `modified`: Argo CD shows it as different."""

    target: Object | None
    live: Object | None = None
    modified: bool = True


@dataclass(frozen=True)
class Options:
    """The options of a sync, from the Application and the operation.

    namespace            for objects without one
    create_namespace     CreateNamespace=true, or labels for the namespace: a task of its own, before all others
    prune, prune_last    delete objects that left Git; after everything else
    out_of_sync_only     ApplyOutOfSyncOnly=true: objects without a difference are skipped
    skip_missing_kinds   SkipDryRunOnMissingResource=true
    confirm              Prune=confirm of the Application, for each prune without its own option; `confirmed`: someone has
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
"""The options of a whole sync with prune."""


@dataclass(frozen=True)
class Task:
    """One task. `prune`: the object is deleted; `hook`: it is created again in its phase."""

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
    """The tasks of a sync in order."""
    everything = tuple(items)
    found = [task for item in everything for task in _of_item(item, options)]
    if options.create_namespace and options.namespace:
        found += _namespace(everything, options)
    return tuple(_adjusted_order(sorted(_prune_tasks(found, options), key=_key)))


def _of_item(item: Item, options: Options) -> Iterator[Task]:
    manifest = item.target or item.live or {}
    hook = is_hook(manifest)
    if hook and (item.target is None or options.chosen is not None):
        return  # a hook of the last run is no object of this sync
    if options.chosen is not None and not options.chosen(manifest):
        return
    for phase in phases_of(manifest):
        kept = item if not hook or text_at(manifest, "metadata", "name") else _named(item, phase, options.revision)
        namespace = text_at(manifest, "metadata", "namespace") or (options.namespace if item.target else "")
        yield Task(kept, Place(phase, wave(manifest)), namespace, hook)


def _named(item: Item, phase: int, revision: str) -> Item:
    """A hook with a generateName gets a different name in each phase (the real name also has the time)."""
    target = item.target or {}
    metadata = dict(target.get("metadata") or {})
    short = revision[:7] if len(revision) >= 8 else revision
    metadata["name"] = f"{text_at(target, 'metadata', 'generateName')}{short}-{PHASES[phase]}".lower()
    return replace(item, target={**target, "metadata": metadata})


def _namespace(items: Sequence[Item], options: Options) -> Iterator[Task]:
    """The application's namespace, if no manifest has it."""
    if any(_is_namespace(item.target) and dig(item.target, "metadata", "name") == options.namespace for item in items):
        return
    target = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace}}
    yield Task(Item(target), Place(0, 0), "", made=True)


def _is_namespace(manifest: Object | None) -> bool:
    return dig(manifest, "kind") == "Namespace" and group_of(manifest or {}) == ""


def _prune_tasks(found: list[Task], options: Options) -> Iterator[Task]:
    """The tasks with the waves of prunes mirrored: the last one applied is pruned first; PruneLast comes at the end of the phase Sync."""
    waves = sorted({task.place.wave for task in found if task.prune})
    mirrored = dict(zip(waves, reversed(waves), strict=True))
    turned = [_at_wave(task, mirrored[task.place.wave]) if task.prune else task for task in found]
    last = max((task.place.wave for task in turned if task.place.phase == SYNC), default=0)
    for task in turned:
        own = comma_list(annotations_of(task.item.live).get(SYNC_OPTIONS))
        is_last = task.prune and (options.prune_last or "PruneLast=true" in own)
        yield _at_wave(task, max(last, 0) + 1) if is_last else task


def _at_wave(task: Task, number: int) -> Task:
    return replace(task, place=Place(task.place.phase, number))


def _key(task: Task) -> tuple[Place, int, str]:
    return task.place, _RANK.get(task.kind, 0), task.name


def _adjusted_order(ordered: list[Task]) -> list[Task]:
    """The tasks with namespaces before the first object in them, then CRDs before the first object of their kind; they take its phase and wave."""
    ordered = _moved_tasks(
        ordered, lambda t: t.name if _is_namespace(t.item.target) else None, lambda t: t.namespace or None
    )
    return _moved_tasks(ordered, _defined, lambda t: f"{t.group}/{t.kind}")


def _defined(task: Task) -> str | None:
    manifest = task.item.target
    if task.kind != "CustomResourceDefinition" or task.group != "apiextensions.k8s.io":
        return None
    group, kind = dig(manifest, "spec", "group"), dig(manifest, "spec", "names", "kind")
    return f"{group}/{kind}" if isinstance(group, str) and isinstance(kind, str) else None


_Key = Callable[[Task], str | None]


def _moved_tasks(ordered: list[Task], brings: _Key, needs: _Key) -> list[Task]:
    """The same tasks; one that provides a key (`brings`) moves before the first task that needs it, if that is earlier."""
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
    """The tasks of each phase and wave, without those of SyncFail, which run only after a failure."""
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
