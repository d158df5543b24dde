"""The namespace's Pod Security level refuses the pods

What it finds: a workload whose pods violate the Pod Security level that their namespace enforces. Either the API server says so and the pods only lack
fields, or a sync will bring the pods or the level. Each field of the violation is named, and those with one right value are written.

Why it hurts: the API server takes the Deployment and refuses its pods, so the sync succeeds and nothing runs. A level that becomes stricter stops
nothing at once: the next pod is refused, at a rollout or when a node goes.

How to fix: write the securityContext that the level demands, or give the namespace the level that its pods need.

Example: `pod-security.kubernetes.io/enforce: restricted`, and a container without `allowPrivilegeEscalation: false`.

The level is that of the Namespace in an application, or of `managedNamespaceMetadata`. Not reported: pods that run, under a level that stays. Pods
that are refused since they ask for rights of the node are `unhealthy` or `pod-unschedulable`.

Sources: kubernetes.io, Pod Security Standards; k8s.io/pod-security-admission, policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argolint import (
    Afterwards,
    App,
    Finding,
    Fix,
    Fleet,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import (
    Operation,
    application_patch,
    manifest_patch,
    manifest_text,
    set_field,
    set_fields,
)
from argolint.values import dig, enumerated, join_pointer, mapping, maps, text_at
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex
from argolint.values.pod_security import LEVEL, ROOT, Violation, level_for, rights, violations

from ..shared.peers import peer_wants, peers
from ..shared.pods import unwell_below, wanted_events

_REFUSED = regex(r'violates PodSecurity "(baseline|restricted):')


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Events of workloads that are not well, and of what is below them; the Namespace of those that a sync brings."""
    ailing = unwell_below(app)
    coming = set()
    for resource in app.with_pods():
        if resource.hook and not resource.desired:
            continue
        if resource.health.status in ("Progressing", "Degraded"):
            yield from wanted_events(app, resource, ailing.get(resource.uid, ()))
        if resource.status == "OutOfSync" or resource.hook:
            coming.add(resource.namespace)
    yield from peer_wants(app, fleet, (("", "Namespace"),), lambda key: key.name in coming)
    raised = {namespace.name for namespace in _raised(app)}
    if raised:
        yield from peer_wants(app, fleet, _WORKLOADS, lambda key: key.namespace in raised, _MOST)


_WORKLOADS = (("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet"), ("batch", "CronJob"))
_MOST = 50
"""Most workloads of other applications that are read for the namespaces of one."""


