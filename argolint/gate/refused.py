"""Checks whether Argo CD will accept an Application that a change edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint.application.app import App, sources_of
from argolint.application.fleet import Fleet
from argolint.application.permissions import refusals
from argolint.application.shared_warnings import without_conditions
from argolint.model import Edit, Finding, Fix, Location, Object, Source
from argolint.redaction import excerpt, without_secrets
from argolint.values import items, mapping, same_repository, text_at

REFUSED_RULE = "invalid-spec"
"""The rule about Applications that Argo CD refuses."""


def unknown_repositories(app: App, fleet: Fleet) -> Iterator[Finding]:
    """Sources whose repository the server does not have and no live application uses; nothing if the server shows no repositories.

    A public repository needs no entry, so this proves nothing: a typo looks the same.
    """
    refused = tuple(refusals(app.spec, fleet))
    for url in _unknown(app.spec, fleet):
        if any(f"application repo {url} is" in message for message in refused):
            continue
        shown = excerpt(without_secrets(url))
        yield Finding(
            message=f'Application {app.ref} names the repository "{shown}", which this Argo CD does not know: '
            "no repository is registered by this URL, and no application has a source there.",
            at=Location(app.ref, None, _pointer(app.spec, url)),
            cause="repository",
            severity="warning",
            confidence="possible",
            rule=REFUSED_RULE,
            family="sync",
            source=Source(without_secrets(url)),
            fixes=(
                Fix(
                    "Correct the URL, or register the repository",
                    "application",
                    f"Application {app.ref}",
                    Edit("text", "Correct repoURL; a private repository is registered with `argocd repo add`."),
                    unverified="whether the repository exists is not known here",
                ),
            ),
        )


def _pointer(spec: Object, url: str) -> str:
    if items(spec, "sources"):
        return f"/spec/sources/{next(i for i, s in enumerate(items(spec, 'sources')) if text_at(s, 'repoURL') == url)}/repoURL"
    return "/spec/sourceHydrator/drySource/repoURL" if spec.get("sourceHydrator") else "/spec/source/repoURL"


def _unknown(spec: Object, fleet: Fleet) -> tuple[str, ...]:
    known = [text_at(r, "repo") for r in fleet.repositories]
    if not known:
        return ()
    known += [text_at(s, "repoURL") for app in fleet.apps for s in app.sources]
    urls = dict.fromkeys(text_at(s, "repoURL") for s in sources_of(spec))
    return tuple(url for url in urls if url and not any(same_repository(url, other) for other in known))


def refused_app(app: App, before: Object | None, fleet: Fleet, coming: frozenset[str] = frozenset()) -> App:
    """The application with the InvalidSpecErrors of its new spec, and without those of `before`, its current spec, that end."""
    new = tuple(refusals(app.spec, fleet, coming))
    old = tuple(refusals(before, fleet, coming)) if before is not None else ()
    raw = app.raw
    if old and not new:
        raw = without_conditions(raw, lambda condition: condition.get("type") == "InvalidSpecError")
    fresh = [message for message in new if message not in old]
    return with_refusals(app if raw is app.raw else app.with_raw(raw), fresh)


def with_refusals(app: App, messages: Sequence[str]) -> App:
    """The application with an InvalidSpecError for each message."""
    if not messages:
        return app
    stamp = app.observed_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    made = [{"type": "InvalidSpecError", "message": message, "lastTransitionTime": stamp} for message in messages]
    status = {**mapping(app.raw, "status"), "conditions": [*items(app.raw, "status", "conditions"), *made]}
    status["sync"] = {**mapping(status, "sync"), "status": "Unknown"}
    return app.with_raw({**app.raw, "status": status})
