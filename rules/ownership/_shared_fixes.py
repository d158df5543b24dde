"""Fixes for a shared object: one owner, one name per release, one creator of a namespace, and a guard against a repetition."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import yaml

from argolint import AppRef, Edit, Fix, Json
from argolint.comparison import TRACKING_ID
from argolint.edits import handover, live_command, manifest_text, manifest_yaml
from argolint.model import FixTarget, Part
from argolint.values import annotations_of, enumerated, items, joined, mapping, parse_version, sh
from argolint.values.knowledge import dump
from argolint.values.kubernetes import SYNC_OPTIONS, kubectl_name
from argolint.values.patterns import regex

from ._merging import RBAC_LISTS, added_parts
from ._sharing import Party, Shared, parts_of

_LONG = 6000
"""Most characters of JSON for a manifest in a fix (a CustomResourceDefinition has many more)."""
_NAMESPACE = regex(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""Names that a namespace may have."""
_LINES = 8
"""Most Applications with their own steps in a fix."""


def fixed_name_reasons(shared: Shared) -> Iterator[str]:
    """The reason why no value of the chart gives each release its own name, if it is known."""
    for label in sorted({s["chart"] for p in shared.parties for s in p.switches if s["fixed"] and not s["rename"]}):
        yield f"chart {label} has no value that renames it: unique names are no way out"
    if shared.joined:
        yield f"the name begins with the releases of both: {enumerated(sorted(p.release for p in shared.firm))}"
    rendered = [p for p in shared.parties if p.tool == "Helm" and not p.switches and p.release]
    if rendered and not any(p.release in shared.id.name for p in rendered):
        releases = enumerated(sorted({f'"{p.release}"' for p in rendered}), "release")
        yield f"the name does not hold the release name ({releases}): another releaseName will not change it, and fullnameOverride only where its template reads that"


def fixes(shared: Shared) -> Iterator[Fix]:
    """The fixes, best first."""
    if shared.hook:
        yield manifest_text(
            _source_places(shared.parties),
            "Give each Application's hook a name of its own",
            f"metadata.generateName: {shared.id.name}- in place of the name, or a name that holds the release's\n",
            "with generateName add the delete policy HookSucceeded, or finished ones pile up",
        )
        return
    if shared.strayed is not None:
        yield _former_source_fix(shared, shared.strayed)
        return
    bound = _bound_to_namespace(shared)
    keeper = bound or _keeper(shared)
    if shared.namespace and not bound:
        yield _create_namespace_fix(shared, keeper or shared.parties[0])
    if shared.fixed_namespace:
        yield _no_namespace_fix(shared)
    renamed = tuple(_own_name_fixes(shared, keeper))
    several = shared.two_releases or shared.namesakes or shared.instances
    apart = shared.two_programs or shared.other_images or several
    if apart:
        yield from renamed
    yield from _own_namespace_fix(shared)
    yield from _own_destination_fix(shared, keeper)
    yield _delete_application_fix(shared, keeper) or _one_owner_fix(shared, keeper)
    if not apart and not shared.one_per_version:
        yield from renamed
    if shared.untracked:
        return  # Argo CD gives no warning for such an object, so FailOnSharedResource has no effect
    if shared.handover or all(p.guarded for p in shared.parties if p.app != shared.owner):
        return  # it would refuse the sync that hands the object over, or it is set already
    yield Fix(
        "Guard against the next time: FailOnSharedResource=true",
        "application",
        _spec_places(shared, shared.parties),
        Edit("yaml", "spec:\n  syncPolicy:\n    syncOptions:\n    - FailOnSharedResource=true\n"),
        caveat="while the object is shared, syncs of those that do not own it fail",
    )


def _bound_to_namespace(shared: Shared) -> Party | None:
    """The one Application whose published chart renders the namespace, without a value that is known to switch it off: the others must let it go."""
    bound = [p for p in shared.firm if p.chart and not _first_switch(p)]
    return bound[0] if shared.namespace and len(bound) == 1 and len(shared.firm) > 1 else None


