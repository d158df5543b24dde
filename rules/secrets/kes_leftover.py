"""A manifest of the archived Kubernetes External Secrets

What it finds: ExternalSecrets of `kubernetes-client.io` (Kubernetes External Secrets), its CustomResourceDefinition and its
controller, in Git or live. An object whose last poll failed is an error.

Why it hurts: the project is archived: its bugs stay, its images age, and its client libraries stop working with newer clusters and clouds. It
polls the provider every 10 s, and it owns the Secrets it makes: deletion of the old object deletes the Secret although workloads use it
(`kes-prune-kills-secret`).

How to fix: the fix has the complete `external-secrets.io/v1` manifest, with its store. The safe order is another target name: sync the new
ExternalSecret, wait until it is Ready, move the workloads to the new Secret, then remove the old object. To keep the Secret's name, stop the old
controller, remove the Secret's ownerReferences, sync and force-sync the new ExternalSecret, and only then delete the old object; pause self-heal
in the meantime, since it starts the old controller again. The converter kes-to-eso removes the old owner reference and lets External Secrets
adopt the Secret (a common error is that it rewrites the reference). It writes v1alpha1, which no supported operator serves, and drops fields
that this fix keeps. External Secrets polls too: it does not watch the provider.

Example:

    ExternalSecret shop/db is of kubernetes-client.io/v1, the archived Kubernetes External Secrets: its Secret depends on a controller that no one maintains.

Sources: kubernetes-external-secrets README (archived), lib/poller.js, config/environment.js; kes-to-eso pkg/{parser,provider,apply};
external-secrets docs/introduction/stability-support.md (only the newest minor is supported).
"""

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rank, Resource, Rule, Want
from argolint.edits import live_command, manifest_text, manifest_yaml
from argolint.edits.advice import advice
from argolint.messages import telling
from argolint.values import age_text, dig, items, mapping, parse_time, sh
from argolint.values.knowledge import dump
from argolint.values.kubernetes import images
from argolint.values.patterns import regex

from . import _external_secret as es
from ._advice_facts import role_of
from ._kes import convert
from ._provider import provider_texts
from ._sync_error_texts import Diagnosis, classify

CRD = "externalsecrets.kubernetes-client.io"
_KINDS = ("CustomResourceDefinition", "ExternalSecret")
IMAGE = "kubernetes-external-secrets"


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has its objects, or runs its image by the list."""
    images = items(app.status, "summary", "images")
    return es.holds_old_external_secrets(app, fleet) or any(IMAGE in str(image) for image in images)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Those that are hooks."""
    return es.hook_wants(app)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object of Kubernetes External Secrets that the application renders or still runs."""
    for listed in app.resources:
        resource = app.as_read(listed)
        runs = resource.mentions(IMAGE, "live" if resource.desired_state is None else "desired")
        if not (runs or resource.kind in _KINDS) or es.is_leaving(app, resource):
            continue
        if resource.kind == "CustomResourceDefinition" and resource.name == CRD:
            yield _part_finding(app, resource, "installs the API of Kubernetes External Secrets, which is archived")
        elif not (resource.desired_known or resource.live_known):
            continue
        elif resource.group == es.KES_GROUP and resource.kind == "ExternalSecret":
            yield _object_finding(app, fleet, resource)
        elif runs and any(IMAGE in image for image in images(resource.any)):
            yield _part_finding(app, resource, "runs the controller of Kubernetes External Secrets, which is archived")


def _part_finding(app: App, resource: Resource, what: str) -> Finding:
    return Finding(
        message=f"{resource.id} {what}: Secrets of this cluster may depend on it.",
        at=Location(app.ref, resource.id),
        fixes=(
            Fix(
                "Remove it when no object of kubernetes-client.io is left",
                "manifest",
                str(resource.id),
                Edit(
                    "command",
                    f"kubectl get {CRD} -A   # must be empty: removing the API deletes its objects and their Secrets",
                ),
                "an object that still owns a Secret deletes it too",
            ),
        ),
    )


def _object_finding(app: App, fleet: Fleet, resource: Resource) -> Finding:
    status = str(dig(resource.live, "status", "status") or "")
    failed = status.startswith("ERROR")
    polled = parse_time(dig(resource.live, "status", "lastSync"))
    age = age_text(app.observed_at - polled) if polled else ""
    text = status.partition(",")[2].strip()
    found = _diagnosis(resource, text) if failed else None
    why = _failure_text(found, text) if failed else "its Secret depends on a controller that no one maintains"
    return Finding(
        message=f"{resource.id} is of {_api_version(resource)}, the archived Kubernetes External Secrets: {why}.",
        at=Location(app.ref, resource.id, "/apiVersion"),
        severity="error" if failed else None,
        evidence=((f"last poll {age} ago: {status}",) if polled else ("it was never polled",)),
        fixes=(*(_repair_fixes(resource, found) if found else ()), *_fixes(fleet, app, resource)),
        explains=es.health_consequences(app, resource.id),
    )


_LONG = 8
"""Words of an error that a message has room for."""
_BACKENDS = {
    "secretsManager": "aws/SecretsManager",
    "systemManager": "aws/ParameterStore",
    "gcpSecretsManager": "gcpsm",
    "azureKeyVault": "azurekv",
    "vault": "vault",
}
_RIGHTS = regex(
    r'is forbidden: User "system:serviceaccount:(?P<account_ns>[a-z0-9-]{1,63}):(?P<account>[\w.-]{1,253})" cannot (?P<action>\w{1,20})'
    r' resource "(?P<what>[a-z./]{1,100})" in API group "(?P<group>[\w.-]{0,253})"'
)
_NODE = regex(r"assumed-role/[^/\s]{1,100}/i-[0-9a-f]{8,17}\b")


def _backend(resource: Resource) -> str:
    return _BACKENDS.get(str(dig(resource.any, "spec", "backendType")), "")


def _diagnosis(resource: Resource, text: str) -> Diagnosis | None:
    """What the text of the last poll means: the cluster refused the controller, else the backend's answer."""
    if (own := _RIGHTS.search(text)) and (facts := own.groupdict()):
        says = "ServiceAccount {account_ns}/{account} may not {action} {what}".format(**facts)
        return Diagnosis("rights", says, text, facts)
    return classify(text, "provider", provider=_backend(resource).partition("/")[0])


