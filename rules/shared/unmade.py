"""Why the maker of a missing Secret makes none: what its conditions or its Events say, for kinds without a health check in Argo CD, and hooks that make one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from argolint import App, AppRef, Event, Fleet, Json, Node, Object, Resource, ResourceId, Want
from argolint.edits.advice import Shell
from argolint.relations.blocked import members
from argolint.relations.makers import maker_of, makers
from argolint.relations.polarity import reports_fault
from argolint.sequence.order import SYNC, hook_phases
from argolint.values import enumerated, items, mapping, maps, parse_time, text_at
from argolint.values.kubernetes import kubectl_name, pod_spec, reads
from argolint.values.patterns import regex

_LOGIN = regex(r"/login\b.{0,200}\bCode: 40[03]\b", re.DOTALL)
_DENIED = regex(r"URL: (GET|PUT) https?://[^\s/]{1,300}/v1/([\w./@+~-]{1,300})(?:\?\S{0,200})?\s{1,4}Code: 403\b")
"""A request with a token that Vault refuses (hashicorp/vault api/response.go); the Vault Secrets Operator reads by GET, and by PUT where it sends parameters."""
_MOST = 3  # makers of one workload whose Events are read


def event_wants(app: App, fleet: Fleet, workload: Resource) -> Iterator[Want]:
    """The Events of the objects that should make Secrets for these pods and show no fault of their own."""
    made = {(node.id.namespace, node.id.name) for node in app.nodes_of("Secret", "")}
    needed = dict.fromkeys(
        read.name for read in reads(workload.live or workload.desired) if read.kind == "Secret" and read.needed
    )
    makers = (
        maker
        for name in needed
        if (workload.namespace, name) not in made
        and (maker := silent_maker(app, fleet, workload.namespace, name)) is not None
        and not _condition_text(maker)
    )
    for maker, _ in zip(makers, range(_MOST), strict=False):
        yield Want("events", maker.id, maker.uid)


_HELD = regex(r"(?:Init:)?(?:CreateContainerConfigError|ContainerCreating|PodInitializing|0/\d{1,3})")
"""What Argo CD shows of a pod that may wait for a Secret or ConfigMap."""


def may_lack(app: App, workload: Resource, nodes: Sequence[Node]) -> bool:
    """Whether a pod of the workload may wait for a Secret or ConfigMap that no object of the application is or makes, so that a hook may make it."""
    held = any(node.id.kind == "Pod" and _HELD.fullmatch(node.info.get("Status Reason", "")) for node in nodes)
    there = [node for kind in _READ for node in app.nodes_of(kind, "")] if held else []
    known = {(node.id.kind, node.id.namespace, node.id.name) for node in there}
    return held and any(
        read.kind in _READ and read.needed and (read.kind, workload.namespace, read.name) not in known
        for read in reads(workload.live or workload.desired)
    )


_READ = ("Secret", "ConfigMap")
_BEFORE = {"PreSync", "Sync"}
_MAKES = regex(
    r"-(?:[\w.]{1,40}-)*?(?:create|gen\w{0,8}|secrets?|certs?|certificates?|passwords?|tokens?|keys?)(?:-|$)"
)
_BY_PROGRAM = {"argocd-redis": "redis-initial-password"}
"""Secrets that a program makes without having their name from its arguments."""


def hook_job(app: App, namespace: str, kind: str, name: str) -> str:
    """The hook Job before or in the sync that seems to make this Secret or ConfigMap: it has the name in its manifest without reading it, or begins with it."""
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    for manifest in app.evidence.get(Want("manifests")) or ():
        if manifest.get("kind") == "Job" and hook_phases(manifest) & _BEFORE and _passes(manifest, kind, name, word):
            return text_at(manifest, "metadata", "name")
    rows = app.operation.results if app.operation else ()
    for row in rows:
        job = text_at(row, "name")
        there = (text_at(row, "kind"), text_at(row, "namespace")) == ("Job", namespace)
        if (
            there
            and text_at(row, "hookType") in _BEFORE
            and job.startswith(f"{name}-")
            and _MAKES.match(job[len(name) :])
        ):
            return job
    return ""


def gone_hook(app: App, fleet: Fleet, namespace: str, kind: str, name: str) -> tuple[AppRef, ResourceId] | None:
    """The missing object, or one of its name that makes it, which the last sync of an application made as a hook or the next one will, and that application.

    No comparison misses a hook, and only a sync makes it again.
    """

    def fits(id_: ResourceId) -> bool:
        makes = id_.kind.lower() == kind or (kind == "secret" and (id_.group, id_.kind) in makers())
        return makes and (id_.namespace, id_.name) == (namespace, name)

    for owner in (app, *(other for other in fleet.peers(app) if _is_of_namespace(other, namespace))):
        operation = owner.operation
        for row in operation.results if operation is not None and operation.phase == "Succeeded" else ():
            id_ = ResourceId(*(text_at(row, field) for field in ("group", "kind", "namespace", "name", "version")))
            if row.get("hookType") and fits(id_):
                return owner.ref, id_
    idle = app.operation is None or app.operation.phase != "Running"
    hooks = (m for m in (app.derive(members) if idle else ()) if m.hook and m.place.phase <= SYNC)
    return next(((app.ref, hook.id) for hook in hooks if fits(hook.id)), None)


def _is_of_namespace(app: App, namespace: str) -> bool:
    return app.destination_namespace == namespace or any(row.namespace == namespace for row in app.rows)


def making_workload(app: App, namespace: str, kind: str, name: str) -> Resource | None:
    """The workload of the application whose program seems to make this Secret or ConfigMap at run time: its account may create such objects, and its roles or its arguments have the name."""
    accounts = _accounts_that_create(app, namespace, f"{kind}s", name) if kind in ("secret", "configmap") else {}
    word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
    found = [
        each
        for each in (app.with_pods() if accounts else ())
        if each.namespace == namespace
        and (account := text_at(pod_spec(each.any)[1], "serviceAccountName")) in accounts
        and (accounts[account] or _passes(each.any, kind, name, word))
    ]
    return found[0] if len(found) == 1 else None


_RBAC = "rbac.authorization.k8s.io"


def _accounts_that_create(app: App, namespace: str, resource: str, name: str) -> Mapping[str, bool]:
    """The ServiceAccounts that the application's own roles let create such objects in the namespace, and whether such a role has the name in it."""
    found: dict[str, bool] = {}
    for binding in (*app.of_kind("RoleBinding", _RBAC), *app.of_kind("ClusterRoleBinding", _RBAC)):
        to = mapping(binding.any, "roleRef")
        role = app.find(
            _RBAC, text_at(to, "kind"), binding.namespace if to.get("kind") == "Role" else "", text_at(to, "name")
        )
        rules = [r for r in maps(role.any if role else {}, "rules") if {resource, "*"} & {*items(r, "resources")}]
        if binding.namespace not in ("", namespace) or not any({"create", "*"} & {*items(r, "verbs")} for r in rules):
            continue
        named = any(name in items(rule, "resourceNames") for rule in rules)
        for subject in maps(binding.any, "subjects"):
            if subject.get("kind") == "ServiceAccount" and (subject.get("namespace") or namespace) == namespace:
                found[text_at(subject, "name")] = named or found.get(text_at(subject, "name"), False)
    return found


