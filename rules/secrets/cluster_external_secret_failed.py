"""A ClusterExternalSecret fails in some namespaces

What it finds: a ClusterExternalSecret with failed namespaces in its status, or with a last condition that is not ready.

Why it hurts: those namespaces lack the ExternalSecret and so the Secret. Argo CD shows Progressing forever: its health check
waits for the conditions PartiallyReady and NotReady, which the operator no longer writes since v0.9.5 (it writes Ready=False).

How to fix: by the reason in `status.failedNamespaces`. `external secret already exists in namespace` means that another object of that name
blocks it. Retry with the annotation `external-secrets.io/force-sync` (v0.20 and later). A namespace that is being terminated needs nothing: it
leaves the list at its end, and the finding is only information.

Example:

    ClusterExternalSecret pull makes no Secret "pull" in 1 of 3 namespaces: "external secret already exists in namespace".

Sources: external-secrets pkg/controllers/clusterexternalsecret; issue 3029; Argo CD
resource_customizations/external-secrets.io/ClusterExternalSecret/health.lua.
"""

import re
from collections.abc import Iterator, Mapping

from argolint import (
    GONE,
    Afterwards,
    App,
    AppRef,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Json,
    Location,
    Object,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Want,
)
from argolint.edits import live_command, set_field
from argolint.messages import telling
from argolint.relations.operator_version import OperatorVersion, possible, version_of
from argolint.values import dig, items, mapping, sh
from argolint.values.knowledge import load
from argolint.values.kubernetes import is_deleting

from ..shared.operators import external_secrets_upgrade
from . import _external_secret as es
from . import _stores as stores
from ._sync_error_texts import cleaned_text

TAKEN = "already exists in namespace"
UNSAID = ("could not create or update ExternalSecret", "controller reference", "controller owner reference")
"""The operator gives no reason (before v0.9), or only the API server's answer: an object of that name is the first suspect (issue 1337)."""
ENDING = "because it is being terminated"


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The stores of a failed one, if other applications manage them."""
    for resource in app.of_kind("ClusterExternalSecret", es.GROUP):
        for each in items(resource.live, "status", "failedNamespaces"):
            spec = {"spec": mapping(resource.live, "spec", "externalSecretSpec")}
            yield from stores.store_wants(app, fleet, spec, str(dig(each, "namespace") or ""))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ClusterExternalSecret with a failed namespace."""
    for resource in app.of_kind("ClusterExternalSecret", es.GROUP):
        failed = [f for f in items(resource.live, "status", "failedNamespaces") if isinstance(f, dict)]
        if (failed or _has_failed(resource)) and not is_deleting(resource.live):
            yield _finding(app, fleet, resource, failed)


def _has_failed(resource: Resource) -> bool:
    """Ready=False (v0.9.5 and later), or the last condition of older operators."""
    last = next(iter(reversed(items(resource.live, "status", "conditions"))), None)
    kind, status = dig(last, "type"), dig(last, "status")
    return (kind == "Ready" and status == "False") or (kind in ("NotReady", "PartiallyReady") and status == "True")


