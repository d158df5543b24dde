"""Moves an Application to another Argo CD; its objects stay in place."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.forecast.moves.owners import objects_of
from argolint.forecast.moves.plan import Step, move_finding
from argolint.forecast.moves.steps import creation, deletion_suffix, release, remove_from_git, resume_automation
from argolint.model import Finding
from argolint.values import sh, text_at


def findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    destination = (text_at(app.spec, "destination", "server"), text_at(app.spec, "destination", "name"))
    if destination in ((IN_CLUSTER, ""), ("", "in-cluster")):
        message = f"{app.ref} deploys to the cluster of its own Argo CD; one that runs elsewhere must name that cluster's address."
        yield move_finding("other-api-server", app, message)


def steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    """Both use the same tracking name, so the new Argo CD owns the objects once the old one neither syncs nor deletes."""
    name, there = f"{app.ref.namespace}/{app.name}", f"argocd --argocd-context {sh(target)}"
    server = text_at(app.spec, "destination", "server") or text_at(app.spec, "destination", "name")
    urls = dict.fromkeys(text_at(source, "repoURL") for source in app.sources)
    yield Step(
        f"Give {target} what the application needs: its project, its repositories and its cluster, with their credentials.",
        "",
        "\n".join(
            [f"{there} proj get {sh(app.ref.project)} > /dev/null", f"{there} cluster get {sh(server)} > /dev/null"]
            + [f"{there} repo get {sh(url)} > /dev/null" for url in urls if url]
        ),
    )
    yield Step(
        f"See that {target} tracks objects in the same way: {fleet.tracking_method}, label {fleet.label_key}, and no installation ID of its own.",
        "",
        "kubectl get cm argocd-cm -n argocd -o yaml | grep -E 'resourceTrackingMethod|instanceLabelKey|installationID'\n# in both clusters: the same",
    )
    yield from release(app, fleet)
    yield Step(
        f"Make {name} in {target}, with the same spec and without automated sync. In Git, if that is where it comes from: add it there.",
        creation(app, app.name, argocd=target),
        f"{there} app diff {sh(name)} --refresh\n# shows nothing; anything else is what {target} would change",
    )
    yield from remove_from_git(app, fleet)
    yield Step(
        f"Delete the Application of the old Argo CD{deletion_suffix(app, fleet)}.",
        f"argocd app delete {sh(name)} --cascade=false --yes",
        f"{there} app get {sh(name)} -o json | jq -e '[.status.resources[] | select(.hook | not)] | length >= {len(objects_of(app))}'",
    )
    yield Step(
        f"Sync {name} in {target}, without prune.",
        f"{there} app sync {sh(name)}",
        f"{there} app wait {sh(name)} --sync --health --timeout 300",
    )
    yield from resume_automation(app, name, "on again", there)