def _raised(app: App) -> Iterator[Resource]:
    """The Namespaces of the application whose level a sync changes."""
    for namespace in app.of_kind("Namespace", ""):
        is_coming = namespace.status == "OutOfSync" and namespace.desired and not namespace.requires_pruning
        if is_coming and _level(namespace.desired) not in ("", _level(namespace.live)):
            yield namespace


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload whose pods are refused, or will be."""
    ailing = unwell_below(app)
    for resource in app.with_pods():
        if resource.hook and not resource.desired:
            continue
        nodes = ailing.get(resource.uid, ())
        if level := _refusing_level(app, resource, nodes):
            found = violations(pod_spec(resource.any)[1], level)
            claims = (Symptom.health(resource.id), *(Symptom.health(node.id) for node in nodes))
            if rights(found):
                continue  # the pods need them: unhealthy and pod-unschedulable say which namespace has to permit that
        else:
            level, found, claims = *_coming(app, resource), ()
        if found:
            yield _finding(app, fleet, resource, level, found, claims)
    for namespace in _raised(app):
        yield from _finding_of_others(app, fleet, namespace)


def _finding_of_others(app: App, fleet: Fleet, namespace: Resource) -> Iterator[Finding]:
    """A finding for the workloads of other applications that the level of a Namespace will refuse."""
    found = [
        (owner, peer, new[1])
        for owner, peer in sorted(peers(app, fleet, *(kind for _, kind in _WORKLOADS)), key=lambda one: one[1].key)
        if peer.namespace == namespace.name and (new := _coming(app, peer))[1]
    ]
    if found:
        owner, first, broken = found[0]
        more = f" and {len(found) - 1} more" if found[1:] else ""
        level = _level(namespace.desired)
        checks = enumerated(list(dict.fromkeys(violation.check for violation in broken)), limit=1)
        yield Finding(
            message=f'{namespace.id} (Pod Security "{level}") will refuse new pods of {first.id} of "{owner.name}"{more}: {checks}.',
            at=Location(app.ref, namespace.id, join_pointer("metadata", "labels", LEVEL)),
            confidence="likely",
            evidence=tuple(
                f'{peer.id} of "{ref.name}": {enumerated(list(dict.fromkeys(v.check for v in new)), limit=4)}'
                for ref, peer, new in found[:8]
            ),
            related=tuple(Related(ref, peer.id, role="dependent") for ref, peer, _ in found[:5]),
            fixes=(
                manifest_text(
                    namespace.id,
                    "Make the pods fit the level first, or leave it as it is",
                    f"first make the workloads fit {level}, then raise the level\n",
                ),
            ),
        )


def _refusing_level(app: App, resource: Resource, nodes: tuple[Node, ...]) -> str:
    """The level by which the API server refuses its pods now, by its own words; empty if it does not."""
    if resource.health.status not in ("Progressing", "Degraded"):
        return ""
    texts = [text_at(condition, "message") for condition in maps(resource.live, "status", "conditions")]
    for id_, uid in ((resource.id, resource.uid), *((node.id, node.uid) for node in nodes)):
        texts += [event.message for event in app.events(id_, uid) or ()]
    found = (match for text in texts if (match := _REFUSED.search(text)))
    return next((match[1] for match in found), "")


def _coming(app: App, resource: Resource) -> tuple[str, tuple[Violation, ...]]:
    """The level after a sync, and what it will refuse of the pods and does not refuse today."""
    before, after = _levels(app, resource.namespace)
    if not after:
        return "", ()
    old = violations(pod_spec(resource.live)[1], before) if resource.live else ()
    new = violations(pod_spec(resource.desired)[1], after) if resource.desired and not resource.requires_pruning else ()
    known = {(each.check, each.pointer) for each in old}
    return after, new if any((each.check, each.pointer) not in known for each in new) else ()


def _levels(app: App, namespace: str) -> tuple[str, str]:
    """The levels that the namespace enforces today and after a sync."""
    found = _namespace(app, namespace)
    if found is not None:
        return _level(found.live), _level(found.desired or found.live)
    managed = mapping(app.spec, "syncPolicy", "managedNamespaceMetadata", "labels")
    level = text_at(managed, LEVEL) if namespace == app.destination_namespace else ""
    return level, level


def _namespace(app: App, name: str) -> Resource | None:
    """The Namespace, of this application or of another one that was read."""
    of_others = (peer for _, peer in app.peers() if (peer.kind, peer.name) == ("Namespace", name))
    return app.find("", "Namespace", "", name) or next(of_others, None)


def _level(namespace: Object | None) -> str:
    return text_at(mapping(namespace, "metadata", "labels"), LEVEL)


def _finding(
    app: App, fleet: Fleet, resource: Resource, level: str, found: tuple[Violation, ...], claims: tuple[Symptom, ...]
) -> Finding:
    base = pod_spec(resource.any)[0]
    checks = list(dict.fromkeys(violation.check for violation in found))
    refuses = "refuses" if claims else "will refuse"
    namespace = app.find("", "Namespace", "", resource.namespace)
    return Finding(
        message=f'Namespace {resource.namespace} {refuses} new pods of {resource.id} (Pod Security "{level}"): {enumerated(checks, limit=4)}.',
        at=Location(app.ref, resource.id, base),
        confidence="proven" if claims else "likely",
        evidence=tuple(f"{each.check}: {base}{each.pointer}" for each in found[:8]),
        related=(Related(app.ref, namespace.id, role="cause"),) if namespace else (),
        fixes=tuple(_fixes(app, fleet, resource, found)),
        explains=claims,
    )


def _fixes(app: App, fleet: Fleet, resource: Resource, found: tuple[Violation, ...]) -> Iterator[Fix]:
    """The pods first where they only lack fields; the namespace first where they ask for rights of the node, which they may need."""
    asks = rights(found)
    of_namespace, of_pods = _namespace_fix(app, fleet, resource), _pods_fix(resource, found)
    first, second = (of_namespace, of_pods) if asks else (of_pods, of_namespace)
    yield first
    yield replace(second, title=f"Or {second.title[0].lower()}{second.title[1:]}")


def _pods_fix(resource: Resource, found: tuple[Violation, ...]) -> Fix:
    base = pod_spec(resource.any)[0]
    if steps := mending(resource.any, base, found):
        return manifest_patch(resource.id, "Set the fields as the level demands them", steps, _caveat(found))
    fields = "\n".join(f"{each.check}: {base}{each.pointer}" for each in found if each.wants is None)
    where = f"{resource.id}, if its process can do without"
    return manifest_text(where, "Remove from the pods what the level forbids", f"{fields}\n")


def mending(obj: Object, base: str, found: tuple[Violation, ...]) -> list[Operation]:
    """Operations on the object that end all of these; empty where one leaves a choice. `base`: the pointer of the pod spec."""
    return set_fields(obj, {base + each.pointer: each.wants for each in found})


def _namespace_fix(app: App, fleet: Fleet, resource: Resource) -> Fix:
    level, namespace = level_for(pod_spec(resource.any)[1]), _namespace(app, resource.namespace)
    title = f"Give namespace {resource.namespace} the level {level}, which admits these pods"
    caveat = "it applies to every pod of the namespace"
    if namespace is not None and namespace.desired:
        patch = set_field(namespace.desired, join_pointer("metadata", "labels", LEVEL), level)
        return manifest_patch(namespace.id, title, patch, caveat)
    makes = "CreateNamespace=true" in app.sync_options and resource.namespace == app.destination_namespace
    if makes and not fleet.is_older(2, 6):
        patch = set_field(
            app.raw, join_pointer("spec", "syncPolicy", "managedNamespaceMetadata", "labels", LEVEL), level
        )
        return application_patch(app, title, patch, caveat)
    text = f"metadata:\n  labels:\n    {LEVEL}: {level}\n"
    return manifest_text(f"Namespace {resource.namespace}", title, text, caveat)


def _caveat(found: tuple[Violation, ...]) -> str:
    if any(each.check in ("privileged", "host namespaces") for each in found):
        return "a process that needs those rights of the node fails without them"
    return "the image has to run as another user than root" if ROOT in {each.check for each in found} else ""


def then(fix: Fix, finding: Finding, after: App, fleet: Fleet) -> Afterwards | None:
    """What the level says of the pods after the edit."""
    resource = after.held(finding.at.resource)
    if resource is None or resource.live is None or not resource.desired:
        return None
    spec = pod_spec(resource.desired)[1]
    if left := violations(spec, _levels(after, resource.namespace)[1]):
        return Afterwards(refused=f"the namespace would refuse {left[0].check} all the same")
    if any(step["path"].endswith("runAsNonRoot") for step in fix.edit.content if isinstance(step, dict)) or _lacks_user(
        spec
    ):
        return Afterwards(unknown="which user the image runs as is not known")
    return Afterwards(live={resource.key: resource.live})


def _lacks_user(spec: Object) -> bool:
    """Whether a pod that may not run as root leaves the user to its image."""
    demanded = dig(spec, "securityContext", "runAsNonRoot") is True
    own = (dig(container, "securityContext", "runAsUser") for container in maps(spec, "containers"))
    return demanded and dig(spec, "securityContext", "runAsUser") is None and None in own


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, then=then, rank=Rank.ROOT)
