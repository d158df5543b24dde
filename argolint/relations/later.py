"""comes-later: the sync creates what the object needs only after it, in a later phase or wave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.edits import application_place, sync_option
from argolint.edits.advice import advice
from argolint.model import Json, Object, ResourceId, Want
from argolint.relations.blocked import blocked
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint, KnownObject, mentioned_objects, own_objects
from argolint.relations.references import references
from argolint.sequence.order import PHASES, Place, holds_others, hook_phases
from argolint.values import dig, items, leaves, maps, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import api_of, data_keys, pod_spec, reads
from argolint.values.patterns import regex


def later_object(complaint: Complaint) -> Iterator[Explained]:
    """A missing object of the application that the sentence or the manifest names, and that this sync creates later."""
    own = complaint.place
    seen = set()
    lacks = complaint.app.derive(_lacks_any)
    for known, why in (
        (*_objects_in_message(complaint), *_objects_needed(complaint), *_objects_named_after(complaint))
        if lacks
        else ()
    ):
        if known.id not in seen and known.resource.missing and known.place > own:
            seen.add(known.id)
            yield _explained(complaint, known, own, why)
    if not seen:
        yield from _later_namespace(complaint, own)
        yield from _hook_after_health(complaint)
        yield from _awaited_job(complaint)
        yield from _postponed_job(complaint)
        yield from _later_change(complaint)
        yield from _later_key(complaint)


def _lacks_any(app: App) -> bool:
    return any(resource.missing for resource in app.resources)


def _objects_in_message(complaint: Complaint) -> Iterator[tuple[KnownObject, str]]:
    return (
        (known, f"the message names {mention.name}") for mention, known in mentioned_objects(complaint, fleet=False)
    )


def _objects_needed(complaint: Complaint) -> Iterator[tuple[KnownObject, str]]:
    """The objects that the manifest requires, and the makers of those."""
    manifest = complaint.manifest
    if manifest is None:
        return
    for reference in references(manifest):
        for resource in complaint.app.of_kind(reference.kind, reference.group):
            if resource.name == reference.name and resource.namespace in (
                "",
                reference.namespace or complaint.namespace,
            ):
                yield KnownObject(complaint.app, resource), f"{reference.pointer} names it"
        if reference.kind == "Secret":
            for known in _makers_of(complaint, reference.name):
                yield known, f"{reference.pointer} names Secret {reference.name}, which it makes"


def _makers_of(complaint: Complaint, secret: str) -> Iterator[KnownObject]:
    for known in own_objects(complaint.app, secret):
        if known.how == "makes" and known.id.namespace == complaint.namespace:
            yield known


_ABSENT = regex(
    r'"(?:[\w.-]{1,63}/)?([a-z0-9][\w.-]{0,252})"[^"]{0,40}?\b(?:not found|does not exist|is missing)', re.IGNORECASE
)


def _objects_named_after(complaint: Complaint) -> Iterator[tuple[KnownObject, str]]:
    """Objects that an operator names after their maker: `web` creates `web-collector`."""
    absent = {found for text in complaint.texts for found in _ABSENT.findall(text[:8000])}
    for resource in complaint.app.missing if absent else ():
        made = next((name for name in sorted(absent) if name.startswith(f"{resource.name}-")), "")
        if made and resource.namespace == complaint.namespace:
            yield KnownObject(complaint.app, resource), f"{made} is named after it"


def _explained(complaint: Complaint, known: KnownObject, own: Place, why: str, part: str = "") -> Explained:
    """`part` names a part of an object that is live, which the sync adds."""
    before = known.place.phase > own.phase
    when = f"only after {PHASES[own.phase]} hooks" if before else f"in wave {known.place.wave}, after wave {own.wave}"
    facts = {
        "object": complaint.subject,
        "missing": str(known.id),
        "phase": PHASES[own.phase],
        "wave": str(own.wave),
        "later": str(known.place.wave),
        "weight": str(own.wave - 1),
        "holds_others": holds_others(known.id.kind),
        **_of_own_namespace(complaint.app, known.id),
    }
    topic = "comes-later/phase" if before else "comes-later/wave"
    return Explained(
        "comes-later",
        complaint.app.ref,
        known.id,
        f"{complaint.subject} needs {part}{known.id}, but the sync {'writes' if part else 'creates'} that {when}, so the sync cannot finish.",
        evidence=(f"{known.id}: {why}; {'it is' if part else 'it is missing, and is'} applied {when}",),
        fixes=advice(__package__, topic, facts, complaint.id),
    )


def _of_own_namespace(app: App, id_: ResourceId) -> Mapping[str, Json]:
    """The facts on the destination's namespace, which Argo CD makes before all hooks unless the application has a manifest of it (autoCreateNamespace)."""
    own = id_.kind == "Namespace" and id_.name == app.destination_namespace
    made = "CreateNamespace=true" in items(app.spec, "syncPolicy", "syncOptions")
    return {
        "place": application_place(app),
        "creation": sync_option(app, "CreateNamespace=true") if own and not made else [],
        "in_the_way": own and made,
        "or_run": "Or run" if own else "Run",
    }


