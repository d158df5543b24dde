"""A renamed workload starts with empty volumes

What it finds: a StatefulSet that a sync creates in place of one that leaves Git, with the same images and claim templates under another name; and a PersistentVolumeClaim that takes the place
of another one in the pods of a workload. Also a workload that keeps a claim, or the template of one, and of which no container mounts it any more. `cause` is `stateful-set`, `claim` or `mount`.

Why it hurts: a claim of a StatefulSet has its name in its own, so the new one gets new claims. It starts, is Healthy, and has no data; the old claims stay, and no one names them.

How to fix: keep the name (a chart has `nameOverride`, `fullnameOverride` or the release's name for it), or give the new claims the old data before the sync.

Example: another `releaseName`, so that the chart's StatefulSet `db` becomes `shop-db`.

Not reported: claims that are there already, and claims with a `dataSource`.

Sources: kubernetes.io, StatefulSets, Stable Storage; CSI Volume Cloning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import App, Finding, Fix, Fleet, Location, Object, Rank, Related, Resource, Rule
from argolint.edits import manifest_patch, manifest_text, manifest_yaml, set_field
from argolint.redaction import excerpt
from argolint.values import dig, join_pointer, mapping, maps, text_at
from argolint.values.knowledge import dump
from argolint.values.kubernetes import containers, images


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload or claim under a new name."""
    yield from _stateful_sets(app)
    yield from _claims(app)
    yield from _unmounted(app)


def _unmounted(app: App) -> Iterator[Finding]:
    """Workloads that keep the claim or the template of a volume which no container mounts any more."""
    for group, kind in (("apps", "StatefulSet"), ("apps", "Deployment")):
        for resource in app.of_kind(kind, group):
            if resource.status == "OutOfSync" and resource.live and resource.desired and not resource.requires_pruning:
                kept = {*_names(resource.desired), *_mounted(resource.desired)}
                idle = kept - {name for name, _, _ in _mounts(resource.desired)}
                for volume, container, mount in _mounts(resource.live):
                    if volume in idle:
                        yield _unmounted_finding(app, resource, volume, container, mount)
                        break


def _mounts(obj: Object | None) -> Iterator[tuple[str, str, Object]]:
    """The volumes that containers mount, each with the name of the container and the mount."""
    for _, container in containers(obj):
        for mount in maps(container, "volumeMounts"):
            yield text_at(mount, "name"), text_at(container, "name"), mount


def _unmounted_finding(app: App, resource: Resource, volume: str, container: str, mount: Object) -> Finding:
    path = excerpt(text_at(mount, "mountPath"), 80)
    return Finding(
        message=f"{resource.id} keeps volume {excerpt(volume, 63)}, and no container mounts it: the pods start without the data at {path}.",
        at=Location(app.ref, resource.id, "/spec/template/spec/containers"),
        cause="mount",
        confidence="likely",
        evidence=(f"today container {excerpt(container, 63)} mounts it at {path}",),
        fixes=tuple(_mount_fixes(resource, volume, container, mount)),
    )


def _mount_fixes(resource: Resource, volume: str, container: str, mount: Object) -> Iterator[Fix]:
    for at, found in containers(resource.desired):
        if text_at(found, "name") == container:
            steps = set_field(resource.desired, f"{at}/volumeMounts", [*maps(found, "volumeMounts"), dict(mount)])
            yield manifest_patch(resource.id, f"Mount {volume} again", steps)
    text = f"{volume} of {resource.id}\n"
    yield manifest_text(resource.id, "Or drop the volume once its data is elsewhere", text)


def _coming(app: App, kind: str, group: str) -> list[Resource]:
    """The objects that a sync creates."""
    return [r for r in app.of_kind(kind, group) if r.desired and r.live is None and not r.hook]


def _leaving(app: App, kind: str, group: str) -> list[Resource]:
    """The live objects that are in Git no more."""
    return [r for r in app.of_kind(kind, group) if r.live and (r.requires_pruning or r.extra)]


def _stateful_sets(app: App) -> Iterator[Finding]:
    leaving = _leaving(app, "StatefulSet", "apps")
    for new in _coming(app, "StatefulSet", "apps") if leaving else ():
        old = next((one for one in leaving if _is_renamed(one, new)), None)
        names = [name for name, template in _templates(new.desired) if not dig(template, "spec", "dataSource")]
        if old is not None and names and not any(_has_claim(app, new, f"{name}-{new.name}-0") for name in names):
            pairs = [(f"{name}-{old.name}-0", f"{name}-{new.name}-0") for name in names]
            yield _finding(app, old, new, pairs, "stateful-set")


