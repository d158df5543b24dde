"""A ClusterExternalSecret fails in some namespaces

What it finds: a ClusterExternalSecret whose status names failed namespaces, or whose last condition says that it is not ready.

Why it hurts: those namespaces lack the ExternalSecret and so the Secret. Argo CD shows Progressing for ever: its health check
waits for the conditions PartiallyReady and NotReady, which the operator no longer writes since v0.9.5 (it writes Ready=False).

How to fix: by the reason in `status.failedNamespaces`. `external secret already exists in namespace` means that another object of
that name is in the way. Retry with the annotation `external-secrets.io/force-sync` (v0.20 and later). A namespace that is being terminated needs
nothing: it leaves the list with its end, and the finding is only an information.

Example:

    ClusterExternalSecret pull fails in 1 of 3 namespaces (payments: external secret already exists in namespace): they get no Secret "pull", and Argo CD shows Progressing for ever.

Sources: external-secrets pkg/controllers/clusterexternalsecret; issue 3029; Argo CD
resource_customizations/external-secrets.io/ClusterExternalSecret/health.lua.
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Resource, Rule
from argolint.edits import set_field
from argolint.values import dig, items, sh

from . import _external_secret as es
from ._sync_error_texts import clean

TAKEN = "already exists in namespace"
ENDING = "because it is being terminated"
SHOWN = 3


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ClusterExternalSecret that failed somewhere."""
    for resource in app.of_kind("ClusterExternalSecret", es.GROUP):
        failed = [f for f in items(resource.live, "status", "failedNamespaces") if isinstance(f, dict)]
        if (failed or _bad(resource)) and not es.deleting(resource):
            yield _finding(app, resource, failed)


def _bad(resource: Resource) -> bool:
    """Ready=False (v0.9.5 and later), or the last condition of older operators."""
    last = next(iter(reversed(items(resource.live, "status", "conditions"))), None)
    kind, status = dig(last, "type"), dig(last, "status")
    return (kind == "Ready" and status == "False") or (kind in ("NotReady", "PartiallyReady") and status == "True")


def _finding(app: App, resource: Resource, failed: list[Json]) -> Finding:
    name = str(
        dig(resource.live, "status", "externalSecretName")
        or es.spec_of(resource.live).get("externalSecretName")
        or resource.name
    )
    secret = str(dig(resource.live, "spec", "externalSecretSpec", "target", "name") or name)
    done = len(items(resource.live, "status", "provisionedNamespaces"))
    told = "; ".join(f"{f.get('namespace')}: {clean(str(f.get('reason') or 'no reason'))}" for f in failed[:SHOWN])
    more = f" and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
    where = (
        f"in {len(failed)} of {len(failed) + done} namespaces ({told}{more})" if failed else f"({_message(resource)})"
    )
    who = "they" if failed else "its namespaces"
    ending = bool(failed) and all(ENDING in str(f.get("reason")) for f in failed)
    progressing = ", and Argo CD shows Progressing for ever" if resource.health.status == "Progressing" else ""
    return Finding(
        message=f'{resource.id} fails {where}: {who} get no Secret "{secret}"{progressing}.',
        at=Location(app.ref, resource.id),
        severity="info" if ending else None,
        evidence=tuple(f"failedNamespaces: {f.get('namespace')}: {clean(str(f.get('reason') or ''))}" for f in failed),
        fixes=() if ending else tuple(_fixes(resource, name, failed)),
        explains=es.consequences(app, resource.id),
    )


def _message(resource: Resource) -> str:
    last = next(iter(reversed(items(resource.live, "status", "conditions"))), None)
    return clean(str(dig(last, "message") or "no namespace is named"))


def _fixes(resource: Resource, name: str, failed: list[Json]) -> Iterator[Fix]:
    retry = f'kubectl annotate clusterexternalsecrets.external-secrets.io {sh(resource.name)} external-secrets.io/force-sync="$(date +%s)" --overwrite'
    taken = [str(f.get("namespace")) for f in failed if TAKEN in str(f.get("reason"))]
    if taken:
        lines = [f"kubectl -n {sh(ns)} delete {es.FULL_NAME} {sh(name)}   # or rename it in Git" for ns in taken]
        yield Fix(
            f'Rename or delete the ExternalSecret "{name}" that is in the way',
            "live",
            ", ".join(f"namespace {ns}" for ns in taken),
            Edit("command", "\n".join([*lines, retry])),
            "deleting an ExternalSecret deletes the Secret that it owns; the new one makes it again",
        )
        edit = Edit("json-patch", set_field(resource.any, "/spec/externalSecretName", f"{name}-shared"))
        yield Fix(
            "Give the generated ExternalSecrets another name",
            "manifest",
            str(resource.id),
            edit,
            "the old ones are removed, with their Secrets",
        )
    if not taken or len(taken) < len(failed):
        yield Fix(
            "Remove the cause that status.failedNamespaces names, then retry",
            "live",
            str(resource.id),
            Edit(
                "command", f"kubectl describe clusterexternalsecrets.external-secrets.io {sh(resource.name)}\n{retry}"
            ),
        )


RULE = Rule(
    id="cluster-external-secret-failed",
    family="secrets",
    severity="error",
    doc=__doc__,
    check=check,
    reads=es.holds_external_secrets,
    rank=10,
)
