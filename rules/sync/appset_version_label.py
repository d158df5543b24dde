"""An ApplicationSet selects clusters by a version in the wrong format

What it finds: a cluster generator that selects the label `argocd.argoproj.io/kubernetes-version` as `1.34`, on an Argo CD that writes `v1.34.2`
(3.3.3 and later); or as `v1.34.2`, on one that writes `1.34`.

Why it hurts: the selector matches no cluster. The ApplicationSet then makes no Application, and deletes those that it has made, unless its
syncPolicy forbids that.

How to fix: first forbid the deletion (`applicationsSync: create-update`). Then select by your own label, since a patch upgrade of a cluster
changes the label of Argo CD.

Example: `matchLabels: {argocd.argoproj.io/kubernetes-version: "1.34"}` on Argo CD 3.4.

Sources: Argo CD's upgrade notes of 3.3 and 3.4 (kubernetes-version label); docs/operator-manual/applicationset/Generators-Cluster.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint import App, AppRef, Edit, Finding, Fix, Fleet, Json, Location, Object, ResourceId, Rule, Want
from argolint.application.application_sets import controller_seen, generators, settings_want
from argolint.application.fleet import IN_CLUSTER
from argolint.redaction import excerpt
from argolint.values import dig, mapping, maps, parse_version, text_at, texts
from argolint.values.patterns import regex

from ..shared.application_sets import place_of, reporter

LABEL = "argocd.argoproj.io/kubernetes-version"
_SHORT = regex(r"\d{1,3}\.\d{1,3}")
_LONG = regex(r"v\d{1,3}\.\d{1,3}\.\d{1,3}\S{0,60}")
_NEW = (3, 3, 3)
"""The first release that writes the patch version too."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ApplicationSet."""
    for raw, pointer, version in fleet.derive(_mismatches_by_application).get(app.ref, ()):
        keeps = not controller_seen(app, fleet).deletes(raw)
        yield _finding(place_of(fleet, raw), raw, pointer, version, fleet.version, keeps=keeps)


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The controller's policy, which applies to every ApplicationSet."""
    want = settings_want(fleet)
    if want is not None and want.app != app.ref and fleet.derive(_mismatches_by_application).get(app.ref):
        yield want


def _mismatches_by_application(fleet: Fleet) -> Mapping[AppRef, Sequence[tuple[Object, str, str]]]:
    found: dict[AppRef, list[tuple[Object, str, str]]] = {}
    long = _writes_patch(fleet.version)
    for raw in fleet.application_sets if long is not None else ():
        at = reporter(fleet, raw)
        wrong = next(
            (each for each in _selected_versions(raw.get("spec")) if _is_other_form(each[1], long)),
            None,
        )
        if at is not None and wrong is not None:
            found.setdefault(at, []).append((raw, *wrong))
    return found


def _writes_patch(version: str) -> bool | None:
    """Whether this version writes the patch version; None if it is unknown."""
    have = parse_version(version)
    return (*have, 0, 0)[:3] >= _NEW if have else None


def _is_other_form(version: str, writes_patch: bool | None) -> bool:
    return bool((_SHORT if writes_patch else _LONG).fullmatch(version))


def _selected_versions(spec: Json) -> Iterator[tuple[str, str]]:
    """(pointer, value) of each version that a cluster generator selects, in nested generators as well."""
    for here, generator, _ in generators(spec):
        selector = dig(generator, "clusters", "selector")
        labels = mapping(selector, "matchLabels")
        if isinstance(labels.get(LABEL), str):
            yield f"{here}/clusters/selector/matchLabels/{LABEL.replace('/', '~1')}", str(labels[LABEL])
        for number, expression in enumerate(maps(selector, "matchExpressions")):
            if expression.get("key") == LABEL and expression.get("operator") == "In":
                values = texts(expression, "values")
                if values and all(_SHORT.fullmatch(v) or _LONG.fullmatch(v) for v in values):
                    yield f"{here}/clusters/selector/matchExpressions/{number}/values", values[0]


def _finding(at: AppRef, raw: Object, pointer: str, selected: str, version: str, *, keeps: bool) -> Finding:
    name, namespace = text_at(raw, "metadata", "name"), text_at(raw, "metadata", "namespace") or at.namespace
    consequence = "so it makes no Application" if keeps else "so it may delete its Applications"
    text = f"spec:\n  syncPolicy:\n    applicationsSync: create-update   # first: nothing is deleted while the selector is changed\n# then a label of your own on the cluster Secrets, or {LABEL} as Argo CD {version} writes it\n"
    return Finding(
        message=f"ApplicationSet {namespace}/{name} selects clusters of version {excerpt(selected, 40)}, which Argo CD {version} writes in another form, {consequence}.",
        at=Location(at, ResourceId("argoproj.io", "ApplicationSet", namespace, name, "v1alpha1", IN_CLUSTER), pointer),
        severity="warning" if keeps else "error",
        confidence="likely",
        evidence=(f"{LABEL} holds v1.34.2 from 3.3.3 on, and 1.34 before",),
        fixes=(
            Fix(
                "Forbid the deletion, then select by a label of your own",
                "application",
                f"ApplicationSet {namespace}/{name}",
                Edit("yaml", text),
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="error", check=check, wants=wants, standing=True)
