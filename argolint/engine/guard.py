"""Masks secrets in an application's findings and in failures from crashes of rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.application.rule import Rule
from argolint.errors import MORE_MEMORY, UnreadableStateError
from argolint.model import AppRef, Failure, Finding, Fix, Object, ResourceKey
from argolint.redaction.findings import NOTHING_KNOWN, Known, guarded, guarded_failure, secrets_of


class Guard:
    """Masks secrets in what rules say about one application; the known secrets of an object are collected once for all findings."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._secrets: dict[ResourceKey, frozenset[str]] = {}

    @cached_property
    def _own(self) -> frozenset[str]:
        return secrets_of(self._app.spec)

    def finding(self, finding: Finding) -> Finding:
        """The finding without secrets; the secrets of the objects that it names are also found by their values."""
        app = self._app

        def edited(finding: Finding, fix: Fix) -> Iterable[Object]:
            target = finding.edits(fix)
            resource = app.resource(target.key) if target and fix.target != "application" else None
            return (app.raw,) if fix.target == "application" else _read_states(resource) if resource else ()

        subjects = {finding.at.resource, *(r.resource for r in finding.related if r.app == app.ref)}
        spoken = [r for id_ in subjects if id_ and (r := app.resource(id_.key))]
        if finding.at.resource is None and any(line.startswith("/") for line in finding.evidence):
            spoken += [r for r in app.resources if r.status != "Synced"]  # it lists differences without their object
        return guarded(finding, self.known(spoken), edited)

    def known(self, resources: Iterable[Resource]) -> Known:
        """The secrets of the application's spec and of these objects."""
        for resource in (found := tuple(resources)):
            if resource.key not in self._secrets:
                self._secrets[resource.key] = secrets_of(*reversed((*_read_states(resource),)))
        return Known((*self._own, *(s for resource in found for s in self._secrets[resource.key])))


def _read_states(resource: Resource) -> Iterator[Object]:
    """The states that rules have read: a finding cannot contain values of others."""
    return filter(None, (resource.__dict__.get(side) for side in ("desired", "normalized", "live")))


def crash_failure(
    rule: Rule, app: App | None, stage: str, error: BaseException, known: Known = NOTHING_KNOWN
) -> Failure:
    """A rule's crash as a Failure; this includes `sys.exit()` in a rule, but not Ctrl-C."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    ref = app.ref if app else None
    if isinstance(
        error, UnreadableStateError
    ):  # it is the same for every rule that reads the state, and no rule's fault
        return Failure("states", error.message, error.hint, ref)
    if isinstance(error, MemoryError):  # other applications use the memory at the same time: no rule's fault either
        return Failure(stage, f"there was not enough memory for rule {rule.id}", MORE_MEMORY, ref, rule.id)
    if app is not None:
        known = Guard(app).known(app.resources)
    return Failure(
        stage,
        known.without(f"rule {rule.id} failed: {_error_text(error)}"),
        "this is a bug of the rule: report it, and pass --ignore " + rule.id + " meanwhile",
        ref,
        rule.id,
    )


def guarded_failures(app: App, failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """Failures without the secrets of the application's spec: a server and Git repeat what they were sent."""
    known = Guard(app).known(()) if failures else NOTHING_KNOWN
    return tuple(guarded_failure(failure, known) for failure in failures)


def unfinished_failure(ref: AppRef, error: Exception) -> Failure:
    """The failure of an application whose examination ended early, neither by a rule's crash nor by an answer."""
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        problem = f"cannot read or write{where}: {error.strerror or error}"
        return Failure("inspect", problem, "check the space left, and how many files may be open (`ulimit -n`)", ref)
    if isinstance(error, MemoryError):
        return Failure("inspect", "there was not enough memory to look at it", MORE_MEMORY, ref)
    return Failure("inspect", f"argolint failed: {_error_text(error)}", "this is a bug of argolint: report it", ref)


def _error_text(error: BaseException) -> str:
    """An error for a developer: type, text and the place where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {error}{place}"