def _spec_places(shared: Shared, parties: Sequence[Party]) -> str:
    """The places to edit these Applications: their own manifests, or the templates that make them."""
    made = dict.fromkeys(p.place for p in parties if p.place and not p.place.startswith("Application "))
    own = [p for p in parties if p.place not in made]
    return ", ".join((*([f"spec of {shared.names(own)}"] if own else []), *made))


def _keeper(shared: Shared) -> Party | None:
    """The best owner: the Application that syncs first, else the present owner; None if a new, common one is better.

    Nothing owns a CustomResourceDefinition: there it is the one with the newest definition.

    Releases of one chart in several namespaces are equals: none is the base of the others. If the chart itself has a switch, one of them keeps
    the object.
    """
    firm = shared.firm
    equals = (
        not shared.untracked
        and len({p.origin for p in firm}) == 1
        and firm[0].repo
        and len({p.namespace for p in firm}) > 1
    )
    switched = any(s["off"] for p in firm for s in p.switches)
    if not firm or (equals and not shared.id.namespace and not switched and len({p.wave for p in firm}) == 1):
        return None
    return min(
        firm, key=lambda p: (p.wave, shared.untracked and not p.applied, _age(shared, p), p.app != shared.owner, p.app)
    )


def _age(shared: Shared, party: Party) -> tuple[int, ...]:
    """A key that sorts the party with the newest CustomResourceDefinition first, by the versions in its annotations: an older one lacks fields that the other needs."""
    if not shared.untracked:
        return ()
    marks = [p for p in shared.fields if p.startswith("/metadata/annotations/") and p.endswith("version")]
    for pointer in sorted(marks, key=lambda p: ("controller-gen" in p, p)):
        values = {p.app: parse_version(shared.fields[pointer].get(p.app)) for p in shared.parties}
        if all(values.values()):
            return tuple(-n for n in values[party.app] or ())
    return ()


def _former_source_fix(shared: Shared, party: Party) -> Fix:
    """The fix for a source that was overwritten by that of another Application."""
    patch = [{"op": "add", "path": "/spec/source", "value": dict(party.former["source"])}]
    return Fix(
        f"Give {shared.name(party)} its former source again",
        "application",
        party.place,
        Edit("json-patch", patch),
        caveat=f"do not sync it with prune before: that deletes {party.former['left']}; destination and project may have changed as well",
    )


def _own_namespace_fix(shared: Shared) -> Iterator[Fix]:
    """The fix for elements of one ApplicationSet that are deployed to one namespace: each gets its own, by the name that its template makes."""
    firm = shared.firm
    same = len(firm) == len(shared.parties) and len({(p.place, p.namespace, p.app.server) for p in firm}) == 1
    if not same or not firm[0].apart:
        return
    if shared.one_per_version:
        yield _one_for_all_versions_fix(shared.one_per_version, firm)
        return
    if shared.id.namespace != firm[0].namespace or not all(_NAMESPACE.fullmatch(p.app.name) for p in firm):
        return
    yield Fix(
        "Deploy each element of the set to a namespace of its own",
        "application",
        firm[0].place,
        Edit("yaml", dump([{"spec": {"template": {"spec": dict(firm[0].apart)}}}])),
        caveat=f"the objects are created again there, without their data; those in namespace {shared.id.namespace} stay until they are pruned or deleted",
        effects=("deletes",),
    )


def _one_for_all_versions_fix(name: str, firm: Sequence[Party]) -> Fix:
    """The fix for a set whose template has the version in the Application's name: an upgrade makes a second one next to the first."""
    steps = (
        "# 1. In the set: syncPolicy.preserveResourcesOnDeletion: true, or what step 2 deletes takes its objects with it",
        f"# 2. In its template: the version left out of metadata.name, which then makes {name}; of two elements for one cluster, the newer alone",
        "# 3. Delete the Applications with a version in their names, where the set leaves them:",
        *(f"{handover.delete(p.app)}" for p in firm),
        "# 4. The new one takes the objects over:",
        handover.sync(AppRef(firm[0].app.namespace, name)),
    )
    return Fix(
        "Leave the version out of the names that the set gives its Applications",
        "application",
        firm[0].place,
        Edit("command", "\n".join(steps) + "\n"),
    )


