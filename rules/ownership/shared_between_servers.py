"""One object that Applications of two Argo CDs deploy

What it finds: an object of one cluster that Applications of several Argo CDs list, in a run that reads them all (`--servers`, `--all-contexts`).
An Argo CD alone cannot see this: it does not have the other one's Applications. Two addresses count as one cluster if the address is a name of
the public DNS, or if `clusters:` of the servers file gives it one name. `in-cluster` and private addresses are another cluster on every Argo CD.

Why it hurts: if both render the object, each sync of one replaces the content and tracking data of the other, and the deletion of one
Application deletes the object of the other. If the two Applications have one name, their tracking data is the same. Each Argo CD then treats the
objects of the other as its own leftovers, and a sync with prune deletes them.

How to fix: deploy each object from one Argo CD. If two Argo CDs deploy to one cluster on purpose, give each its own `installationID` (with label
tracking its own `application.instanceLabelKey`), so that none treats the other's objects as its own.

Causes: `both-deploy` (both render it), `same-tracking` (one renders it, the other has the same tracking data and will prune it), `left-behind`
(one renders it, the other deployed it before and will prune it).

Example: Application `monitoring` is set up on a new Argo CD, and the old one keeps its own. Both sync ClusterRole `prometheus`, and the deletion
of the old Application with its objects deletes the new one's role.

Sources: util/argo/resource_tracking.go and CompareAppState in controller/state.go of Argo CD; docs/user-guide/resource_tracking.md
(Installation ID); argoproj/argo-cd issues 2352, 11402, 13079, 20222.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from argolint import (
    App,
    AppRef,
    Edit,
    Fact,
    Finding,
    Fix,
    Fleet,
    Json,
    Location,
    Rank,
    Related,
    ResourceId,
    ResourceKey,
    Rule,
    Symptom,
)
from argolint.application.fleet import Claimant, Crossing
from argolint.application.shared_warnings import shared_warnings
from argolint.edits import live_command, manifest_text
from argolint.edits.handover import guard, sync, unguard
from argolint.values import enumerated, sh

from ._installations import installation_id_fix, label_key_fix
from ._tracking import is_tracking

_LISTED = 20
"""Most objects of a crossing in one fact: the fact of each application names them all."""
_SHOWN = 8
"""Most objects in evidence and commands."""


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """The objects that this application shares with those of other Argo CDs, and the symptoms that follow here."""
    for crossing in fleet.crossings.get(app.ref, ()):
        claimants, pruners = ([_party_data(c) for c in parties] for parties in (crossing.claimants, crossing.pruners))
        names = [f"{c['argocd_url']} {c['app'][0]}/{c['app'][1]}" for c in (*claimants, *pruners)]
        yield Fact(
            "\0".join((crossing.cluster, *names, "pruned" if pruners else "deployed")),
            app.ref,
            {
                "cluster": crossing.cluster,
                "claimants": claimants,
                "pruners": pruners,
                "objects": [list(o) for o in crossing.objects[:_LISTED]],
                "count": len(crossing.objects),
                "symptoms": list(_symptoms(app, fleet, crossing)),
                "coming": all(_is_coming(_own_resource(app, found)) for found in crossing.objects),
                "out": any(_is_out_of_sync(_own_resource(app, found)) for found in crossing.objects),
            },
        )


def _party_data(claimant: Claimant) -> dict[str, Json]:
    ref = claimant.app
    return {
        "app": [ref.namespace, ref.name, ref.project, ref.server],
        "argocd": claimant.argocd,
        "argocd_url": ref.server,
        "cluster": claimant.cluster,
        "tracking": [
            claimant.instance,
            claimant.label_key if claimant.tracking_method == "label" else "",
            "" if claimant.tracking_method == "label" else claimant.installation,
        ],
        "prunes": claimant.prunes,
    }


def _own_resource(app: App, found: Sequence[str]) -> Any:
    return app.resource(ResourceKey(app.cluster, *found))


def _is_coming(resource: Any) -> bool:
    """True for an object that an unmerged change adds: it has not been looked up on the cluster."""
    return resource is not None and resource.desired_known and not resource.live_known


def _is_out_of_sync(resource: Any) -> bool:
    """True if it is OutOfSync by more than an edit that the next sync of a change writes."""
    return resource is not None and resource.status == "OutOfSync" and not resource.pending


def _symptoms(app: App, fleet: Fleet, crossing: Crossing) -> Iterator[list[Json]]:
    """The warnings and differences that the other Argo CD's tracking data causes on these objects here."""
    others = {c.instance.replace("_", "/") for c in (*crossing.claimants, *crossing.pruners) if c.app != app.ref}
    shared = {(kind, name) for _, kind, _, name in crossing.objects}
    for warning in shared_warnings(app):
        if (warning.kind, warning.name) in shared and warning.owner in others:
            yield ["condition", None, f"SharedResourceWarning: {warning.condition.message}"]
    for found in crossing.objects if app.read else ():
        resource = _own_resource(app, found)
        for change in resource.changes if resource is not None else ():
            if is_tracking(change.pointer, fleet):
                yield ["change", list(resource.key), change.pointer]


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for all objects that the same Applications share."""
    contest = facts[0].data
    claimants, pruners = contest["claimants"], contest["pruners"]
    cause = _cause(claimants, pruners)
    parties = sorted((*claimants, *pruners), key=lambda p: p["app"])
    at, *others = parties
    ids = [ResourceId(g, kind, ns, name, cluster=at["cluster"]) for g, kind, ns, name in contest["objects"]]
    one = ids[0] if contest["count"] == 1 else None
    yield Finding(
        message=_message(cause, contest),
        at=Location(_ref(at), one),
        cause=cause,
        severity=None if pruners or any(fact.data["out"] for fact in facts) else "warning",
        evidence=tuple(_evidence(contest, parties)),
        related=tuple(
            Related(_ref(p), _id_on_cluster(one, p), role="claimant" if p in claimants else "owner") for p in others
        ),
        fixes=tuple(_fixes(cause, contest, ids, [fact.app for fact in facts if fact.data["coming"]])),
        explains=tuple(
            Symptom(kind, ResourceKey(*found) if found else None, detail)
            for fact in facts
            for kind, found, detail in fact.data["symptoms"]
        ),
    )


def _cause(claimants: Sequence[Mapping[str, Json]], pruners: Sequence[Mapping[str, Json]]) -> str:
    if not pruners:
        return "both-deploy"
    marks = [c["tracking"] for c in claimants]
    return "same-tracking" if any(p["tracking"] in marks for p in pruners) else "left-behind"


def _ref(party: Mapping[str, Json]) -> AppRef:
    return AppRef(*party["app"])


def _id_on_cluster(resource: ResourceId | None, party: Mapping[str, Json]) -> ResourceId | None:
    """The object under that Argo CD's name for its cluster."""
    if resource is None:
        return None
    return ResourceId(resource.group, resource.kind, resource.namespace, resource.name, cluster=party["cluster"])


