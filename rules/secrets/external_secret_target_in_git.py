"""A Secret is in Git and an ExternalSecret writes it too

What it finds: a Secret that an application renders and that an ExternalSecret on the same cluster, of this or another application, replaces
(creationPolicy Owner or Orphan). Or a key of it that differs because an ExternalSecret writes that key (creationPolicy Merge or CreateOrMerge).
Or labels and annotations that the operator copies onto it because there is no template (Argo CD's tracking id among them). Also a Secret with an
owner of another kind, and Argo CD's own `argocd-secret`, which has keys that no manifest names. Data that Argo CD ignores or Git omits is not
reported.

Why it hurts: the operator takes the Secret over: it sets its owner reference and replaces the data. Argo CD restores its own data at each sync;
the application stays OutOfSync, and with self-heal the two overwrite each other. Workloads see alternating values.

How to fix: keep one writer. Remove the Secret from Git (the operator creates it again), or give the ExternalSecret another `target.name`. If
both have a share, let it only add its keys with `creationPolicy: Merge`.

Example:

    Secret shop/smtp is in Git and the target of ExternalSecret shop/smtp, so Argo CD and the operator overwrite each other.

Sources: external-secrets docs/guides/ownership-deletion-policy.md; issue 2416 (argocd-secret emptied), 4548.
"""

from collections.abc import Iterator, Mapping, Sequence

from argolint import (
    GONE,
    MISSING,
    App,
    AppRef,
    Edit,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Rank,
    Related,
    Resource,
    ResourceId,
    Rule,
    Symptom,
    Want,
)
from argolint.application.fleet import IN_CLUSTER
from argolint.edits import set_field
from argolint.values import (
    annotations_of,
    enumerated,
    items,
    join_pointer,
    labels_of,
    mapping,
    owner_references,
    split_pointer,
)

