"""Argo CD cannot read how long to wait before a retry

What it finds: an Application whose `syncPolicy.retry.backoff` has a `duration` or `maxDuration` that Argo CD cannot parse. Also one that a sync is about to create.

Why it hurts: Argo CD reads it when a sync fails, and then gives up with "failed to retry" instead of trying again. Nothing refuses such an Application: its
definition takes any text.

How to fix: write seconds, minutes or hours (`30s`, `5m`, `1h30m`), or a number of seconds without a unit; there is no unit for days.

Example: `maxDuration: 1d`, and the first sync that fails is also the last.

Not reported: an Application with `limit: 0`, which never retries.

Sources: pkg/apis/application/v1alpha1/types.go (RetryStrategy.NextRetryAt, parseStringToDuration), controller/appcontroller.go (processRequestedAppOperation) of Argo CD, 2.14 to 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, AppRef, Edit, Finding, Fix, Fleet, Json, Location, Object, ResourceId, Rule
from argolint.edits import application_place, manifest_patch
from argolint.redaction import excerpt
from argolint.values import mapping, text_at
from argolint.values.patterns import regex

from ._field_checks import form_problem


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each duration of the Application, and of one that its sync creates."""
    for at, text in _faults(app.spec):
        yield _finding(f"Application {app.ref}", Location(app.ref, None, at), text, _fix(app, at, text))
    for child in app.of_kind("Application", "argoproj.io"):
        if child.live is None and AppRef(child.namespace, child.name) not in fleet.by_ref:
            for at, text in _faults(mapping(child.desired, "spec")):
                yield _finding(str(child.id), Location(app.ref, child.id, at), text, _manifest_fix(child.id, at, text))


def _faults(spec: Object) -> Iterator[tuple[str, str]]:
    """The pointers and texts that Argo CD cannot parse."""
    retry = mapping(spec, "syncPolicy", "retry")
    for field in ("duration", "maxDuration") if retry.get("limit") else ():
        text = text_at(retry, "backoff", field)
        if text and not _NUMBER.fullmatch(text) and form_problem("duration", text):
            yield f"/spec/syncPolicy/retry/backoff/{field}", text


def _finding(who: str, at: Location, text: str, fix: Fix) -> Finding:
    return Finding(
        message=f'{who} gives up after the first failed sync, since Argo CD cannot read "{excerpt(text, 40)}" as a duration.',
        at=at,
        confidence="proven",
        fixes=(fix,),
    )


_TITLE = "Write the duration in seconds, minutes or hours"


def _fix(app: App, at: str, text: str) -> Fix:
    edit = _edit(at, text)
    return Fix(_TITLE, "application", application_place(app), edit, safe=edit.kind == "json-patch")


def _manifest_fix(id_: ResourceId, at: str, text: str) -> Fix:
    meant = _meant(text)
    if meant is None:
        return Fix(_TITLE, "manifest", str(id_), _edit(at, text))
    return manifest_patch(id_, _TITLE, [{"op": "replace", "path": at, "value": meant}], safe=True)


def _edit(at: str, text: str) -> Edit:
    meant = _meant(text)
    if meant is None:
        return Edit("text", f'{at}: "{excerpt(text, 40)}" has another form\n')
    step: Json = {"op": "replace", "path": at, "value": meant}
    return Edit("json-patch", [step])


def _meant(text: str) -> str | None:
    """The duration that is plainly meant: `1d` is `24h`, `5 min` is `5m`."""
    found = _WORDS.fullmatch(text.lower())
    if found is None:
        return None
    number, unit = int(found[1]), found[2][0]
    return f"{number * 24}h" if unit == "d" else f"{number}{unit}"


_NUMBER = regex("[-+]?[0-9]{1,18}")
_WORDS = regex("([0-9]{1,6}) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)")

RULE = Rule(**Rule.page(__name__), severity="warning", check=check)
