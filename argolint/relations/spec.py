"""spec-says: the message refuses a value in the object's own fields, and says what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from argolint.edits import set_field
from argolint.edits.advice import advice
from argolint.messages import telling
from argolint.model import Json, Object
from argolint.redaction import excerpt
from argolint.relations.denied import USUAL_REQUESTS
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import (
    dig,
    get,
    join_pointer,
    leaves,
    mapping,
    parse_version,
    split_pointer,
    text_at,
)
from argolint.values.kubernetes import containers, kubectl_kind, pod_spec
from argolint.values.memo import by_identity
from argolint.values.patterns import regex

_CHOICES = regex(
    r"\b(?:supported|valid|allowed|available|accepted|possible|known|permitted)(?:\s+[\w-]+){0,3}?(?:\s+(?:are|is|include)\s*:?|\s*[:=])\s*(?P<a>[^\n;]{1,1500})"
    r"|\b(?:must|should|has to|expected to|can|may)(?: only)? be (?:one|any|either) of\s*:?\s*(?P<b>[^\n;]{1,1500})"
    r"|\bexpected one of\s*:?\s*(?P<c>[^\n;]{1,1500})",
    re.IGNORECASE,
)
_BRACKETED = regex(r"^[\[({]([^\])}]{1,1500})[\])}]")
_QUOTED = regex(r"[\"'`]([^\"'`\n]{1,200})[\"'`]")
_PART = regex(r"[\s,|/]")
_MOST = 40


def choices(text: str) -> tuple[str, ...]:
    """The allowed values that a message lists: in brackets, in quotes, or between commas; empty if there are none."""
    for found in _CHOICES.finditer(text[:8000]):
        body = next(part for part in found.groups() if part).strip()
        inside = _BRACKETED.match(body)
        quoted = _QUOTED.findall(inside[1] if inside else body)
        if quoted:
            words = quoted
        elif inside:
            words = [w for w in _PART.split(inside[1]) if w not in ("", "or", "and")]
        else:
            words = [w.strip(" .") for w in re.split(r", ?| or | and ", " ".join(body.split(". ")[0].split()))]
        if 1 < len(words) <= _MOST and all(w and " " not in w for w in words):
            return tuple(words)
    return ()


_PLACEHOLDER = regex(r"\$\([\w.-]{1,80}\)|\$\{[\w.:-]{1,80}\}|\{\{[^{}\n]{1,200}\}\}|<no value>")
_FILLED_LATER = frozenset(
    {"argoproj.io", "tekton.dev", "kyverno.io", "apiextensions.crossplane.io", "cluster.x-k8s.io"}
)
"""API groups with templates, or whose controllers fill in placeholders themselves."""
_TEMPLATED = frozenset(
    {"template", "templates", "steps", "tasks", "params", "patches", "env", "args", "command", "data"}
)
_NAMES = frozenset({"host", "hostname", "commonName", "secretName", "namespace", "clusterName"})
_LISTS = frozenset({"hosts", "hostnames", "dnsNames"})


def placeholder(complaint: Complaint) -> Iterator[Explained]:
    """A name in the object's own spec is still `$(…)`, `${…}` or `{{…}}`: no object or host has such a name."""
    id_, manifest = complaint.id, complaint.manifest
    if id_ is None or manifest is None or id_.group in _FILLED_LATER:
        return
    refused = any(
        words in text for text in complaint.texts for words in ("denied the request", "is invalid", "is forbidden")
    )
    for pointer, value, found in _unfilled_names(manifest):
        if refused and not any(found in text for text in complaint.texts):
            continue  # it is refused for another reason
        facts = {
            "object": str(id_),
            "at": pointer,
            "kustomize": found.startswith("$("),
            "shell": found.startswith("${"),
            "braces": found.startswith(("{", "<")),
        }
        yield Explained(
            "spec-says",
            complaint.app.ref,
            id_,
            f"{id_} holds {excerpt(found, 80)} at {pointer}, where nothing has put a value.",
            evidence=(f"{pointer} is {excerpt(value, 200)}",),
            fixes=advice(__package__, "spec-says/placeholder", facts, id_),
            pointer=pointer,
        )
        return