def _is_renamed(old: Resource, new: Resource) -> bool:
    alike = old.namespace == new.namespace and _repositories(old.live) == _repositories(new.desired)
    return alike and bool(_names(old.live)) and _names(old.live) == _names(new.desired)


def _templates(obj: Object | None) -> list[tuple[str, Object]]:
    return [(text_at(each, "metadata", "name"), each) for each in maps(obj, "spec", "volumeClaimTemplates")]


def _names(obj: Object | None) -> list[str]:
    return sorted(name for name, _ in _templates(obj))


def _repositories(obj: Object | None) -> list[str]:
    """The images without tag and digest."""
    return sorted(image.partition("@")[0].rpartition("/")[2].partition(":")[0] for image in images(obj))


def _has_claim(app: App, resource: Resource, name: str) -> bool:
    """Whether the claim is there already, in the tree or the application."""
    known = app.find("", "PersistentVolumeClaim", resource.namespace, name)
    in_tree = (node.id for node in app.nodes_of("PersistentVolumeClaim", "") if node.uid)
    return (known is not None and known.live is not None) or any(
        (id_.namespace, id_.name) == (resource.namespace, name) for id_ in in_tree
    )


def _claims(app: App) -> Iterator[Finding]:
    """Claims that take the place of others in the pods of a workload."""
    leaving = {r.name: r for r in _leaving(app, "PersistentVolumeClaim", "")}
    coming = {r.name: r for r in _coming(app, "PersistentVolumeClaim", "")} if leaving else {}
    reported: set[str] = set()
    for resource in app.resources if coming else ():
        before, after = _mounted(resource.live), _mounted(resource.desired)
        for volume, name in after.items():
            old, new = leaving.get(before.get(volume, "")), coming.get(name)
            if old is None or new is None or new.name in reported or dig(new.desired, "spec", "dataSource"):
                continue
            if old.namespace == new.namespace == resource.namespace and not _has_claim(app, new, new.name):
                reported.add(new.name)
                yield _finding(app, old, new, [(old.name, new.name)], "claim")


def _mounted(obj: Object | None) -> dict[str, str]:
    """The claims of the pods by the names of their volumes."""
    spec = dig(obj, "spec", "template", "spec")
    claims = ((text_at(v, "name"), text_at(v, "persistentVolumeClaim", "claimName")) for v in maps(spec, "volumes"))
    return {volume: claim for volume, claim in claims if claim}


def _finding(app: App, old: Resource, new: Resource, pairs: Sequence[tuple[str, str]], cause: str) -> Finding:
    first, _ = pairs[0]
    where = "its volumes are empty" if cause == "stateful-set" else "it is empty"
    return Finding(
        message=f"{new.id} takes the place of {old.name}, and {where}: the data is in claim {first}.",
        at=Location(app.ref, new.id, join_pointer("metadata", "name")),
        cause=cause,
        confidence="likely",
        evidence=tuple(f"{after} is a new claim; {before} has the data" for before, after in pairs[:8]),
        related=(Related(app.ref, old.id, role="other"),),
        fixes=(_keep_fix(old, new), _clone_fix(new, pairs)),
    )


def _keep_fix(old: Resource, new: Resource) -> Fix:
    text = (
        f"metadata.name of {new.kind}: {old.name} (in a chart: nameOverride, fullnameOverride or the release's name)\n"
    )
    return manifest_text(new.id, f"Keep the name {old.name}", text)


def _clone_fix(new: Resource, pairs: Sequence[tuple[str, str]]) -> Fix:
    """Claims that are copies of the old ones: the StatefulSet takes those that are there."""
    specs = {name: mapping(template, "spec") for name, template in _templates(new.desired)} or {
        "": mapping(new.desired, "spec")
    }
    made = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": after, "namespace": new.namespace},
            "spec": {
                **(specs.get(after.removesuffix(f"-{new.name}-0")) or specs.get("") or {}),
                "dataSource": {"kind": "PersistentVolumeClaim", "name": before},
            },
        }
        for before, after in pairs
    ]
    caveat = "the CSI driver has to clone volumes; stop the old pods first, and give each further replica its claim"
    return manifest_yaml(f"namespace {new.namespace}", "Or clone the old claims before the sync", dump(made), caveat)


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, causes=("stateful-set", "claim", "mount"), rank=Rank.CAUSE
)