def _finding(app: App, fleet: Fleet, resource: Resource, failed: list[Json]) -> Finding:
    name = str(
        dig(resource.live, "status", "externalSecretName")
        or es.spec_of(resource.live).get("externalSecretName")
        or resource.name
    )
    secret = str(dig(resource.live, "spec", "externalSecretSpec", "target", "name") or name)
    spaces = tuple(dict.fromkeys(str(f.get("namespace")) for f in failed))
    every = {*spaces, *(str(each) for each in items(resource.live, "status", "provisionedNamespaces"))}
    count = f"{len(spaces)} of {len(every)} namespaces" if len(every) > 1 else "its only namespace"
    where = f"in {count}" if failed else "in its namespaces"
    foreign = _foreign_owners(app, fleet, name, spaces)
    waits = resource.health.status == "Progressing"
    reason = telling(
        cleaned_text(str(failed[0].get("reason") or "no reason is given")) if failed else _message(resource), 8
    )
    why = f'an ExternalSecret "{name}" of another owner is there' if foreign else f'"{reason}"'
    version = version_of(app, fleet)
    bug = None if foreign else _operator_bug(failed, version)
    ending = bool(failed) and all(ENDING in str(f.get("reason")) for f in failed)
    return Finding(
        message=f'{resource.id} makes no Secret "{secret}" {where}: {why}.',
        at=Location(app.ref, resource.id),
        severity="info" if ending else None,
        evidence=(
            *(f"failedNamespaces: {f.get('namespace')}: {cleaned_text(str(f.get('reason') or ''))}" for f in failed),
            *(f"condition: {_message(resource)}" for _ in range(not failed)),
            *_foreign_owner_lines(name, foreign),
            *((f"of operator {version}: {bug['says']} (external-secrets issue {bug['issue']})",) if bug else ()),
            *(("Argo CD's health check knows no failure of this kind and stays Progressing",) if waits else ()),
        ),
        related=tuple(Related(owner, key, "", "owner") for owner, key in foreign.values()),
        fixes=() if ending else (_upgrade_fix(bug),) if bug else tuple(_fixes(resource, name, failed, foreign)),
        follows=(Follows.finding("eso-known-bug", resource.id),) if bug else (),
        explains=es.health_consequences(app, resource.id),
    )


def _operator_bug(failed: list[Json], version: OperatorVersion) -> Object | None:
    """The operator's own bug behind such a reason: the existing object is its own, and its deletion would delete Secrets."""
    bugs = (b for b in load(__package__, "version_bugs.yaml") if "ClusterExternalSecret" in b.get("kinds", ()))
    reasons = [cleaned_text(str(dig(f, "reason") or "")) for f in failed]
    fits = (b for b in bugs if possible(version, b) and any(re.search(b["match"], reason) for reason in reasons))
    return next(fits, None)


def _upgrade_fix(bug: Object) -> Fix:
    text = f"external-secrets issue {bug['issue']}: delete no ExternalSecret for it."
    return external_secrets_upgrade(f"{bug['fix']} or later", text)


def _foreign_owners(app: App, fleet: Fleet, name: str, spaces: tuple[str, ...]) -> dict[str, tuple[AppRef, ResourceId]]:
    """By failed namespace: the ExternalSecret of that name that an application has there, so that it is not the operator's."""
    found = {}
    for namespace in spaces:
        conflicting = ResourceId(es.GROUP, "ExternalSecret", namespace, name, cluster=app.cluster)
        for owner in fleet.owners(conflicting.key)[:1]:
            found[namespace] = (owner, conflicting)
    return found


def _foreign_owner_lines(name: str, foreign: Mapping[str, tuple[AppRef, ResourceId]]) -> Iterator[str]:
    for namespace, (owner, _) in foreign.items():
        yield f"ExternalSecret {namespace}/{name} belongs to application {owner}"


def _message(resource: Resource) -> str:
    last = next(iter(reversed(items(resource.live, "status", "conditions"))), None)
    return cleaned_text(str(dig(last, "message") or "no namespace is named"))