from . import _external_secret as es


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """OutOfSync Secrets of other applications that get keys from here: the differing keys show the writer."""
    for _, secret in _targets(app):
        yield from (
            Want("peer", secret, app=owner)
            for owner, listed in _other_listings(app, fleet, secret)
            if listed.status == "OutOfSync"
        )


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Secret of Git that an ExternalSecret of this application replaces, or whose keys it writes."""
    for resource, secret in _targets(app):
        own = app.resource(secret.key)
        replaces = es.creation_policy(resource.any) not in es.MERGING_POLICIES
        if replaces and _is_argocd_secret(fleet, secret, own) and not _writes_session_key(resource):
            shown = next(
                (owner for owner, listed in _other_listings(app, fleet, secret) if listed.status == "OutOfSync"), None
            )
            yield _session_key_finding(app, resource, secret, shown)
            continue
        for owner, listed in (*(((app.ref, own),) if own else ()), *_other_listings(app, fleet, secret)):
            if (listed.requires_pruning or listed.extra) and not listed.hook:
                continue
            shown = app.evidence.get(Want("peer", secret, app=owner)) or listed
            if es.creation_policy(resource.any) in es.MERGING_POLICIES:
                if keys := _contested_keys(resource, shown):
                    yield _shared_keys_finding(app, owner, resource, shown, keys)
                if copied := _copied_metadata(resource, shown):
                    yield _shared_metadata_finding(app, owner, resource, shown, copied)
            elif not _is_empty_shell(resource, shown):
                yield _finding(app, owner, resource, shown, is_argocds=_is_argocd_secret(fleet, secret, own))
        if (
            es.creation_policy(resource.any) not in es.MERGING_POLICIES
            and es.ready_condition(resource.live).get("status") == "True"
        ):
            yield from (_second_owner_finding(app, resource, secret, maker) for maker in _other_owners(app, secret)[:1])


def _targets(app: App) -> Iterator[tuple[Resource, ResourceId]]:
    """The ExternalSecrets that write a Secret, and the Secret."""
    for resource in es.external_secrets(app):
        name = es.target_name(resource.any)
        if resource.any and name and es.creation_policy(resource.any) != "None" and not es.is_leaving(app, resource):
            yield resource, ResourceId("", "Secret", resource.namespace, name, "v1", app.cluster)


def _other_owners(app: App, secret: ResourceId) -> tuple[str, ...]:
    """Kind and name of the objects, other than ExternalSecrets, that own the Secret in the resource tree."""
    wanted = (secret.group, secret.kind, secret.namespace, secret.name)
    node = next((n for n in app.nodes if (n.id.group, n.id.kind, n.id.namespace, n.id.name) == wanted), None)
    owners = node.owners if node is not None else ()
    return tuple(f"{o.kind} {o.namespace or secret.namespace}/{o.name}" for o in owners if o.kind != "ExternalSecret")


def _second_owner_finding(app: App, resource: Resource, secret: ResourceId, maker: str) -> Finding:
    name = resource.name if resource.name != secret.name else f"{resource.name}-eso"
    rename = Edit("json-patch", set_field(resource.any, "/spec/target/name", name))
    merge = Edit("json-patch", set_field(resource.any, "/spec/target/creationPolicy", "Merge"))
    return Finding(
        message=f"{resource.id} replaces the data of {secret}, which {maker} owns too, so its two makers overwrite each other.",
        at=Location(app.ref, resource.id, "/spec/target/name"),
        evidence=(
            f"creationPolicy {es.creation_policy(resource.any)}; {maker} is a parent of the Secret in the resource tree",
        ),
        fixes=(
            Fix(
                f'Let the ExternalSecret write the Secret "{name}"',
                "manifest",
                str(resource.id),
                rename,
                "move the workloads that need its keys",
            ),
            Fix(
                "Let the ExternalSecret only add its keys",
                "manifest",
                str(resource.id),
                merge,
                "keys that both write stay contested",
            ),
        ),
    )


def _other_listings(app: App, fleet: Fleet, secret: ResourceId) -> Iterator[tuple[AppRef, Resource]]:
    for owner in fleet.owners(secret.key):
        listed = fleet.resource(owner, secret.key) if owner != app.ref else None
        if listed is not None:
            yield owner, listed


def _is_empty_shell(resource: Resource, secret: Resource) -> bool:
    """Whether a Secret has no conflict with its ExternalSecret: it is in sync, and Argo CD compares no known key of Git."""
    keys = {*mapping(secret.desired, "data"), *mapping(secret.desired, "stringData")}
    if secret.normalized is not None:
        keys &= mapping(secret.normalized, "data").keys()  # the others are ignored
    return secret.status == "Synced" and not keys and es.ready_condition(resource.live).get("status") == "True"


def _is_argocd_secret(fleet: Fleet, secret: ResourceId, own: Resource | None) -> bool:
    """Whether it is Argo CD's own Secret, which its API server fills itself (server.secretkey, admin.password; util/settings of Argo CD)."""
    if secret.name != "argocd-secret":
        return False
    labelled = own is not None and labels_of(own.any).get("app.kubernetes.io/part-of") == "argocd"
    return labelled or (secret.cluster == IN_CLUSTER and secret.namespace == fleet.control_plane)


def _writes_session_key(resource: Resource) -> bool:
    """Whether it writes the session key itself, or keys that only the provider knows: such a Secret may be complete."""
    return "server.secretkey" in es.written_keys(resource.any) or bool(items(resource.any, "spec", "dataFrom"))