def _failure_text(found: Diagnosis | None, text: str) -> str:
    if found and (found.topic == "aws-policy" or found.cause == "rights"):
        return f"its last poll failed because {found.says}"
    return f'its last poll failed ("{text if len(text.split()) <= _LONG else telling(text, _LONG)}")'


def _repair_fixes(resource: Resource, found: Diagnosis) -> tuple[Fix, ...]:
    """The fixes of the last poll's error, for as long as the old controller is needed."""
    topic = found.topic if found.topic == "aws-policy" else found.cause
    principal = found.detail.get("principal", "")
    facts = {
        **provider_texts(_backend(resource) or "other"),
        "object": str(resource.id),
        "action": found.detail.get("action", ""),
        "resource": found.detail.get("resource") or "*",
        "role": role_of(principal),
        **(found.detail if found.cause == "rights" else {}),
    }
    return advice(__package__, "kes/node" if _NODE.search(principal) else f"kes/{topic}", facts)


def _api_version(resource: Resource) -> str:
    return str(resource.any.get("apiVersion") or f"{es.KES_GROUP}/v1")


def _fixes(fleet: Fleet, app: App, resource: Resource) -> tuple[Fix, ...]:
    name, ns = resource.name, resource.namespace
    made = convert(_with_namespace(resource), f"{name}-eso")
    if made is None:
        backend = dig(resource.any, "spec", "backendType")
        removed = " (its own was removed in v2.0.0)" if str(backend).startswith("alicloud") else ""
        why = f"External Secrets has no provider for {backend}{removed}" if backend else "It names no backendType"
        text = f"{why}: move the values to a provider that External Secrets knows, or write the Secret in another way."
        return (manifest_text(resource.id, "Move the values to another provider", text),)
    steps = (
        f"# 1. sync this; wait until ExternalSecret {name} is Ready and Secret {name}-eso is there",
        f"# 2. let the workloads read {name}-eso; sync",
        f"# 3. only then remove the {es.KES_GROUP} object: deleting it deletes the Secret {name}",
        *(f"# look at: {note}" for note in made.notes),
    )
    served = fleet.api_versions(app.cluster)
    old = bool(served) and f"{es.GROUP}/v1" not in served
    older = old and f"{es.GROUP}/v1beta1" in served
    manifests = [{**m, "apiVersion": f"{es.GROUP}/v1beta1"} for m in made.manifests] if older else made.manifests
    caveat = "if a store of the same provider, region and role is there, name it and leave this SecretStore out"
    new_name = manifest_yaml(
        resource.id,
        "Add the External Secrets manifest under another target name, move the workloads, remove the old one",
        "\n".join(steps) + "\n" + dump(manifests),
        f"{caveat}; this cluster does not serve {es.GROUP}/v1 yet: it needs External Secrets v0.16.0 or later"
        if old and not older
        else caveat,
    )
    successor = next(
        (e.name for e in es.external_secrets(app) if (e.namespace, es.target_name(e.any)) == (ns, name)), ""
    )
    commands = (
        "# pause auto-sync of the applications concerned: self-heal starts the old controller again",
        es.STOP_KES,
        es.release_secret(ns, name),
        "# sync the new ExternalSecret with target.name " + name,
        es.force_sync(es.FULL_NAME, ns, successor or name),
        f"# when it is Ready: kubectl -n {sh(ns)} delete {CRD} {sh(name)}, and remove it from Git",
    )
    same_name = live_command(
        f"Secret {ns}/{name}",
        f'Keep the Secret\'s name "{name}": stop the old controller and let External Secrets adopt the Secret',
        "\n".join(commands),
        "as long as the old controller runs it takes the Secret back within 10 s",
    )
    return (same_name,) if successor else (new_name, same_name)


def _with_namespace(resource: Resource) -> dict[str, object]:
    obj = dict(resource.any)
    return {**obj, "metadata": {**mapping(obj, "metadata"), "namespace": resource.namespace}}


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, reads=reads, rank=Rank.CAUSE)
