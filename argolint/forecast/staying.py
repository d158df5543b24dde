"""What a deletion leaves: objects that stay, each with the reason, and what delays the deletion at its start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.application.resource import Resource
from argolint.application.tracked import tracking_of
from argolint.edits import live_command, manifest_yaml
from argolint.edits.pruning import outlives
from argolint.forecast.fate import Way, deletion_finding
from argolint.model import Finding, Object, Related, ResourceId, Want
from argolint.relations.references import references
from argolint.values import annotations_of, comma_list, dig, enumerated, items, maps, sh, text_at
from argolint.values.kubernetes import HOOK, SYNC_WAVE, pod_spec


def staying_finding(app: App, r: Resource, fleet: Fleet) -> Finding | None:
    """Why an object remains after its application; None if it is deleted."""
    if r.group == "argoproj.io" and r.kind == "Application" and (r.namespace, r.name) == (app.ref.namespace, app.name):
        return kept_finding(app, r, "it is the application itself", way="delete")
    if (r.group, r.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        return kept_finding(app, r, "Argo CD never deletes a CRD with its application", way="delete")
    if r.live is None:
        return None
    owner = tracking_of(r.live, fleet)
    if owner is None or owner.instance != app.instance or not owner.own:
        return other_owner_finding(app, r, fleet, owner.shown if owner is not None and owner.own else "", way="delete")
    if not outlives(app, r.live, fleet):
        return None
    keep = "keep" in comma_list(annotations_of(r.live).get("helm.sh/resource-policy"))
    return kept_finding(app, r, "helm.sh/resource-policy: keep" if keep else "Delete=false", way="delete")


def kept_finding(app: App, r: Resource, why: str, *, way: Way = "prune") -> Finding:
    return deletion_finding(way, "kept", app, r.id, f"{r.id} of {app.ref} stays: {why}.")


def other_owner_finding(app: App, r: Resource, fleet: Fleet, owner: str, *, way: Way = "prune") -> Finding:
    owner_text = f"its tracking data names {owner}" if owner else "it has no tracking data of this application"
    other = fleet.app_of_instance(owner.replace("/", "_")) if owner else None
    related = (Related(other.ref, r.id, "", "owner"),) if other is not None else ()
    return deletion_finding(
        way, "other-owner", app, r.id, f"{r.id}, which {app.ref} lists, stays: {owner_text}.", related=related
    )


def made_namespace_findings(app: App) -> Iterator[Finding]:
    """The namespace from CreateNamespace=true is no object of the application and remains."""
    name = app.destination_namespace
    own = any((r.group, r.kind, r.name) == ("", "Namespace", name) for r in app.resources)
    labelled = dig(app.spec, "syncPolicy", "managedNamespaceMetadata")
    if name and not own and not labelled and "CreateNamespace=true" in app.sync_options:
        id_ = ResourceId("", "Namespace", "", name, "v1", app.cluster)
        message = f"{id_} of {app.ref} stays: it is no object of the application (CreateNamespace=true)."
        yield deletion_finding("delete", "kept", app, id_, message)


def not_cascading_finding(app: App, live: Sequence[Resource], *, asked: bool) -> Finding:
    why = "as asked for" if asked else "since it has no finalizer"
    one = len(live) == 1
    who = f"All {len(live)} live objects" if len(live) > 1 else "The only live object" if live else "What may be live"
    message = f"{who} of {app.ref} {'stays' if one else 'stay'} when it is deleted, {why}, and no application owns {'it' if one else 'them'} then."
    command = live_command(
        f"application {app.ref}",
        "Delete the objects too, if this is intended",
        f"argocd app delete {sh(app.ref.namespace)}/{sh(app.ref.name)} --cascade\n",
        "`argocd app delete` sets the finalizer by itself; `argolint forecast delete --cascade foreground` shows what it takes",
    )
    related = tuple(Related(app.ref, r.id) for r in live)
    fixes = () if asked else (command,)
    return deletion_finding(
        "delete", "not-cascading", app, None, message, "/metadata/finalizers", related=related, fixes=fixes
    )


def no_cluster_finding(app: App) -> Finding:
    name = app.cluster.partition(":")[2]
    message = f"Nothing on the cluster of {app.ref} is deleted, because Argo CD does not know the cluster {name}."
    return deletion_finding("delete", "no-cluster", app, None, message, "/spec/destination")


def already_deleting_finding(app: App) -> Finding:
    finalizers = ", ".join(str(f) for f in items(app.raw, "metadata", "finalizers")) or "none"
    since = text_at(app.raw, "metadata", "deletionTimestamp")
    message = f"{app.ref} is being deleted since {since}, and waits for its finalizers: {finalizers}."
    return deletion_finding("delete", "already-deleting", app, None, message, "/metadata/deletionTimestamp")


def confirmation_finding(app: App, r: Resource, option: str) -> Finding:
    command = f"argocd app confirm-deletion {sh(app.ref.namespace)}/{sh(app.name)}\n"
    approve = live_command(f"application {app.ref}", "Confirm it when you are ready", command)
    way: Way = "delete" if option.startswith("Delete") else "prune"
    message = f"{r.id} of {app.ref} has {option}, so nothing goes on until someone confirms."
    return deletion_finding(way, "waits-for-confirmation", app, r.id, message, fixes=(approve,))


def hook_findings(app: App, going: Sequence[Resource]) -> Iterator[Finding]:
    """Hooks of the deletion, as the finalizers show: PreDelete hooks run first, PostDelete hooks after everything else is deleted."""
    if any(str(f).startswith("pre-delete-finalizer.") for f in items(app.raw, "metadata", "finalizers")):
        message = f"The PreDelete hooks of {app.ref} run first; one that fails holds the deletion up."
        yield deletion_finding("delete", "hook-first", app, None, message, pointer="/metadata/finalizers")
    if not any(str(f).startswith("post-delete-finalizer.") for f in items(app.raw, "metadata", "finalizers")):
        return
    rendered = app.evidence.get(Want("manifests"))
    if rendered is not None:
        yield from (
            f
            for manifest in rendered
            if _is_run_last(manifest)
            for f in _missing_for_hook_findings(app, manifest, going)
        )
        return
    needed = [r.id for r in going if r.kind in ("ServiceAccount", "ConfigMap", "Secret", "RoleBinding")]
    if needed:
        names = enumerated([str(n) for n in needed])
        message = (
            f"The PostDelete hooks of {app.ref} run last, without {names}; one that needs any of these never ends."
        )
        related = tuple(Related(app.ref, n) for n in needed)
        yield deletion_finding("delete", "hook-after-all", app, None, message, "/metadata/finalizers", related=related)


def _is_run_last(manifest: Object) -> bool:
    annotations = annotations_of(manifest)
    helm = "post-delete" in comma_list(annotations.get("helm.sh/hook")) and HOOK not in annotations
    return helm or "PostDelete" in comma_list(annotations.get(HOOK))


def _missing_for_hook_findings(app: App, manifest: Object, going: Sequence[Resource]) -> Iterator[Finding]:
    """Objects that a hook refers to, and the permissions of its ServiceAccount, are gone when it runs."""
    place = text_at(manifest, "metadata", "namespace") or app.destination_namespace
    named = {(ref.kind, ref.namespace or place, ref.name) for ref in references(manifest)}
    account = text_at(pod_spec(manifest)[1], "serviceAccountName")
    lost = [
        r.id
        for r in going
        if (r.kind, r.namespace, r.name) in named
        or (account and r.kind.endswith("RoleBinding") and account in [s.get("name") for s in maps(r.any, "subjects")])
    ]
    if lost:
        hook = f"{text_at(manifest, 'kind')} {text_at(manifest, 'metadata', 'name')}"
        names = enumerated([str(n) for n in lost])
        message = f"PostDelete hook {hook} of {app.ref} runs last, when {names} is gone, and may never end."
        apart = manifest_yaml(
            f"the manifest of {lost[0]}",
            "Make what the hook needs a hook of the same phase too, in an earlier wave",
            f'metadata:\n  annotations:\n    {HOOK}: PostDelete\n    {SYNC_WAVE}: "-1"\n',
        )
        related = tuple(Related(app.ref, n) for n in lost)
        yield deletion_finding("delete", "hook-after-all", app, lost[0], message, related=related, fixes=(apart,))
