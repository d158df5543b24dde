"""Fixes for a refusal by the API server, a policy or the project, in a failed sync or a refused dry run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from argolint import App, Fix, Fleet, Json, Object, Resource, ResourceId
from argolint.application.permissions import kind_lists, permits_kind
from argolint.edits import application_place, sync_option
from argolint.edits.advice import Shell, advice
from argolint.messages import unwrap
from argolint.redaction import excerpt
from argolint.relations.look_up import own_objects
from argolint.values import annotations_of, dig, enumerated, get, items, mapping, maps, schema, sh, text_at
from argolint.values.kubernetes import CLUSTER_SCOPED, api_of, argocd_name, kubectl_kind, kubectl_name
from argolint.values.patterns import regex

from ..shared.charts import inline_values
from ..shared.fields import EXPECTED, field_fixes, first_mistyped, retyped, spelling_caveat, type_words
from ._failures import Failed, failures, refusal_match
from ._hooks import TASKS
from ._leftovers import leftover_fixes
from ._managed import managed_namespace_facts
from ._options import is_sent_whole
from ._renewed import finalizer_removal
from ._validation import quantity_operations
from ._webhooks import own_webhook_workload, webhook_service


def refusal_fixes(app: App, fleet: Fleet, failed: Failed, *, empties: bool = False) -> tuple[Fix, ...]:
    """The fixes of one refused object, root cause first; for a validation error, those of the field."""
    topic, facts = _topic(app, failed, empties=empties)
    project = fleet.projects.get(app.project)
    namespace = ResourceId("", "Namespace", "", app.destination_namespace)
    if topic == "no-namespace" and project is not None and not permits_kind(project, namespace, namespaced=False):
        topic = "namespace-refused"
    manifest = _manifest(app, failed)
    if failed.id and topic == "quantity" and (patch := quantity_operations(manifest)):
        patch_facts = {"patch": patch, "at": ", ".join(str(step["path"]) for step in patch[:3])}
        return advice(__package__, "sync-failed/quantity-at", {**_facts(app, fleet, failed), **patch_facts}, failed.id)
    if failed.id and (topic == "quote" or "cannot unmarshal" in failed.message):
        topic_at, patch = retyped(manifest)
        if topic_at:
            return retyping_advice(failed.id, topic_at, patch)
        if (fault := first_mistyped(manifest)) and topic != "quote":
            return retype_advice(failed.id, get(manifest, fault.pointer, None), fault)
    if topic == "validation" and failed.id and (patch := _subject_operations(app, manifest, failed.message)):
        return advice(
            __package__, "sync-failed/subject-namespace-at", {"object": str(failed.id), "patch": patch}, failed.id
        )
    if topic == "validation" and failed.id and (patch := _ingress_operations(manifest)):
        return advice(__package__, "sync-failed/ingress-form-at", {"object": str(failed.id), "patch": patch}, failed.id)
    if topic == "validation" and failed.id:
        named = leftover_fixes(app, _compared_object(app, failed), failed.message) or field_fixes(
            failed.id, manifest, failed.message
        )
        if named:
            left = _empty_values(app) if "Required value" in failed.message else ""
            return (
                (replace(named[0], title=f"{left}{named[0].title.removeprefix('Set')}"), *named[1:]) if left else named
            )
    return advice(__package__, f"sync-failed/{topic}", {**_facts(app, fleet, failed, project), **facts})


def _empty_values(app: App) -> str:
    """What to do with the Helm values that the Application itself leaves empty, to be followed by a field: a chart then renders it empty."""
    paths = [path for source in app.sources for path in _empty_leaves(inline_values(mapping(source, "helm")))]
    several = len(paths) > 1
    return f"Fill the empty Helm value{'s' * several} {enumerated(paths)} of the Application, or set" if paths else ""


def _empty_leaves(values: Mapping[str, Json], above: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _empty_leaves(value, f"{above}{key}.")
        elif value in (None, ""):
            yield f"{above}{key}"


def _permission(app: App, ids: Sequence[ResourceId], project: Object | None) -> Shell:
    """The commands that let the project permit the kinds, by the list that refuses each; a project that is not known is shown first."""
    show = [f"argocd proj get {sh(app.project)} -o yaml"] if ids and project is None else []
    return Shell("\n".join((*show, *(line for id_ in ids for line in _permission_lines(app, id_, project)))))


def _permission_lines(app: App, id_: ResourceId, project: Object | None) -> Iterator[str]:
    scope = "namespace" if _is_namespaced(id_) else "cluster"
    own = f"argocd proj allow-{scope}-resource {sh(app.project)} '{id_.group}' {id_.kind}"
    if project is None:
        yield from (f"# {own} --list {of}   # where {scope}Resource{sort} refuses it" for of, sort in _LISTS)
        return
    is_listed, denied = kind_lists(project, id_, namespaced=scope == "namespace")
    if not is_listed:
        yield f"{own} --list allow"
    for entry in denied:
        group, kind, name = (str(entry.get(key) or "") for key in ("group", "kind", "name"))
        yield (
            f"{own} --list deny"
            if (group, kind, name) == (id_.group, id_.kind, "")
            else f"# {scope}ResourceBlacklist refuses {group or chr(39) * 2}/{kind}: write the kinds that it means there"
        )
    if is_listed and not denied:
        yield own


def _is_namespaced(id_: ResourceId) -> bool:
    return bool(id_.namespace) and (id_.group, id_.kind) not in CLUSTER_SCOPED


_KIND_REFUSED = regex(r"resource \S{0,253}:\S{1,63} is not permitted in project")


def _refused_kinds(app: App, failed: Failed) -> list[ResourceId]:
    """The object, and one of each other kind that the project refuses to the same sync: permitting one alone moves the failure to the next."""
    more = failures(app) if _KIND_REFUSED.search(failed.message) else ()
    ids = (failed.id, *(f.id for f in more if _KIND_REFUSED.search(f.message)))
    return list({(id_.group, id_.kind): id_ for id_ in reversed(ids) if id_}.values())[::-1]


_LISTS = (("allow", "Whitelist"), ("deny", "Blacklist"))


def retyping_advice(id_: ResourceId, topic: str, patch: Sequence[Json]) -> tuple[Fix, ...]:
    """The fix that gives values the types of their fields."""
    places = [str(dig(step, "path")) for step in patch]
    facts = {
        "object": str(id_),
        "at": enumerated(places, "field", limit=1),
        "patch": patch,
        "spelling": spelling_caveat(patch),
    }
    return advice(__package__, f"sync-failed/{topic}", facts, id_)


def retype_advice(id_: ResourceId, value: Json, fault: schema.Fault) -> tuple[Fix, ...]:
    """The fix for a value of another type than its field that does not say what was meant."""
    facts = {"at": fault.pointer, "expected": EXPECTED[fault.type], "written": type_words(value)}
    return advice(__package__, "sync-failed/retype", {"object": str(id_), **facts}, id_)


_NO_SUBJECT_NAMESPACE = regex(r"is invalid: \[?subjects\[\d{1,4}\]\.namespace: Required value")


def _subject_operations(app: App, manifest: Object | None, message: str) -> list[Json]:
    """Operations that name the namespaces of a binding's service accounts, if one of the application or the destination is the only one."""
    if not _NO_SUBJECT_NAMESPACE.search(message):
        return []
    made = []
    for place, subject in enumerate(maps(manifest, "subjects")):
        known = {r.namespace for r in app.of_kind("ServiceAccount", "") if r.name == subject.get("name")}
        value = next(iter(known)) if len(known) == 1 else app.destination_namespace
        if subject.get("kind") == "ServiceAccount" and not subject.get("namespace") and value:
            made.append({"op": "add", "path": f"/subjects/{place}/namespace", "value": value})
    return made


