"""Checks a fix's requirements against the fleet: the only module that drops fixes for newer versions.

A fix names its needs (`Fix.needs`), except those that its edit shows (argocd_features.yaml, and the apiVersion that an edit writes). A fix
that needs a newer version becomes advice for after an upgrade, behind all others; an unknown need becomes a caveat; a met need is not
mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import msgspec

from argolint.application.app import App
from argolint.application.fleet import Fleet
from argolint.model import Edit, Finding, Fix, Need
from argolint.relations.operator_version import version_of
from argolint.values import get, joined, parse_version, text_at
from argolint.values.knowledge import load
from argolint.values.kubernetes import api_of
from argolint.values.patterns import regex

_NAMES = {"argocd": "Argo CD", "kubernetes": "Kubernetes", "external-secrets": "External Secrets"}


def fitted_fix(
    fix: Fix, versions: Sequence[str], app: App | None = None, fleet: Fleet | None = None
) -> tuple[Fix, bool]:
    """The fix adapted to this fleet, and whether it works before an upgrade.

    `versions`: those of every Argo CD that the fix is for.
    """
    unknown: list[str] = []
    fix = _by_plain_name(_at_values(fix, versions), versions)
    for need in (*fix.needs, *_needs_of_edit(fix)):
        for have, verdict in _verdicts(need, versions, app, fleet):
            if verdict is False and need.of == "argocd" and fix.older:
                (edit, caveat), *older = fix.older
                fallback = replace(fix, edit=edit, caveat=caveat, older=tuple(older))
                return fitted_fix(fallback, versions, app, fleet)
            if verdict is False:
                return _advice_after_upgrade(fix, need, have), False
            if verdict is None:
                unknown.append(f"needs {_NAMES[need.of]} {need.at_least} or later")
    return replace(fix, caveat=joined(fix.caveat, *dict.fromkeys(unknown))), True


def _at_values(fix: Fix, versions: Sequence[str]) -> Fix:
    """The fix with `values` as the place of its Helm values where a release's CustomResourceDefinition would drop a valuesObject."""
    since = dict(_features())[_AS_MAP]
    if not any(_meets_need(have, since) is False for have in versions):
        return fix
    content = fix.edit.content
    steps = content.replace(f"helm.{_AS_MAP} ", "helm.values ") if isinstance(content, str) else content
    place = f"{fix.where.removesuffix(_AS_MAP)}values" if fix.where.endswith(f".{_AS_MAP}") else fix.where
    return replace(fix, where=place, edit=replace(fix.edit, content=steps))


_AS_MAP = "valuesObject"


def _by_plain_name(fix: Fix, versions: Sequence[str]) -> Fix:
    """The fix with the name of an Application alone in commands for a release whose client takes no namespace in front of it."""
    if not any(_meets_need(have, _IN_ANY_NAMESPACE) is False for have in versions):
        return fix
    content = fix.edit.content
    edit = replace(fix.edit, content=_QUALIFIED.sub(r"\1", content)) if isinstance(content, str) else fix.edit
    before = tuple(_QUALIFIED.sub(r"\1", command) for command in fix.before)
    return replace(fix, edit=edit, before=before, caveat=_QUALIFIED.sub(r"\1", fix.caveat))


_IN_ANY_NAMESPACE = "2.5"
"""The first release with Applications outside of its own namespace (docs/operator-manual/app-any-namespace.md)."""
_QUALIFIED = regex(r"(\bargocd app [a-z]{1,20}(?:-[a-z]{1,20})? (?:-[^\s]{1,40} )?)[a-z0-9.-]{1,63}/(?=[a-z0-9])")


def _verdicts(
    need: Need, versions: Sequence[str], app: App | None, fleet: Fleet | None
) -> Iterator[tuple[str, bool | None]]:
    """The versions that count for a need, each with whether it is enough; None if that is unknown."""
    if need.of == "argocd":
        yield from ((have, _meets_need(have, need.at_least)) for have in versions or ("",))
    elif app is None or fleet is None:
        yield "", None
    elif need.of == "external-secrets":
        operator = version_of(app, fleet)
        yield str(operator), operator.at_least(need.at_least)
    else:
        cluster = fleet.kubernetes_version(app.cluster)
        yield cluster, _meets_need(cluster, need.at_least)


def _advice_after_upgrade(fix: Fix, need: Need, have: str) -> Fix:
    """The fix as advice: no program may write what this server does not know."""
    name = _NAMES[need.of]
    content = fix.edit.content if isinstance(fix.edit.content, str) else msgspec.json.encode(fix.edit.content).decode()
    return replace(
        fix,
        title=f"After an upgrade of {name} to {need.at_least} or later: {fix.title[:1].lower()}{fix.title[1:]}",
        edit=Edit("text", content),
        verified=None,
        unverified=f"it needs {name} {need.at_least}, and this is {have}",
        needs=(need,),
        trials=(),
    )


def ordered_fixes(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Fixes that work now come first; the first one is no alternative to another."""
    first, *others = sorted(fixes, key=lambda fix: fix.title.startswith("After an upgrade of ")) or (None,)
    if first is None:
        return ()
    alone = first.title.removeprefix("Or ")
    return (replace(first, title=f"{alone[:1].upper()}{alone[1:]}"), *others)


def not_served_reason(fix: Fix, finding: Finding, app: App, fleet: Fleet) -> str:
    """Why the cluster accepts no object with the edit's apiVersion; empty if it does or this is unknown."""
    id_ = finding.edits(fix)
    if fix.target != "manifest" or fix.edit.kind != "json-patch" or id_ is None:
        return ""
    for operation in fix.edit.content:
        if get(operation, "/path", "") == "/apiVersion" and isinstance(value := get(operation, "/value", None), str):
            group, version = api_of({"apiVersion": value})
            served = fleet.served_versions(app.cluster, group, id_.kind)
            if served and version not in served:
                return f"the cluster serves {id_.kind} as {', '.join(served)}, not as {version}"
    return ""


def _meets_need(have: str, wanted: str) -> bool | None:
    present, first = parse_version(have), parse_version(wanted)
    return None if present is None or first is None else present >= first


def _needs_of_edit(fix: Fix) -> Iterator[Need]:
    """The needs that the edit itself shows; an upgrade does not edit these."""
    text = str(fix.edit.content)
    for word, since in _features():
        if word in text and fix.edit.kind != "text":
            yield Need("argocd", since)


@cache
def _features() -> tuple[tuple[str, str], ...]:
    return tuple(
        (text_at(row, "word"), text_at(row, "since")) for row in load(__package__, "argocd_features.yaml")["features"]
    )
