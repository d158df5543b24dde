"""Fixes for a failure in the Secret that an ExternalSecret writes: its owner, its keys, the result of its template."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argolint import Edit, Fix, Resource, ResourceId
from argolint.edits import manifest_yaml, set_field
from argolint.values import dig, join_pointer, mapping
from argolint.values.patterns import regex

from . import _external_secret as es
from ._rewrite import braces_fix, lost_groups
from ._sync_error_texts import Diagnosis


def secret_fixes(resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """Edits of spec.target for a message of the operator or the API server about the Secret."""
    if found.cause == "owned-by-external-secret" and es.creation_policy(resource.live) in es.MERGING_POLICIES:
        yield from _merge_fixes(resource, found.detail.get("owner") or "the other one")
    elif found.cause == "invalid-keys" and found.detail.get("item"):
        yield from _engine_fixes(resource, found.detail["item"])
    elif found.cause == "invalid-keys":
        yield from (
            braces_fix(lost, f"ExternalSecret {resource.namespace}/{resource.name}")
            for lost in lost_groups(resource.live)
        )
    elif found.topic in ("admission-docker", "admission-docker-base64"):
        yield from _encoding_fixes(resource, found.detail["item"])


def secret_id(resource: Resource) -> ResourceId:
    """The Secret that the ExternalSecret writes."""
    return ResourceId("", "Secret", resource.namespace, es.target_name(resource.any), "v1", resource.id.cluster)


def written_once_fix(resource: Resource) -> Fix:
    """The fix for an immutable Secret, after its deletion: each later change fails again (issue 3604).

    Alone it mends nothing: the operator looks no more at what it has created once, and its condition stays as it is (tried with v0.16.2).
    """
    if str(dig(resource.live, "apiVersion")).endswith("/v1"):
        title, path, value = (
            "Write the immutable Secret once: refreshPolicy CreatedOnce",
            "/spec/refreshPolicy",
            "CreatedOnce",
        )
    else:
        title, path, value = 'Write the immutable Secret once: refreshInterval "0"', "/spec/refreshInterval", "0"
    return field_fix(
        resource,
        title,
        path,
        value,
        caveat="Ready stays False until the Secret is deleted; a new value then takes a new Secret and ExternalSecret",
    )


def _merge_fixes(resource: Resource, owner: str) -> Iterator[Fix]:
    """Fixes for a Secret of another ExternalSecret: since v0.11.0 the operator adds nothing to it (issue 4225)."""
    where = f"ExternalSecret {resource.namespace}/{owner}"
    text = f"""spec:
  data:
  - secretKey: <a key of {resource.name}>
    remoteRef: {{key: <its key>}}
    sourceRef:
      storeRef: {{kind: <kind>, name: <the store of {resource.name}>}}"""
    title = f"Fetch the keys of {resource.name} in the owner of the Secret, each from its own store"
    yield manifest_yaml(
        where,
        title,
        text,
        f"since v0.11.0 {es.creation_policy(resource.live)} adds nothing to a Secret that another ExternalSecret owns; remove {resource.name} afterwards",
    )
    yield manifest_yaml(
        where,
        "Let the first ExternalSecret create the Secret without owning it",
        "spec:\n  target:\n    creationPolicy: Orphan",
        "the Secret then stays when that ExternalSecret is deleted",
    )


def _engine_fixes(resource: Resource, item: str) -> Iterator[Fix]:
    """The fix for engine v1, which writes labels and annotations of the template as data since v0.11.0 (issue 4172)."""
    template = mapping(resource.live, "spec", "target", "template")
    named = {**mapping(template, "metadata", "labels"), **mapping(template, "metadata", "annotations")}
    if template.get("engineVersion") == "v1" and item in named:
        title = "Let engine v2 read the template: v1 writes its labels and annotations into the data"
        yield field_fix(
            resource,
            title,
            "/spec/target/template/engineVersion",
            "v2",
            caveat="functions of v1 that take bytes (toBytes, base64decode, ...) have other names there; v1 ended with v0.17.0",
        )


def is_encoding(resource: Resource, item: str) -> bool:
    """Whether the template encodes this key as base64 at its end."""
    text = dig(resource.live, "spec", "target", "template", "data", item)
    return _ENCODED.match(str(text or "")) is not None


_ENCODED = regex(r"^(?P<before>\s*+\{\{-?.*)\|\s*+(?:b64enc|base64encode)\s*(?P<after>-?\}\}\s*)$", re.DOTALL)


def _encoding_fixes(resource: Resource, item: str) -> Iterator[Fix]:
    """The fix for a template that encodes as base64, although the operator does that itself."""
    text = dig(resource.live, "spec", "target", "template", "data", item)
    if (found := _ENCODED.match(str(text or ""))) is not None:
        path = "/spec/target/template/data" + join_pointer(item)
        plain = f"{found['before'].rstrip()} {found['after']}"
        yield field_fix(resource, "Leave b64enc out: target.template.data takes plain values", path, plain)


def field_fix(resource: Resource, title: str, path: str, value: str, caveat: str = "") -> Fix:
    """A fix that sets one field of the ExternalSecret or PushSecret."""
    edit = Edit("json-patch", set_field(resource.any, path, value))
    return Fix(title, "manifest", str(resource.id), edit, caveat)