def _ingress_operations(manifest: Object | None) -> list[Json]:
    """Operations that write an Ingress of networking.k8s.io/v1 as that version has it, if it still has the backends of v1beta1."""
    if manifest is None or (api_of(manifest), manifest.get("kind")) != (("networking.k8s.io", "v1"), "Ingress"):
        return []
    spec = mapping(manifest, "spec")
    made: list[Json] = []
    for rule, each in enumerate(maps(spec, "rules")):
        for place, path in enumerate(maps(each, "http", "paths")):
            at = f"/spec/rules/{rule}/http/paths/{place}"
            if service := _service_of(mapping(path, "backend")):
                made.append({"op": "replace", "path": f"{at}/backend", "value": service})
                if not path.get("pathType"):
                    made.append({"op": "add", "path": f"{at}/pathType", "value": "ImplementationSpecific"})
    if service := _service_of(mapping(spec, "backend")):
        made += [
            {"op": "remove", "path": "/spec/backend"},
            {"op": "add", "path": "/spec/defaultBackend", "value": service},
        ]
    return made


def _service_of(backend: Object) -> Json:
    """The backend of v1 that says what this one of v1beta1 says; None for another one."""
    name, port = backend.get("serviceName"), backend.get("servicePort")
    if not name or port is None:
        return None
    number = int(port) if str(port).isdecimal() else None
    return {"service": {"name": name, "port": {"name": port} if number is None else {"number": number}}}