def _session_key_finding(app: App, resource: Resource, secret: ResourceId, shown: AppRef | None) -> Finding:
    """The finding for an ExternalSecret that takes argocd-secret over. `shown`: another application whose Secret differs for it."""
    policy = es.creation_policy(resource.any)
    name = resource.name if resource.name != secret.name else f"{resource.name}-eso"
    merge = Edit("json-patch", set_field(resource.any, "/spec/target/creationPolicy", "Merge"))
    rename = Edit("json-patch", set_field(resource.any, "/spec/target/name", name))
    return Finding(
        message=f"{resource.id} makes {secret} its own (creationPolicy {policy}) and drops what Argo CD keeps in it:"
        " its key for sessions and the admin password.",
        at=Location(shown, secret) if shown else Location(app.ref, resource.id, "/spec/target/creationPolicy"),
        related=(Related(app.ref, resource.id, "/spec/target/creationPolicy", "cause"),) if shown else (),
        evidence=("Argo CD writes server.secretkey and admin.password into this Secret by itself",),
        fixes=(
            Fix(
                "Let the ExternalSecret only add its keys",
                "manifest",
                str(resource.id),
                merge,
                "a restart of argocd-server makes a new session key and admin password;"
                " webhook secrets, other accounts' passwords and API tokens must be set again",
                resource=resource.id,
            ),
            Fix(
                f'Write the Secret "{name}", and name its keys as $<Secret>:<key> in argocd-cm',
                "manifest",
                str(resource.id),
                rename,
                "Argo CD reads it only with the label app.kubernetes.io/part-of: argocd (target.template.metadata)",
                resource=resource.id,
            ),
        ),
        explains=(Symptom.change(secret),),
    )


def _contested_keys(resource: Resource, secret: Resource) -> tuple[str, ...]:
    """Keys that the ExternalSecret adds and that differ from Git's own."""
    written = es.written_keys(resource.any)
    return tuple(
        key
        for change in secret.changes
        for top, _, key in (change.pointer.removeprefix("/").partition("/"),)
        if top == "data" and key in written and change.desired is not MISSING
    )


def _shared_keys_finding(app: App, owner: AppRef, resource: Resource, secret: Resource, keys: Sequence[str]) -> Finding:
    other_application = "" if owner == app.ref else f" of application {app.ref}"
    names = ", ".join(f'"{key}"' for key in keys)
    edit = [{"op": "remove", "path": join_pointer(_data_field(secret, key), key)} for key in keys]
    return Finding(
        message=f"{secret.id} gets {names if len(keys) < 3 else f'{len(keys)} keys'} from Git and from {resource.id}{other_application}, "
        "so Argo CD and the operator overwrite each other.",
        at=Location(owner, secret.id, join_pointer("data", keys[0]) if len(keys) == 1 else "/data"),
        evidence=(f"creationPolicy {es.creation_policy(resource.any)}; both write {names}",),
        related=(Related(app.ref, resource.id, "/spec/target/name", "cause"),),
        fixes=(
            Fix(
                "Leave the key to the ExternalSecret: remove it from Git",
                "manifest",
                str(secret.id),
                Edit("json-patch", edit),
                "client-side apply drops the live key once, and the operator adds it again at once",
            ),
        ),
        explains=tuple(Symptom.change(secret.id, join_pointer("data", key)) for key in keys),
    )


def _data_field(secret: Resource, key: str) -> str:
    return "stringData" if key in mapping(secret.desired, "stringData") else "data"


def _copied_metadata(resource: Resource, secret: Resource) -> tuple[str, ...]:
    """Labels and annotations that differ because the operator copies the ExternalSecret's own: it does so without a template."""
    if isinstance(es.target_of(resource.any).get("template"), Mapping):
        return ()
    own = {
        k: v
        for side in (resource.desired, resource.live)
        for k, v in (*labels_of(side).items(), *annotations_of(side).items())
    }
    return tuple(
        change.pointer
        for change in secret.changes
        if change.pointer.startswith(("/metadata/labels/", "/metadata/annotations/"))
        and (own.get(split_pointer(change.pointer)[-1]) == change.live or _is_tracking_id_of(resource, change.live))
    )


