"""The evidence that a value is generated again at each render: the signs that the rules of this family share.

Argo CD renders without a cluster, so `lookup` is empty, and a chart generates a random value again whenever the manifests leave the cache:
expiry, hard refresh, any commit. Argo CD masks Secret values, pairwise in managed-resources and one by one in manifests. So two renders of a
Secret never differ; the checksums that hash it do.

Sources: util/helm/cmd.go and reposerver/cache/cache.go of Argo CD; measured on the charts of charts.yaml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from argolint import App, Fleet, Resource, ResourceKey, Want
from argolint.comparison import application_rules, has_sync_option, matches_object, removed, server_rules
from argolint.edits import RESPECT
from argolint.values import at_and_above, below

from ..shared import charts
from ._drift import drift_signs
from ._items import hashed_secret_signs, known_secret_signs, sign_with_item
from ._renders import one_render_signs, two_render_signs
from ._shapes import moved_times
from ._sign import WORKLOADS, Sign, stronger
from ._syncs import new_commits


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """Two fresh renders of all that may be random, the plain manifests if a hook Secret may rotate, and the messages of commits since the sync
    of a differing Secret or time."""
    if is_rendered(app):
        yield Want("render")
        times = (moved_times(c.desired, c.live) for r in app.changed for c in r.changes)
        if any(r.modified for r in app.of_kind("Secret", "")) or any(times):
            yield from new_commits(app)
        if hook_secrets(app):
            yield Want("manifests")


def reads(app: App, fleet: Fleet, options: object = None) -> bool:
    """Whether an application without symptoms may have a random value: a chart with a Secret that is known or hashed twice."""
    if not is_rendered(app) or not any(not r.hook for r in app.of_kind("Secret", "")):
        return False
    workloads = sum(r.kind in WORKLOADS for r in app.resources)
    return workloads > 1 or any(next(release.random(), None) for release in charts.releases(app))


def is_rendered(app: App) -> bool:
    """False if every source is a directory of plain manifests: those render equally each time.

    Before the first render Argo CD has not set the type of a source; then the source's own fields must show it.
    """
    for index, source in enumerate(app.sources):
        kind = charts.source_type(app, index)
        if kind not in ("Directory", "") or (not kind and any(source.get(k) for k in ("chart", "helm", "plugin"))):
            return True
    return False


def hook_secrets(app: App) -> tuple[Resource, ...]:
    """Secrets that hooks of this application create; their states are not sent."""
    return tuple(r for r in app.of_kind("Secret", "") if r.hook)


def signs(app: App, fleet: Fleet) -> tuple[Sign, ...]:
    """Every sign of this application, the strongest for each place, sorted."""
    return app.derive(_signs, fleet)


def _signs(app: App, fleet: Fleet) -> tuple[Sign, ...]:
    if not is_rendered(app) or not _may_have_signs(app):
        return ()
    known = charts.releases(app)
    found = [*two_render_signs(app), *drift_signs(app, fleet, known), *one_render_signs(app, known)]
    merged = _merged_signs(sign_with_item(sign, app, known) for sign in found)
    merged = _merged_signs([*merged, *hashed_secret_signs(app, merged)])
    with_sign = {sign.resource.key for sign in merged}
    latent = [s for s in known_secret_signs(app, fleet, known) if s.resource.key not in with_sign]
    kept: dict[ResourceKey, frozenset[str]] = {}
    every = [s for s in (*merged, *latent) if s.claims or not _is_kept_live(app, fleet, s, kept)]
    return tuple(sorted(every, key=lambda s: (s.resource.key, s.pointer)))


def _merged_signs(found: Iterable[Sign]) -> list[Sign]:
    """One sign for each place: the strongest, with every reason and claim."""
    places: dict[tuple[ResourceKey, str], Sign] = {}
    for sign in found:
        place = (sign.resource.key, sign.pointer)
        have = places.get(place)
        if have is None:
            places[place] = sign
            continue
        strong, weak = (have, sign) if stronger(have.confidence, sign.confidence) == have.confidence else (sign, have)
        places[place] = replace(
            strong,
            why="\n".join(dict.fromkeys((*strong.why.split("\n"), *weak.why.split("\n")))),
            claims=tuple(dict.fromkeys((*strong.claims, *weak.claims))),
            item=strong.item or weak.item,
            release=strong.release or weak.release,
        )
    return list(places.values())


def _is_kept_live(app: App, fleet: Fleet, sign: Sign, known: dict[ResourceKey, frozenset[str]]) -> bool:
    """Whether the field is ignored and each sync keeps its live value: then the second choice is in use already."""
    resource = app.resource(sign.resource.key)
    if resource is None or not has_sync_option(app.raw, resource.desired, RESPECT):
        return False
    kept = known.get(resource.key)
    if kept is None:
        rules = (*application_rules(app.raw), *server_rules(fleet.settings))
        matching = [rule for rule in rules if matches_object(rule, resource.any)]
        kept = known[resource.key] = frozenset(removed(resource.any, *matching))
    masked = sign.kind == "secret" and sign.pointer == "/data"  # the random key is not visible
    return not kept.isdisjoint(at_and_above(sign.pointer)) or (masked and any(below(p, sign.pointer) for p in kept))


def _may_have_signs(app: App) -> bool:
    """Whether anything differs, was rendered twice, or is a Secret of the chart: otherwise nothing is decoded."""
    return bool(
        app.evidence.get(Want("render"))
        or app.changed
        or any(r.missing or r.extra for r in app.resources)
        or any(not r.hook for r in app.of_kind("Secret", ""))
    )