def _compared_object(app: App, failed: Failed) -> Resource | None:
    resource = app.held(failed.id)
    return resource.as_compared if resource else None


def _manifest(app: App, failed: Failed) -> Object | None:
    resource = _compared_object(app, failed)
    return resource.desired if resource else None


_NO_NAMESPACE = regex(r'namespaces "([^"]+)" not found')
_DEADLINE = regex(r"DeadlineExceeded|active longer than specified deadline|exceeded its deadline", re.IGNORECASE)
_POLICY = regex(
    r"blocked due to the following policies\s+(?P<kyverno>[\w.-]{1,253}):"
    r"|denied the request: \[(?P<gatekeeper>[\w.-]{1,253})\]"
    r"|ValidatingAdmissionPolicy '(?P<admission>[^']{1,253})'"
    r'|violates PodSecurity "(?P<level>[^"]{1,60})"'
)
"""The policy that denies, as Kyverno, Gatekeeper and the API server name it."""
_DENIES = regex(r'admission webhook "([^"]{1,253})" denied')
_OCCUPIED_PORT = regex(r"Invalid value: (\d{1,5}): provided port is already allocated")
_WEBHOOK_UNREACHED = regex(r'failed (?:calling|to call) webhook "([^"]+)"|conversion webhook for (\S+)')


def _topic(app: App, failed: Failed, *, empties: bool) -> tuple[str, Mapping[str, str]]:
    """The topic of sync-failed in advice.yaml, and the values from the message for it."""
    absent = _NO_NAMESPACE.search(failed.message)
    if empties:
        return "empties", {}
    if absent and absent[1] == app.destination_namespace:
        return "no-namespace", {"missing_namespace": absent[1]}
    if failed.hook and failed.id and failed.cause == "unknown":
        return "hook-deadline" if _DEADLINE.search(failed.message) else "hook", {}
    if failed.cause == "unknown" and _recovered(app, failed):
        return "recovered", {}
    if _WEBHOOK_UNREACHED.search(failed.message) and (served := own_webhook_workload(app, failed.message)):
        id_ = served.workload
        picked = f"{id_.group}:{id_.kind}:{id_.namespace}/{id_.name}"
        up = "yes" if served.up else ""
        return "own-webhook", {"workload": str(id_), "wave": str(served.wave + 1), "picked": picked, "up": up}
    if failed.deletes and failed.cause == "admission" and not _WEBHOOK_UNREACHED.search(failed.message):
        return "deletion-refused", {}
    found = refusal_match(failed.message)
    if found is None or found.entry.advice == found.entry.cause:
        return failed.cause or "unknown", {}
    group = found.facts.get("group")
    quoted = {} if group is None else {"quoted_group": Shell("'" + group.replace("'", "'\\''") + "'")}
    return _topic_by_replace(app, failed, found.entry.advice), {**found.facts, **quoted}