def _no_namespace_fix(shared: Shared) -> Fix:
    """The fix for a manifest that writes its namespace, which all Applications of its source then share."""
    of_chart = shared.firm[0].tool == "Helm"
    return Fix(
        "Leave metadata.namespace out of its manifest, so that each Application has one of its own",
        "manifest",
        _source_place(shared.firm[0]),
        Edit(
            "text",
            f"metadata.namespace: {'{{ .Release.Namespace }}' if of_chart else 'left out'}, in place of {shared.id.namespace}\n",
        ),
        caveat=f"not if all of them are meant to share {shared.id}",
    )


def _own_destination_fix(shared: Shared, keeper: Party | None) -> Iterator[Fix]:
    """The fix for Applications that render the same names and are all meant to run: each is deployed to a namespace of its own."""
    leavers = [p for p in shared.firm if p is not keeper]
    spaced = shared.instances and shared.id.namespace == shared.firm[0].namespace
    if not (shared.two_deployments or spaced) or not leavers or not _NAMESPACE.fullmatch(leavers[-1].app.name):
        return
    party = leavers[-1]
    if not party.place.startswith("Application "):
        return
    spec = {
        "destination": {"namespace": party.app.name},
        "syncPolicy": {"syncOptions": ["CreateNamespace=true"]},
    }
    yield Fix(
        f"Deploy {shared.name(party)} to a namespace of its own, if both are to run",
        "application",
        party.place,
        Edit("yaml", dump([{"spec": spec}])),
        caveat=joined(
            "for manifests without metadata.namespace; its objects are created again there, without their data",
            _guard_before_rename(shared, party),
        ),
    )


def _delete_application_fix(shared: Shared, keeper: Party | None) -> Fix | None:
    """The fix that deletes an Application, if the keeper renders all its objects: then a whole Application is too many."""
    leavers = [p for p in shared.parties if p is not keeper and p.claims]
    if keeper is None or not leavers or not all(parts_of(keeper.app) in p.twins and not p.former for p in leavers):
        return None
    if added_parts(shared, keeper, leavers):
        return None
    sets = sorted({p.place for p in leavers if not p.place.startswith("Application ")})
    own = [p for p in leavers if p.place.startswith("Application ")]
    parent = (
        "# a parent Application: first remove metadata.finalizers from the child's manifest, then the manifest from Git"
    )
    steps = (
        *(f"# {place}: preserveResourcesOnDeletion: true in syncPolicy, then drop the element" for place in sets),
        *([parent] if own else ()),
        *(f"{handover.delete(p.app)}" for p in own),
        f"{handover.sync(keeper.app)}   # it then owns all of them",
    )
    return Fix(
        f"Delete {shared.few_names(leavers)} but keep the objects, which {shared.name(keeper)} renders too",
        "application",
        enumerated([f"Application {p.app}" for p in leavers], "place"),
        Edit("command", "\n".join(steps) + "\n"),
        caveat=joined(
            *_loss_warnings(shared, None), "not if all of them should run: then give them names of their own"
        ),
    )


