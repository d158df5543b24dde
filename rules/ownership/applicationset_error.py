"""An ApplicationSet that cannot do its work

What it finds: an ApplicationSet whose status says that an error occurred (`ErrorOccurred`), or that its generators gave no parameters
(`ParametersGenerated` False). Names that are generated twice are reported by `appset-duplicate-application`.

Why it hurts: no new Application is made, and those that exist keep the spec of the last good run, while each of them may look
fine by itself.

How to fix: by the reason. A generator: its source, credentials or shape; a template: the parameter that it names; a refused
Application: the field that the message tells.

Example: a matrix generator with three children: `found more than two generators, Matrix support only two`.

Sources: applicationset/controllers/applicationset_controller.go, pkg/apis/application/v1alpha1/applicationset_types.go (conditions and
reasons).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argolint import App, AppRef, Edit, Finding, Fix, Fleet, Location, Object, ResourceId, Rule
from argolint.application.fleet import IN_CLUSTER
from argolint.messages import in_passing, quoted
from argolint.redaction import excerpt
from argolint.values import maps, sh, text_at

from ..shared.messages import catalogue
from ._application_sets import NAMED_TWICE, OWNED_TWICE, made_by

_CAUSES = {
    "ApplicationGenerationFromParamsError": "generator",
    "RenderTemplateParamsError": "template",
    "ApplicationValidationError": "validation",
    "CreateApplicationError": "apply",
    "UpdateApplicationError": "apply",
    "DeleteApplicationError": "apply",
    "RefreshApplicationError": "apply",
}
_FAILS = {
    "generator": "cannot generate its parameters",
    "template": "cannot fill in its template",
    "validation": "generates an Application that is refused",
    "apply": "cannot write one of its Applications",
    "unknown": "has failed",
}
_HOW = {
    "generator": "Correct the generator that the message names, or the access to what it reads",
    "template": "Correct the parameter that the template names",
    "validation": "Correct the field of the template that the message names",
    "apply": "Remove what keeps the controller from writing the Application",
    "unknown": "Remove the cause that the message names",
}


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding a set; reported by the first Application that it made, else by the fleet's first."""
    for raw, condition in fleet.derive(_by_application).get(app.ref, ()):
        yield _finding(app, raw, condition)


def _by_application(fleet: Fleet) -> Mapping[AppRef, Sequence[tuple[Object, Object]]]:
    found: dict[AppRef, list[tuple[Object, Object]]] = {}
    for raw in fleet.application_sets:
        condition = _failed(raw)
        name = text_at(raw, "metadata", "name")
        made = (app.ref for app in fleet.apps if made_by(app.raw, (name,)) and _same_namespace(app, raw))
        speaker = next(made, fleet.apps[0].ref if fleet.apps else None)
        if condition is not None and speaker is not None:
            found.setdefault(speaker, []).append((raw, condition))
    return found


def _same_namespace(app: App, raw: Object) -> bool:
    return text_at(raw, "metadata", "namespace") in ("", app.ref.namespace)


def _failed(raw: Object) -> Object | None:
    """The condition that tells the failure; None when all is well or another rule tells it."""
    conditions = {text_at(c, "type"): c for c in maps(raw, "status", "conditions")}
    for type_, bad in (("ErrorOccurred", "True"), ("ParametersGenerated", "False")):
        condition = conditions.get(type_)
        if condition is not None and condition.get("status") == bad:
            message = text_at(condition, "message")
            named = NAMED_TWICE.search(message) or OWNED_TWICE.search(message)
            return None if named or (bad == "False" and not message) else condition
    return None


def _finding(app: App, raw: Object, condition: Object) -> Finding:
    name, namespace = text_at(raw, "metadata", "name"), text_at(raw, "metadata", "namespace") or app.ref.namespace
    cause = _CAUSES.get(text_at(condition, "reason"), "unknown")
    id_ = ResourceId("argoproj.io", "ApplicationSet", namespace, name, "v1alpha1", IN_CLUSTER)
    command = f"kubectl -n {sh(namespace)} get applicationset {sh(name)} -o jsonpath='{{.status.conditions}}'"
    return Finding(
        message=in_passing(
            f"ApplicationSet {namespace}/{name} {_FAILS[cause]}",
            text_at(condition, "message"),
            f", so {_left(cause)} is made or updated",
        ),
        at=Location(app.ref, id_),
        cause=cause,
        evidence=(
            f'the controller says: "{quoted(text_at(condition, "message"), 400)}"',
            f"{text_at(condition, 'type')} {text_at(condition, 'status')}, reason {text_at(condition, 'reason') or 'not stated'}",
        ),
        fixes=(
            Fix(
                _how(cause, text_at(condition, "message")),
                "application",
                f"ApplicationSet {namespace}/{name}",
                Edit("command", command),
            ),
        ),
    )


def _how(cause: str, message: str) -> str:
    found = catalogue().match(message, "generate")
    if found is None:
        return _HOW[cause]
    return found.entry.sentence({name: excerpt(value) for name, value in found.facts.items()})


def _left(cause: str) -> str:
    return "not every Application of it" if cause == "apply" else "no Application of it"


RULE = Rule(
    id="applicationset-error",
    family="ownership",
    severity="error",
    doc=__doc__,
    check=check,
    causes=("generator", "template", "validation", "apply", "unknown"),
)
