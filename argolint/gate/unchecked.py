"""What only the cluster can answer about the objects that a change brings, one sentence each: nothing of it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint.application.app import App
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.application.resource import Resource
from argolint.errors import ArgolintError, AuthError
from argolint.gate.declared import is_application
from argolint.gate.touched import Touched
from argolint.model import Finding, Json, Object, ResourceKey
from argolint.redaction import excerpt
from argolint.relations.makers import maker_of, makers
from argolint.relations.references import Reference, namespaced, references
from argolint.server import api
from argolint.server.transport import Transport
from argolint.values import dig, enumerated, items, mapping, maps, plain, text_at, texts
from argolint.values.kubernetes import api_of, is_custom, pod_spec
from argolint.values.patterns import regex

_MOST = 8
_RULES = "x-kubernetes-validations"
_POLICY = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
_MOST_READ = 20
"""Most policies and bindings that are read."""


@dataclass(frozen=True)
class _Brought:
    """An object that a change adds or edits; `base` is None for an added one."""

    app: App
    resource: Resource
    desired: Object
    base: Object | None

    def __str__(self) -> str:
        return str(self.resource.id)


def unchecked(
    t: Transport,
    judged: Sequence[Touched],
    apps: Sequence[App],
    fleet: Fleet,
    ahead: Fleet,
    found: Sequence[Finding],
    known: Callable[[str], bool],
) -> tuple[str, ...]:
    """Sentences on what the change brings. `apps`: the applications after the change, with evidence; `found`: their findings; `known`: whether
    the repository has a name already, so that what a cluster has for all is no news."""
    after = {app.ref: app for app in apps}
    brought = [one for j in judged if j.ref in after for one in _brought(j, after[j.ref])]
    said = {_said(f) for f in found}
    lines = tuple(
        map(
            plain,
            (
                *_namespace_lines(brought, fleet, ahead),
                *_serving_lines(brought, fleet),
                *_name_lines(brought, ahead, said, known),
                *_node_lines(brought, known),
                *_rule_lines(brought),
                *_policy_lines(t, brought, ahead),
            ),
        )
    )
    more = (f"and {len(lines) - _MOST} more like these",) if lines[_MOST:] else ()
    return (*lines[:_MOST], *more)


def _said(finding: Finding) -> tuple[str, str, str, str]:
    """Kind, namespace, name and field that a finding is about; without an object it is about the Application itself."""
    resource, app = finding.at.resource, finding.at.app
    named = (resource.kind, resource.namespace, resource.name) if resource else ("Application", app.namespace, app.name)
    return *named, finding.at.pointer


def _brought(judged: Touched, app: App) -> Iterator[_Brought]:
    change = judged.delta
    for resource in app.resources:
        if resource.desired is None or not (resource.hook or resource.key in {**change.added, **change.changed}):
            continue
        edit = change.changed.get(resource.key)
        before = judged.before.resource(resource.key) if judged.before is not None and resource.hook else None
        base = edit.base if edit else before.desired if before is not None else None
        if base != resource.desired:
            yield _Brought(app, resource, resource.desired, base)


def _namespace_lines(brought: Sequence[_Brought], fleet: Fleet, ahead: Fleet) -> Iterator[str]:
    """Namespaces of new objects of which no application shows that they exist or will."""
    coming: dict[tuple[str, str], list[str]] = {}
    for one in brought:
        space, cluster = one.resource.namespace, one.app.cluster
        if one.base is None and space and not _is_known(space, cluster, fleet, ahead):
            coming.setdefault((cluster, space), []).append(str(one))
    for (_, space), names in coming.items():
        yield f"whether Namespace {space} is there, in which {enumerated(names, limit=3)} {'come' if names[1:] else 'comes'}: no application has it, or had an object in it"


def _serving_lines(brought: Sequence[_Brought], fleet: Fleet) -> Iterator[str]:
    """Namespaces of new Applications in which Argo CD may look for them."""
    coming: dict[str, list[str]] = {}
    for one in brought:
        if one.base is None and is_application(one.desired) and fleet.serves(one.resource.namespace) is None:
            coming.setdefault(one.resource.namespace, []).append(str(one))
    for space, names in coming.items():
        yield f"whether Argo CD serves namespace {space}, in which {enumerated(names, limit=3)} comes: application.namespaces says it"


def _is_known(space: str, cluster: str, fleet: Fleet, ahead: Fleet) -> bool:
    own = ResourceKey(cluster, "", "Namespace", "", space)
    return (
        space in ("default", fleet.control_plane)
        or space.startswith("kube-")
        or bool(ahead.owners(own))
        or bool(fleet.in_namespace(cluster, space))
        or any(app.destination_namespace == space for app in fleet.on_cluster(cluster))
        or any(
            app.destination_namespace == space and _MAKES_IT in app.sync_options for app in ahead.on_cluster(cluster)
        )
        or (cluster == IN_CLUSTER and any(app.ref.namespace == space for app in fleet.apps))
    )


_MAKES_IT = "CreateNamespace=true"


def _name_lines(
    brought: Sequence[_Brought], ahead: Fleet, said: set[tuple[str, str, str, str]], known: Callable[[str], bool]
) -> Iterator[str]:
    """Objects that the change newly names, and that no application brings, makes or reads today."""
    missing: dict[ResourceKey, list[str]] = {}
    for one in brought:
        before = {(r.kind, r.name) for r in references(one.base)} if one.base else set()
        for named in references(one.desired):
            key = ResourceKey(one.app.cluster, named.group, named.kind, _space(named, one), named.name)
            is_old = (named.kind, named.name) in before or (named.kind in _FOR_ALL and known(named.name))
            is_said = (one.resource.kind, one.resource.namespace, one.resource.name, named.pointer) in said
            built_in = _BUILT_IN.fullmatch(f"{named.kind} {named.name}")
            if not (is_old or is_said or built_in or _is_brought(key, one.app, ahead)):
                missing.setdefault(key, []).append(str(one))
    for key, names in missing.items():
        who = enumerated(list(dict.fromkeys(names)), limit=3)
        yield f"whether {key.id} is there, which {who} names: no application brings it{_elsewhere(key, ahead)}"


_FOR_ALL = frozenset(
    "ClusterIssuer ClusterSecretStore Gateway GatewayClass IngressClass PriorityClass RuntimeClass StorageClass VolumeSnapshotClass".split()
)
"""Kinds of which a cluster has few, for all applications."""


def _elsewhere(key: ResourceKey, ahead: Fleet) -> str:
    """Where another namespace has an object of that name, or what is called like the Secret that it makes."""
    kinds = ((key.group, key.kind), *(makers() if key.kind == "Secret" else ()))
    keys = (k for group, kind in kinds for k in ahead.of_kind(key.cluster, group, kind))
    found = next(
        (k for k in keys if key.namespace and k.name == key.name and k.namespace not in ("", key.namespace)), None
    )
    return f"; namespace {found.namespace} has {found.kind} {found.name}" if found else ""


def _node_lines(brought: Sequence[_Brought], known: Callable[[str], bool]) -> Iterator[str]:
    """Labels of nodes that the change newly asks for, and that no live object of the application asks for."""
    for one in brought:
        wanted = _node_labels(one.desired) - _node_labels(one.base) - _EVERYWHERE
        for label in sorted(wanted):
            if not (known(label[0]) and known(label[1])) and not any(
                label in _node_labels(other.live) for other in one.app.resources if other.mentions("nodeSelector")
            ):
                yield f"whether a node has the label {'='.join(label)}, which {one} asks for"


def _node_labels(obj: Object | None) -> set[tuple[str, str]]:
    return {(key, str(value)) for key, value in mapping(pod_spec(obj)[1], "nodeSelector").items()}


_EVERYWHERE = {("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")}


def _space(named: Reference, one: _Brought) -> str:
    """References of an object that says no namespace are in the one where the sync puts it."""
    return named.namespace or (one.resource.namespace if named.kind in namespaced() else "")


_BUILT_IN = regex(
    r"ServiceAccount default|AppProject default|ConfigMap (?:kube-root-ca\.crt|openshift-service-ca\.crt)|PriorityClass system-.{1,60}"
    r"|ClusterRole (?:cluster-admin|admin|edit|view|system:.{1,200})"
)
"""What every cluster has."""


def _is_brought(key: ResourceKey, app: App, ahead: Fleet) -> bool:
    held = app.resource(key)
    return (
        bool(ahead.owners(key))
        or (key.kind == "AppProject" and key.name in ahead.projects)
        or (held is not None and held.desired is not None)
        or app.node(key.id) is not None
        or (key.kind == "Secret" and maker_of(app, ahead, key.namespace, key.name) is not None)
        or any(_reads(other, key) for other in app.resources)
    )


def _reads(other: Resource, key: ResourceKey) -> bool:
    """Whether the live object names it: then it was not missed so far."""
    if other.live is None or key.namespace not in ("", other.namespace) or not other.mentions(f'"{key.name}"', "live"):
        return False
    return any((r.group, r.kind, r.name) == (key.group, key.kind, key.name) for r in references(other.live))


def _rule_lines(brought: Sequence[_Brought]) -> Iterator[str]:
    """The rules of a definition in the Common Expression Language, for custom objects whose definition is known."""
    for one in brought:
        (group, version), kind = api_of(one.desired), str(one.desired.get("kind"))
        if not is_custom(group):
            continue
        every = (*one.app.of_kind("CustomResourceDefinition", "apiextensions.k8s.io"), *(r for _, r in one.app.peers()))
        for crd in (r for r in every if r.kind == "CustomResourceDefinition" and r.mentions(f'"{_RULES}"')):
            spec = dig(crd.desired or crd.live, "spec")
            if (dig(spec, "group"), dig(spec, "names", "kind")) != (group, kind):
                continue
            schema = next(
                (dig(v, "schema", "openAPIV3Schema") for v in maps(spec, "versions") if v.get("name") == version), None
            )
            rules = list(dict.fromkeys(_rules(schema, one.desired)))
            if rules:
                yield f"whether {one} keeps the rules of {crd.id}: {enumerated([f'“{r}”' for r in rules], limit=3)}"
            break


def _rules(schema: Json, value: Json) -> Iterator[str]:
    """What the rules say that are about a part of this value."""
    for rule in maps(schema, _RULES):
        yield excerpt(plain(text_at(rule, "message") or text_at(rule, "rule")), 120)
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _rules(dig(schema, "properties", key) or dig(schema, "additionalProperties"), child)
    elif isinstance(value, list):
        for child in value:
            yield from _rules(dig(schema, "items"), child)


def _policy_lines(t: Transport, brought: Sequence[_Brought], ahead: Fleet) -> Iterator[str]:
    """ValidatingAdmissionPolicies of the cluster's applications that match what the change brings."""
    for cluster in sorted({one.app.cluster for one in brought}):
        policies, bindings = (
            [
                found
                for key in ahead.of_kind(cluster, _POLICY[0], kind)[:_MOST_READ]
                if (found := _state(t, key, brought, ahead))
            ]
            for kind in (_POLICY[1], f"{_POLICY[1]}Binding")
        )
        for policy in policies:
            name = text_at(policy, "metadata", "name")
            own = [b for b in bindings if text_at(b, "spec", "policyName") == name]
            names = [
                str(one)
                for one in brought
                if one.app.cluster == cluster and _matches(policy, one) and any(_binds(b, one) for b in own)
            ]
            if names:
                says = [
                    f"“{excerpt(plain(text_at(v, 'message') or text_at(v, 'expression')), 120)}”"
                    for v in maps(policy, "spec", "validations")
                ]
                yield f"whether {enumerated(names, limit=3)} keeps {_POLICY[1]} {plain(name)}: {enumerated(says, limit=3)}"


