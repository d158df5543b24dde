"""spec-says: what a controller does not find under a kind of the namespace is there under the kind of the cluster, or the other way round, or in another namespace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argolint.application.fleet import Fleet
from argolint.edits import Operation
from argolint.edits.advice import advice
from argolint.model import Fix, Json, Object, ResourceId, ResourceKey
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.relations.names import kind_word, mentions
from argolint.values import join_pointer


@dataclass(frozen=True, slots=True)
class _Pair:
    """A kind of a namespace, its twin `Cluster…`, the field that names either, and the field that says which is meant (`clusterScope`, or `kind`)."""

    group: str
    kind: str
    name: str = "name"
    says: str = "kind"

    @property
    def twin(self) -> str:
        return f"Cluster{self.kind}"


_PAIRS = (
    _Pair("argoproj.io", "AnalysisTemplate", "templateName", "clusterScope"),
    _Pair("keda.sh", "TriggerAuthentication"),
    _Pair("cert-manager.io", "Issuer"),
)
"""Sources: the API references of Argo Rollouts, KEDA and cert-manager. External Secrets' stores are a matter of its own rules."""


@dataclass(frozen=True, slots=True)
class Twin:
    """The object of the other scope or namespace, the kind that was looked for, and the operations that name the kind of the other scope."""

    key: ResourceKey
    sought: str
    patch: tuple[Operation, ...]

    @property
    def is_elsewhere(self) -> bool:
        """Whether it has the kind that was looked for, and another namespace."""
        return self.key.kind == self.sought


def twin_of_missing(fleet: Fleet, cluster: str, namespace: str, manifest: Object, said: str) -> Twin | None:
    """What the sentence does not find, under the kind of the other scope, else in another namespace; None if it is not there either."""
    if "not found" not in said:
        return None
    elsewhere = None
    for mention in mentions(said):
        for pair in _PAIRS:
            for sought, other in ((pair.kind, pair.twin), (pair.twin, pair.kind)):
                if kind_word(sought) not in mention.kinds:
                    continue
                space = namespace if other == pair.kind else ""
                key = ResourceKey(cluster, pair.group, other, space, mention.name)
                patch = tuple(_patch(manifest.get("spec"), "/spec", pair, mention.name, other))
                if patch and fleet.owners(key):
                    return Twin(key, sought, patch)
                near = (k for k in fleet.of_kind(cluster, pair.group, sought) if patch and other == pair.twin)
                found = next((k for k in near if k.name == mention.name and k.namespace != namespace), None)
                elsewhere = elsewhere or (Twin(found, sought, patch) if found else None)
    return elsewhere


def twin_fixes(id_: ResourceId, twin: Twin) -> tuple[Fix, ...]:
    """The fix of an object that names the other scope, or what is in another namespace."""
    facts = {
        "object": str(id_),
        "kind": twin.key.kind,
        "sought": twin.sought,
        "patch": list(twin.patch),
        "there": f"{twin.key.kind} {twin.key.namespace}/{twin.key.name}",
        "namespace": id_.namespace,
    }
    return advice(__package__, f"spec-says/other-{'namespace' if twin.is_elsewhere else 'scope'}", facts, id_)


def _patch(node: Json, at: str, pair: _Pair, name: str, kind: str) -> Iterator[Operation]:
    """The operations on each reference to the name below: a map with the pair's field, under a key that ends in Ref or in a list of templates."""
    if isinstance(node, list):
        for index, child in enumerate(node):
            yield from _patch(child, f"{at}/{index}", pair, name, kind)
    elif isinstance(node, dict):
        if node.get(pair.name) == name and (pair.name != "name" or at.endswith("Ref")):
            if pair.says == "kind":
                yield {"op": "add", "path": f"{at}/kind", "value": kind}
            else:
                yield {"op": "add", "path": f"{at}/{pair.says}", "value": kind == pair.twin}
        for key, child in node.items():
            yield from _patch(child, at + join_pointer(key), pair, name, kind)


def other_scope(complaint: Complaint) -> Iterator[Explained]:
    """The object that the sentence does not find, where one of that name has the other scope."""
    app, id_ = complaint.app, complaint.id
    if id_ is None or complaint.manifest is None:
        return
    for text in complaint.texts:
        twin = twin_of_missing(complaint.fleet, app.cluster, complaint.namespace, complaint.manifest, text)
        if twin is None:
            continue
        there = ResourceId(twin.key.group, twin.key.kind, twin.key.namespace, twin.key.name, "", app.cluster)
        yield Explained(
            "spec-says",
            complaint.fleet.owners(twin.key)[0],
            there,
            f"{id_} names {twin.sought} {there.name}, which is not {'in its namespace' if twin.is_elsewhere else 'there'}; {there} is{' in another' if twin.is_elsewhere else ''}.",
            evidence=(f"the message: {excerpt(text, 400)}",),
            fixes=twin_fixes(id_, twin),
            pointer=twin.patch[0]["path"].rpartition("/")[0],
        )
        return