_NO_NAMESPACE = regex(r'namespaces "([a-z0-9][a-z0-9-]{0,62})" not found')


def _later_namespace(complaint: Complaint, own: Place) -> Iterator[Explained]:
    """A namespace that no manifest has, for an object of an early wave: its possible maker comes later and waits for this object."""
    app = complaint.app
    found = complaint.first(_NO_NAMESPACE)
    name = found[1] if found else ""
    if not name or complaint.id is None or any(row.kind == "Namespace" and row.name == name for row in app.rows):
        return
    if complaint.fleet.derive(_is_namespace_listed, app.cluster, name):
        return
    if (maker := _namesake(app, name)) is not None and KnownObject(app, maker).place >= own:
        yield _made_too_late(complaint, maker, own)
        return
    after = [r for r in app.resources if r.desired is not None and KnownObject(app, r).place > own and not r.hook]
    operators = [
        r
        for r in after
        if r.kind in ("Deployment", "StatefulSet") or ("." in r.group and not r.group.endswith(".k8s.io"))
    ]
    if not operators:
        return
    first = min(operators, key=lambda r: (KnownObject(app, r).place, r.kind != "Deployment", r.name))
    facts = {
        "object": complaint.subject,
        "wave": str(KnownObject(app, first).place.wave),
        "own_wave": str(own.wave),
        "made": name,
        "missing": str(first.id),
    }
    yield Explained(
        "comes-later",
        app.ref,
        first.id,
        f"{complaint.subject} of wave {own.wave} needs Namespace {name}, which no manifest contains, so wave {facts['wave']} with {first.id} never starts.",
        evidence=(
            f"no application of this Argo CD contains Namespace {name}; {first.id} and {len(after) - 1} more come in later waves",
        ),
        fixes=advice(__package__, "comes-later/namespace", facts, complaint.id),
        likely=True,
    )


def _namesake(app: App, name: str) -> Resource | None:
    """The object of the application from which a controller makes the namespace of this name."""
    kinds = load(__package__, "namespace_makers.yaml")
    own = (r for r in app.resources if r.name == name and r.desired is not None and not r.hook)
    return next((r for r in own if f"{r.group}/{r.kind}" in kinds), None)


def _made_too_late(complaint: Complaint, maker: Resource, own: Place) -> Explained:
    place = KnownObject(complaint.app, maker).place
    when = f"both in wave {own.wave}" if place.wave == own.wave else f"that only in wave {place.wave}"
    facts = {
        "missing": str(maker.id),
        "made": maker.name,
        "before": str(own.wave - 1),
        "app": str(complaint.app.ref),
        "there": maker.live is not None,
    }
    return Explained(
        "comes-later",
        complaint.app.ref,
        maker.id,
        f"{complaint.subject} needs Namespace {maker.name}, which {maker.kind} {maker.name} makes, but the sync applies {when}.",
        evidence=(f"no application of this Argo CD contains Namespace {maker.name}",),
        fixes=advice(__package__, "comes-later/namesake", facts, maker.id),
        likely=True,
    )


def _is_namespace_listed(fleet: Fleet, cluster: str, name: str) -> bool:
    return any(key.name == name for key in fleet.of_kind(cluster, "", "Namespace"))


def _hook_after_health(complaint: Complaint) -> Iterator[Explained]:
    """A PostSync hook creates something that is absent, while the sync waits for the health of the object that needs it."""
    app = complaint.app
    awaited = app.operation.awaited if app.operation else None
    if awaited is None or awaited.reason != "healthy state of":
        return
    for name in sorted({found for text in complaint.texts for found in _ABSENT.findall(text[:8000])}):
        manifest, held = _post_hook_maker(app, name)
        if manifest is None:
            continue
        script = text_at(held, "metadata", "name")
        hook = f"{manifest.get('kind')} {text_at(manifest, 'metadata', 'name')}"
        names = f"whose script, in ConfigMap {script}, names" if script else "a PostSync hook that names"
        itself = text_at(manifest, "metadata", "name") == name and not pod_spec(manifest)[1]
        facts = {
            "object": complaint.subject,
            "hook": hook,
            "made": name,
            "lasting": itself,
            "wave": str(complaint.place.wave),
            "script": f"ConfigMap {script}, a later hook too, needs the same; " if hook_phases(held) else "",
        }
        yield Explained(
            "comes-later",
            app.ref,
            complaint.id,
            f"{complaint.subject} needs {name}, which the PostSync hook {hook} makes, but that runs only once everything is healthy.",
            evidence=(f"the rendered manifests hold {hook}, {names} {name}",),
            fixes=advice(__package__, "comes-later/after-health", facts, complaint.id),
        )
        return


