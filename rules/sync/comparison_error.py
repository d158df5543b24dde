"""Argo CD cannot compare the application

What it finds: a ComparisonError. Argo CD could not render the manifests, read the cluster or compare the two. The rule reads the cause from the
message: credentials (`auth`), `path`, `revision`, `helm`, `kustomize`, `jsonnet`, `plugin`, an invalid `ignore-rule`, the `cluster`, the
calculation of the `diff`, a `manifest`, a fetch by `git`, the `network` to a repository, a `limit` of time or size, `argocd` itself, or
`unknown`.

Why it hurts: sync status is Unknown, nothing is synced or healed, and drift stays unseen. Argo CD caches the error: after three failures the
repo-server answers from its cache for an hour (`Manifest generation error (cached)`).

A source hydrator that cannot render or push (`status.sourceHydrator`) is reported as well.

How to fix: repair the cause, in Git or in the Application. Then do a hard refresh, to clear the cached error.

Example: `targetRevision: release-2.3` in a repository without such a branch or tag.

Sources: controller/state.go (CompareAppState), reposerver/repository/repository.go, util/argo/normalizers/diff_normalizer.go
of Argo CD.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Condition, Finding, Fleet, Follows, Location, Object, Related, ResourceId, Rule, Symptom
from argolint.messages import in_passing, quoting
from argolint.redaction import excerpt, without_secrets
from argolint.relations import Complaint, resolved
from argolint.values import mapping, text_at
from argolint.values.patterns import regex

from ._comparison import classify, comparison_fault, repeats_comparison
from ._objects import missing_symptoms
from ._sources import renderers, source_in

_CACHED = regex(r"Manifest generation error \(cached\): ?")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each ComparisonError."""
    for condition in app.conditions:
        if condition.of_health:
            yield from _health_check_findings(app, fleet, condition)
        elif condition.type == "ComparisonError":
            complaint = Complaint(app, fleet, None, None, (condition.message,))
            yield resolved(_finding(app, fleet, condition), complaint)
    hydration = mapping(app.status, "sourceHydrator", "currentOperation")
    if hydration.get("phase") == "Failed":
        yield _hydration_finding(app, fleet, text_at(hydration, "message"))


def _hydration_finding(app: App, fleet: Fleet, message: str) -> Finding:
    """A finding for a source hydrator that could not render or push: the source that Argo CD compares stays as it was."""
    found = comparison_fault(app, fleet, message, dry=True)
    known = found.name != "unknown"
    subject = f"Application {app.ref} is not hydrated, so new commits do not reach it"
    return Finding(
        message=(f"{subject}: {found.fact}." if found.whole else in_passing(f"{subject}: {found.fact}", message))
        if known
        else quoting(subject, message),
        at=Location(app.ref, None, found.pointer or "/spec/sourceHydrator"),
        cause=found.cause,
        evidence=(f"status.sourceHydrator.currentOperation: Failed: {excerpt(message, 600)}",),
        fixes=found.fixes if known else (),
        follows=_follows(app, found.cause, source_in(app, message, dry=True)),
    )


def _health_check_findings(app: App, fleet: Fleet, condition: Condition) -> Iterator[Finding]:
    """A finding for a health check that failed after the comparison, unless the unknown health of an object shows it."""
    if any(condition.judges(r.id) and r.health.status == "Unknown" for r in app.resources):
        return
    found = comparison_fault(app, fleet, condition.message)
    known = found.name == "health-version"
    why = found.fact if known else "a health check fails"
    yield Finding(
        message=in_passing(f"Argo CD cannot tell the health of application {app.ref}: {why}", condition.message),
        at=Location(app.ref),
        cause=found.cause if known else "unknown",
        evidence=tuple(_evidence(condition)),
        fixes=found.fixes if known or found.name in ("health-check", "health-built-in") else (),
        explains=(condition.symptom, Symptom.health()),
    )


def _finding(app: App, fleet: Fleet, condition: Condition) -> Finding:
    message = condition.message
    found = comparison_fault(app, fleet, message)
    at = f" at {found.resource.id}" if found.resource and found.cause == "diff" else ""
    subject = f"Application {app.ref} cannot sync{at}: {found.fact}"
    behind = _of_parent(app, fleet, found.cause)
    judged = _judged(app, found.name, message)
    return Finding(
        message=f"{subject}." if found.whole else in_passing(subject, message),
        at=Location(app.ref, None, found.pointer),
        cause=found.cause,
        evidence=(*_evidence(condition), *(f"{f.app} renders it, and its own path is gone" for f in behind)),
        fixes=found.fixes,
        related=tuple(Related(app.ref, id_, role="cause") for id_ in judged),
        explains=(
            condition.symptom,
            *(c.symptom for c in app.conditions if repeats_comparison(app, c)),
            Symptom.sync(),
            *([Symptom.health()] if app.health.status == "Unknown" else []),
            *([Symptom.operation()] if _has_operation_comparison_error(app) else []),
            *([Symptom.condition("SyncError")] if _has_operation_comparison_error(app) else []),
            *missing_symptoms(app),
        ),
        follows=(
            *behind,
            *(Follows(Symptom.health(id_)) for id_ in judged),
            *_late(found.name),
            *_follows(app, found.cause, source_in(app, message)),
        ),
    )


def _judged(app: App, name: str, message: str) -> list[ResourceId]:
    """The objects whose health check says the same: releases before the form of `Condition.of_health` wrote the error of the script alone."""
    if name not in ("health-check", "health-built-in"):
        return []
    return [r.id for r in app.resources if r.health.status == "Unknown" and r.health.message == message]


def _of_parent(app: App, fleet: Fleet, cause: str) -> tuple[Follows, ...]:
    """The Application that renders this one, if it has lost its path as well: what is right in Git by now does not come from there."""
    parents = [fleet.by_ref[ref] for ref in renderers(app, fleet) if ref != app.ref] if cause == "path" else []
    lost = [
        parent
        for parent in parents
        if any(c.type == "ComparisonError" and classify(c.message).cause == "path" for c in parent.conditions)
    ]
    return tuple(Follows(app=parent.ref) for parent in lost[:1])


def _follows(app: App, cause: str, source: Object) -> tuple[Follows, ...]:
    """Causes that all applications share: a cluster that Argo CD cannot read, a repository without access, a repo-server without an answer."""
    if cause == "cluster":
        return (Follows.common(f"Argo CD cannot read cluster {app.cluster}.", "cluster", app.cluster),)
    repository = without_secrets(text_at(source, "repoURL"))
    if cause != "auth" or not repository:
        return ()
    return (Follows.common(f"Argo CD cannot read the repository {repository}.", "repository", repository),)


def _late(name: str) -> tuple[Follows, ...]:
    title = "The repo-server does not answer the application controller in time."
    return (Follows.common(title, "repo-server"),) if name == "deadline" else ()


def _has_operation_comparison_error(app: App) -> bool:
    return app.operation is not None and app.operation.failed and "ComparisonError" in app.operation.message


def _evidence(condition: Condition) -> Iterator[str]:
    yield f"condition ComparisonError: {excerpt(condition.message, 600)}"
    if condition.since:
        yield f"since {condition.since:%Y-%m-%d %H:%M:%SZ}"
    if _CACHED.search(condition.message):
        yield "the repo-server answers from its cache of errors (60 min); a hard refresh tries again"


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    causes=(
        "auth",
        "path",
        "revision",
        "helm",
        "kustomize",
        "jsonnet",
        "plugin",
        "ignore-rule",
        "cluster",
        "diff",
        "manifest",
        "git",
        "network",
        "limit",
        "argocd",
        "unknown",
    ),
)
