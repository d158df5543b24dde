"""An ApplicationSet that fails

What it finds: an ApplicationSet whose status reports an error (`ErrorOccurred`), or whose generators gave no parameters (`ParametersGenerated`
False). Also a directory of a Git generator that no path can match, such as one with a slash in front, of which the status says nothing. The
rule `appset-duplicate-application` reports names that are generated twice.

Why it hurts: no new Application is created. The existing ones keep the spec of the last successful run, and each of them may look fine.

How to fix: by the reason. A generator: its source, credentials or shape. A template: the parameter in the message. A refused Application: the
field in the message.

Example: a matrix generator with three children: `found more than two generators, Matrix support only two`.

Sources: applicationset/controllers/applicationset_controller.go, pkg/apis/application/v1alpha1/applicationset_types.go (conditions and
reasons).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from argolint import App, AppRef, Edit, Finding, Fix, Fleet, Location, Object, ResourceId, Rule, Symptom
from argolint.application.application_sets import owned_applications
from argolint.application.fleet import IN_CLUSTER
from argolint.edits.advice import advice
from argolint.messages import in_passing, quoted
from argolint.redaction import excerpt, without_secrets
from argolint.values import dig, enumerated, mapping, maps, same_repository, sh, text_at, with_colon
from argolint.values.knowledge import load
from argolint.values.patterns import regex

from ..shared.application_sets import place_of, reporter
from ..shared.messages import catalogue
from ._application_sets import NAMED_TWICE, OWNED_TWICE
from ._dead_paths import dead_paths
from ._lacking import lack_of, missing_right, outdated_refusal, placeless_template
from ._set_edits import edit_fix

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
    "rollout": "cannot go on with its strategy",
    "unknown": "has failed",
}
_FIX_TEXTS = {
    "generator": "Correct the generator that the message names, or the access to what it reads",
    "template": "Correct the parameter that the template names",
    "validation": "Correct the field of the template that the message names",
    "apply": "Remove what keeps the controller from writing the Application",
    "unknown": "Remove the cause that the message names",
}


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each set, found with the Application that `reporter` names, and placed where it belongs."""
    for raw, condition in fleet.derive(_failures_by_application).get(app.ref, ()):
        yield _finding(app, fleet, raw, condition)
    for raw in fleet.derive(_dead_by_application).get(app.ref, ()):
        yield _dead_finding(app, fleet, raw)


def _dead_by_application(fleet: Fleet) -> Mapping[AppRef, Sequence[Object]]:
    found: dict[AppRef, list[Object]] = {}
    for raw in fleet.application_sets:
        if (at := reporter(fleet, raw)) is not None and next(dead_paths(raw), None):
            found.setdefault(at, []).append(raw)
    return found


def _dead_finding(app: App, fleet: Fleet, raw: Object) -> Finding:
    """Of directories that include nothing, or else of those that exclude nothing; the fix is of both, as they go together."""
    name, namespace = text_at(raw, "metadata", "name"), text_at(raw, "metadata", "namespace") or app.ref.namespace
    made, dead = owned_applications(fleet, raw), tuple(dead_paths(raw))
    including = [d for d in dead if not d.excludes]
    shown = including or dead
    facts = {
        "set": f"ApplicationSet {namespace}/{name}",
        "clean": excerpt(shown[0].clean, 120),
        "places": "\n".join(f"{d.pointer}: {d.clean or '*'}" for d in dead[:10]),
        "deletes": bool(made) and any(d.excludes for d in dead),
    }
    paths = enumerated([f'"{excerpt(d.path, 80) or d.path}"' for d in shown])
    does = "generates no Application" if including else "excludes nothing"
    reason = "Argo CD knows directories by their plain path below the root, such as apps/a"
    id_ = ResourceId("argoproj.io", "ApplicationSet", namespace, name, "v1alpha1", IN_CLUSTER)
    return Finding(
        message=f"ApplicationSet {namespace}/{name} {does} by {paths}: {reason}.",
        at=Location(place_of(fleet, raw), id_, shown[0].pointer),
        severity="error" if including and not made else "warning",
        cause="generator",
        evidence=(f"Applications of the set: {len(made)}",),
        fixes=advice(__package__, "applicationset-error/dead-path", facts),
    )


def _failures_by_application(fleet: Fleet) -> Mapping[AppRef, Sequence[tuple[Object, Object]]]:
    found: dict[AppRef, list[tuple[Object, Object]]] = {}
    for raw in fleet.application_sets:
        condition = _failed_condition(raw)
        if condition is None:
            continue
        if (at := reporter(fleet, raw)) is not None:
            found.setdefault(at, []).append((raw, condition))
    return found


def _failed_condition(raw: Object) -> Object | None:
    """The condition with the failure; None if there is none or another rule reports it."""
    conditions = {text_at(c, "type"): c for c in maps(raw, "status", "conditions")}
    for type_, bad in (("ErrorOccurred", "True"), ("ParametersGenerated", "False")):
        condition = conditions.get(type_)
        if condition is not None and condition.get("status") == bad:
            message = text_at(condition, "message")
            named = NAMED_TWICE.search(message) or OWNED_TWICE.search(message)
            return None if named or (bad == "False" and not message) else condition
    return None