def _is_tracking_id_of(resource: Resource, value: Json) -> bool:
    """Whether the value is Argo CD's tracking id of the ExternalSecret (`app:group/kind:namespace/name`)."""
    return str(value).endswith(f":{es.GROUP}/ExternalSecret:{resource.namespace}/{resource.name}")


def _shared_metadata_finding(
    app: App, owner: AppRef, resource: Resource, secret: Resource, pointers: tuple[str, ...]
) -> Finding:
    other_application = "" if owner == app.ref else f" of application {app.ref}"
    names = enumerated([split_pointer(pointer)[-1] for pointer in pointers])
    empty = {"engineVersion": "v2", "metadata": {"labels": {}, "annotations": {}}}
    edit = Edit("json-patch", set_field(resource.any, "/spec/target/template", empty))
    return Finding(
        message=f"{resource.id}{other_application} copies its own metadata onto {secret.id} of Git, "
        "so Argo CD and the operator overwrite each other.",
        at=Location(owner, secret.id, pointers[0] if len(pointers) == 1 else "/metadata"),
        evidence=(f"creationPolicy {es.creation_policy(resource.any)} without target.template", f"copied: {names}"),
        related=(Related(app.ref, resource.id, "/spec/target", "cause"),),
        fixes=(
            Fix(
                "Copy no metadata to the Secret",
                "manifest",
                f"ExternalSecret {resource.namespace}/{resource.name}",
                edit,
                "then sync once: the operator leaves the Secret's own labels and annotations alone",
                resource=resource.id,
            ),
        ),
        explains=tuple(Symptom.change(secret.id, pointer) for pointer in pointers),
    )


def _finding(app: App, owner: AppRef, resource: Resource, secret: Resource, *, is_argocds: bool) -> Finding:
    policy = es.creation_policy(resource.any)
    taken = any(str(o.get("apiVersion", "")).startswith(es.GROUP) for o in owner_references(secret.live))
    other_application = "" if owner == app.ref else f" of application {app.ref}"
    name = resource.name if resource.name != secret.name else f"{resource.name}-eso"
    rename = Edit("json-patch", set_field(resource.any, "/spec/target/name", name))
    merge = Edit("json-patch", set_field(resource.any, "/spec/target/creationPolicy", "Merge"))
    where = f"ExternalSecret {resource.namespace}/{resource.name}"
    moved = Fix(
        f'Let the ExternalSecret write the Secret "{name}"',
        "manifest",
        where,
        rename,
        "move the workloads that need its keys",
        resource=resource.id,
    )
    return Finding(
        message=f"{secret.id} is in Git and the target of {resource.id}{other_application}, so Argo CD and the operator overwrite each other.",
        at=Location(owner, secret.id, "/data"),
        evidence=(
            f"creationPolicy {policy}",
            *(("the live Secret has an owner reference to the ExternalSecret",) if taken else ()),
        ),
        related=(Related(app.ref, resource.id, "/spec/target/name", "cause"),),
        fixes=(
            Fix(
                f'Remove the Secret "{secret.name}" from Git: the operator makes it',
                "manifest",
                str(secret.id),
                Edit(
                    "text",
                    "In the chart argo-cd: configs.secret.createSecret: false."
                    if is_argocds
                    else "Keys that only Git holds can become entries of spec.target.template.data.",
                ),
                ""
                if taken
                else "Argo CD prunes it first if the operator has not adopted it: it is created again at the next refresh",
                effects=() if taken else ("deletes",),
                plays=GONE if taken else None,
            ),
            *(() if is_argocds else (moved,)),
            Fix(
                "Let the ExternalSecret only add its keys",
                "manifest",
                where,
                merge,
                "keys that both hold stay contested",
                resource=resource.id,
            ),
        ),
        explains=(Symptom.change(secret.id),),
    )


RULE = Rule(
    **Rule.page(__name__), severity="error", check=check, wants=wants, reads=es.holds_external_secrets, rank=Rank.ROOT
)
