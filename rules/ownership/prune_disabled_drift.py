"""Objects that left Git stay, since nothing prunes them

What it finds: objects that are live, carry this Application's tracking data and are no longer among its manifests, where pruning is
off: automated sync without `prune`, no automated sync at all, `Prune=false` on the object or for the whole Application, or
`Prune=confirm` that nobody confirmed.

Why it hurts: the Application stays OutOfSync for ever, which hides the next real difference, and what left Git still runs: old
Deployments take traffic and resources, old RBAC still grants.

How to fix: sync once with prune, or let automated sync prune. Look at the list first: what must stay goes back into Git, or gets
`compare-options: IgnoreExtraneous`.

Example: a Deployment and its Service were removed from Git; automated sync runs without prune, and both are still there.

Sources: gitops-engine/pkg/sync/sync_context.go (pruneObject), controller/state.go; docs/user-guide/sync-options.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Related, Resource, ResourceId, Rule, Severity, Symptom
from argolint.values import annotations_of

from .handover import SYNC_OPTIONS
from .references import users
from .tracking import copied_tracking


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each application; its extraneous objects are related."""
    if app.sync_status != "OutOfSync" or not app.desired_known or app.deleting:
        return
    extra = [r for r in app.resources if _extraneous(r) and not copied_tracking(r, fleet)]
    kept = {r.id: reason for r in extra if (reason := _why_kept(app, r))}
    if not kept:
        return
    only = not any(r.status == "OutOfSync" and r.id not in kept for r in app.resources)
    names = sorted(kept)
    shown = [str(id_) for id_ in names[:3]] + ([f"{len(names) - 3} more"] if len(names) > 3 else [])
    listed = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
    verb = "is" if len(names) == 1 else "are"
    reasons = sorted(set(kept.values()))
    yield Finding(
        message=f"{listed} left the manifests and {verb} kept, since {' and '.join(reasons)}, so the Application stays OutOfSync{' for nothing else' if only else ''}.",
        at=Location(app.ref),
        severity=_severity(app, reasons, only=only),
        evidence=tuple(f"{id_} is live, not desired: {kept[id_]}" for id_ in names),
        related=tuple(Related(app.ref, id_, role="symptom") for id_ in names),
        fixes=tuple(_fixes(app, names, automatic_off=_AUTOMATIC_OFF in reasons)),
        explains=tuple(Symptom.extra(id_) for id_ in names),
    )


_AUTOMATIC_OFF = "automated sync runs without prune"
_MANUAL = "nobody synced with prune"


def _extraneous(resource: Resource) -> bool:
    return not resource.hook and (resource.extra or (resource.requires_pruning and resource.status == "OutOfSync"))


def _why_kept(app: App, resource: Resource) -> str:
    """Why no sync prunes the object; empty when automated sync is about to."""
    if "IgnoreExtraneous" in app.compare_options or "IgnoreExtraneous" in _options(resource, _COMPARE):
        return ""
    found = _options(resource, SYNC_OPTIONS) | app.sync_options
    if "Prune=false" in found:
        return "Prune=false forbids it"
    if "Prune=confirm" in found:
        return "Prune=confirm waits for a person"
    if app.automated and not app.prune:
        return _AUTOMATIC_OFF
    return "" if app.automated else _MANUAL


_COMPARE = "argocd.argoproj.io/compare-options"


def _options(resource: Resource, annotation: str) -> frozenset[str]:
    text = annotations_of(resource.live).get(annotation) or ""
    return frozenset(option.strip() for option in text.split(",") if option.strip())


def _severity(app: App, reasons: list[str], *, only: bool) -> Severity:
    """A deliberate option and a sync that nobody has run yet are worth knowing; drift that stays by itself is a warning."""
    return "warning" if only and _AUTOMATIC_OFF in reasons else "info"


def _fixes(app: App, names: list[ResourceId], *, automatic_off: bool) -> Iterator[Fix]:
    named = users(app)
    needed = [str(i) for i in names if named.get((i.group, i.kind, i.namespace, i.name))]
    caveat = "deletes every object listed; look for data (PersistentVolumeClaims, Secrets) first"
    if needed:
        caveat = f"not yet: {' and '.join(needed[:3])} is still named by other manifests, which would break"
    yield Fix(
        "Sync once with prune",
        "live",
        f"Application {app.ref}",
        Edit("command", f"argocd app sync {app.ref} --prune\n"),
        caveat=caveat,
    )
    if automatic_off:
        yield Fix(
            "Let automated sync prune what leaves Git",
            "application",
            f"Application {app.ref}",
            Edit("json-patch", [{"op": "add", "path": "/spec/syncPolicy/automated/prune", "value": True}]),
            caveat="from then on every object that leaves Git is deleted at once; Prune=false on an object keeps it",
        )


RULE = Rule(id="prune-disabled-drift", family="ownership", severity="warning", doc=__doc__, check=check)
