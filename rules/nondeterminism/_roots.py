"""From signs to roots: one random template, with all that hashes it and all that is signed with it, is one finding.

A Secret is the root of the checksums that hash it and of the CA bundles that its certificate signs; a ConfigMap is the root of its checksums;
every other sign is a root itself. The kind of the root decides which of the three rules reports it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from argolint import App, Finding, Fleet, Location, Related, Severity
from argolint.model import Confidence
from argolint.values import dig, enumerated, get, join_pointer, labels_of, mapping, split_pointer, text_at
from argolint.values.kubernetes import reads
from argolint.values.patterns import regex

from ..shared import charts
from ..shared.labels import plain_selector
from . import _pins as pins
from ._evidence import signs
from ._shapes import GENERIC
from ._sign import WORKLOADS, Sign, referenced_names, stronger


@dataclass(frozen=True)
class Root:
    """The random places (`own`) and those that follow from them (`symptoms`)."""

    own: tuple[Sign, ...]
    symptoms: tuple[Sign, ...]

    @property
    def head(self) -> Sign:
        return self.own[0]

    @property
    def all(self) -> tuple[Sign, ...]:
        return (*self.own, *self.symptoms)

    @property
    def confidence(self) -> Confidence:
        """Of the strongest sign: certainty about a hash is certainty about the hashed value."""
        found: Confidence = "possible"
        for sign in self.all:
            found = stronger(found, sign.confidence)
        return found

    @property
    def is_shown(self) -> bool:
        """Whether Argo CD shows any of it as a difference now."""
        return any(sign.claims for sign in self.all)

    @property
    def severity(self) -> Severity | None:
        """The catalogue's level if it is proven, or likely and in the chart's record; less if it is only likely."""
        if self.confidence == "possible":
            return "info"
        known = any(sign.item is not None for sign in self.all)
        return None if self.confidence == "proven" or (known and self.is_shown) else "warning"

    @property
    def pointer(self) -> str:
        """The head's field; for several random fields of one object their common place, `/data` of a Secret."""
        first, *rest = (split_pointer(s.pointer) for s in self.own if s.resource == self.head.resource)
        shared = next((n for n, token in enumerate(first) if any(r[n : n + 1] != (token,) for r in rest)), len(first))
        return join_pointer(*first[:shared])


def roots(app: App, fleet: Fleet) -> tuple[Root, ...]:
    """Every root of this application, sorted by the object at its head."""
    return app.derive(_roots, fleet)


def _roots(app: App, fleet: Fleet) -> tuple[Root, ...]:
    found = signs(app, fleet)
    groups = _sign_groups(found)
    symptoms: dict[int, list[Sign]] = defaultdict(list)
    single_signs: list[Sign] = []
    for sign in found:
        if sign.kind in ("secret", "config"):
            continue
        best = max(((_link_strength(app, sign, group), -n) for n, group in enumerate(groups)), default=(0, 0))
        if sign.kind in ("checksum", "ca-bundle") and best[0] > 0:
            symptoms[-best[1]].append(sign)
        else:
            single_signs.append(sign)
    made = [Root(tuple(group), tuple(symptoms[n])) for n, group in enumerate(groups)]
    made += [Root(tuple(group), ()) for group in _signs_by_cause(single_signs)]
    return tuple(sorted(made, key=lambda r: (r.head.resource.key, r.head.pointer)))


def _sign_groups(found: Sequence[Sign]) -> list[list[Sign]]:
    """Secret and ConfigMap signs by object; several Secrets of one known item are one group."""
    groups: dict[object, list[Sign]] = {}
    for sign in found:
        if sign.kind in ("secret", "config"):
            several = sign.item is not None and len(sign.item.secrets) > 1
            release = sign.release
            key = (release, sign.item.what) if several and release and sign.item else sign.resource.key
            groups.setdefault(key, []).append(sign)
    return list(groups.values())


