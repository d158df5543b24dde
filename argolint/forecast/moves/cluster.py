"""Moves an Application to another cluster."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.application_sets import maker_or_name
from argolint.application.fleet import Fleet
from argolint.forecast.moves.owners import objects_of, parent_of, project_allows
from argolint.forecast.moves.plan import Step, move_finding
from argolint.forecast.moves.steps import creation, remove_from_git, resume_automation
from argolint.model import Finding, Related
from argolint.values import enumerated, sh, text_at


def findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    server = server_of(fleet, target)
    if server is None:
        yield move_finding("target-unknown", app, f"Argo CD knows no cluster {target}, or the account may not see it.")
        return
    owner = maker_or_name(app, fleet)
    if owner is not None:
        name = text_at(owner, "metadata", "name")
        message = f"ApplicationSet {name} makes {app.ref} again when it is deleted; give the set an element for {target} instead."
        yield move_finding("set-makes-it-again", app, message)
    if server == app.cluster:
        yield move_finding("same-place", app, f"{app.ref} deploys to {target} already.")
        return
    destination = {"server": server, "namespace": app.destination_namespace}
    yield from project_allows(app, fleet, app.ref.project, destination)
    brought = {text_at(r.any, "spec", "names", "kind") for r in app.of_kind("CustomResourceDefinition")}
    wanted = {(r.group, r.kind) for r in objects_of(app) if r.kind not in brought} if fleet.api_versions(server) else ()
    lacking = sorted(gk for gk in wanted if not fleet.served_versions(server, *gk))
    if lacking:
        kinds = enumerated([f"{group}/{kind}" if group else kind for group, kind in lacking])
        yield move_finding(
            "kinds-not-served", app, f"Cluster {target} does not serve {kinds}, which {app.ref} deploys."
        )
    claims = [r for r in objects_of(app) if r.kind in ("PersistentVolumeClaim", "StatefulSet")]
    if claims:
        message = f"The volumes of {enumerated([str(r.id) for r in claims])} stay on the old cluster; their data must be copied."
        yield move_finding("data-stays", app, message, related=tuple(Related(app.ref, r.id) for r in claims))


def server_of(fleet: Fleet, name: str) -> str | None:
    return next((s for s, raw in fleet.clusters.items() if name.rstrip("/") == s or name == text_at(raw, "name")), None)


def steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    server = server_of(fleet, target)
    assert server is not None
    name = f"{app.name}-{text_at(fleet.clusters.get(server), 'name') or 'new'}"
    new, old = f"{app.ref.namespace}/{name}", f"{app.ref.namespace}/{app.name}"
    yield Step(
        f"Make a second Application {new} for cluster {target}, without automated sync; the first one goes on. "
        "Changing the destination of the first one would leave all of its objects on the old cluster without an owner.",
        creation(app, name, server),
        f"argocd app diff {sh(new)}\n# everything is new",
    )
    yield Step(
        "Copy what lies on volumes, and Secrets that no manifest makes.", "", f"argocd app sync {sh(new)} --dry-run"
    )
    yield Step(f"Sync {new}.", f"argocd app sync {sh(new)}", f"argocd app wait {sh(new)} --sync --health --timeout 600")
    yield Step("Send the traffic to the new cluster.", "", "watch errors and latency before you go on")
    yield from remove_from_git(app, fleet)
    gone = ", unless it is gone already" if parent_of(app, fleet) is not None else ""
    yield Step(
        f"Delete {old} with its objects on the old cluster{gone}: `argolint forecast delete {old} --cascade foreground` shows first what that takes.",
        f"argocd app delete {sh(old)} --cascade",
        f"argocd app get {sh(old)} 2>&1 | grep -qi 'not found\\|permission denied'",
    )
    yield from resume_automation(app, new, "on")
