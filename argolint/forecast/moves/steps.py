"""Steps that moves have in common: the old application releases its objects, the new one takes them over, the old one is deleted without them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.application_sets import maker_or_name
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.comparison import TRACKING_ID
from argolint.edits.handover import names, untrack
from argolint.edits.pruning import cascades
from argolint.forecast.moves.owners import objects_of, parent_of, release_names
from argolint.forecast.moves.plan import Step
from argolint.values import items, sh, text_at


def release(app: App, fleet: Fleet) -> Iterator[Step]:
    """Keep the old application from syncing and deleting."""
    name = f"{app.ref.namespace}/{app.name}"
    if app.automated:
        also = ", in Git too where it comes from there" if parent_of(app, fleet) or maker_or_name(app, fleet) else ""
        yield Step(
            f"Stop the automated sync of {name}{also}.",
            f"argocd app set {sh(name)} --sync-policy none",
            f"argocd app get {sh(name)} -o json | jq -e '.spec.syncPolicy.automated == null'",
        )
    if cascades(app):
        where = f"kubectl -n {sh(app.ref.namespace)}"
        yield Step(
            f"Take the finalizer off {name}, so that its deletion deletes no object.",
            f'{where} patch application {sh(app.name)} --type merge -p \'{{"metadata":{{"finalizers":null}}}}\'',
            f"test -z \"$({where} get application {sh(app.name)} -o jsonpath='{{.metadata.finalizers}}')\"",
        )


def take_over(app: App, taker: App, fleet: Fleet, new: str, instance: str) -> Iterator[Step]:
    """Sync the new application until the live objects name it. A new application gets the options of the old one."""
    objects = objects_of(app)
    key = fleet.label_key if fleet.tracking_method == "label" else TRACKING_ID
    if objects and "FailOnSharedResource=true" in taker.sync_options:
        yield Step(
            "Take the old tracking data off the objects, because FailOnSharedResource=true refuses the sync otherwise.",
            "\n".join(untrack(r.id, key) for r in objects),
        )
    yield Step(
        f"Sync {new} in full, without prune.",
        f"argocd app sync {sh(new)}",
        "\n".join(names(r.id, [instance], key) for r in _first(objects))
        or f"argocd app get {sh(new)} -o json | jq -e '.status.sync.status == \"Synced\"'",
    )


def _first(objects: list[Resource]) -> list[Resource]:
    """Objects whose tracking data is checked: those with data first."""
    heavy = ("PersistentVolumeClaim", "StatefulSet", "Namespace", "Deployment", "Service", "Secret")
    order = {kind: index for index, kind in enumerate(heavy)}
    known = [r for r in objects if r.kind != "CustomResourceDefinition"]
    return sorted(known, key=lambda r: (order.get(r.kind, len(order)), r.key))[:_CHECKED]


_CHECKED = 12


def resume_automation(app: App, new: str, on: str, argocd: str = "argocd") -> Iterator[Step]:
    """Give the application's automated sync to its successor."""
    if app.automated:
        options = " --auto-prune" * app.prune + " --self-heal" * app.self_heal
        yield Step(
            f"Turn the automated sync of {new} {on}.",
            f"{argocd} app set {sh(new)} --sync-policy automated{options}",
            f"{argocd} app wait {sh(new)} --sync --health --timeout 300",
        )


def remove_from_git(app: App, fleet: Fleet) -> Iterator[Step]:
    """Remove the old Application from whatever would create it again."""
    owner, parent = maker_or_name(app, fleet), parent_of(app, fleet)
    if owner is not None:
        name = text_at(owner, "metadata", "name")
        yield Step(
            f"Remove the element of {app.name} from ApplicationSet {name} in Git, which would make the Application again.",
            "",
            f"argocd appset generate {sh(name)}.yaml -o yaml\n# the file of the set, as Git has it now: no Application {app.name} in it",
        )
    elif parent is not None:
        listed = f'[.status.resources[] | select(.kind == "Application" and .name == {json.dumps(app.name)} and (.requiresPruning | not))] == []'
        yield Step(
            f"Remove the manifest of Application {app.name} from {parent.ref} in Git, whose sync would bring it back.",
            "",
            f"argocd app get {sh(parent.ref.namespace)}/{sh(parent.name)} --refresh -o json | jq -e {sh(listed)}",
        )


def deletion_suffix(app: App, fleet: Fleet) -> str:
    """The end of the step that deletes the old Application."""
    if maker_or_name(app, fleet) is not None or parent_of(app, fleet) is not None:
        return " without its objects, unless it is gone already"
    return " without its objects; in Git too, if that is where it comes from"


def delete_old(app: App, fleet: Fleet, new: str) -> Iterator[Step]:
    old = f"{app.ref.namespace}/{app.name}"
    count = len(objects_of(app))
    yield from remove_from_git(app, fleet)
    yield Step(
        f"Delete the old Application {old}{deletion_suffix(app, fleet)}.",
        f"argocd app delete {sh(old)} --cascade=false --yes",
        f"argocd app get {sh(new)} -o json | jq -e '[.status.resources[] | select(.hook | not)] | length >= {count}'",
    )
    yield from resume_automation(app, new, "on again")


def creation(app: App, name: str, server: str = "", argocd: str = "") -> str:
    """The command that creates the new Application from the old one's spec, without automated sync; it prints no value of the spec.

    `server`: another cluster; `argocd`: the context of another Argo CD.
    """
    metadata = [
        f"name: {json.dumps(name)}",
        "namespace: .metadata.namespace",
        "labels: .metadata.labels",
        f'annotations: ((.metadata.annotations // {{}}) | with_entries(select(.key | test("{_WRITTEN}") | not)))',
    ]
    finalizers = [str(f) for f in items(app.raw, "metadata", "finalizers") if "resources-finalizer" in str(f)]
    metadata += [f"finalizers: {json.dumps(finalizers)}"] if finalizers else []
    spec = [".spec", "del(.syncPolicy.automated)"]
    for place, _ in release_names(app):
        at = ".source" if place == "/spec/source" else f".sources[{place.rpartition('/')[2]}]"
        spec.append(f"{at}.helm.releaseName = {json.dumps(app.name)}")
    if server:
        spec.append(f".destination = {{server: {json.dumps(server)}, namespace: .destination.namespace}}")
    script = f"{{apiVersion, kind, metadata: {{{', '.join(metadata)}}}, spec: ({' | '.join(spec)})}}"
    where = f"kubectl -n {sh(app.ref.namespace)}"
    into = f"argocd --argocd-context {sh(argocd)} app create --file - > /dev/null" if argocd else f"{where} apply -f -"
    return f"{where} get application {sh(app.name)} -o json |\n  jq {sh(script)} |\n  {into}"


_WRITTEN = "^(kubectl[.]kubernetes[.]io/|argocd[.]argoproj[.]io/(refresh|hydrate|tracking-id|installation-id))"
"""Annotations that kubectl and Argo CD write themselves."""
