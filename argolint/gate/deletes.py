"""Sentences on what a change deletes, for the top of a verdict."""

from __future__ import annotations

from collections.abc import Iterator

from argolint.application.fleet import Fleet
from argolint.edits.pruning import cascades, refuses_to_empty
from argolint.forecast.deletion import deletion_by_prune, deletion_of_apps
from argolint.forecast.fate import DeletionForecast
from argolint.gate.delta import successors
from argolint.gate.touched import Touched
from argolint.model import Finding
from argolint.redaction.findings import guarded
from argolint.values import enumerated

_SAID = ("volume-deleted", "namespace-with-content", "instances-deleted", "child-application", "objects-deleted")
"""Causes in output order: deletions that also delete data or other objects come first."""
_MOST = 8


def deletion_sentences(touched: tuple[Touched, ...], fleets: tuple[Fleet, ...]) -> tuple[str, ...]:
    """One sentence each, the worst first; further ones are counted."""
    by_server = {fleet.server: fleet for fleet in fleets}
    by_sets = tuple(_set_sentences(touched))
    found = [f for t in touched for f in _deletion_findings(t, by_server.get(t.ref.server))]
    found.sort(key=lambda f: _SAID.index(f.cause or ""))
    sentences = (*by_sets, *dict.fromkeys(guarded(f).message for f in found))
    more = (f"{len(sentences) - _MOST} more deletions are in the list of changes.",) if sentences[_MOST:] else ()
    return (*sentences[:_MOST], *more)


def _set_sentences(touched: tuple[Touched, ...]) -> Iterator[str]:
    """One sentence for each ApplicationSet that deletes Applications."""
    for by in dict.fromkeys(t.by for t in touched if t.by is not None):
        own = [t for t in touched if t.by == by]
        refs = enumerated([str(t.ref) for t in own], limit=3)
        its, them = ("their", "them") if len(own) > 1 else ("its", "it")
        bare = all(t.before is not None and not cascades(t.before) for t in own)
        along = f"{'without' if bare else 'with'} {its} objects"
        how = f"is removed, and deletes {refs}" if by.removed else f"no longer gives {refs}, and deletes {them}"
        unless = "" if by.is_certain else ", unless the policy of its controller forbids that"
        yield f"{by.of} {how} {along}{unless}."
        if by.kept_too_late and not bare:
            # deleteInCluster deletes an Application as it is; only those that the set still gives lose the finalizer (createOrUpdateInCluster)
            yield (
                f"The preserveResourcesOnDeletion that the change gives {by.of} does not keep {its} objects: the set takes the finalizer "
                "from the Applications that it still gives. Merge that alone first."
            )


def _deletion_findings(touched: Touched, fleet: Fleet | None) -> Iterator[Finding]:
    app = touched.before
    if app is None or fleet is None:
        return
    forecast: DeletionForecast | None = None
    by_itself = True
    if touched.what == "removed":
        forecast = deletion_of_apps([app], fleet) if cascades(app) else None
    elif touched.delta.removed and touched.after is not None and not refuses_to_empty(touched.after):
        synced_as = app.with_raw({**app.raw, "spec": touched.after.spec}) if touched.respecified else app
        by_itself = synced_as.automated and synced_as.prune
        gone = touched.delta.removed.keys() - successors(touched.delta).keys()
        forecast = deletion_by_prune([synced_as], fleet, frozenset(gone))
    own = {f.at.resource for f in forecast.findings if f.cause in _SAID[:-1]} if forecast else set()
    for found in forecast.findings if forecast else ():
        if found.cause == _SAID[-1] and by_itself and {r.resource for r in found.related} <= own:
            continue  # each has a sentence of its own
        of_set = found.at.resource is not None and found.at.resource.kind == "ApplicationSet"
        if found.cause in _SAID and not of_set:  # _by_sets reports it
            yield found