def _fixes(
    resource: Resource, name: str, failed: list[Json], foreign: Mapping[str, tuple[AppRef, ResourceId]]
) -> Iterator[Fix]:
    retry = f'kubectl annotate clusterexternalsecrets.external-secrets.io {sh(resource.name)} external-secrets.io/force-sync="$(date +%s)" --overwrite   # v0.20 and later'
    namespaces = [str(f.get("namespace")) for f in failed if TAKEN in str(f.get("reason"))]
    taken = tuple(dict.fromkeys((*namespaces, *foreign)))
    unclaimed = tuple(
        dict.fromkeys(
            str(f.get("namespace"))
            for f in failed
            if str(f.get("namespace")) not in taken and any(words in str(f.get("reason")) for words in UNSAID)
        )
    )
    for namespace, (owner, _) in foreign.items():
        text = f"Deleted on the cluster alone, the next sync of {owner} makes ExternalSecret {namespace}/{name} again."
        title = f'Rename ExternalSecret "{name}" in Git of application {owner}, or take it out there'
        yield Fix(title, "manifest", f"Application {owner}", Edit("text", text))
    taken = tuple(each for each in taken if each not in foreign)
    if taken:
        lines = [f"kubectl -n {sh(ns)} delete {es.FULL_NAME} {sh(name)}   # or rename it in Git" for ns in taken]
        is_only_one = len(taken) == 1 and not foreign
        conflicting = ResourceId(es.GROUP, "ExternalSecret", taken[0], name, cluster=resource.id.cluster)
        yield Fix(
            f'Rename or delete the ExternalSecret "{name}" that is in the way',
            "live",
            ", ".join(f"namespace {ns}" for ns in taken),
            Edit("command", "\n".join([*lines, retry])),
            "deleting an ExternalSecret deletes the Secret that it owns; the new one makes it again",
            resource=conflicting if is_only_one else None,
            plays=GONE if is_only_one else None,
        )
    if unclaimed:
        read = "-o jsonpath='{.metadata.ownerReferences}{\"\\n\"}'"
        lines = [f"kubectl -n {sh(ns)} get {es.FULL_NAME} {sh(name)} {read}" for ns in unclaimed]
        yield live_command(
            ", ".join(f"namespace {ns}" for ns in unclaimed),
            f'Look for an ExternalSecret "{name}" there that it does not own',
            "\n".join([*lines, f"# one without an owner {resource.name} is in the way: it is not overwritten", retry]),
            "none there: a webhook, a quota or a missing right refuses it, which the operator's log names",
        )
    if taken or unclaimed or foreign:
        edit = Edit("json-patch", set_field(resource.any, "/spec/externalSecretName", f"{name}-shared"))
        yield Fix(
            "Give the generated ExternalSecrets another name",
            "manifest",
            str(resource.id),
            edit,
            "the old ones are removed, with their Secrets",
            effects=("deletes",),
        )
    if len({*taken, *unclaimed, *foreign}) < len({str(f.get("namespace")) for f in failed}) or not failed:
        yield live_command(
            resource.id,
            "Remove the cause that the reasons name, then retry",
            f"kubectl describe clusterexternalsecrets.external-secrets.io {sh(resource.name)}\n{retry}",
        )


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """The operator's result once the conflicting ExternalSecret is gone: it creates its own, as in other namespaces."""
    resource = after.held(finding.at.resource)
    if fix.edit != GONE or fix.resource is None or resource is None or not resource.live:
        return None
    namespace = fix.resource.namespace
    failed = items(resource.live, "status", "failedNamespaces")
    if any(dig(each, "namespace") != namespace or TAKEN not in str(dig(each, "reason")) for each in failed):
        return Afterwards(unknown="it fails for something else too")
    spec = {"spec": mapping(resource.live, "spec", "externalSecretSpec")}
    for ref in es.store_refs(spec):
        store = stores.find(after, fleet, ref, namespace)
        if not (store.is_ready and store.admits(namespace) is True):
            return Afterwards(unknown=f'whether {ref.kind} "{ref.name}" serves namespace {namespace} is not known')
    own = [n for n in after.nodes_of("ExternalSecret", es.GROUP) if any(o.uid == resource.uid for o in n.owners)]
    if not any(node.health.status == "Healthy" for node in own) or es.generator_refs(spec):
        return Afterwards(unknown="whether its values can be fetched shows in no namespace")
    provisioned = [*items(resource.live, "status", "provisionedNamespaces"), namespace]
    status = {"conditions": [{"type": "Ready", "status": "True"}], "provisionedNamespaces": provisioned}
    return Afterwards(live={resource.key: {**resource.live, "status": status}})


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    then=then,
    reads=es.holds_external_secrets,
    rank=Rank.CAUSE,
)