def _post_hook_maker(app: App, name: str) -> tuple[Object | None, Object | None]:
    """The PostSync hook that makes what is absent, and the ConfigMap with its script if only that names it.

    A hook that only reads it, or may only touch it by a Role, makes nothing.
    """
    manifests = app.evidence.get(Want("manifests")) or ()
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    hooks = [m for m in manifests if "PostSync" in hook_phases(m)]
    for manifest in hooks:
        runs, group = bool(pod_spec(manifest)[1]), api_of(manifest)[0]
        itself = text_at(manifest, "metadata", "name") == name and not runs
        acts = runs or ("." in group and not group.endswith(".k8s.io"))
        if itself or (acts and _mentions_word(manifest, word, _places_of(manifest, name))):
            return manifest, None
    scripts = {
        (text_at(m, "metadata", "namespace") or app.destination_namespace, text_at(m, "metadata", "name")): m
        for m in manifests
        if m.get("kind") == "ConfigMap" and _mentions_word({"data": m.get("data")}, word)
    }
    for manifest in hooks if scripts else ():
        namespace = text_at(manifest, "metadata", "namespace") or app.destination_namespace
        for read in reads(manifest):
            if read.kind == "ConfigMap" and (namespace, read.name) in scripts:
                return manifest, scripts[namespace, read.name]
    return None, None


def _places_of(manifest: Object, name: str) -> frozenset[str]:
    """The fields in which an object names what it reads itself."""
    return frozenset(r.pointer for r in references(manifest) if r.name == name)


def _awaited_job(complaint: Complaint) -> Iterator[Explained]:
    """A Job that the sync runs only after the object whose init container waits for it."""
    app = complaint.app
    for pair in app.derive(blocked, complaint.fleet):
        job = pair.later
        if pair.how != "job" or pair.waiting.id != complaint.id or not job.absent or app.node(job.id):
            continue
        facts = {
            "object": complaint.subject,
            "missing": str(job.id),
            "wave": str(pair.waiting.place.wave),
            "later": str(job.place.wave),
        }
        yield Explained(
            "comes-later",
            app.ref,
            job.id,
            f"An init container of {complaint.subject} waits for {job.id}, which the sync runs only after it ({job.place}).",
            evidence=(f"{pair.pointer} names {job.id.name}; the cluster does not have that Job",),
            fixes=advice(__package__, "comes-later/hook" if job.hook else "comes-later/wave", facts, complaint.id),
            likely=True,
        )
        return


def _postponed_job(complaint: Complaint) -> Iterator[Explained]:
    """A pod does not get past its init containers or is not ready, and a PostSync Job has never run that may do what is waited for."""
    app = complaint.app
    node = app.node(complaint.id) if complaint.id else None
    awaited = app.operation.awaited if app.operation else None
    if node is None or awaited is None or awaited.reason != "healthy state of" or not awaited.is_(node.id):
        return
    below = tuple(app.descendants(node.uid))
    stopped = [n for n in below if _IN_INIT.fullmatch(n.info.get("Status Reason", ""))]
    unready = not stopped and complaint.first(_UNREADY) is not None
    stopped = stopped or [n for n in below if unready and n.id.kind == "Pod" and n.health.status == "Progressing"]
    _, spec = pod_spec(complaint.manifest or {})
    waiting = {_image(c): text_at(c, "name") for c in maps(spec, "containers" if unready else "initContainers")}
    jobs = _postponed_jobs(app, waiting, first=unready and _never_synced(app)) if stopped else iter(())
    for name, same in jobs:
        container = waiting.get(same) or next(iter(waiting.values()), "")
        yield _postponed_explained(complaint, stopped[0].id, name, same, container, unready=unready)
        return


def _never_synced(app: App) -> bool:
    return not maps(app.raw, "status", "history") and dig(app.spec, "revisionHistoryLimit") != 0


def _postponed_explained(
    complaint: Complaint, pod: ResourceId, job: str, image: str, container: str, *, unready: bool
) -> Explained:
    """The Job runs the container's image, or another one if `image` is empty."""
    facts = {
        "object": complaint.subject,
        "missing": f"Job {job}",
        "wave": str(complaint.place.wave),
        "container": container,
        "pod": pod.name,
        "namespace": complaint.namespace or "default",
    }
    does = "does not become ready" if unready else f"stops in init container {container}"
    alike = ", of the same image," if image else ", which may prepare what it needs,"
    part = "container" if unready else "init container"
    seen = (
        f"Job {job} and {part} {container} have image {image}"
        if image
        else f"the application has never synced in full, and Job {job} prepares something by its name"
    )
    return Explained(
        "comes-later",
        complaint.app.ref,
        complaint.id,
        f"{complaint.subject} {does}; PostSync Job {job}{alike} runs only once everything is healthy.",
        evidence=(f"{seen}; no Job of that name has run",),
        fixes=advice(__package__, f"comes-later/same-image{'-unready' if unready else ''}", facts, complaint.id),
        likely=True,
    )


