"""Fixes for a failed generator: it is not applied yet, it finds no credential, or its own identity is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from argolint import App, Edit, Fix, Fleet, Json, Resource
from argolint.edits import set_field
from argolint.edits.advice import advice
from argolint.values import get, number_at, sh
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from . import _external_secret as es
from . import _stores as stores
from ._advice_facts import facts
from ._sync_error_secret import field_fix
from ._sync_error_texts import Diagnosis, classify

_INSIDE = regex(r"^.{0,200}?(?:error using generator|could not generate \[\d{0,9}\]): ", re.DOTALL)
_NO_GENERATOR = regex(r'generators\.external-secrets\.io "[^"]+" not found|no matches for kind|generatorRef')


def generator_fixes(app: App, fleet: Fleet, resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """Fixes for a generator in Git that is not applied yet, or for an existing one that fails: its creation would not help."""
    if found.cause != "generator":
        return
    for kind, name, pointer in es.generator_refs(resource.live):
        own = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
        if own is not None and own.missing:
            sync = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
            edit = Edit("command", f"argocd app sync {sh(app.ref)}\n{sync}")
            yield Fix(f'Sync application {app.ref}, which holds {kind} "{name}" in Git', "live", str(app.ref), edit)
        elif own is None and f'"{name}" not found' in found.text:
            yield from _similar_generator_fixes(app, resource, kind, name, pointer)
    if found.topic in _PASSWORD:
        yield from _password_fixes(app, resource, found)
    elif has_generator_run(found):
        kind, name = failed_generator(resource, found)
        inner = generator_diagnosis(found, kind)
        if inner is not None and inner.cause == "store-credential":
            yield _credential_fix(resource, inner, f'{kind} "{name}"')
            return
        if inner is not None and (inner.cause in ("auth", "network") or inner.topic in ("aws-policy", "vault-backend")):
            origin = stores.Store(es.StoreRef(kind, name, ""))
            sync = es.force_sync(es.FULL_NAME, resource.namespace, resource.name)
            known = facts(app, fleet, origin, resource.namespace, resource.name, inner.text, inner.detail, sync)
            yield from advice(__package__, inner.advice, {**known, "key": name, "secret": "", "controller": ""})
            return
        edit = Edit("command", f"kubectl -n {sh(resource.namespace)} describe {es.FULL_NAME} {sh(resource.name)}")
        title = "Let the generator's own identity do what the error names, or correct the generator's settings"
        yield Fix(title, "manifest", "the generator", edit)


def failed_generator(resource: Resource, found: Diagnosis) -> tuple[str, str]:
    """Kind and name of the generator of the failed entry, else of the first one."""
    refs = es.generator_refs(resource.live)
    own = (ref for ref in refs if found.entry and ref[2].startswith(f"/spec/{found.entry}/{found.index}/"))
    return next(((kind, name) for kind, name, _ in (*own, *refs)), ("generator", ""))


_PASSWORD = ("generator-length", "generator-repeats")


def _password_fixes(app: App, resource: Resource, found: Diagnosis) -> Iterator[Fix]:
    """Edits of a Password generator of this application; a quarter of its length is taken for digits or symbols that it does not state."""
    kind, name = failed_generator(resource, found)
    own = app.find(es.GENERATORS, kind, "" if kind == "ClusterGenerator" else resource.namespace, name)
    base = "/spec/generator/passwordSpec" if kind == "ClusterGenerator" else "/spec"
    if own is None or own.desired is None:
        return
    stated = sum(number_at(get(own.desired, f"{base}/{field}", None)) for field in ("digits", "symbols"))
    title, field = f"Let {kind} {name} repeat signs", "allowRepeat"
    value: Json = True
    if found.topic == "generator-length":
        title, field, value = f"Let {kind} {name} make {2 * stated} signs", "length", 2 * stated
    edit = Edit("json-patch", set_field(own.desired, f"{base}/{field}", value))
    yield Fix(title, "manifest", str(own.id), edit, "the operator tries again within 7 min", resource=own.id)


def _similar_generator_fixes(app: App, resource: Resource, kind: str, wanted: str, pointer: str) -> Iterator[Fix]:
    """The only generator of that kind with a similar name, if its own settings alone define its value."""
    existing = [r for r in app.of_kind(kind, es.GENERATORS) if r.live and r.namespace == resource.namespace]
    if (
        kind in es.RANDOM_GENERATORS
        and len(existing) == 1
        and get_close_matches(wanted, [existing[0].name], cutoff=0.8)
    ):
        name = existing[0].name
        caveat = f"it generates another value for each ExternalSecret, with the length and characters that {name} sets"
        yield field_fix(
            resource, f'Generate the value with {kind} "{name}", which exists', f"{pointer}/name", name, caveat
        )


def generator_diagnosis(found: Diagnosis, kind: str) -> Diagnosis | None:
    """The error of a generator of this kind, without the operator's prefix."""
    provider = load(__package__, "generators.yaml")["providers"].get(kind, "")
    return classify(_INSIDE.sub("", found.text), "provider", provider=provider) if has_generator_run(found) else None


def _credential_fix(resource: Resource, inner: Diagnosis, generator: str) -> Fix:
    """The fix for a generator's credential: it reads that in the namespace of the ExternalSecret, and ignores `namespace` in its references.

    Source: external-secrets runtime/esutils/resolvers/secret_ref.go (only a ClusterSecretStore reads elsewhere); issues 3289 and 6940.
    """
    space, detail = resource.namespace, inner.detail
    kind = "ServiceAccount" if detail.get("account") else "Secret"
    name = detail.get("account") or detail.get("secret") or ""
    if inner.topic == "credential-own-namespace":
        title = f"Remove `namespace` from the references of {generator}, and keep what they name in namespace {space}"
    elif name:
        title = f'Create {kind} "{name}" in namespace {space}: {generator} reads it only there'
    else:
        title = f"Correct what {generator} authenticates with in namespace {space}"
    lines = (
        f"# Whatever `namespace` its references name, a generator reads them in the namespace of the ExternalSecret ({space}).",
        *((f"kubectl -n {sh(space)} get {kind.lower()} {sh(name)}",) if name else ()),
        f"{es.force_sync(es.FULL_NAME, space, resource.name)}   # afterwards",
    )
    return Fix(title, "manifest", generator, Edit("command", "\n".join(lines)))


def has_generator_run(found: Diagnosis) -> bool:
    """Whether the generator exists and fails."""
    return found.cause == "generator" and bool(found.text) and not _NO_GENERATOR.search(found.text)
