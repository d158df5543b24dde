"""One Application renders the same object twice

What it finds: an object that occurs more than once among one Application's manifests (`RepeatedResourceWarning`): two files contain it, two
sources or two subcharts render it, or a chart has a CRD both in `crds/` and in a template.

Why it hurts: the last one silently wins. An edit of the other copy has no effect, and a change of order, such as a renamed file, swaps them.

How to fix: delete one copy. The finding names the fields in which they differ, so that nothing is lost. A chart that is used twice renders its
objects twice: leave them out of one by a value. Equal copies of a CRD do no harm.

Example: `schemas.yaml` and `topics.yaml` both have ConfigMap `catalog-schemas`; the one in `topics.yaml` is applied.

Sources: DeduplicateTargetObjects in controller/state.go; argoproj/argo-cd issue 28026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from shlex import quote

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Object, Rank, Related, ResourceId, Rule, Want
from argolint.application.operation import Condition
from argolint.comparison import differences
from argolint.redaction import show_sides
from argolint.sequence.order import delete_policies, is_hook
from argolint.values import enumerated, get, mapping, sh
from argolint.values.kubernetes import group_of, is_secret
from argolint.values.patterns import regex

from ..shared.charts import inline_values

_MESSAGE = regex(r"Resource (?P<key>\S+) appeared (?P<count>\d+) times among application resources\.?")

_ADDED = regex(r"namespace|watch", re.IGNORECASE)
_LEFT_OUT = regex(r"exclu|ignor|deny|denied|skip|except", re.IGNORECASE)
"""Names of a chart's lists of namespaces for its objects, and of its exclusion lists."""


@dataclass(frozen=True)
class _Repeated:
    """An object that a warning names, and every copy of it in the render."""

    id: ResourceId
    condition: Condition
    copies: list[Object]


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The plain render, which has every copy."""
    if any(c.type == "RepeatedResourceWarning" for c in app.conditions):
        yield Want("manifests")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the objects that a RepeatedResourceWarning names, of which each is repeated alike."""
    alike: dict[tuple[str, str, str], list[_Repeated]] = {}
    for condition in app.conditions:
        found = _MESSAGE.fullmatch(condition.message) if condition.type == "RepeatedResourceWarning" else None
        if found is None or found["key"].count("/") != 3:
            continue
        group, kind, namespace, name = found["key"].split("/")
        listed = app.find(group, kind, namespace, name)
        resource = listed.id if listed else ResourceId(group, kind, namespace, name, "", app.cluster)
        copies = _copies(app, resource)
        fields = _differing_pointers(copies)
        if len(copies) < 2:
            outcome = "and only the last one counts"
        elif (ends := _deletes(copies[-1])) and not all(map(is_hook, copies)):
            outcome = f"and only the last one counts: a hook, which Argo CD deletes {ends}"
        elif fields:
            outcome = f"with different {enumerated(fields, 'field', limit=1)}, and only the last one counts"
        else:
            outcome = "with the same content, so an edit of one copy may do nothing"
        cause = (found["count"], outcome, found["key"] if fields else kind)
        alike.setdefault(cause, []).append(_Repeated(resource, condition, copies))
    for (count, outcome, _), repeated in alike.items():
        first = repeated[0]
        fields, ids = _differing_pointers(first.copies), [str(each.id) for each in repeated]
        yield Finding(
            message=f"{app.name} renders {enumerated(ids, 'object', limit=1)} {count} times, {outcome}.",
            at=Location(app.ref, first.id),
            evidence=(
                *(f"condition RepeatedResourceWarning: {each.condition.message}" for each in repeated),
                *_value_lines(first.copies),
            ),
            related=tuple(Related(app.ref, each.id, role="other") for each in repeated[1:]),
            fixes=(
                *_namespace_list_fixes(app, first.id),
                _repeat_fix(app, first.id, fields, read=len(first.copies) > 1),
            ),
            explains=tuple(each.condition.symptom for each in repeated),
        )


def _deletes(copy: Object) -> str:
    """When Argo CD deletes a copy that is a hook; empty if it is none."""
    policies = delete_policies(copy) if is_hook(copy) else frozenset()
    ends = {
        "HookSucceeded": "after its success",
        "HookFailed": "after its failure",
        "BeforeHookCreation": "before each sync",
    }
    return next((text for policy, text in ends.items() if policy in policies), "")


def _copies(app: App, resource: ResourceId) -> list[Object]:
    """Every rendered copy in order: one without a namespace is in the destination's, one of a cluster-scoped kind in none."""
    rendered: tuple[Object, ...] = app.evidence.get(Want("manifests")) or ()
    found: list[Object] = []
    for obj in rendered:
        metadata = obj.get("metadata") or {}
        namespace = resource.namespace and (metadata.get("namespace") or app.destination_namespace)
        if (group_of(obj), obj.get("kind"), namespace, metadata.get("name")) == (
            resource.group,
            resource.kind,
            resource.namespace,
            resource.name,
        ):
            plain = {k: v for k, v in metadata.items() if k != "namespace"}
            found.append({**obj, "metadata": {**plain, "namespace": namespace} if namespace else plain})
    return found