def _one_owner_fix(shared: Shared, keeper: Party | None) -> Fix:
    """Fix A: one Application keeps the object, the others stop rendering it."""
    leavers = [p for p in shared.parties if p is not keeper and p.claims]
    who = shared.names(leavers)
    if keeper is None:
        return manifest_yaml(
            _source_places(leavers),
            f"Move {shared.id} to one shared Application and switch it off in {who}",
            _handover_steps(shared, None, leavers),
            "the shared Application must sync before the others",
        )
    if not leavers:
        return live_command(
            shared.id,
            f"Hand {shared.id} over to {shared.name(keeper)}, which renders it",
            handover.take_over(
                shared.id, keeper.app, _release_command(shared, [keeper]), shared.blocking_tracking(keeper)
            ),
            "the former owner must not render it again",
        )
    blocks = [_first_switch(p) for p in leavers]
    values = next((b for b in blocks if b), None)
    target: FixTarget = "manifest" if values is None else "application" if values["spec"] else "helm-values"
    where = (
        _source_places(leavers)
        if values is None
        else enumerated(list(dict.fromkeys(b["where"] for b in blocks if b)), "place")
    )
    text = values["off"][0] if values and all(b and b["off"][0] == values["off"][0] for b in blocks) else ""
    if shared.owner in (None, keeper.app) and not any(p.applied for p in leavers):
        return Fix(
            f"Switch {shared.id} off in {who} before the first sync",
            target,
            where,
            Edit("yaml", text) if text else Edit("text", "\n".join(_switch_off_texts(shared, leavers)) + "\n"),
            safe=True,
            trials=_trials(shared, keeper, leavers),
        )
    added = added_parts(shared, keeper, leavers)
    plan = _handover_steps(shared, keeper, leavers, bool(added)) + _marks_step(shared, keeper, leavers)
    below = (f"# the values of step 2:\n{text}" if text and not added else "") + (
        f"# what step 2 adds in {shared.name(keeper)}:\n{dump([dict(added)])}" if added else ""
    )
    return Fix(
        f"Keep {shared.id} in {shared.name(keeper)} alone{', with the parts of both' if added else ''}",
        target,
        where,
        Edit("yaml", _commented(plan) + below) if below else Edit("command", plan),
        caveat="; ".join(_loss_warnings(shared, values, bool(added))),
        trials=_trials(shared, keeper, leavers),
    )


def _trials(shared: Shared, keeper: Party, leavers: Sequence[Party]) -> tuple[tuple[AppRef, Part], ...]:
    """The trial of the keeper and those of the leavers.

    Empty if an Application may still render the object unnoticed.
    """
    unseen = any(not p.claims and not p.leaving for p in shared.parties)
    if shared.untracked or unseen:
        return ()
    return ((keeper.app, "keep"), *((p.app, "release") for p in leavers))


def _first_switch(party: Party) -> Mapping[str, Json] | None:
    return next((s for s in party.switches if s["off"]), None)


def _loss_warnings(shared: Shared, switch: Mapping[str, Json] | None, whole: bool = False) -> Iterator[str]:
    """What is lost or changed; `whole` if the keeper gets the parts of all."""
    if shared.fields and not whole and not shared.namespace:
        fields = enumerated(list(shared.fields), "field", limit=1)
        yield f"the others then run with its {fields}"
    if switch and switch["part"]:
        yield "the chart can only switch the whole component off"
    if switch and switch["along"]:
        yield f"its value also switches off {enumerated(switch['along'], 'object', limit=2)}"
    if switch and switch["note"]:
        yield str(switch["note"])


def _handover_steps(shared: Shared, keeper: Party | None, leavers: Sequence[Party], added: bool = False) -> str:
    """The steps as a script; for a new owner, as comments above its manifest."""
    off = _switch_off_texts(shared, leavers)
    together = sorted({name for p in leavers for name in p.along})
    if together:
        off.append(f"the same for what these Applications share in addition: {', '.join(together)}")
    off.append(
        'where an app of apps makes them all, the owner syncs first: metadata.annotations argocd.argoproj.io/sync-wave: "-1"'
        " on that Application (Argo CD waits for it only with a health check for argoproj.io/Application in argocd-cm)"
    )
    if any(SYNC_OPTIONS in annotations_of(p.content) for p in shared.parties):
        off.append(f"Prune=false,Delete=false in {SYNC_OPTIONS} of the manifest, which otherwise undoes steps 1 and 5")
    if keeper is None:
        off.insert(0, "to the shared Application: the manifest below")
    elif added:
        off.insert(0, f"{shared.name(keeper)}: add to its manifest what only the others have, below")
    apps = [p.app for p in leavers]
    if shared.untracked and keeper:
        return "".join(f"# {line}\n" for line in off) + f"{handover.sync(keeper.app)}\n"
    release = _release_command(shared, [keeper] if keeper else ())
    steps = handover.steps(
        shared.id, keeper.app if keeper else None, apps, off, release, shared.blocking_tracking(keeper)
    )
    script = "\n".join(steps) + "\n"
    return (
        script
        if keeper
        else _commented(script) + "# the manifest for the shared Application:\n" + _owner_manifest(shared)
    )