def _passes(job: Object, kind: str, name: str, word: re.Pattern[str]) -> bool:
    """Whether a manifest passes the name to its programs, and does not read an object of that name."""
    if any((read.kind.lower(), read.name) == (kind, name) for read in reads(job)):
        return False
    spec = pod_spec(job)[1]
    given = [
        str(text)
        for part in ("initContainers", "containers")
        for container in maps(spec, part)
        for text in (
            *items(container, "command"),
            *items(container, "args"),
            *(each.get("value", "") for each in maps(container, "env")),
        )
    ]
    return any(word.search(text) for text in given) or _BY_PROGRAM.get(name) in given


_KYVERNO = (("kyverno.io", "ClusterPolicy"), ("kyverno.io", "Policy"))
_COPIES = regex(r"sync|copy|clon|generat|replicat|distribut|secret|share|add")


def policy_facts(app: App, fleet: Fleet, kind: str, name: str) -> dict[str, Json]:
    """The policy of Kyverno that makes the object only in namespaces to come, and one elsewhere whose name has the object's name in it."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    own = (p for of in _KYVERNO for p in app.of_kind(of[1], of[0]) if _makes_later(p, kind, name))
    named = (
        key.id
        for of in _KYVERNO
        for key in fleet.of_kind(app.cluster, *of)
        if word.search(key.name) and _COPIES.search(key.name) and fleet.owners(key)
    )
    policy, copier = next((p.id for p in own), None), next(named, None)
    return {
        "policy": str(policy or ""),
        "copier": str(copier or ""),
        "copier_command": Shell(kubectl_name(copier)) if copier else "",
    }


def _makes_later(policy: Resource, kind: str, name: str) -> bool:
    spec = mapping(policy.any, "spec")
    makes = [mapping(rule, "generate") for rule in maps(spec, "rules")]
    return spec.get("generateExisting") is not True and any(
        (text_at(each, "kind").lower(), each.get("name")) == (kind, name) and each.get("generateExisting") is not True
        for each in makes
    )


def silent_maker(app: App, fleet: Fleet, namespace: str, secret: str) -> Resource | None:
    """The object of this application that makes the Secret, where Argo CD shows it as well or has no health check for it."""
    maker = maker_of(app, fleet, namespace, secret)
    made = app.resource(maker.id.key) if maker else None
    return made if made is not None and made.health.status in ("", "Healthy") else None


def said_of(app: App, maker: Resource) -> str:
    """Why it makes nothing: its condition, else its newest Event if that is a Warning and no condition turned since; empty if it gives no reason."""
    newest = next((e for e in app.events(maker.id, maker.uid) or () if not _is_past(e, maker)), None)
    return _condition_text(maker) or (newest.message if newest is not None and newest.type == "Warning" else "")


def _is_past(event: Event, maker: Resource) -> bool:
    turned = (parse_time(c.get("lastTransitionTime")) for c in maps(maker.live, "status", "conditions"))
    return any(event.last is not None and at is not None and event.last < at for at in turned)


def _condition_text(maker: Resource) -> str:
    return next((text_at(c, "message") for c in maps(maker.live, "status", "conditions") if reports_fault(c)), "")


def vault_facts(app: App, maker: Resource) -> dict[str, Json]:
    """The facts on a login or a request of the Vault Secrets Operator that Vault refuses; empty if that is not the fault.

    The ServiceAccount is in the namespace of the object that asks for the Secret (api/v1beta1/vaultauth_types.go).
    """
    said = said_of(app, maker)[:8000] if maker.group == "secrets.hashicorp.com" else ""
    login, denied = bool(_LOGIN.search(said)), _DENIED.search(said)
    if not login and denied is None:
        return {}
    space, _, name = text_at(maker.any, "spec", "vaultAuthRef").rpartition("/")
    auth = app.find("secrets.hashicorp.com", "VaultAuth", space or maker.namespace, name)
    settings = mapping(auth.any, "spec", "kubernetes") if auth is not None else {}
    role = text_at(settings, "role")
    if auth is None or not role:
        return {}
    mount = text_at(auth.any, "spec", "mount") or "kubernetes"
    audiences = enumerated([str(each) for each in items(settings, "audiences")], limit=4)
    return {
        "auth": str(auth.id),
        "login": login,
        "denied": denied[2] if denied and not login else "",
        "right": "read" if denied and denied[1] == "GET" else "update",
        "role": role,
        "mount": mount,
        "account": text_at(settings, "serviceAccount") or "default",
        "account_ns": maker.namespace,
        "audiences": f" ({audiences})" if audiences else "",
    }
