"""A server-side apply leaves what Git has dropped

What it finds: a field or list item that an earlier client-side apply wrote, that Git does not have any more, and that is still live with that very
value. The application syncs with `ServerSideApply=true`, which takes out only fields of its own manager; another manager owns this one. Also a list of a Rollout's pod template that Git lacks, once the
controller of Argo Rollouts has written it again in its own spelling: such a list has one owner for all of it.

Why it hurts: the running object is not what Git says, and Argo CD shows no difference: fields that Git does not name do not count.

How to fix: take the field out of the live object once. Argo CD 3.1 and later move the fields of one earlier manager to their own at a sync
(`argocd.argoproj.io/client-side-apply-migration-manager`).

Argo CD shows no sign of this fault. In a fleet of up to 200 applications, all are read for it. In a larger fleet, an application without
symptoms is only checked if another rule reads it, or with `--deep`.

Example: an environment variable that was removed from Git after the move to server-side apply.

Sources: argoproj/argo-cd#23214, #22797; kubernetes/kubernetes#99003; docs/user-guide/sync-options.md (client-side apply migration);
argoproj/argo-rollouts#4500, #3281.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Need, Rank, Resource, Rule
from argolint.application.applied import by_argocd, settled
from argolint.comparison import LAST_APPLIED, last_applied, managers, syncs_server_side, writers
from argolint.edits import application_place, set_field
from argolint.redaction import show
from argolint.values import enumerated, get, join_pointer, mapping
from argolint.values.kubernetes import ARGOCD_ANNOTATION

from ..shared.triage import worth_reading
from ._dropped import left_fields
from ._edits import live_removal_fix

_OPTION = "ServerSideApply=true"
_TOOLS = ("kubectl", "helm", "argocd-controller", "argocd-application-controller", "before-first-apply")
"""Managers of programs that apply whole manifests client-side."""
_MOST = 20
"""Most fields in one finding."""


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application syncs server-side, in a fleet that is read."""
    return _OPTION in app.sync_options and worth_reading(app, fleet)


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""
    if not app.desired_known:
        return
    candidates = app.stated if _OPTION in app.sync_options else app.mentioning(ARGOCD_ANNOTATION, "desired")
    for resource in candidates:
        rollout = (resource.group, resource.kind) == ("argoproj.io", "Rollout")
        if resource.hook or not (rollout or resource.mentions(LAST_APPLIED, "live")):
            continue
        if not syncs_server_side(app.raw, resource.desired) or not settled(app, resource):
            continue
        if found := resource.derive(_left_behind):
            yield _finding(app, fleet, resource, found)
        elif rollout and (kept := resource.derive(_kept_lists)):
            yield _list_finding(app, resource, kept)


def _left_behind(resource: Resource) -> tuple[str, ...]:
    """The fields that Argo CD's server-side apply has left to a client-side one."""
    live, desired = resource.live, resource.desired
    if live is None or desired is None or not any(by_argocd(w) and w.operation == "Apply" for w in managers(live)):
        return ()
    was = last_applied(live)
    found = left_fields(was, desired, live) if was is not None else ()
    return tuple(p for p in found if _is_of_tools(live, p))[:_MOST]


def _is_of_tools(live: Mapping[str, Json], pointer: str) -> bool:
    """Whether only client-side applies own the field: a controller that wrote it wants it."""
    owners = writers(dict(live), pointer)
    return bool(owners) and all(w.operation == "Update" and w.manager.startswith(_TOOLS) for w in owners)


def _finding(app: App, fleet: Fleet, resource: Resource, found: tuple[str, ...]) -> Finding:
    manager = writers(dict(resource.live or {}), found[0])[0].manager
    by_itself = fleet.at_least(3, 1) and manager == "kubectl-client-side-apply"  # Argo CD has tried that one already
    return _stays(
        app,
        resource,
        found,
        manager,
        "live, as last-applied-configuration has it",
        f"{manager} owns it by an Update, and Argo CD applies server-side since",
        (live_removal_fix(resource, found, _REMOVE), *_takeover_fixes(app, "" if by_itself else manager)),
    )


def _stays(
    app: App, resource: Resource, found: tuple[str, ...], owner: str, seen: str, why: str, fixes: tuple[Fix, ...]
) -> Finding:
    """The finding for fields that `owner` keeps; `seen` ends the line of evidence of each."""
    live = resource.live or {}
    return Finding(
        message=f"{resource.id} still has {enumerated(found, 'field', limit=1)}, which Git has dropped: a server-side sync leaves what {owner} owns.",
        at=Location(app.ref, resource.id, found[0]),
        confidence="likely",
        evidence=(*(f"{p}: {show(get(live, p), p, within=live)} {seen}" for p in found), why),
        fixes=fixes,
    )


_REMOVE = "Remove from the live object what Git has dropped"


def _kept_lists(resource: Resource) -> tuple[str, ...]:
    """The lists of a Rollout's pod template that Git lacks and that its controller alone owns: it writes lists again, and adds none."""
    live, desired = resource.live, resource.desired
    if live is None or desired is None or not any(by_argocd(w) and w.operation == "Apply" for w in managers(live)):
        return ()
    lists = (k for k, value in mapping(live, *_POD).items() if isinstance(value, list) and value)
    places = (f"{join_pointer(*_POD)}/{k}" for k in lists if k not in mapping(desired, *_POD))
    return tuple(p for p in places if mapping(desired, *_POD) and _is_rewritten(live, p))


def _is_rewritten(live: Mapping[str, Json], pointer: str) -> bool:
    owners = writers(dict(live), pointer)
    return bool(owners) and all(w.operation == "Update" and w.manager == _ROLLOUTS for w in owners)


_POD = ("spec", "template", "spec")
_ROLLOUTS = "rollouts-controller"


def _list_finding(app: App, resource: Resource, found: tuple[str, ...]) -> Finding:
    caveat = "the Rollout makes new pods; a container without resources: {} hands its list to the controller again"
    return _stays(
        app,
        resource,
        found,
        _ROLLOUTS,
        "live, absent in Git",
        f"{_ROLLOUTS} owns the list as a whole: it writes a list again once a value in it is not in its own spelling",
        (replace(live_removal_fix(resource, found, _REMOVE, caveat), effects=("restarts",)),),
    )


def _takeover_fixes(app: App, manager: str) -> Iterator[Fix]:
    """The annotation that moves a manager's fields to Argo CD at a sync; none without a manager to name."""
    if manager:
        yield Fix(
            f"Or let Argo CD take over what {manager} applied, at its next sync",
            "application",
            application_place(app),
            Edit("json-patch", set_field(app.raw, f"/metadata/annotations/{_MIGRATION}", manager)),
            needs=(Need("argocd", "3.1"),),
        )


_MIGRATION = "argocd.argoproj.io~1client-side-apply-migration-manager"


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads, rank=Rank.CAUSE)
