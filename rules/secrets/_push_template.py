"""Why the template of a PushSecret fails: the operator writes that into its log alone, and leaves the condition as it is.

Source: external-secrets pkg/controllers/pushsecret/pushsecret_controller.go (Reconcile returns the error of applyTemplate without markAsFailed).
"""

from __future__ import annotations

from dataclasses import dataclass

from argolint import App, Resource
from argolint.relations.operator_version import OperatorVersion
from argolint.values import dig, enumerated, text_at
from argolint.values.kubernetes import data_keys

from ._template import misread_names, unfetched_names, unparsed_templates

PUSHED = "/spec/template"


@dataclass(frozen=True)
class TemplateFault:
    """`says` completes "because …", `mends` is the title of the fix."""

    pointer: str
    says: str
    mends: str


def template_fault(app: App, resource: Resource) -> TemplateFault | None:
    """The first fault of the live template that is certain; None for a template without one, or with an unknown source."""
    if resource.kind != "PushSecret" or not dig(resource.live, "spec", "template"):
        return None
    for one in misread_names(resource.live, PUSHED):
        says = f"Go cannot read {one.written} in its template"
        return TemplateFault(one.pointer, says, f"Write {one.correction} for {one.written}")
    for template in unparsed_templates(resource.live, OperatorVersion(), PUSHED):
        return TemplateFault(template.pointer, f"its template {template.says}", template.mends)
    source = text_at(resource.live, "spec", "selector", "secret", "name")
    held = app.find("", "Secret", resource.namespace, source)
    keys = data_keys(held.live or held.desired) if held is not None else frozenset()
    missing = unfetched_names(resource.live, keys) if keys else ()
    if not missing:
        return None
    absent = enumerated([f'"{name}"' for name in dict.fromkeys(each.name.partition(".")[0] for each in missing)])
    similar = missing[0].similar_key if len(missing) == 1 else ""
    read = f'"{similar}"' if similar else f'keys that Secret "{source}" holds'
    return TemplateFault(
        missing[0].pointer,
        f'its template reads {absent}, which Secret "{source}" does not hold',
        f"Read {read} in place of {absent} in the template",
    )