def _signs_by_cause(found: Sequence[Sign]) -> list[list[Sign]]:
    """Signs with one cause: one annotation key, or all CA bundles, of one chart; fields of one object."""
    groups: dict[object, list[Sign]] = {}
    stamps = {(sign.resource.key, sign.key) for sign in found if sign.kind == "stamp"}
    for each in found:
        of_workload = each.pointer.startswith("/metadata/annotations/") and (each.resource.key, each.key) in stamps
        sign = replace(each, kind="stamp") if of_workload else each  # a workload and its pods with one stamp
        chart = sign.release.chart if sign.release else ""
        if sign.kind in ("checksum", "stamp"):
            groups.setdefault((sign.kind, sign.key, chart), []).append(sign)
        elif sign.kind == "ca-bundle":
            groups.setdefault((sign.kind, chart), []).append(sign)
        else:
            groups.setdefault((sign.resource.key, sign.kind), []).append(sign)
    return list(groups.values())


_SALTED = regex(r"htpasswd|bcrypt|password-?hash", re.IGNORECASE)
_CERTIFICATE = regex(r"(?:\.crt|\.key|\.pem|cert|ca)$", re.IGNORECASE)


def _link_strength(app: App, sign: Sign, group: Sequence[Sign]) -> int:
    """How strongly a checksum or CA bundle refers to this group; 0 for not at all."""
    head = group[0]
    names = {s.resource.name for s in group}
    if sign.item is not None and sign.release is not None:
        known, item = sign.release, sign.item
        if any(other.item is not None and other.item.what == item.what for other in group):
            return 200
        if item.secrets:
            return 100 * any(known.makes_name(secret.name, name) for secret in item.secrets for name in names)
    object_ = app.resource(sign.resource.key)
    source = app.resource(head.resource.key)
    if object_ is None or source is None:
        return 0
    is_same_chart = charts.chart_label(object_.any) == charts.chart_label(source.any)
    if sign.kind == "ca-bundle":
        is_certificate = head.kind == "secret" and any(_CERTIFICATE.search(s.key) for s in group)
        return (10 * is_same_chart + 20 * _is_read_behind(app, sign, names)) * is_certificate
    key_word = re.sub(r"[^a-z0-9]", "", sign.key.lower().rpartition("/")[2].replace("checksum", ""))
    texts = [re.sub(r"[^a-z0-9]", "", text.lower()) for text in (*names, *(s.key for s in group))]
    score = 50 * (key_word not in GENERIC and len(key_word) >= 4 and any(key_word in text for text in texts))
    score += 20 * bool(names & referenced_names(object_.any))
    kind_said = "secret" in sign.key.lower() if head.kind == "secret" else "config" in sign.key.lower()
    return score + 5 * (is_same_chart and kind_said) + (is_same_chart and score > 0)


def _is_read_behind(app: App, sign: Sign, secrets: Container[str]) -> bool:
    """Whether pods behind the Service that this CA bundle is for read one of these Secrets: a CustomResourceDefinition has no chart's label."""
    object_ = app.resource(sign.resource.key)
    called = get(object_.any, f"{sign.pointer.rpartition('/')[0]}/service", None) if object_ else None
    at = (text_at(called, "namespace"), text_at(called, "name"))
    service = next((s for s in app.of_kind("Service", "") if (s.namespace, s.name) == at), None)
    selector = plain_selector(mapping(service.any, "spec", "selector")) if service else None
    return selector is not None and any(
        workload.namespace == at[0]
        and selector.matches(labels_of(dig(workload.any, "spec", "template")))
        and any(name in secrets for name in referenced_names(workload.any))
        for workload in app.resources
        if workload.kind in WORKLOADS
    )


def findings(app: App, fleet: Fleet, kinds: frozenset[str]) -> Iterator[Finding]:
    """One finding for each root whose head belongs to one of these kinds."""
    for root in roots(app, fleet):
        if root.head.kind in kinds:
            yield Finding(
                message=_message(app, root),
                at=Location(app.ref, root.head.resource, root.pointer),
                severity=root.severity,
                confidence=root.confidence,
                evidence=_evidence(app, root),
                related=_related(app, root),
                fixes=pins.fixes(app, root.own, root.symptoms),
                explains=tuple(dict.fromkeys(claim for sign in root.all for claim in sign.claims)),
            )


_CHANGES = {
    ("proven", False): "changes",
    ("likely", False): "most likely changes",
    ("possible", False): "may change",
    ("proven", True): "change",
    ("likely", True): "most likely change",
    ("possible", True): "may change",
}