def _marks_step(shared: Shared, keeper: Party, leavers: Sequence[Party]) -> str:
    """The commands that set again the labels and annotations of a namespace that only the leavers' manifests have: the keeper's sync removes them."""
    if not shared.namespace:
        return ""
    own = _marks([keeper])
    lines = [
        f"kubectl {verb} {kubectl_name(shared.id)} --overwrite {' '.join(sh(f'{k}={v}') for k, v in sorted(lost.items()))}\n"
        for field, verb in (("labels", "label"), ("annotations", "annotate"))
        if (lost := {k: v for k, v in _marks(leavers).get(field, {}).items() if k not in own.get(field, {})})
    ]
    return (
        "".join(("# 6. Set again what only the others' manifests have; no sync takes it away then:\n", *lines))
        if lines
        else ""
    )


def _marks(parties: Sequence[Party]) -> dict[str, dict[str, Json]]:
    """The labels and annotations in the manifests; of one key the first Application's."""
    metadata = [mapping(p.content, "metadata") for p in reversed(parties)]
    found = {
        field: {k: v for m in metadata for k, v in mapping(m, field).items()} for field in ("labels", "annotations")
    }
    return {field: marks for field, marks in found.items() if marks}


def _commented(script: str) -> str:
    return "".join(f"{line}\n" if line.startswith("#") else f"#    $ {line}\n" for line in script.splitlines())


def _owner_manifest(shared: Shared) -> str:
    """The object for its new owner, in wave 0; its RBAC lists contain the items of all parties."""
    contents = {p.app: p.content for p in shared.parties if p.content is not None}
    base: Any = contents.get(shared.owner) if shared.owner in contents else next(iter(contents.values()), None)
    if base is None or shared.secret or len(json.dumps(base)) > _LONG:
        return f"# (use {shared.id} as it is in Git)\n"
    made = json.loads(json.dumps(base))
    metadata = made.setdefault("metadata", {})
    metadata.setdefault("annotations", {})["argocd.argoproj.io/sync-wave"] = "0"
    merged = RBAC_LISTS.get(shared.id.kind)
    if merged:
        rows = [row for content in contents.values() for row in items(content, merged)]
        made[merged] = [row for number, row in enumerate(rows) if row not in rows[:number]]
    head = {k: made.pop(k) for k in ("apiVersion", "kind", "metadata") if k in made}
    return dump([head | made])


def _source_place(party: Party) -> str:
    if party.chart:
        return f"chart {party.chart} of {party.repo}"
    return f"{party.path or '.'} of {party.repo}" if party.repo else f"the source of {party.app}"


def _source_places(parties: Sequence[Party]) -> str:
    return enumerated(list(dict.fromkeys(map(_source_place, parties))), "source")


def _switch_off_texts(shared: Shared, leavers: Sequence[Party]) -> list[str]:
    """The way in which each application stops rendering the object; once for those with the same chart."""
    lines = list(dict.fromkeys(_switch_off_text(shared, party) for party in leavers))
    return lines if len(lines) <= _LINES else [*lines[:_LINES], f"and so for {len(lines) - _LINES} more"]


def _switch_off_text(shared: Shared, party: Party) -> str:
    switch = _first_switch(party)
    place, name = _source_place(party), shared.id.name
    if switch:
        values = json.dumps(yaml.safe_load(switch["off"][0]))
        return f"{shared.name(party)}: in {switch['where']} set {values}"
    if party.tool == "Helm" and shared.id.kind == "CustomResourceDefinition":
        return (
            f"{shared.name(party)}: spec.source.helm.skipCrds: true for CRDs of the chart's crds/ folder; for CRDs among its"
            " templates the chart's value (crds.enabled, crds.install, installCRDs)"
        )
    if party.tool == "Helm" and party.chart:
        return f"{shared.name(party)}: find the value of {place} that switches it off (`helm show values`)"
    if party.tool == "Helm":
        return (
            f"{place}: look in its values.yaml for a switch that exists (create, enabled, rbac.create, serviceAccount.create); where the"
            f" template that renders it (grep -rn -- {quote(name)} {quote(party.path)}/templates) has none, put it behind a value of its own:"
            " {{- if .Values.<part>.createShared }} ... {{- end }}, false by default"
        )
    if party.tool == "Kustomize":
        return f"{shared.name(party)}: drop it from {place}, or delete it there by a patch with `$patch: delete`"
    return f"{shared.name(party)}: delete its manifest from {place}"


