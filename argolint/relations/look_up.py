"""Finds the object that a name in a sentence refers to: in the complaining application, else in the fleet on its cluster.

Only names in the sentence or in the object's own references count: a name with two possible objects is ignored.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Literal

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource, Row
from argolint.model import Object, ResourceId
from argolint.relations.makers import made_secrets, makers
from argolint.relations.names import Mention, kind_word, mentions
from argolint.sequence.order import PHASES, Place, place_of
from argolint.values import maps, text_at
from argolint.values.kubernetes import CLUSTER_SCOPED

How = Literal["name", "makes", "webhook"]

_BUILT_IN = (
    "ConfigMap CronJob DaemonSet Deployment Endpoints HorizontalPodAutoscaler Ingress Job LimitRange NetworkPolicy PersistentVolumeClaim Pod "
    "PodDisruptionBudget ReplicaSet ResourceQuota Role RoleBinding Secret Service ServiceAccount StatefulSet Container Application"
)
WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


@dataclass(frozen=True)
class Complaint:
    """A fault, and the texts that describe it.

    id        the object that complains; None for the application itself
    manifest  the desired object, else the live one; None if unknown
    texts     sentences of Argo CD, the object, its children or its Events; the most important one first
    """

    app: App
    fleet: Fleet
    id: ResourceId | None
    manifest: Object | None
    texts: tuple[str, ...]

    @property
    def namespace(self) -> str:
        """The namespace for names without one."""
        return self.id.namespace if self.id and self.id.namespace else self.app.destination_namespace

    @property
    def subject(self) -> str:
        """The object, or the application."""
        return str(self.id) if self.id else f"Application {self.app.ref}"

    @cached_property
    def names(self) -> tuple[Mention, ...]:
        """What the sentences name, each once."""
        return _names(self.texts)

    def first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What the pattern finds in the first sentence in which it finds something."""
        return next((found for text in self.texts if (found := _first(pattern, text[:8000]))), None)

    @property
    def place(self) -> Place:
        """The place in the sync of the complaining object."""
        resource = self.app.held(self.id)
        found = place_of(self.manifest, resource.sync_wave if resource else None)
        return found if self.manifest or not (phase := self._phase()) else Place(PHASES.index(phase), found.wave)

    def _phase(self) -> str:
        """The phase in which the running operation applied the object; empty if not shown."""
        results = self.app.operation.results if self.app.operation and self.id else ()
        wanted = (self.id.group, self.id.kind, self.id.name) if self.id else ()
        own_results = (r for r in results if tuple(text_at(r, key) for key in ("group", "kind", "name")) == wanted)
        return next((phase for r in own_results if (phase := text_at(r, "syncPhase")) in PHASES), "")


@lru_cache(maxsize=512)
def _names(texts: tuple[str, ...]) -> tuple[Mention, ...]:
    """See Complaint.names. Cached, since an object says the same before the reads, for the finding, and after each fix."""
    return tuple(dict.fromkeys(m for text in texts for m in mentions(text)))