def _differing_pointers(copies: list[Object]) -> list[str]:
    """Pointers at which the last copy and the others differ."""
    return sorted({pointer for copy in copies[:-1] for pointer, _, _ in differences(copies[-1], copy)})


def _value_lines(copies: list[Object]) -> Iterator[str]:
    if len(copies) < 2 or is_secret(copies[-1]):
        return
    names = ("the first copy", *(f"copy {number}" for number in range(2, len(copies))), "the last, which is applied")
    for pointer in _differing_pointers(copies)[:6]:
        sides = show_sides(pointer, *((get(copy, pointer), copy) for copy in copies))
        yield f"{pointer}: {', '.join(f'{side} in {name}' for side, name in zip(sides, names, strict=True))}"


def _namespace_list_fixes(app: App, resource: ResourceId) -> Iterator[Fix]:
    """Fixes for a chart that makes an object for each namespace of a list, and always for its own: its own in the list makes two."""
    for source in app.sources if resource.namespace == app.destination_namespace else ():
        for name, namespaces in _text_lists(inline_values(mapping(source, "helm"))):
            if resource.namespace in namespaces and _ADDED.search(name) and not _LEFT_OUT.search(name):
                yield Fix(
                    f"Remove {quote(resource.namespace)} from {name}: it is where the chart itself is installed",
                    "helm-values",
                    f"the values of Application {app.ref}",
                    Edit("text", f"{name}: {json.dumps([n for n in namespaces if n != resource.namespace])}\n"),
                    caveat="helps where the chart adds its own namespace to that list by itself",
                )


def _text_lists(values: Mapping[str, Json], above: str = "") -> Iterator[tuple[str, list[str]]]:
    """Each list of texts in a chart's values, by its dotted name."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _text_lists(value, f"{above}{key}.")
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            yield f"{above}{key}", [str(item) for item in value]


def _repeat_fix(app: App, resource: ResourceId, fields: list[str], *, read: bool) -> Fix:
    places = [s for s in app.sources if s.get("path") or s.get("chart")]
    where = " and ".join(f"{s.get('path') or s.get('chart')} of {s.get('repoURL')}" for s in places) or "the source"
    if places and all(s.get("chart") for s in places):
        return _chart_fix(app, resource, places, where, fields)
    folder = str(places[0].get("path") or ".") if places else "."
    equal = "the copies are equal" if read else "the copies were not read: compare them first"
    if app.status.get("sourceType") == "Helm" and len(places) == 1:
        return _own_chart_fix(app, resource, folder, where, fields, equal)
    keep = f"keep the values wanted of {', '.join(fields[:3])}" if fields else equal
    return Fix(
        "Delete all copies but one",
        "manifest",
        where,
        Edit("command", f"grep -rn -- {quote(resource.name)} {quote(folder)}\n"),
        caveat=f"{keep}; of two subcharts switch one off by its value (skipCrds for crds/)",
        safe=read and not fields,
    )


def _own_chart_fix(app: App, resource: ResourceId, folder: str, where: str, fields: list[str], equal: str) -> Fix:
    """The fix for a chart in Git: its own templates, or a chart that occurs twice among its dependencies, also under another alias."""
    render = (
        f"helm template {sh(folder)} --dependency-update --namespace {sh(app.destination_namespace)} --include-crds"
    )
    return Fix(
        "Let one place render it: delete a template, or switch it off in one of the charts below",
        "helm-values",
        where,
        Edit(
            "command",
            f'{render} | grep -n -B12 -- {quote("name: " + resource.name)}   # "# Source:" names the templates and the charts\n',
        ),
        caveat=f"keep the values wanted of {', '.join(fields[:3])}" if fields else f"{equal}{_crd_hint(resource)}",
    )


def _crd_hint(resource: ResourceId) -> str:
    """A further fix for two copies of a CRD."""
    if resource.kind != "CustomResourceDefinition":
        return ""
    return (
        "; where both come from crds/ folders, helm.skipCrds leaves them out for an application of their own;"
        " equal copies do no harm"
    )


def _chart_fix(app: App, resource: ResourceId, places: list[Object], where: str, fields: list[str]) -> Fix:
    """The fix for charts of a repository: their templates belong to others, so only a value or another version removes one copy."""
    source = places[0]
    repo, chart, version = (str(source.get(key) or "") for key in ("repoURL", "chart", "targetRevision"))
    origin = (sh(f"oci://{repo}/{chart}"),) if "://" not in repo else (sh(chart), "--repo", sh(repo))
    differ = f"they differ in {enumerated(fields, 'field')}; " if fields else ""
    command = " ".join(
        (
            "helm template",
            *origin,
            "--version",
            sh(version),
            "--namespace",
            sh(app.destination_namespace),
            "--include-crds",
        )
    )
    return Fix(
        "Let the chart render it once, by a value or another version",
        "helm-values",
        where,
        Edit(
            "command",
            f'{command} --values VALUES_FILE | grep -n -B12 -- {quote("name: " + resource.name)}   # "# Source:" names the templates; helm show values lists their switches\n',
        ),
        caveat=f"{differ}where no value helps, report it to the chart{_crd_hint(resource)}",
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, wants=wants, rank=Rank.CAUSE)