def _own_name_fixes(shared: Shared, keeper: Party | None) -> Iterator[Fix]:
    """Fix B: one name for each release or Application, if the source allows it."""
    firm = shared.firm
    leavers = [p for p in firm if p is not keeper]
    if not leavers or shared.id.kind in _NAME_IS_MEANING or (keeper and added_parts(shared, keeper, leavers)):
        return
    party = leavers[-1]
    rename = next((s for s in party.switches if s["rename"]), None)
    derived = not any(s["fixed"] for s in party.switches) if party.switches else party.release in shared.id.name
    first = _guard_before_rename(shared, party)
    if rename:
        yield Fix(
            f"Give the release of {shared.name(party)} its own name",
            "helm-values",
            rename["where"],
            Edit("yaml", rename["rename"]),
            caveat=joined(
                "other objects of the chart are renamed too, and data of StatefulSets does not follow",
                first,
            ),
            effects=("restarts", "deletes"),
        )
    elif party.switches or (party.tool == "Helm" and (party.chart or shared.joined)):
        own = party.app.name if party.app.name != party.release else f"{party.namespace}-{party.release}"
        if derived and (own == party.app.name or (party.namespace and shared.joined)):
            yield Fix(
                f"Give the release of {shared.name(party)} its own name",
                "application",
                f"the Helm source of {party.place or f'Application {party.app}'}",
                Edit("yaml", f"spec:\n  source:\n    helm:\n      releaseName: {own}\n"),
                caveat=joined(
                    "the whole release is created again under the new name, and data of StatefulSets does not follow",
                    first,
                ),
                effects=("restarts", "deletes"),
            )
    elif party.tool == "Helm" and shared.two_releases:
        yield Fix(
            f"Give the release of {shared.name(party)} a name of its own",
            "helm-values",
            _values_place(party),
            _own_name_edit(
                party, party.app.name if shared.id.name in party.app.name else f"{shared.id.name}-{party.app.name}"
            ),
            caveat=joined(
                f"for a chart that reads it: grep -rn -e fullnameOverride {quote(party.path)}; all objects are renamed, and data of StatefulSets does not follow",
                first,
            ),
            effects=("restarts", "deletes"),
            unverified=_UNKNOWN_USERS,
        )
    elif party.tool == "Helm":
        apart = len({p.namespace for p in firm}) == len(firm)
        if not apart and len({p.release for p in firm}) < len(firm):
            return
        part = "{{ .Release.Namespace }}" if apart else "{{ .Release.Name }}"
        yield Fix(
            "Name it per release in the chart's own template",
            "manifest",
            f"{party.path}/templates of {party.repo}",
            Edit("yaml", f'metadata:\n  name: "{part}-{shared.id.name}"\n'),
            caveat=joined(f"{_fullname_hint(shared)}; whatever refers to it by name must follow", first),
            unverified=_UNKNOWN_USERS,
        )
    elif len({p.origin for p in firm}) == 1 and party.tool == "Kustomize" and party.place.startswith("Application "):
        yield Fix(
            f"Give the names of {shared.name(party)} a suffix of its own",
            "application",
            party.place,
            Edit("yaml", f"spec:\n  source:\n    kustomize:\n      nameSuffix: -{party.app.name}\n"),
            caveat=joined("all of its objects are created again under the new names, without their data", first),
            effects=("restarts", "deletes"),
        )
    elif len({p.origin for p in firm}) == 1 and not shared.two_programs:
        return  # one manifest for all of them: another name in it is another one in all
    elif party.tool in ("Directory", "Kustomize") or shared.two_programs:
        yield Fix(
            f"Give it another name in {shared.name(party)}",
            "manifest",
            _source_place(party),
            Edit("yaml", f"metadata:\n  name: {shared.id.name}-{party.app.name}\n"),
            caveat=joined("whatever refers to it by name in that Application must follow", first),
            unverified=_UNKNOWN_USERS,
        )