@by_identity(16)
def _unfilled_names(manifest: Object) -> tuple[tuple[str, str, str], ...]:
    """Names in the spec that still hold a placeholder: pointer, value, placeholder."""
    return tuple(
        (pointer, value, found[0])
        for pointer, value in leaves(manifest.get("spec"), "/spec")
        if isinstance(value, str)
        and (found := _PLACEHOLDER.search(value))
        and _TEMPLATED.isdisjoint(tokens := split_pointer(pointer))
        and _is_name(tokens)
    )


def _is_name(tokens: Sequence[str]) -> bool:
    """True for a field that names another object or a host."""
    last, above = tokens[-1], tokens[-2]
    return last in _NAMES or last.endswith("ClassName") or (last == "name" and above.endswith("Ref")) or above in _LISTS


def refused_value(complaint: Complaint) -> Iterator[Explained]:
    """A value of the manifest that the sentence quotes next to the allowed ones."""
    if complaint.manifest is None or complaint.id is None:
        return
    for text in complaint.texts:
        offered = choices(text)
        found = list(_values_in_message(complaint.manifest, text, offered)) if offered else []
        if len(found) == 1:
            pointer, value = found[0]
            instead = _nearest(value, offered)
            shown = ", ".join(offered[:8])
            facts = {
                "object": str(complaint.id),
                "pointer": pointer,
                "value": instead,
                "choices": shown,
                "held": excerpt(value, 80),
            }
            typed: Json = get(complaint.manifest, pointer, None)
            facts["new"] = instead if isinstance(typed, str) else _number(instead)
            yield Explained(
                "spec-says",
                complaint.app.ref,
                complaint.id,
                f"{complaint.id} sets {pointer} to {excerpt(value, 80)}, which its controller does not accept; it accepts {excerpt(shown, 120)}.",
                evidence=(f"the message: {excerpt(text, 400)}",),
                fixes=advice(__package__, "spec-says/value", facts, complaint.id),
                pointer=pointer,
            )
            return


_UNKNOWN_FIELD = regex(r"(?:json: |strict decoding error: )?unknown field \"([A-Za-z][\w-]{0,100})\"")
_SHOWN = 3


def unknown_field(complaint: Complaint) -> Iterator[Explained]:
    """A field that a decoder does not know: the message has only its last key, the manifest has its place.

    Places that the live object lacks are preferred: what is live was accepted.
    """
    app, id_, manifest = complaint.app, complaint.id, complaint.manifest
    found = complaint.first(_UNKNOWN_FIELD)
    name = found[1] if found else ""
    if not name or id_ is None or manifest is None:
        return
    held = [at for at in _steps(manifest.get("spec"), "/spec") if split_pointer(at)[-1] == name]
    resource = app.resource(id_.key)
    live = resource.live if resource else None
    places = [at for at in held if live is not None and get(live, at, None) is None] or held
    if not places or len(places) > _SHOWN:
        return
    at = ", ".join(places)
    facts = {
        "object": str(id_),
        "at": at,
        "name": name,
        "several": len(places) > 1,
        "kind": kubectl_kind(id_),
        "steps": _explain_path(places[0]),
    }
    yield Explained(
        "spec-says",
        app.ref,
        id_,
        f"{id_} sets {at}; its API does not know one of these, so it is refused."
        if len(places) > 1
        else f"{id_} sets {at}, but its API knows no field {name} there, so it is refused.",
        evidence=tuple(f"the message: {excerpt(text, 400)}" for text in complaint.texts[:1]),
        fixes=advice(__package__, "spec-says/unknown-field", facts, id_),
        pointer=places[0],
        likely=True,
    )


def _steps(node: Json, at: str) -> Iterator[str]:
    """The pointer of every field below, in the order of the manifest."""
    left = [(at, node)]
    while left:
        here, node = left.pop()
        if isinstance(node, dict):
            below = [(here + join_pointer(key), value) for key, value in node.items()]
            yield from (pointer for pointer, _ in below)
        elif isinstance(node, list):
            below = [(f"{here}/{index}", item) for index, item in enumerate(node)]
        else:
            continue
        left.extend(reversed(below))