def _message(app: App, root: Root) -> str:
    head = root.head
    many = head.kind in ("secret", "ca-bundle") and len({s.resource for s in root.own}) > 1
    changes = f"{_CHANGES[root.confidence, many and head.kind == 'secret']} at each render"
    rolled = any(s.kind in ("checksum", "stamp", "order") and "/template/" in s.pointer for s in root.all)
    then = "the pods restart for nothing" if rolled else "it is soon OutOfSync again" if root.is_shown else ""
    match head.kind:
        case "secret":
            keys = [s.key for s in root.own if s.resource == head.resource and s.key != "data"]
            what = f'Key "{keys[0]}" of {head.resource}' if len(keys) == 1 and not many else _objects_text(root.own)
            trusting = _trusting(root)
            signed = f", and so does the CA that {trusting}" if trusting else ""
            effect = "; the pods restart each time" if rolled else signed or _effect_on_pods(app, root)
            return f"{what} {changes}{effect}."
        case "checksum" | "stamp":
            what = f"{head.mark} of {_objects_text(root.own)}"
            return f"{what[0].upper()}{what[1:]} {changes}, so {then or 'the next sync writes another'}."
        case "ca-bundle":
            return f"The CA bundle of {_objects_text(root.own)} {changes}, so the webhook trusts another authority."
        case "name":
            left = not head.claims or any(claim.kind == "extra" for claim in head.claims)
            end = "leaves the old object to prune" if left else "wants another object than the synced one"
            return f"The name of {head.resource} {changes}, which {end}."
    key_name = head.kind == "config" and len(split_pointer(head.pointer)) == 1
    what = "A key's name in " if key_name else "The order of " if head.kind == "order" else ""
    return f"{what}{head.pointer} of {head.resource} {changes}, so {then or 'the next sync writes another'}."


def _trusting(root: Root) -> str:
    """Who trusts the CA that changes with the Secret; empty if no CA does."""
    pointers = [s.pointer for s in root.symptoms if s.kind == "ca-bundle"]
    if any("/clientConfig/" in pointer for pointer in pointers):
        return "its webhooks trust"
    return "its APIService trusts" if pointers else ""


def _effect_on_pods(app: App, root: Root) -> str:
    """The effect on pods without a restart: a variable keeps its value, a mounted file follows the Secret."""
    secrets = {(s.resource.namespace, s.resource.name) for s in root.own}
    named = {name for _, name in secrets}
    for workload in app.resources:
        if workload.kind in WORKLOADS and any(workload.mentions(f'"{name}"') for name in named):
            read = (r for r in reads(workload.any) if r.kind == "Secret" and r.by == "environment")
            if any((workload.namespace, r.name) in secrets for r in read):
                return "; running pods keep the old value"
    return "; each sync writes another" if root.is_shown else ""


def _objects_text(found: Sequence[Sign]) -> str:
    """One or two objects; of more only the first, since all of them are related."""
    names = [str(resource) for resource in dict.fromkeys(s.resource for s in found)]
    return enumerated(names, "object", limit=2 if len(names) == 2 else 1)


def _evidence(app: App, root: Root) -> tuple[str, ...]:
    lines = [line for sign in root.all for line in sign.why.split("\n")]
    for release in dict.fromkeys(s.release for s in root.all if s.release is not None and s.item is not None):
        values = f"values under {release.prefix.rstrip('.')!r}" if release.prefix else "values at the top level"
        lines.append(f"chart {release.label}, Helm release {release.name!r}, {values} of {release.values_at}")
    lines += [f"{s.item.what}: {s.item.note}" for s in root.own if s.item is not None and s.item.note]
    if any(s.item.salted if s.item is not None else _SALTED.search(s.key) for s in root.own if s.kind == "secret"):
        lines.append("a salted hash differs at each render even when its password is fixed: only a ready hash pins it")
    if root.is_shown and app.self_heal:
        lines.append("automated sync with self-heal applies each new value by itself")
    return tuple(dict.fromkeys(lines))


def _related(app: App, root: Root) -> tuple[Related, ...]:
    """Every other place: siblings of the head as `other`, consequences as `symptom`."""
    listed = {(root.head.resource.key, root.pointer)}
    found: list[Related] = []
    for sign in root.all:
        pointer = root.pointer if sign.resource == root.head.resource and sign in root.own else sign.pointer
        place = (sign.resource.key, pointer)
        if place not in listed:
            listed.add(place)
            found.append(Related(app.ref, sign.resource, pointer, "symptom" if sign in root.symptoms else "other"))
    return tuple(found)