_UNKNOWN_USERS = "what refers to it by name is not known completely: a diff of the commit (`argocd app diff APP --revision BRANCH`) shows what else changes"


def _values_place(party: Party) -> str:
    """Where the release's own values are: a parameter wins over values, and the last values file over the others."""
    where = party.place or f"Application {party.app}"
    if party.named_by:
        return f"the Helm parameters of {where}"
    return f"{party.files[-1]}, a values file of {where}" if party.files else f"the Helm values of {where}"


def _own_name_edit(party: Party, name: str) -> Edit:
    if party.named_by:
        return Edit("yaml", f"helm:\n  parameters:\n  - name: {party.named_by}\n    value: {name}\n")
    return Edit("yaml", f"fullnameOverride: {name}\n")


def _guard_before_rename(shared: Shared, party: Party) -> str:
    """The step before a rename: the owner prunes the live object once it renders another name, and the others still need it.

    One that heals itself may be the owner by then.
    """
    if party.app != shared.owner and not (party.self_heal and party.prune):
        return ""
    owns = "owns the live object and prunes it then" if party.app == shared.owner else "may own the live object by then"
    takers = [p for p in shared.parties if p.claims and p is not party]
    syncs = enumerated([f"`{handover.sync(p.app)}`" for p in takers])
    return (
        f"{shared.name(party)} {owns}: first `{handover.guard(shared.id)}`, afterwards {syncs}, and"
        f" then `{_release_command(shared, takers)}`"
    )


def _release_command(shared: Shared, keepers: Sequence[Party]) -> str:
    """The command that removes the guard once one of the keepers owns the object."""
    key = "" if shared.untracked else next((p.tracked_by for p in shared.parties if p.tracked_by), TRACKING_ID)
    return handover.released(shared.id, [p.instance or p.app.name for p in keepers] or ["SHARED_APPLICATION"], key)


_NAME_IS_MEANING = ("Namespace", "CustomResourceDefinition", "APIService")
"""Kinds with a prescribed name."""


def _fullname_hint(shared: Shared) -> str:
    """A sentence on fullnameOverride: it helps if the object's name contains the name of a release."""
    releases = {p.release for p in shared.parties if p.release}
    if not any(release in shared.id.name for release in releases):
        return "another helm.releaseName changes nothing here, and fullnameOverride only where the template reads it"
    return "fullnameOverride does the same where the template uses the release name"


def _create_namespace_fix(shared: Shared, keeper: Party) -> Fix:
    """The fix that replaces the manifest by CreateNamespace; its first step keeps Argo CD from pruning the namespace."""
    managed = _marks([keeper, *(p for p in shared.parties if p is not keeper)])
    policy: dict[str, Any] = {"syncOptions": ["CreateNamespace=true"]}
    if managed:
        policy["managedNamespaceMetadata"] = managed
    body = dump([{"spec": {"syncPolicy": policy}}])
    tracked_by = next((p.tracked_by for p in shared.parties if p.tracked_by), TRACKING_ID)
    steps = (
        "# 1. Guard the namespace, or pruning deletes it with all in it:",
        f"#    $ {handover.guard(shared.id)}",
        f"# 2. Remove the Namespace manifest from {shared.names([p for p in shared.parties if p.claims])}, and give {shared.name(keeper)} this:",
        body.rstrip(),
        "# 3. Sync them, then remove the remaining tracking data, so that no Application prunes the namespace:",
        f"#    $ {handover.untrack(shared.id, tracked_by)}",
        f"#    $ {handover.unguard(shared.id)}",
    )
    return Fix(
        f"Let {shared.name(keeper)} create the namespace (CreateNamespace=true)",
        "application",
        _spec_places(shared, [keeper]),
        Edit("yaml", "\n".join(steps) + "\n"),
        caveat="the namespace then outlives the Applications",
    )
