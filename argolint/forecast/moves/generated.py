"""Makes an ApplicationSet generate an existing Application."""

from __future__ import annotations

import json
from collections.abc import Iterator

from argolint.application.app import App
from argolint.application.application_sets import maker_or_name
from argolint.application.fleet import Fleet
from argolint.forecast.moves.owners import parent_of
from argolint.forecast.moves.plan import Step, move_finding
from argolint.model import Finding, Object
from argolint.values import dig, same_repository, sh, text_at
from argolint.values.patterns import regex


def findings(app: App, fleet: Fleet, target: str) -> Iterator[Finding]:
    raw = named_set(fleet, app, target)
    if raw is None:
        message = f"There is no ApplicationSet {target} in {app.ref.namespace}, or the account may not see it."
        yield move_finding("target-unknown", app, message)
        return
    differing = []
    for at, wanted in _TEMPLATED:
        template = dig(raw, "spec", "template", *at)
        have = app.name if at == ("metadata", "name") else text_at(app.raw, *at)
        if isinstance(template, str) and template and not _renders(template, wanted, have):
            differing.append((wanted, template, have))
    if differing:
        wanted, template, have = differing[0]
        others = "1 more field differs" if len(differing) == 2 else f"{len(differing) - 1} more fields differ"
        more = f", and {others}" if differing[1:] else ""
        message = f"ApplicationSet {target} cannot render {app.ref}: its template says {template} for the {wanted}, the application {have or 'nothing'}{more}."
        yield move_finding("template-differs", app, message)
    owner = maker_or_name(app, fleet)
    if owner is not None and text_at(owner, "metadata", "name") == text_at(raw, "metadata", "name"):
        yield move_finding("same-place", app, f"ApplicationSet {target} has made {app.ref} already.")


_TEMPLATED = (
    (("metadata", "name"), "name"),
    (("spec", "project"), "project"),
    (("spec", "source", "repoURL"), "repository"),
    (("spec", "source", "path"), "path"),
    (("spec", "source", "chart"), "chart"),
    (("spec", "destination", "server"), "cluster"),
    (("spec", "destination", "namespace"), "namespace"),
)
_PARAMETER = regex(r"\{\{[^{}]{0,500}\}\}")


def _renders(template: str, wanted: str, have: str) -> bool:
    """Whether a template may render this text, with any parameters."""
    if not _PARAMETER.search(template):
        return template == have or (wanted == "repository" and same_repository(template, have))
    parts = _PARAMETER.split(template)
    if not have.startswith(parts[0]) or not have.endswith(parts[-1]) or len(have) < len(parts[0]) + len(parts[-1]):
        return False
    rest: str | None = have[len(parts[0]) : len(have) - len(parts[-1])]
    for part in parts[1:-1]:
        rest = rest.partition(part)[2] if rest is not None and part in rest else None
    return rest is not None


def named_set(fleet: Fleet, app: App, name: str) -> Object | None:
    short, places = name.rpartition("/")[2], ("", app.ref.namespace)
    called = (raw for raw in fleet.application_sets if text_at(raw, "metadata", "name") == short)
    return next((raw for raw in called if text_at(raw, "metadata", "namespace") in places), None)


def steps(app: App, fleet: Fleet, target: str) -> Iterator[Step]:
    old = maker_or_name(app, fleet)
    short = target.rpartition("/")[2]
    where = f"kubectl -n {sh(app.ref.namespace)}"
    name = f"{app.ref.namespace}/{app.name}"
    yield Step(
        f"Let ApplicationSet {short} not delete it or its objects: set preserveResourcesOnDeletion, and applicationsSync to create-update, in Git.",
        "",
        f"{where} get applicationset {sh(short)} -o json | jq -e '.spec.syncPolicy | .preserveResourcesOnDeletion and .applicationsSync == \"create-update\"'",
    )
    if old is not None:
        gone = text_at(old, "metadata", "name")
        yield Step(
            f"Take {name} out of ApplicationSet {gone}: remove its element in Git, then its owner reference.",
            f'{where} patch application {sh(app.name)} --type merge -p \'{{"metadata":{{"ownerReferences":null}}}}\'',
            f"{where} get application {sh(app.name)} -o json | jq -e {sh(_without_owner(gone))}",
        )
    elif parent_of(app, fleet) is not None:
        yield Step(
            f"Remove the manifest of Application {app.name} from its parent in Git, with the annotation argocd.argoproj.io/sync-options: Prune=false on the live one first.",
            f"{where} annotate application {sh(app.name)} --overwrite argocd.argoproj.io/sync-options=Prune=false",
            f"{where} get application {sh(app.name)} -o name",
        )
    yield Step(
        f"Add the element to ApplicationSet {short} that renders the very name {app.name}, project, source and destination.",
        "",
        f"argocd appset generate {sh(short)}.yaml -o yaml\n# held against: argocd app get {sh(name)} -o yaml; the specs must be the same",
    )
    yield Step(
        "Commit it. The set takes the Application of that name over, which keeps its objects.",
        "",
        f"{where} get application {sh(app.name)} -o json | jq -e {sh(_with_owner(short))}\nargocd app diff {sh(name)}\n# shows nothing",
    )
    yield Step(
        f"Give ApplicationSet {short} its old policy back, if it may delete again.",
        "",
        f"argocd app wait {sh(name)} --sync --health --timeout 300",
    )


def _without_owner(name: str) -> str:
    return f"[.metadata.ownerReferences[]? | select(.name == {json.dumps(name)})] == []"


def _with_owner(name: str) -> str:
    return f"[.metadata.ownerReferences[]? | .name] == [{json.dumps(name)}]"
