"""contradicts: among the entries of a status (per parent or controller), a bad one is outdated or from a controller that does not serve the object."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.edits.advice import advice
from argolint.model import Object
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import dig, mapping, maps, text_at
from argolint.values.kubernetes import kubectl_kind

_PARTS = {"parents": "parentRef", "ancestors": "ancestorRef"}
"""Lists of a status with per-owner entries, and the field that names the owner (Gateway API)."""
_NOT_HIS = frozenset({"TargetNotFound", "NoMatchingParent"})
"""Reasons of a controller that finds nothing of its own in the object. With any other reason, a controller counts as foreign that judges what another one accepts."""


def entry_of_another(complaint: Complaint) -> Iterator[Explained]:
    """A controller accepts the object; the bad entry belongs to a former parent or another controller."""
    app, id_ = complaint.app, complaint.id
    resource = app.held(id_)
    if id_ is None or resource is None or resource.live is None:
        return
    for part, owner in _PARTS.items():
        entries = maps(resource.live, "status", part)
        bad = [entry for entry in entries if _refusal_reason(entry)]
        good = [entry for entry in entries if not _refusal_reason(entry) and maps(entry, "conditions")]
        messages = [text_at(c, "message") for e in bad for c in maps(e, "conditions") if c.get("status") == "False"]
        if not bad or not good or not any(words and words in text for text in complaint.texts for words in messages):
            continue
        left = all(_is_left_over(resource.live, entry, owner) for entry in bad)
        foreign = {text_at(e, "controllerName") for e in bad}.isdisjoint(text_at(e, "controllerName") for e in good)
        nothing_his = all(_refusal_reason(e) in _NOT_HIS for e in bad)
        judged = [entry.get(owner) for entry in good]
        same = all(e.get(owner) in judged for e in bad)
        his_target = all(_is_target(resource.live, mapping(e, owner)) for e in bad)  # and no Gateway of the controller
        if not left and not (foreign and (nothing_his or same or his_target)):
            continue
        of, accepts = text_at(bad[0], "controllerName"), text_at(good[0], "controllerName")
        name = "/".join(filter(None, (text_at(bad[0], owner, "name"), text_at(bad[0], owner, "sectionName"))))
        message = (
            f"{id_} counts as unhealthy because of what its status still says about {name}, which it no longer names."
            if left
            else f"{id_} is accepted by {excerpt(accepts, 80)}; Argo CD also counts {excerpt(of, 80)}, which "
            + (
                "finds nothing of its own in it."
                if nothing_his
                else f"refuses it for {'the same ' if same else ''}{name}."
            )
        )
        facts = {
            "object": str(id_),
            "kind": kubectl_kind(id_),
            "name": id_.name,
            "namespace": id_.namespace,
            "left": left,
            "key": f"resource.customizations.health.{id_.group}_{id_.kind}",
            "part": part,
            "accepts": accepts,
        }
        yield Explained(
            "contradicts",
            app.ref,
            id_,
            message,
            evidence=(f"{len(entries)} entries are in /status/{part}, {len(bad)} of them bad",),
            fixes=advice(__package__, "contradicts/entry", facts, id_),
            likely=True,
        )
        return


def _is_target(live: Object, ref: Object) -> bool:
    """Whether the reference names what a policy is attached to."""
    fields = ("group", "kind", "name")
    return any(all(target.get(f) == ref.get(f) for f in fields) for target in maps(live, "spec", "targetRefs"))


def _refusal_reason(entry: Object) -> str:
    """The reason of a False condition; empty if there is none."""
    return next((text_at(c, "reason") or "False" for c in maps(entry, "conditions") if c.get("status") == "False"), "")


def _is_left_over(live: Object, entry: Object, whose: str) -> bool:
    """True for an entry of an earlier generation whose parent the object no longer names."""
    generation = dig(live, "metadata", "generation")
    seen = [c.get("observedGeneration") for c in maps(entry, "conditions")]
    earlier = isinstance(generation, int) and all(isinstance(g, int) and g < generation for g in seen)
    named = [(text_at(ref, "name"), text_at(ref, "sectionName")) for ref in maps(live, "spec", f"{whose}s")]
    return earlier and (text_at(entry, whose, "name"), text_at(entry, whose, "sectionName")) not in named
