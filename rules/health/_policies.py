"""NetworkPolicies and the pods that they restrict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint import App, Fleet, Node, Object, Resource, ResourceKey
from argolint.values import items, mapping, maps

from ..shared.labels import Selector, label_selector
from ._surroundings import shown_object

NETWORKING = "networking.k8s.io"


@dataclass(frozen=True, slots=True)
class PodsEnd:
    """One end of a call: labels and namespace of its pods."""

    labels: Mapping[str, str]
    namespace: str


def policies(app: App) -> Iterator[Resource]:
    for resource in app.of_kind("NetworkPolicy", NETWORKING):
        if shown_object(resource) and not resource.requires_pruning and resource.namespace:
            yield resource


def restricting_policies(app: App, end: PodsEnd, direction: str) -> Sequence[Resource]:
    """The policies that restrict these pods in this direction."""
    index = app.derive(_policies_by_label, end.namespace, direction)
    near = (each for pair in (None, *end.labels.items()) for each in index.get(pair, ()))
    return [policy for policy, selector in near if selector.matches(end.labels)]


def _policies_by_label(
    app: App, namespace: str, direction: str
) -> Mapping[tuple[str, str] | None, Sequence[tuple[Resource, Selector]]]:
    """The policies of a namespace by a label of their selector; None for those without one, such as an empty podSelector."""
    found: dict[tuple[str, str] | None, list[tuple[Resource, Selector]]] = defaultdict(list)
    for policy in policies(app):
        spec = mapping(shown_object(policy), "spec")
        types = items(spec, "policyTypes") or (["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
        selector = label_selector(spec.get("podSelector"))
        odd = not isinstance(spec.get("policyTypes"), list | None)
        if policy.namespace == namespace and direction in types and selector is not None and not odd:
            found[next(iter(selector.equal.items()), None)].append((policy, selector))
    return found


def rules_of(policy: Resource, direction: str) -> Sequence[Object]:
    return maps(mapping(shown_object(policy), "spec"), direction)


def has_only_own_policies(app: App, fleet: Fleet, namespace: str) -> bool:
    """Whether all policies in the namespace are this application's NetworkPolicies, with none of another application or product."""
    return not any(
        key.kind.endswith("NetworkPolicy") and (key.group != NETWORKING or app.resource(key) is None)
        for key in fleet.in_namespace(app.cluster, namespace)
    ) and not any(
        key.group != NETWORKING and key.kind.endswith("NetworkPolicy")
        for key in fleet.derive(_cluster_policies, app.cluster)
    )


def _cluster_policies(fleet: Fleet, cluster: str) -> tuple[ResourceKey, ...]:
    """The cluster-scoped policies of a cluster."""
    kinds = (
        ("policy.networking.k8s.io", "AdminNetworkPolicy"),
        ("policy.networking.k8s.io", "BaselineAdminNetworkPolicy"),
        ("cilium.io", "CiliumClusterwideNetworkPolicy"),
        ("crd.projectcalico.org", "GlobalNetworkPolicy"),
        ("projectcalico.org", "GlobalNetworkPolicy"),
    )
    return tuple(key for group, kind in kinds for key in fleet.of_kind(cluster, group, kind))


def policy_against_operator(app: App, fleet: Fleet, pods: Sequence[Node]) -> Resource | None:
    """A policy that admits packets to these pods from their own namespace alone, while an operator elsewhere may have to ask them; None without one.

    The pods' labels are those of the tree.
    """
    for pod in pods:
        end = PodsEnd(pod.labels, pod.id.namespace)
        closing = restricting_policies(app, end, "Ingress") if pod.labels else ()
        rules = [rule for policy in closing for rule in rules_of(policy, "ingress")]
        if closing and not any(map(_leaves_namespace, rules)) and has_only_own_policies(app, fleet, end.namespace):
            return closing[0]
    return None


def _leaves_namespace(rule: Object) -> bool:
    """Whether a rule may admit something of another namespace."""
    peers = maps(rule, "from")
    return not peers or any("namespaceSelector" in p or "ipBlock" in p for p in peers)