def _party_text(party: Mapping[str, Json]) -> str:
    return f'"{_ref(party)}" of {party["argocd"]}'


def _parties_text(parties: Sequence[Mapping[str, Json]]) -> str:
    return enumerated([_party_text(p) for p in parties], "Application")


def _objects_text(contest: Mapping[str, Json]) -> str:
    shown = [str(ResourceId(*found)) for found in contest["objects"]]
    return shown[0] if contest["count"] == 1 else f"{contest['count']} objects"


def _message(cause: str, contest: Mapping[str, Json]) -> str:
    what, many = f"{_objects_text(contest)} of cluster {contest['cluster']}", contest["count"] > 1
    are, them = ("are", "them") if many else ("is", "it")
    start = (
        f"{_parties_text(contest['claimants'])} both deploy {what}"
        if len(contest["claimants"]) == 2
        else f"{_parties_text(contest['claimants'])} deploy {what}"
    )
    if cause == "both-deploy":
        return f"{start}: they overwrite each other, and deleting one deletes {them}."
    pruned_by = "its auto-sync prunes" if any(p["prunes"] for p in contest["pruners"]) else "a sync with prune deletes"
    who, first = (
        enumerated([_party_text(p) for p in contest[side]], "Application", limit=1) for side in ("pruners", "claimants")
    )
    if cause == "same-tracking":
        return f"{what} {are} deployed by {first}, but {who} treats {them} as its own and {pruned_by} {them}."
    return f"{what} {are} deployed by {first}, but {who} still owns {them} and {pruned_by} {them}."


