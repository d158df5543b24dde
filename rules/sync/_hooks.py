"""Explains from a hook's manifest and pods why it fails, or why Argo CD does not see it end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from argolint import App, Awaited, Fix, Node, Object, ResourceId, Want
from argolint.edits.advice import advice
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, items, maps, number_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import HOOK, api_of, containers, images, is_deleting, pod_spec
from argolint.values.patterns import regex

from ..shared import pods

TASKS = frozenset({"argoproj.io", "tekton.dev", "chaos-mesh.org", "testing.k6.io", "k6.io"})
"""Groups of custom resources that run once and end, so that they can be hooks."""


def rendered_hook(app: App, awaited: Awaited) -> tuple[ResourceId, Object] | None:
    """The hook among the rendered manifests, with its identity; None if the render was not read or lacks it."""
    for manifest in app.evidence.get(Want("manifests")) or ():
        group, version = api_of(manifest)
        namespace = str(dig(manifest, "metadata", "namespace") or app.destination_namespace)
        name = str(dig(manifest, "metadata", "name") or "")
        id_ = ResourceId(group, str(manifest.get("kind") or ""), namespace, name, version, app.cluster)
        if awaited.is_(id_):
            return id_, manifest
    return None


def manifest_of(app: App, id_: ResourceId) -> Object | None:
    """The desired object; for a hook, which is not among the managed objects, the live one."""
    resource = app.resource(id_.key)
    if resource is not None and resource.desired is not None:
        return resource.desired
    found: Object | None = app.evidence.get(Want("live", id_))
    return found or (resource.live if resource else None)


def is_held(app: App, node: Node) -> bool:
    """Whether a hook has ended and is deleted, and only the finalizer that Argo CD gives to hooks keeps it."""
    live: Object | None = app.evidence.get(Want("live", node.id))
    if not is_deleting(live):
        return False
    ended = any(
        c.get("status") == "True" and c.get("type") in ("Complete", "Failed")
        for c in maps(live, "status", "conditions")
    ) or dig(live, "status", "phase") in ("Succeeded", "Failed")
    return ended and [*items(live, "metadata", "finalizers")] == ["argocd.argoproj.io/hook-finalizer"]


def runs_again(app: App, manifest: Object | None) -> bool:
    """Whether Helm would run the hook with the installation alone, while Argo CD has synced the application before and runs it again."""
    marks = annotations_of(manifest)
    events = {event.strip() for event in marks.get("helm.sh/hook", "").split(",")}
    first = (
        HOOK not in marks and events & {"pre-install", "post-install"} and not events & {"pre-upgrade", "post-upgrade"}
    )
    return bool(first and maps(app.status, "history"))


RUNS_AGAIN = "Helm runs this hook once, with the installation; Argo CD runs it at each sync"


def of_one_pod(trouble: pods.Trouble) -> str:
    """What a trouble says of pods, as said of one."""
    return pods.singular(trouble.verb)


def seconds_kept(manifest: Object | None) -> int | None:
    """Seconds that a finished Job stays (ttlSecondsAfterFinished); None if it stays without limit."""
    if dig(manifest, "spec", "ttlSecondsAfterFinished") is None:
        return None
    return number_at(manifest, "spec", "ttlSecondsAfterFinished")


def vanished_hook_fixes(id_: ResourceId | None, manifest: Object | None, awaited: Awaited) -> tuple[Fix, ...]:
    """Fixes that let Argo CD see the end of a hook that is deleted too early."""
    topic = "ttl" if seconds_kept(manifest) is not None else "gone" if manifest is None else "absent"
    lasting = awaited.kind not in ("Job", "Pod") and awaited.group not in TASKS
    facts = {"hook": str(id_ or f"{awaited.kind} {awaited.name}"), "lasting": lasting}
    return advice(__package__, f"hook-stuck/{topic}", facts, id_)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A container in a pod of the hook that the manifest lacks. `product` is empty if the injector is unknown."""

    pod: Node
    image: str
    product: str = ""
    place: str = "annotation"
    key: str = ""
    value: str = ""


@cache
def _known_sidecars() -> tuple[tuple[re.Pattern[str], Object], ...]:
    return tuple((re.compile(entry["match"]), entry) for entry in load(__package__, "sidecars.yaml"))


def sidecar_of(app: App, node: Node, manifest: Object | None) -> Sidecar | None:
    """The injected container that keeps a pod of the hook running; None if the manifest has all its containers."""
    own = set(images(manifest))
    if not own:
        return None
    for pod in (node, *app.descendants(node.uid)):
        more = [image for image in pod.images if image not in own]
        injected = len(set(pod.images)) > len(own)  # else a webhook has only changed their registry
        if pod.id.kind == "Pod" and more and injected and pods.status_reason(pod) in ("Running", "NotReady"):
            entry = next((e for image in more for match, e in _known_sidecars() if match.search(image)), None)
            if entry is None:
                return Sidecar(pod, more[0])
            image = next(i for i in more if re.search(entry["match"], i))
            return Sidecar(pod, image, entry["product"], entry["place"], entry["key"], entry["value"])
    return _sidecar_in_events(app, node, manifest)


_STARTED = regex(r"(?:Created|Started) container:? ([a-z0-9][a-z0-9-]{0,62})$")


def _sidecar_in_events(app: App, node: Node, manifest: Object | None) -> Sidecar | None:
    """The same from the kubelet's Events, if the tree has no images: a started container that the manifest lacks."""
    own = {str(container.get("name")) for _, container in containers(manifest)}
    for pod in (node, *app.descendants(node.uid)):
        if pod.id.kind != "Pod" or pods.status_reason(pod) != "NotReady":
            continue
        started = (_STARTED.search(event.message) for event in app.events(pod.id, pod.uid) or ())
        for name in (found[1] for found in started if found and found[1] not in own):
            entry = next((e for match, e in _known_sidecars() if match.search(name)), None)
            if entry is not None:
                return Sidecar(pod, name, entry["product"], entry["place"], entry["key"], entry["value"])
            return Sidecar(pod, name)
    return None


def sidecar_fixes(id_: ResourceId, manifest: Object | None, sidecar: Sidecar) -> tuple[Fix, ...]:
    """Fixes that keep the sidecar out of the hook's pods, or let it end with them."""
    at = "metadata" if pod_spec(manifest)[0] == "/spec" else "spec.template.metadata"
    facts = {
        "hook": str(id_),
        "image": excerpt(sidecar.image),
        "product": sidecar.product,
        "place": at,
        "fields": f"{sidecar.place}s:\n  {sidecar.key}: '{sidecar.value}'",
    }
    return advice(__package__, f"hook-stuck/{'sidecar' if sidecar.product else 'foreign-sidecar'}", facts, id_)