def _explain_path(pointer: str) -> str:
    """The parent of a field as `kubectl explain` accepts it."""
    return ".".join(token for token in split_pointer(pointer)[:-1] if not token.isdigit())


def _number(text: str) -> Json:
    return int(text) if text.isdigit() else text


def _values_in_message(manifest: Object, text: str, offered: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Fields of the spec whose value is a separate word in the message and not one of the allowed values."""
    words = frozenset(re.findall(r"[\w./:+-]+", text[:8000])) | frozenset(w.rstrip(".:,") for w in text[:8000].split())
    lowered = text[:8000].lower()
    for pointer, value in leaves(manifest.get("spec"), "/spec"):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        field = next((t for t in reversed(split_pointer(pointer)) if not t.isdigit()), "")
        if str(value) in words and str(value) not in offered and field.lower() in lowered:
            yield pointer, str(value)


def _nearest(value: str, offered: tuple[str, ...]) -> str:
    """For versions the lowest above the refused one, else the highest; for words the one with the same beginning, else the first."""
    wanted, versions = parse_version(value), {word: parse_version(word) for word in offered}
    known = {word: version for word, version in versions.items() if version is not None}
    if wanted is not None and len(known) == len(offered):
        above = [word for word, version in known.items() if version > wanted]
        return min(above, key=lambda w: known[w]) if above else max(known, key=lambda w: known[w])
    return next((word for word in offered if word.lower() == value.lower()), offered[0])


_CONTAINER = regex(r"\bcontainers? [\"'`]?([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\b")
_LACKS = regex(
    r"\b(?:(?P<what>cpu|memory|ephemeral-storage) (?P<side>request|limit)|(?P<side2>request|limit) for (?P<what2>cpu|memory|ephemeral-storage))\b"
)
_TARGETS = (("spec", "scaleTargetRef"), ("spec", "targetRef"), ("spec", "workloadRef"))


def container_of_target(complaint: Complaint) -> Iterator[Explained]:
    """A sentence about a container of the workload that the object refers to: the workload must change, not the object."""
    app, id_ = complaint.app, complaint.id
    if id_ is None or complaint.manifest is None or pod_spec(complaint.manifest)[1]:
        return
    names = {name for text in complaint.texts for name in _CONTAINER.findall(text[:8000])}
    ref = next((mapping(complaint.manifest, *at) for at in _TARGETS if dig(complaint.manifest, *at)), {})
    group, kind = (text_at(ref, "apiVersion") or "apps/v1").rpartition("/")[0], text_at(ref, "kind") or "Deployment"
    target = app.find(group, kind, id_.namespace, text_at(ref, "name")) if names and ref else None
    if target is None or target.desired is None:
        return
    manifest = target.desired
    for pointer, container in containers(manifest):
        name = text_at(container, "name")
        if name not in names:
            continue
        lacks = complaint.first(_LACKS)
        what, side = (lacks["what"] or lacks["what2"], lacks["side"] or lacks["side2"]) if lacks else ("", "")
        at = f"{pointer}/resources/{side}s/{what}" if lacks else ""
        absent = bool(at) and get(manifest, at, None) is None
        if at and not absent:
            continue  # Git has what the message says is missing
        facts = {
            "workload": str(target.id),
            "container": name,
            "what": f"{what} {side}" if lacks else "",
            "patch": list(set_field(manifest, at, USUAL_REQUESTS[what])) if absent else [],
        }
        sentence = f"sets no {facts['what']}" if absent else f"is not as it must be ({telling(complaint.texts[0], 8)})"
        yield Explained(
            "spec-says",
            app.ref,
            target.id,
            f"{id_} fails, since container {name} of its {target.id} {sentence}.",
            evidence=(f"the message: {excerpt(complaint.texts[0], 400)}",),
            fixes=advice(__package__, "spec-says/container-of-target", facts, target.id),
        )
        return
