"""One object that two or more Applications render

What it finds: an object among the resources of several Applications of one cluster. Argo CD itself warns only the one that did not sync last
(`SharedResourceWarning`), names neither group nor namespace, and is silent before the second Application has compared itself with the live
object. This rule joins the resources of all Applications. So it names every one of them, shows the owner of the live object, and finds the
conflict before the first sync (`predicted`). Hooks, skipped objects, generated names, children and objects on other clusters do not count.

Why it hurts: each sync moves the object to the Application that syncs, so another one is always OutOfSync. If the contents differ, the last sync
wins and the other Application runs with foreign values; with other selectors the sync fails, since a workload's selector cannot be changed in
place. Two self-healing ones overwrite each other forever. A prune or deletion of the owner deletes the object of all the others.

How to fix: let one Application own the object and switch it off in the others, or give it one name per release. The first always works; the
second only if the chart derives the name from the release. Hand it over in the order of the fix, which never deletes it.
`FailOnSharedResource=true` makes a repetition visible.

Causes: `same-content` (only ownership is contested), `different-content` (with the fields), `namespace` (a Namespace manifest in several
Applications), `predicted` (at most one of them has applied it so far).

Example: two releases of one wrapper chart, in two namespaces, render ClusterRoleBinding `pre-checker-binding` under a fixed name. Its subject is
the ServiceAccount of the release that synced last, and the other release loses its rights.

Sources: CompareAppState in controller/state.go; gitops-engine/pkg/cache/cluster.go (GetManagedLiveObjs); argoproj/argo-cd issues
2600, 8811, 17965, 21497.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from argolint import (
    App,
    AppRef,
    Fact,
    Finding,
    Fleet,
    Follows,
    Json,
    Location,
    Rank,
    Related,
    ResourceId,
    ResourceKey,
    Rule,
    Symptom,
    Trial,
)
from argolint.application.shared_warnings import shared_warnings
from argolint.application.tracked import tracking_of
from argolint.edits.pruning import cascades
from argolint.redaction import HIDDEN, excerpt, show_sides, without_secrets
from argolint.values import at_and_above, enumerated, mapping, text_at
from argolint.values.kubernetes import is_deleting, is_secret_data

from ..shared.charts import releases
from ._shared_fixes import fixed_name_reasons, fixes
from ._sharing import (
    Party,
    Shared,
    application_party,
    content_differences,
    is_list_reliable,
    parts_of,
    party_of,
    ref_of,
    whole_content,
)
from ._tracking import own_tracking_test, owner_of, warned_resources

_READ = 8
"""Most claimants of one object whose content is read; the list is enough for the others."""
_LISTED = 20
"""Most other claimants in one fact: the facts together name all, and a fact stays small."""
_MOST_ALSO_SHARED = 5
"""Most other objects of the same Applications in a fix."""
_SHOWN = 6
"""Most differing fields that the evidence shows with their values."""


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application is among the first claimants of a contested object: their states show owner and contents."""
    return any(app.ref in fleet.claimants(key)[:_READ] for key in fleet.contests(app.ref))


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """One fact for each object that this application shares, by the fleet, a warning or the tracking data."""
    warned: dict[ResourceKey, list[str]] = {}
    owners: dict[ResourceKey, list[AppRef]] = {key: [] for key in fleet.contests(app.ref)}
    for warning in shared_warnings(app):
        for resource in warned_resources(warning, app, fleet):
            owner = owner_of(resource, fleet, warning.owner)
            if owner is not None:
                owners.setdefault(resource.key, []).append(owner.ref)
                warned.setdefault(resource.key, []).append(without_secrets(warning.condition.message))
    named = own_tracking_test(app, fleet)
    for resource in app.resources if app.read and is_list_reliable(app) else ():
        looked = resource.claimed and not named(resource)
        tracking = tracking_of(resource.live, fleet) if looked else None
        owner = owner_of(resource, fleet, tracking.instance) if tracking else None
        if owner is not None and owner.ref != app.ref:
            owners.setdefault(resource.key, []).append(owner.ref)
    charts = releases(app) if owners and app.read else ()
    doubles = _double_applications(app, fleet)
    contents = whole_content(app, fleet) if doubles else ""
    twins = [parts_of(ref) for ref in _twin_applications(app, fleet, doubles)]
    together: dict[Sequence[AppRef], list[ResourceKey]] = {}
    for key in sorted(owners):
        together.setdefault(fleet.claimants(key), []).append(key)
    for key, others in sorted(owners.items()):
        found = app.resource(key)
        parties = fleet.claimants(key)
        with_it = sorted({*others, *parties[: _LISTED + 1]} - {app.ref})
        if found is not None and with_it:
            claim = application_party(app, found, fleet, others=with_it, warnings=warned.get(key, ()), charts=charts)
            data = {
                "resource": list(key),
                **claim.data(),
                "along": _also_shared(key, together.get(parties, ()), parties),
                "twins": twins,
                "doubles": [parts_of(ref) for ref in doubles],
                "whole": contents,
                "going": is_deleting(found.live)
                and all(not a.deleting or cascades(a) for a in map(fleet.by_ref.__getitem__, (app.ref, *with_it))),
            }
            yield Fact("/".join(key), app.ref, data, _trials(claim, found.id))