@lru_cache(maxsize=2048)
def _first(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match. Cached, since several finders search a sentence: before the reads, for the finding, and after each fix."""
    return pattern.search(text)


@dataclass(frozen=True)
class KnownObject:
    """An object that a name refers to.

    `app` has it; `how` it is related to the name: the object itself, a Secret that it makes, a webhook that it configures.
    """

    app: App
    resource: Resource
    how: How = "name"

    @property
    def id(self) -> ResourceId:
        return self.resource.id

    @property
    def place(self) -> Place:
        return place_of(self.resource.desired, self.resource.sync_wave)


def own_objects(app: App, name: str) -> list[KnownObject]:
    """The application's objects for which others use this name."""
    return [KnownObject(app, resource, how) for resource, how in app.derive(_by_name).get(name, ())]


def _by_name(app: App) -> Mapping[str, Sequence[tuple[Resource, How]]]:
    """All objects of an application by the names that others use for them."""
    found: dict[str, list[tuple[Resource, How]]] = defaultdict(list)
    making = frozenset(makers())
    for resource in app.resources:
        found[resource.name].append((resource, "name"))
        if (resource.group, resource.kind) in making:
            for secret in made_secrets(resource.any):
                found[secret].append((resource, "makes"))
        elif resource.kind in WEBHOOKS:
            for webhook in maps(resource.any, "webhooks"):
                found[text_at(webhook, "name")].append((resource, "webhook"))
    return found


def _on_cluster(fleet: Fleet, cluster: str) -> Mapping[str, Sequence[tuple[App, int]]]:
    """The rows of a cluster's applications by object name: the application and the row's position."""
    found: dict[str, list[tuple[App, int]]] = defaultdict(list)
    for app in fleet.on_cluster(cluster):
        if not app.deleting:
            rows: Sequence[Row | Resource] = app.rows
            for place, row in enumerate(rows):
                found[row.name].append((app, place))
    return found


def objects_of_fleet(complaint: Complaint, name: str) -> Iterator[KnownObject]:
    """Objects of this name in other applications of the cluster, from the list or from a request."""
    app = complaint.app
    for other, place in complaint.fleet.derive(_on_cluster, app.cluster).get(name, ()):
        if other.ref != app.ref:
            listed = other.resources[place]
            yield KnownObject(other, peer(app, other, listed.id) or listed)


def peer(app: App, other: App, id_: ResourceId) -> Resource | None:
    """The object of another application with its states, if a rule has requested them."""
    for want, found in app.evidence.items():
        if want.kind == "peer" and want.app == other.ref and want.resource is not None and want.resource.key == id_.key:
            return found if isinstance(found, Resource) else None
    return None


def kind_words(app: App) -> frozenset[str]:
    """The words that are kinds: built-in ones and those of the application's objects."""
    return _built_in_words() | {kind_word(kind) for kind in {row.kind for row in app.rows}}


@cache
def _built_in_words() -> frozenset[str]:
    return frozenset(map(kind_word, (*_BUILT_IN.split(), *(kind for _, kind in CLUSTER_SCOPED))))


def mentioned_objects(complaint: Complaint, *, fleet: bool = True) -> Iterator[tuple[Mention, KnownObject]]:
    """The objects that the sentences name, each with its mention; the application's own objects first."""
    names = complaint.names
    if not names:
        return
    kinds = complaint.app.derive(kind_words)
    seen: set[tuple[str, ResourceId]] = set()
    for beyond in (False, True) if fleet else (False,):
        for mention in names:
            candidates = (
                _candidates_beyond(complaint, mention, kinds) if beyond else own_objects(complaint.app, mention.name)
            )
            if not candidates:
                continue
            possible = [k for k in candidates if k.id != complaint.id and is_meant(complaint, mention, k, kinds)]
            for known in _single_object(possible):
                if (known.how, known.id) not in seen:
                    seen.add((known.how, known.id))
                    yield mention, known


def _candidates_beyond(complaint: Complaint, mention: Mention, kinds: frozenset[str]) -> Iterable[KnownObject]:
    """Candidates of other applications: only for a name with a kind or namespace in the sentence."""
    return objects_of_fleet(complaint, mention.name) if mention.namespace or not kinds.isdisjoint(mention.kinds) else ()


def _single_object(meant: list[KnownObject]) -> list[KnownObject]:
    """All candidates if they are one object (two applications may have it), or one object and its maker; none if they differ."""
    return meant if len({(k.id.kind, k.id.namespace) for k in meant if k.how == "name"}) <= 1 else []


def is_meant(complaint: Complaint, mention: Mention, known: KnownObject, kinds: frozenset[str]) -> bool:
    """Whether the name in the sentence refers to this object."""
    word = {"makes": "secret", "webhook": "webhook"}.get(known.how, kind_word(known.id.kind))
    space = mention.namespace if kind_word(mention.namespace) not in kinds else ""
    if space and known.id.namespace and space != known.id.namespace:
        return False
    if not space and known.id.namespace and complaint.namespace and known.id.namespace != complaint.namespace:
        return False
    if word in mention.kinds:
        return True
    if any(kind in kinds for kind in mention.kinds):
        return False  # the sentence gives another kind
    telling = len(mention.name) >= 6 and not mention.name.isalpha()
    return telling and (mention.marked or bool(space) or known.how == "webhook")