def is_created_twice(app: App, failed: Failed) -> bool:
    """Whether Replace=true made the refused RBAC object itself: `auth reconcile` goes before `create` (gitops-engine/pkg/utils/kube)."""
    return bool(
        failed.id
        and failed.id.group == "rbac.authorization.k8s.io"
        and _topic(app, failed, empties=False)[0] == "exists"
    )


def _recovered(app: App, failed: Failed) -> bool:
    """Whether the sync failed by the object's health alone, and the object is healthy by now."""
    resource = app.held(failed.id)
    turned = app.operation is not None and failed.id is not None and app.operation.degraded(failed.id)
    return turned and resource is not None and resource.health.status == "Healthy"


def _topic_by_replace(app: App, failed: Failed, topic: str) -> str:
    """The topic by whether Replace=true is set: the same message then has another reason."""
    whole = is_sent_whole(app, _manifest(app, failed))
    of_version = "stale-version" if "resourceVersion" in failed.message else "validation"
    return {"replaced": of_version, "exists": "exists-already"}.get(topic, topic) if not whole else topic


def _facts(app: App, fleet: Fleet, failed: Failed, project: Object | None = None) -> Mapping[str, Json]:
    """The facts for the sync-failed topics in advice.yaml."""
    id_ = failed.id
    silent, service = _WEBHOOK_UNREACHED.search(failed.message), webhook_service(failed.message)
    refused = _refused_kinds(app, failed)
    return {
        **_managed_facts(app, fleet, failed),
        "app": str(app.ref),
        "project": app.project,
        "cluster": app.cluster,
        "namespace": (id_.namespace if id_ else "") or app.destination_namespace or "default",
        "destination_namespace": app.destination_namespace or "*",
        "object": str(id_ or app.ref),
        "created_by_sync": bool(
            id_
            and id_.kind == "Namespace"
            and _manifest(app, failed) is None
            and "CreateNamespace=true" in app.sync_options
        ),
        "object_name": id_.name if id_ else "",
        "chart": next(filter(None, (text_at(source, "chart") for source in app.sources)), ""),
        "left_over": Shell(kubectl_name(id_)) if id_ and failed.deletes else "",
        "alone": Shell(
            "" if id_ else finalizer_removal(ResourceId("argoproj.io", "Application", app.ref.namespace, app.ref.name))
        ),
        "writes_status": bool(id_ and dig(_manifest(app, failed), "status")),
        "own_name": id_.name if id_ else app.ref.name,
        "own_namespace": id_.namespace if id_ else app.ref.namespace,
        "kind": kubectl_kind(id_) if id_ else "",
        "job": f"job/{id_.name}" if id_ and id_.kind == "Job" else "",
        "webhook": silent[1] or silent[2] if silent else "",
        "service": service[1],
        "service_namespace": service[0],
        "policy": _policy_name(failed.message),
        "policy_app": _policy_owner(app, fleet, failed),
        "permission": _permission(app, refused, project),
        "refused_kinds": enumerated([each.kind for each in refused]),
        **_namespace_facts(app, failed),
        "place": application_place(app),
        "creation": sync_option(app, "CreateNamespace=true"),
        "synced": Shell("" if _retries(app) else f"\nargocd app sync {sh(app.ref)}"),
        "without_replace": _without_replace(app),
        "handover": sync_option(app, "ClientSideApplyMigration=false"),
        "message": excerpt(unwrap(failed.message).innermost, 600),
        "holder": _port_holder(app, failed),
        **_config_facts(app, silent[1] if silent else ""),
        "lasting": str(id_) if failed.hook and id_ and "." in id_.group and id_.group not in TASKS else "",
    }


def _without_replace(app: App) -> list[Json]:
    """The edit that syncs the Application server-side in place of Replace=true; none if it has no such option."""
    held = items(app.spec, "syncPolicy", "syncOptions")
    if "Replace=true" not in held:
        return []
    at = {"path": f"/spec/syncPolicy/syncOptions/{held.index('Replace=true')}"}
    served = "ServerSideApply=true" in held
    return [{"op": "remove", **at} if served else {"op": "replace", **at, "value": "ServerSideApply=true"}]