def _trials(claim: Party, resource: ResourceId) -> tuple[Trial, ...]:
    """The application's possible trials for one owner."""
    if not claim.claims or claim.content is None or claim.hook:
        return ()
    values = next((str(s["off"][0]) for s in claim.switches if s["off"] and not s["spec"]), "")
    return Trial("keep", resource), Trial("release", resource, open=_render_condition(claim, values), values=values)


def _render_condition(claim: Party, values: str) -> str:
    """The remaining condition that only a render shows: the object leaves a plain directory with its manifest; otherwise the source must stop rendering it."""
    if claim.tool == "Directory":
        return ""
    shows = {"Kustomize": "`kustomize build` shows it", "Helm": "`helm template` shows it"}.get(
        claim.tool, "its manifests show it"
    )
    condition = "--helm-render can prove it" if values and not claim.chart else shows
    return f"it was replayed, and works when {claim.app} then renders all that it renders today but for this object: {condition}"


def _also_shared(key: ResourceKey, together: Iterable[ResourceKey], parties: Sequence[AppRef]) -> list[str]:
    """The other objects that the same applications share, without objects that many others share."""
    if not 1 < len(parties) <= _READ:
        return []
    return [f"{k.kind} {k.name}" for k in islice((k for k in together if k != key), _MOST_ALSO_SHARED)]


def _twin_applications(app: App, fleet: Fleet, doubles: Sequence[AppRef]) -> list[AppRef]:
    """The doubles; if they share only one object, those of the same source alone."""
    several = sum(1 for r in app.resources if r.claimed) > 1 if doubles else False
    return [ref for ref in doubles if several or fleet.by_ref[ref].sources == app.sources]