_PREPARES = regex(r"(?:^|-)(?:db|database|init|migrat\w{0,6}|schema|setup|bootstrap|seed|upgrade)(?:-|$)")


def _postponed_jobs(app: App, images: Mapping[str, str], *, first: bool) -> Iterator[tuple[str, str]]:
    """PostSync Jobs that have not run: those of one of the images, each with that; at a first sync then those that prepare something by their name."""
    found = []
    for manifest in app.evidence.get(Want("manifests")) or ():
        if manifest.get("kind") != "Job" or "PostSync" not in hook_phases(manifest):
            continue
        name, job = text_at(manifest, "metadata", "name"), pod_spec(manifest)[1]
        same = next((_image(c) for c in maps(job, "containers") if _image(c) in images), "")
        if not any(n.id.kind == "Job" and n.id.name == name for n in app.nodes):
            found.append((name, same))
    yield from (each for each in found if each[1])
    yield from (each for each in found if first and not each[1] and _PREPARES.search(each[0]))


_UNREADY = regex(r"Readiness probe (?:failed|errored)")
_IN_INIT = regex(r"Init:(?:\d{1,3}/\d{1,3}|CrashLoopBackOff|Error)")
"""The status of a pod whose init container runs, or ends and is started again."""


def _image(container: Object) -> str:
    """The image without tag and digest."""
    image = text_at(container, "image").partition("@")[0]
    head, _, tag = image.rpartition(":")
    return head if head and "/" not in tag else image


def _later_change(complaint: Complaint) -> Iterator[Explained]:
    """The sync waits for pods that fail, and applies the changed configuration that they read only in a later wave."""
    app = complaint.app
    awaited = app.operation.awaited if app.operation else None
    node = app.node(complaint.id) if complaint.id else None
    if node is None or awaited is None or awaited.reason != "healthy state of" or not awaited.is_(node.id):
        return
    if not any(n.id.kind == "Pod" and n.health.status == "Degraded" for n in app.descendants(node.uid)):
        return
    own = complaint.place
    changed = {(r.kind, r.namespace, r.name): r for r in app.changed if r.kind in ("ConfigMap", "Secret")}
    for reference in references(complaint.manifest or {}) if changed else ():
        resource = changed.get((reference.kind, reference.namespace or complaint.namespace, reference.name))
        known = KnownObject(app, resource) if resource else None
        if known is None or known.place <= own or known.place.phase != own.phase:
            continue
        facts = {
            "object": complaint.subject,
            "missing": str(known.id),
            "wave": str(own.wave),
            "later": str(known.place.wave),
        }
        yield Explained(
            "comes-later",
            app.ref,
            known.id,
            f"{complaint.subject} reads {known.id}, whose change in Git the sync applies only after it, in wave {known.place.wave}.",
            evidence=(
                f"{reference.pointer} names {known.id}, which differs from Git",
                "its pods fail, and the sync waits for them",
            ),
            fixes=advice(__package__, "comes-later/wave", facts, complaint.id),
            likely=True,
        )
        return


NO_KEY = regex(
    r"couldn't find key (\S{1,253}) in (Secret|ConfigMap) (?:([^/\s]{1,63})/)?([^\s,;\"]{1,253})", re.IGNORECASE
)
"""The kubelet's words for a key that an object lacks: key, kind, perhaps the namespace, and name."""


def _later_key(complaint: Complaint) -> Iterator[Explained]:
    """Pods lack a key of a Secret or ConfigMap that Git holds there, and that the sync writes only after them."""
    found, own = complaint.first(NO_KEY), complaint.place
    if found is None:
        return
    key, sort, namespace, name = found.groups()
    for resource in complaint.app.of_kind("ConfigMap" if sort.lower() == "configmap" else "Secret", ""):
        known = KnownObject(complaint.app, resource)
        here = (resource.namespace, resource.name) == (namespace or complaint.namespace, name)
        if here and known.place > own and key in data_keys(resource.desired) - data_keys(resource.live):
            yield _explained(complaint, known, own, f"Git holds its key {key}, and live does not", f"key {key} of ")
            return


def _mentions_word(manifest: Object, word: re.Pattern[str], apart: frozenset[str] = frozenset()) -> bool:
    return any(word.search(value) for at, value in leaves(manifest) if isinstance(value, str) and at not in apart)