def _finding(app: App, fleet: Fleet, raw: Object, condition: Object) -> Finding:
    name, namespace = text_at(raw, "metadata", "name"), text_at(raw, "metadata", "namespace") or app.ref.namespace
    cause = _CAUSES.get(text_at(condition, "reason"), "unknown")
    id_ = ResourceId("argoproj.io", "ApplicationSet", namespace, name, "v1alpha1", IN_CLUSTER)
    message, generators, where = (
        text_at(condition, "message"),
        tuple(_generators(raw)),
        f"ApplicationSet {namespace}/{name}",
    )
    lack = (
        lack_of(fleet, generators, message)
        or placeless_template(fleet, raw, message)
        or outdated_refusal(fleet, raw, generators, message)
        or missing_right(raw, message)
    )
    command = f"kubectl -n {sh(namespace)} get applicationset {sh(name)} -o jsonpath='{{.status.conditions}}'"
    subject = f"{where} {_FAILS['rollout' if _waits(condition) else cause]}"
    then = f", so {_missing_applications(cause)} is made or updated"
    if lack:
        fix = Fix(lack.remedy, "application", where, lack.edit())
    else:
        title = _specific_fix_text(fleet, raw, message) or _fix_text(cause, message)
        written = edit_fix(fleet, raw, generators, where, message)
        fix = written or Fix(title, "application", where, Edit("command", command))
    return Finding(
        message=f"{subject}: {lack.says}{then}." if lack else in_passing(subject, message, then),
        at=Location(place_of(fleet, raw), id_),
        cause=cause,
        evidence=(
            f'the controller says: "{quoted(message, 400)}"',
            f"{text_at(condition, 'type')} {text_at(condition, 'status')}, reason {text_at(condition, 'reason') or 'not stated'}",
        ),
        fixes=(fix,),
        explains=(Symptom.health(id_),),
    )


def _waits(condition: Object) -> bool:
    """Whether the controller only waits for an Application, in the order of the set's strategy."""
    found = catalogue().match(text_at(condition, "message"), "generate")
    return found is not None and found.entry.name == "rollout-stuck"


def _fix_text(cause: str, message: str) -> str:
    found = catalogue().match(message, "generate")
    if found is None:
        return _FIX_TEXTS[cause]
    return found.entry.sentence({name: excerpt(value) for name, value in found.facts.items()})


def _specific_fix_text(fleet: Fleet, raw: Object, message: str) -> str:
    """The fix, if the set's own generators or Argo CD's repositories show it; otherwise empty."""
    generators = tuple(_generators(raw))
    found = catalogue().match(message, "generate")
    name = found.entry.name if found else ""
    if found and name in ("parameter", "generator-parameters"):
        return _giving_generator(generators, found.facts.get("what") or "")
    if name == "credentials":
        asked = _ASKED.search(message)
        return _refused_token(generators, asked["host"]) if asked else _project_repository(fleet, generators)
    if name == "repository":
        return _absent_repository(fleet, generators)
    if found and name == "repo-server-unreachable" and _all_by_ssh(generators):
        return catalogue()["generate/ssh-reset"].sentence({"what": excerpt(found.facts.get("what") or "")})
    if ("{{" in message or name == "elements-yaml") and (written := _go_expression(raw)):
        return f"Set goTemplate: true and begin each parameter with a dot: without it, {excerpt(written, 80)} is not filled in"
    if (bare := _BARE.search(message)) and _has_bare(raw, bare["name"]):
        return f"Write {{{{.{bare['name']}}}}} in the template: with goTemplate each parameter begins with a dot"
    if name == "not-found":
        return next(
            (
                f"Name an organization in gitea.owner, which lists no repositories of a user ({excerpt(owner, 60)}), or let the token see it"
                for kind, body in generators
                if kind == "scmProvider" and (owner := text_at(body, "gitea", "owner"))
            ),
            "",
        )
    return ""


def _all_by_ssh(generators: Sequence[tuple[str, Object]]) -> bool:
    urls = [text_at(body, "repoURL") for kind, body in generators if kind == "git"]
    return bool(urls) and not any(url.startswith("http") for url in urls)


_BARE = regex(r'function "(?P<name>\w{1,100})" not defined')

_GO = regex(
    r"\{\{-?\s*(?:(?:if|range|with|index|dig|get|default|printf|toJson|toYaml)\s+[^\s{}]|\.|[\w.]{1,100}\s*\|)[^{}]{0,300}\}\}"
)
"""Expressions that only a Go template evaluates: a leading dot, a function, a pipe."""


def _go_expression(raw: Object) -> str:
    """A Go template expression in a set that does not use Go templates; else empty."""
    found = None if dig(raw, "spec", "goTemplate") else _GO.search(json.dumps(raw.get("spec")))
    return found[0].replace('\\"', '"') if found else ""