def _state(t: Transport, key: ResourceKey, brought: Sequence[_Brought], ahead: Fleet) -> Object | None:
    for one in brought:
        if (held := one.app.resource(key)) is not None and held.desired is not None:
            return held.desired
    for owner in ahead.owners(key)[:1]:
        try:
            found = ahead.by_ref[owner].with_states(api.managed_resources(t, owner, key.id), None).resource(key)
        except AuthError:
            raise
        except ArgolintError:
            return None
        return found.any if found is not None else None
    return None


def _matches(policy: Object, one: _Brought) -> bool:
    """Whether the policy is asked about objects of this kind; its own selectors are taken to match."""
    group, kind = one.resource.group, one.resource.kind.lower()
    plurals = {"*", "*/*", f"{kind}s", f"{kind}es", f"{kind.removesuffix('y')}ies"}
    return any(
        plurals & set(texts(rule, "resources"))
        and {group, "*"} & set(texts(rule, "apiGroups"))
        and {"CREATE" if one.base is None else "UPDATE", "*"} & set(texts(rule, "operations"))
        for rule in maps(policy, "spec", "matchConstraints", "resourceRules")
    )


def _binds(binding: Object, one: _Brought) -> bool:
    """Whether the binding denies, and is not for namespaces of other names alone."""
    if "Deny" not in items(binding, "spec", "validationActions"):
        return False
    labels = dig(binding, "spec", "matchResources", "namespaceSelector", "matchLabels")
    only = text_at(labels, "kubernetes.io/metadata.name")
    return only in ("", one.resource.namespace)