def _double_applications(app: App, fleet: Fleet) -> list[AppRef]:
    """The Applications whose manifests contain every object of this one."""
    keys = [r.key for r in app.resources if r.claimed]
    contested = set(fleet.contests(app.ref))
    if not keys or not contested.issuperset(keys):
        return []
    parties = [fleet.claimants(key) for key in keys]
    few = parties[0] if len(parties[0]) <= _READ else ()
    return sorted(set(few).intersection(*parties) - {app.ref})


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for each object, on its first application; the others are related."""
    by_app = {fact.app: party_of(fact) for fact in facts}
    for fact in facts:
        for other in fact.data["others"]:
            *_, claims, leaving = other
            by_app.setdefault(ref_of(other), Party(ref_of(other), claims=claims, leaving=leaving))
    parties = [by_app[ref] for ref in sorted(by_app)]
    cluster, group, kind, namespace, name = facts[0].data["resource"]
    version = next((p.version for p in parties if p.version), "")
    shared = Shared(
        ResourceId(group, kind, namespace, name, version, cluster),
        tuple(parties),
        _live_owner(parties),
        _differing_fields(parties),
    )
    if shared.handover and any(p.going for p in parties):
        return  # nothing is handed over any more: shared-resource-pruned reports the deletion
    at, *others = parties
    proven = shared.owner is not None and any(p.owner or p.warnings for p in parties)
    yield Finding(
        message=_message(shared),
        at=Location(at.app, shared.id),
        cause=_cause(shared),
        severity="warning"
        if shared.handover or shared.hook or (shared.untracked and _cause(shared) == "same-content")
        else None,
        confidence="proven" if proven else "likely",
        evidence=tuple(_evidence(shared)),
        related=tuple(Related(p.app, shared.id, role="owner" if p.app == shared.owner else "claimant") for p in others),
        fixes=tuple(fixes(shared)),
        explains=tuple(_claims(shared)),
        follows=(
            *([Follows.finding("shared-resource-pruned", shared.id)] if shared.handover else ()),
            _common_cause(shared),
        ),
    )


def _common_cause(shared: Shared) -> Follows:
    """The common cause of two applications that share several objects, such as one chart deployed twice."""
    title = f"{enumerated([str(p.app) for p in shared.parties], 'Application')} render objects of the same names on cluster {shared.id.cluster}."
    return Follows.common(title, "same-objects", shared.id.cluster, *(str(p.app) for p in shared.parties))


def _live_owner(parties: Sequence[Party]) -> AppRef | None:
    """The Application in the live tracking data; else the only claimant that the list shows in sync."""
    owners = Counter(ref_of(p.owner) for p in parties if p.owner)
    if owners:
        return max(sorted(owners), key=lambda ref: owners[ref])
    synced = [p.app for p in parties if p.status == "Synced" and p.applied]
    return synced[0] if len(synced) == 1 and any(p.status == "OutOfSync" for p in parties) else None


def _differing_fields(parties: Sequence[Party]) -> Mapping[str, Mapping[AppRef, Json]]:
    """The fields in which the manifests differ. An unknown or masked manifest is inferred from the changes of the others."""
    found = dict(content_differences(parties))
    unknown = any(p.content is None for p in parties)
    for party_ in parties:
        for pointer in party_.changed:
            masked = is_secret_data(party_.content, pointer)
            if unknown or masked:
                found.setdefault(pointer, {})
    return dict(sorted(found.items()))


def _cause(shared: Shared) -> str:
    if shared.namespace:
        return "namespace"
    if len(shared.applied) < 2 and not shared.hook:
        return "predicted"
    return "different-content" if shared.fields else "same-content"


def _message(shared: Shared) -> str:
    owner = shared.party(shared.owner) if shared.owner else None
    others = shared.few_names([p for p in shared.parties if p is not owner])
    if shared.hook:
        return (
            f"{shared.few_names(shared.parties)} share the hook {shared.id}, so each sync deletes the run of the other."
        )
    if shared.strayed is not None:
        strayed, since = shared.strayed, text_at(shared.strayed.former, "since")
        models = [p for p in shared.parties if p is not strayed and p.origin == strayed.origin]
        return f"{shared.name(strayed)} has the source of {shared.few_names(models)}{f' since {since}' if since else ''}, so both claim {shared.id}."
    if shared.handover:
        giver = shared.handover
        return (
            f"The next full sync of {others} takes {shared.id} over from {shared.name(giver)}, which {giver.leaving}."
        )
    if owner is not None and not owner.claims:
        return f"{others} needs {shared.id}, which belongs to {shared.name(owner)}: it is lost when that one prunes it or is deleted."
    refused = [p for p in shared.parties if p.refused]
    if refused:
        return f"FailOnSharedResource refuses every sync of {shared.few_names(refused)}, since others render {shared.id} too."
    cause = _cause(shared)
    both = "both" if len(shared.parties) == 2 else "all"
    fields = enumerated(list(shared.fields), "field", limit=1)
    if cause == "namespace":
        lost = f"when {shared.name(owner) if owner else 'its owner'} drops it, everything inside is deleted"
        return f"{shared.few_names(shared.parties)} {both} render {shared.id}: {lost}."
    if cause == "predicted" and owner is not None:
        new = shared.few_names([p for p in shared.parties if p is not owner and p not in shared.applied])
        if shared.two_programs:
            return f"The first sync of {new} will fail at {shared.id} of {shared.name(owner)}: its selector is another, and cannot be changed in place."
        does = f"changes {fields} of" if shared.untracked and fields else "changes" if shared.untracked else "takes"
        over = f" for {both}" if shared.untracked else f" over from {shared.name(owner)}"
        other = f", with different {fields}" if fields and not shared.untracked else ""
        return f"The first sync of {new} {does} {shared.id}{over}{other}."
    healing = [p for p in shared.parties if p.self_heal]
    if len(healing) > 1 and not shared.untracked and not shared.two_programs and cause != "predicted":
        heals = sum(p.attempts for p in healing)
        tried = (
            f"self-heal has reset it {heals} time{'s' if heals > 1 else ''}"
            if heals
            else f"{both if len(healing) == len(shared.parties) else 'they'} heal themselves"
        )
        if not fields:
            return f"{shared.few_names(shared.parties)} keep taking {shared.id} from each other: {tried}."
        return f"{shared.few_names(shared.parties)} keep overwriting each other's {fields} of {shared.id}: {tried}."
    start = (
        f"{shared.few_names(shared.parties)} {both} render {shared.id}{f' with different {fields}' if fields else ''}"
    )
    return f"{start}: {_consequence(shared, owner, both)}."


def _consequence(shared: Shared, owner: Party | None, both: str) -> str:
    if shared.two_programs:
        return f"selectors cannot change, so only {shared.name(owner) if owner else 'one of them'} can sync it"
    wins = "the last sync wins" if shared.fields else "each sync takes it over"
    if shared.untracked:
        return f"the last sync wins for {both}" if shared.fields else f"the first upgrade of one changes it for {both}"
    if _cause(shared) == "predicted":
        return wins.replace("wins", "will win").replace("takes", "will take")
    return f"{wins}, and deleting {shared.name(owner) if owner else 'its owner'} deletes it"


def _evidence(shared: Shared) -> Iterator[str]:
    """The observation, the differing fields, the winner of the next sync, and the effects of a deletion."""
    for party_ in shared.parties:
        if party_.tracked:
            yield f'{party_.tracked_by} of the live object names "{party_.tracked}"'
            break
    if shared.strayed is not None:
        former = mapping(shared.strayed.former, "source")
        place = text_at(former, "chart") or text_at(former, "path") or "."
        yield f"{shared.name(shared.strayed)} had {excerpt(place)} of {excerpt(text_at(former, 'repoURL'))} before; of that {shared.strayed.former['left']} is left"
    for party_ in shared.parties:
        for warning in party_.warnings:
            yield f"condition SharedResourceWarning on {shared.name(party_)}: {warning}"
    for pointer, values in list(shared.fields.items())[:_SHOWN]:
        if values and not shared.secret:
            by_value: dict[str, list[str]] = {}
            known_values = ((value, shared.party(ref).content or {}) for ref, value in values.items())
            for ref, shown in zip(values, show_sides(pointer, *known_values), strict=True):
                by_value.setdefault(shown, []).append(shared.name(shared.party(ref)))
            sides = ", ".join(f"{text} in {enumerated(who, 'Application')}" for text, who in by_value.items())
            yield f"{pointer}: " + ("differs" if HIDDEN in by_value else sides)
        else:
            yield f"{pointer}: differs"
    if len(shared.fields) > _SHOWN:
        yield f"{len(shared.fields) - _SHOWN} more fields differ"
    for party_ in [p for p in shared.parties if p.app != shared.owner and p.claims and p.repo][:_SHOWN]:
        yield f"{shared.name(party_)} {_takeover_sentence(party_, 'writes its own' if shared.untracked else 'takes it')}"
    unread = sum(p.claims and p.content is None for p in shared.parties)
    if unread:
        yield f"the manifests of {unread} of these Applications are not known here"
    owner = shared.party(shared.owner) if shared.owner and not shared.untracked else None
    if owner is not None and owner.repo:
        ways = [f"pruning it there ({'automatic' if owner.prune else 'by a sync with prune'})"]
        ways += ["deleting the Application (it has the resources finalizer)"] if owner.cascade else []
        yield f"{shared.name(owner)} owns it now: {' or '.join(ways)} deletes it for all; deleting another one leaves it alone until that one syncs it"
    if shared.strayed is None:
        yield from fixed_name_reasons(shared)


def _takeover_sentence(party_: Party, does: str) -> str:
    """A sentence on the time when a claimant takes the object over."""
    if party_.self_heal:
        tried = f" (attempt {party_.attempts} at its revision)" if party_.attempts else ""
        return f"{does} by self-heal within seconds{tried}"
    return f"{does} with its next {'commit (automated sync)' if party_.automated else 'manual sync'}"


def _claims(shared: Shared) -> Iterator[Symptom]:
    """The warnings, the tracking data and the contested fields on the object in all applications, and refused syncs."""
    pointers: set[str] = set()
    is_refusal = all(p.refused for p in shared.parties if p.failed)  # else another operation failed for another reason
    contested = set(shared.fields)
    within = {above for field in contested for above in at_and_above(field)}
    for party_ in shared.parties:
        yield from (Symptom.condition("SharedResourceWarning", message) for message in party_.warnings)
        yield from (_symptom(kind, key, detail) for kind, key, detail in party_.waiting if key or is_refusal)
        pointers.update(party_.moved)
        pointers.update(p for p in party_.changed if p in within or not contested.isdisjoint(at_and_above(p)))
    yield from (Symptom.change(shared.id, pointer) for pointer in sorted(pointers))


def _symptom(kind: Any, key: Sequence[str] | None, detail: str) -> Symptom:
    """A symptom from the plain JSON of a fact."""
    return Symptom(kind, ResourceKey(*key) if key else None, detail)


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    causes=("same-content", "different-content", "namespace", "predicted"),
    reads=reads,
    collect=collect,
    join=join,
    rank=Rank.ROOT,
)