def _evidence(contest: Mapping[str, Json], parties: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    for party in parties:
        does = "lists as its own, to be pruned" if party in contest["pruners"] else "deploys"
        instance, label, installation = party["tracking"]
        by = (
            f"label {label}"
            if label
            else f"annotation, {f'installationID {installation}' if installation else 'without an installationID'}"
        )
        yield f'{_party_text(party)} {does}: cluster {party["cluster"]}, tracked as "{instance}" by {by}'
    if contest["count"] > 1:
        shown = [str(ResourceId(*found)) for found in contest["objects"][:_SHOWN]]
        yield (
            "objects: "
            + enumerated(shown, limit=None)
            + (f" and {contest['count'] - len(shown)} more" if contest["count"] > len(shown) else "")
        )


def _fixes(
    cause: str, contest: Mapping[str, Json], ids: Sequence[ResourceId], coming: Sequence[AppRef]
) -> Iterator[Fix]:
    """The fixes for the cause, the best first. `coming`: the applications that get the objects by an unmerged change."""
    claimants, pruners = contest["claimants"], contest["pruners"]
    if coming and not pruners:
        yield _leave_fix(claimants, coming, contest)
    if cause == "left-behind":
        yield _take_over_fix(claimants[0])
    elif cause == "same-tracking":
        yield from _separation_fixes((*claimants, *pruners))
    else:
        if not coming:
            yield _one_argocd_fix(claimants)
        yield from _separation_fixes(claimants)
    if pruners:
        yield _guard_fix(ids[:_SHOWN], contest["count"], claimants[0])


def _leave_fix(claimants: Sequence[Mapping[str, Json]], coming: Sequence[AppRef], contest: Mapping[str, Json]) -> Fix:
    keepers = [p for p in claimants if _ref(p) not in coming] or claimants[:1]
    leavers = [p for p in claimants if p not in keepers]
    shown = [str(ResourceId(*found)) for found in contest["objects"][:_SHOWN]]
    them = "them" if contest["count"] > 1 else "it"
    more = f" and {contest['count'] - len(shown)} more" if contest["count"] > len(shown) else ""
    return manifest_text(
        enumerated([f"Application {_party_text(p)}" for p in leavers]),
        f"Leave {them} to {_parties_text(keepers)}",
        f"Before the change is merged, take out of what {_parties_text(leavers)} render{'' if leavers[1:] else 's'}: "
        f"{enumerated(shown, limit=None)}{more}.",
    )


def _one_argocd_fix(claimants: Sequence[Mapping[str, Json]]) -> Fix:
    keeper, *leavers = claimants
    lines = []
    for leaver in leavers:
        ref = _ref(leaver)
        lines += [f"# on {leaver['argocd']}:", f"argocd app delete {sh(ref.namespace)}/{sh(ref.name)} --cascade=false"]
    lines += [f"# then on {keeper['argocd']}, so that its tracking data is on every object:", sync(_ref(keeper))]
    return live_command(
        enumerated([f"Application {_party_text(p)}" for p in leavers]),
        f"Deploy them from one Argo CD alone, here from {keeper['argocd']}",
        "\n".join(lines) + "\n",
        "removes the whole Application there but keeps its objects; remove it from Git or its ApplicationSet too",
    )


def _separation_fixes(parties: Sequence[Mapping[str, Json]]) -> Iterator[Fix]:
    """Fixes that tell their objects apart, if nothing does yet."""
    by_label = [p["tracking"][1] for p in parties]
    ids = {p["argocd"]: p["tracking"][2] for p in parties}
    if all(by_label):
        if len(set(by_label)) < len(ids):
            yield label_key_fix()
    elif not any(by_label) and (len(set(ids.values())) < len(ids) or "" in ids.values()):
        yield installation_id_fix("both still apply what both render; sync every Application once, without prune")


def _take_over_fix(claimant: Mapping[str, Json]) -> Fix:
    return live_command(
        f"Application {_ref(claimant)}",
        f"Sync {_party_text(claimant)} in full, which makes it the owner",
        f"# on {claimant['argocd']}:\n{sync(_ref(claimant))}\n",
        "do it before the other one syncs with prune",
    )


def _guard_fix(ids: Sequence[ResourceId], count: int, claimant: Mapping[str, Json]) -> Fix:
    lines = [f"# cluster {claimant['cluster']} of {claimant['argocd']}:", *map(guard, ids)]
    lines += [f"# … and {count - len(ids)} more" if count > len(ids) else ""]
    lines += ["# when only one Argo CD lists them:", *map(unguard, ids)]
    return Fix(
        "Keep the live objects from being pruned until then",
        "live",
        enumerated([str(i) for i in ids], "object"),
        Edit("command", "\n".join(filter(None, lines)) + "\n"),
        caveat="keeps them until the cause is gone",
        safe=True,
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    collect=collect,
    join=join,
    causes=("both-deploy", "same-tracking", "left-behind"),
    rank=Rank.ROOT + 1,  # it has the owner, for which phantom-owner and shared-resource find no Application
    across=True,
)