def _has_bare(raw: Object, name: str) -> bool:
    """Whether the set writes a parameter as it does without Go templates: `{{name}}`."""
    return f"{{{{{name}}}}}" in json.dumps(raw.get("spec")).replace(" ", "")


def _giving_generator(generators: Sequence[tuple[str, Object]], parameter: str) -> str:
    """The generator that would give the parameter, if this set has no such generator and no own element with that name."""
    givers = load(__package__, "generator_parameters.yaml").get(parameter) or ()
    has = sorted({kind for kind, _ in generators} - {"matrix", "merge"})
    # parameters of lists, files and plugins depend on their authors; only the list shows them
    if not givers or not has or not {*givers, "plugin"}.isdisjoint(has) or _reads_files(generators):
        return ""
    return f"Take .{parameter} from a {' or '.join(givers)} generator, or write the value otherwise: it has {' and '.join(has)} alone"


def _reads_files(generators: Sequence[tuple[str, Object]]) -> bool:
    return any(body.get("files") or body.get("elementsYaml") for _, body in generators)


_ASKED = regex(r"\b(?:GET|POST) https?://(?P<host>[\w.:-]{1,200})/")
"""A request to the API of a provider, as its client names it in an error; Git names none."""
_OF_PROVIDERS = ("pullRequest", "scmProvider")
_TOKENS = ("tokenRef", "accessTokenRef", "passwordRef")


def _refused_token(generators: Sequence[tuple[str, Object]], host: str) -> str:
    """The Secret of the token that the provider refuses, or the only generator, which has none; empty if there are several."""
    asking = [(kind, body) for kind, body in generators if kind in _OF_PROVIDERS]
    if len(asking) != 1:
        return ""
    kind, body = asking[0]
    for settings in body.values():
        if app := text_at(settings, "appSecretName"):
            return f"Correct the GitHub App in Secret {app}, which {host} refuses"
        for holder in (settings, *(settings.values() if isinstance(settings, dict) else ())):
            for ref in (mapping(holder, token) for token in _TOKENS):
                if secret := text_at(ref, "secretName"):
                    return f"Renew the token in Secret {secret} (key {text_at(ref, 'key')}), which {host} refuses"
    return f"Give the {kind} generator a token: {host} refuses to answer without one"


def _project_repository(fleet: Fleet, generators: Sequence[tuple[str, Object]]) -> str:
    """A repository whose credentials belong to a project, while the generator uses those without a project."""
    unknown = [
        url
        for kind, body in generators
        if kind == "git"
        and (url := text_at(body, "repoURL"))
        and not any(same_repository(text_at(r, "repo"), url) for r in fleet.repositories)
    ]
    if len(unknown) == 1 and fleet.repositories:
        return f"Register {excerpt(without_secrets(unknown[0]), 120)} with credentials: no repository of that address is registered"
    for kind, body in generators:
        url = text_at(body, "repoURL")
        known = [r for r in fleet.repositories if kind == "git" and same_repository(text_at(r, "repo"), url)]
        projects = sorted({text_at(r, "project") for r in known})
        if projects and all(projects):
            return f"Register {excerpt(without_secrets(url), 120)} without a project, or with that of the template: its credentials belong to project {', '.join(projects)}"
    return ""


def _absent_repository(fleet: Fleet, generators: Sequence[tuple[str, Object]]) -> str:
    """The address of the only Git generator, or of the only one without a registered repository: its host shows no such repository."""
    urls = {text_at(body, "repoURL") for kind, body in generators if kind == "git"} - {""}
    new = {u for u in urls if not any(same_repository(text_at(r, "repo"), u) for r in fleet.repositories)}
    found = urls if len(urls) == 1 else new
    if len(found) != 1:
        return ""
    url = next(iter(found))
    shown = excerpt(without_secrets(url), 120)
    if meant := with_colon(url):
        return f"Write a colon behind the host of repoURL: {excerpt(meant, 120)}; Git takes {shown} for a folder"
    return (
        f"Correct repoURL {shown} of the generator, or register it with credentials: its host shows no such repository"
    )


def _generators(raw: Object) -> Iterator[tuple[str, Object]]:
    """(kind, body) of every generator of the set, with those inside a matrix or merge."""
    remaining = list(maps(raw, "spec", "generators"))
    for _ in range(_MOST):
        if not remaining:
            return
        for kind, body in remaining.pop(0).items():
            if isinstance(body, dict) and kind not in ("selector", "template"):
                yield kind, body
                remaining.extend(maps(body, "generators"))


_MOST = 64
"""Most generators of one set that are read."""


def _missing_applications(cause: str) -> str:
    """Only Applications that are refused themselves stay out of it (validateGeneratedApplications)."""
    return "not every Application of it" if cause in ("apply", "validation") else "no Application of it"


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    causes=("generator", "template", "validation", "apply", "unknown"),
)