def _retries(app: App) -> bool:
    return app.operation is not None and app.operation.waiting_to_retry


_NOT_PERMITTED = regex(r"namespace (\S{1,253}) is not permitted in project")


def _namespace_facts(app: App, failed: Failed) -> Mapping[str, Json]:
    """The facts on namespaces that the project refuses to this sync, and on one that is missing because the destination names another."""
    texts = (failed.message, *(f.message for f in failures(app)))
    refused = (m[1] for text in texts if (m := _NOT_PERMITTED.search(text)))
    names = list(dict.fromkeys(refused)) or [app.destination_namespace]
    project, cluster = sh(app.project), sh(app.cluster)
    absent = _NO_NAMESPACE.search(failed.message)
    places = {r.namespace for r in app.resources if r.namespace and r.desired_known}
    return {
        "refused_namespaces": f"namespace{'s' if len(names) > 1 else ''} {enumerated(names)}",
        "additions": Shell("\n".join(f"argocd proj add-destination {project} {cluster} {sh(name)}" for name in names)),
        "of_argocd": bool(failed.id and failed.id.group == "argoproj.io" and failed.id.kind.startswith("App")),
        "misdirected": bool(absent)
        and "CreateNamespace=true" in app.sync_options
        and places == {absent[1] if absent else ""},
    }


def _config_facts(app: App, webhook: str) -> Mapping[str, Json]:
    """The application's own configuration of the webhook, if cert-manager is to fill in its CA and a sync still has to ask for that."""
    known = own_objects(app, webhook) if webhook else []
    own = next((k.resource for k in known if k.how == "webhook" and _asks_for_ca(k.resource)), None)
    picked = argocd_name(own.id) if own else ""
    return {"config": str(own.id) if own else "", "config_picked": Shell(picked)}


def _asks_for_ca(resource: Resource) -> bool:
    wanted = [k for k in annotations_of(resource.desired) if k.startswith("cert-manager.io/inject-")]
    return bool(wanted) and not any(k in annotations_of(resource.live) for k in wanted)


def _managed_facts(app: App, fleet: Fleet, failed: Failed) -> Mapping[str, Json]:
    """The facts on an operator that may grant the missing permission: it does for objects in a namespace, not for the namespace itself."""
    found = refusal_match(failed.message)
    values = found.facts if found else {}
    user = "" if values.get("resource") == "namespaces" else values.get("user", "")
    return managed_namespace_facts(app, fleet, user, failed.message)


def _port_holder(app: App, failed: Failed) -> str:
    """The other Service of the application with the occupied port; empty if there is none."""
    taken = _OCCUPIED_PORT.search(failed.message)
    if taken is None or failed.id is None:
        return ""
    port = int(taken[1])
    for other in app.of_kind("Service", ""):
        if other.key != failed.id.key and any(
            p.get("nodePort") == port for p in maps(other.live or other.desired, "spec", "ports")
        ):
            return str(other.id)
    return ""


_POLICY_KINDS = (
    ("kyverno.io", "ClusterPolicy"),
    ("kyverno.io", "Policy"),
    ("policies.kyverno.io", "ValidatingPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
)


def _policy_owner(app: App, fleet: Fleet, failed: Failed) -> str:
    """The one application that lists the policy which denies the object; empty if none or several do."""
    found = _POLICY.search(failed.message)
    name = found and (found["kyverno"] or found["admission"])
    owners = {
        str(owner)
        for kind in (_POLICY_KINDS if name else ())
        for key in fleet.of_kind(app.cluster, *kind)
        if key.name == name and key.namespace in ("", failed.id.namespace if failed.id else "")
        for owner in fleet.owners(key)
    }
    return owners.pop() if len(owners) == 1 else ""


def _policy_name(message: str) -> str:
    found = _POLICY.search(message)
    if found is None:
        webhook = _DENIES.search(message)
        return f"webhook {webhook[1]}" if webhook else "the policy"
    name = next(value for value in found.groups() if value)
    return f"Pod Security level {name}" if found["level"] else f"policy {name}"
