"""How to end a shared object: one owner, one name per release, one maker of a namespace, and a guard against the next time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from argolint import App, Edit, Fix, Json, Resource
from argolint.model import FixTarget

from . import handover
from .sharing import Party, Shared

_LONG = 6000
"""Characters of JSON from which on a manifest is not printed in a fix (a CustomResourceDefinition has many more)."""
_MERGED = {"ClusterRoleBinding": "subjects", "RoleBinding": "subjects", "ClusterRole": "rules", "Role": "rules"}
"""RBAC lists of which a common owner needs the items of all."""


def switches(app: App, resource: Resource) -> list[Mapping[str, Json]]:
    """What the charts of this application offer for the object; see `Party.switches`."""
    return []


def fixed_names(shared: Shared) -> Iterator[str]:
    """Why no value of the chart can give each release its own name, where that is known."""
    for label in sorted({s["chart"] for p in shared.parties for s in p.switches if not s["rename"]}):
        yield f"chart {label} knows no value that renames it: unique names are no way out"


def fixes(shared: Shared) -> Iterator[Fix]:
    """The ways out, best first."""
    keeper = _keeper(shared)
    if shared.id.kind == "Namespace" and not shared.id.group:
        yield _namespace(shared, keeper or shared.parties[0])
    yield _one_owner(shared, keeper)
    yield from _own_names(shared, keeper)
    everyone = " and ".join(shared.name(p) for p in shared.parties)
    yield Fix(
        "Make a sync fail rather than take another Application's object",
        "application",
        f"spec of {everyone}",
        Edit("yaml", "spec:\n  syncPolicy:\n    syncOptions:\n    - FailOnSharedResource=true\n"),
        caveat="a guard and no cure: while the object is shared, every sync of an Application that does not own it fails",
    )


def _keeper(shared: Shared) -> Party | None:
    """Who should own the object: the Application that syncs first, else the owner; None when a new, shared one should.

    Releases of one chart in several namespaces are equals: none of them is the base of the others.
    """
    firm = [p for p in shared.parties if p.claims]
    equals = len({p.origin for p in firm}) == 1 and firm[0].repo and len({p.namespace for p in firm}) > 1
    if not firm or (equals and not shared.id.namespace and len({p.wave for p in firm}) == 1):
        return None
    return min(firm, key=lambda p: (p.wave, p.app != shared.owner, p.app))


def _one_owner(shared: Shared, keeper: Party | None) -> Fix:
    leavers = [p for p in shared.parties if p is not keeper and p.claims]
    who = " and ".join(shared.name(p) for p in leavers)
    off = [line for p in leavers for line in _off(shared, p)]
    off = list(dict.fromkeys(off))
    values = [s for p in leavers for s in p.switches if s["off"]]
    target: FixTarget = "helm-values" if values else "manifest"
    where = ", ".join(dict.fromkeys(s["where"] for s in values)) or ", ".join(dict.fromkeys(map(_place, leavers)))
    if keeper is None:
        return Fix(
            f"Move {shared.id} to one shared Application and switch it off in {who}",
            target,
            where,
            Edit("yaml", _plan(shared, None, leavers, off)),
            caveat="always works, whatever the chart does with names; the shared Application must sync before the others",
        )
    if not leavers:
        return Fix(
            f"Hand {shared.id} over to {shared.name(keeper)}, which renders it",
            "live",
            str(shared.id),
            Edit("command", handover.take_over(shared.id, keeper.app)),
            caveat="the former owner must not render it again, or the two go on taking it from each other",
        )
    if shared.owner == keeper.app and not any(p.applied for p in leavers):
        return Fix(
            f"Leave {shared.id} to {shared.name(keeper)} and switch it off in {who} before the first sync",
            target,
            where,
            Edit("text", "\n".join(off) + "\n"),
            safe=True,
        )
    return Fix(
        f"Keep {shared.id} in {shared.name(keeper)} alone and switch it off in {who}",
        target,
        where,
        Edit("command", _plan(shared, keeper, leavers, off)),
        caveat=_decide(shared, keeper),
    )


def _decide(shared: Shared, keeper: Party) -> str:
    """What the others lose."""
    if not shared.fields:
        return ""
    fields = ", ".join(list(shared.fields)[:3])
    return f"first put into {shared.name(keeper)} what all need: the others then run with its {fields}"


def _plan(shared: Shared, keeper: Party | None, leavers: Sequence[Party], off: Sequence[str]) -> str:
    """The steps: as comments around the manifest for a new owner, else as a script."""
    lines = handover.steps(shared.id, keeper.app if keeper else None, [p.app for p in leavers], off)
    if keeper is not None:
        return "\n".join(lines) + "\n"
    commented = [line if line.startswith("#") else f"#    $ {line}" for line in lines]
    return "\n".join(commented) + "\n# The manifest for the shared Application:\n" + _manifest(shared)


def _manifest(shared: Shared) -> str:
    """The object for its new owner, in wave 0; RBAC lists hold what all of the parties have in them."""
    contents = {p.app: p.content for p in shared.parties if p.content is not None}
    base: Any = contents.get(shared.owner) if shared.owner in contents else next(iter(contents.values()), None)
    if base is None or shared.secret or len(json.dumps(base)) > _LONG:
        return f"# (take {shared.id} as it is in Git)\n"
    made = json.loads(json.dumps(base))
    metadata = made.setdefault("metadata", {})
    metadata.setdefault("annotations", {})["argocd.argoproj.io/sync-wave"] = "0"
    merged = _MERGED.get(shared.id.kind)
    if merged:
        rows = [row for content in contents.values() for row in content.get(merged) or ()]
        made[merged] = [row for number, row in enumerate(rows) if row not in rows[:number]]
    head = {k: made.pop(k) for k in ("apiVersion", "kind", "metadata") if k in made}
    return str(yaml.safe_dump(head | made, sort_keys=False, width=1000, allow_unicode=True))


def _place(party: Party) -> str:
    """Where the manifests of an application come from."""
    if party.chart:
        return f"chart {party.chart} of {party.repo}"
    return f"{party.path or '.'} of {party.repo}" if party.repo else f"the source of {party.app}"


def _off(shared: Shared, party: Party) -> Iterator[str]:
    """How an application stops rendering the object."""
    for switch in party.switches:
        for values in switch["off"]:
            yield f"{shared.name(party)}: in {switch['where']} set {values}"
            return
    place, name = _place(party), shared.id.name
    if party.tool == "Helm" and party.chart:
        yield f"{shared.name(party)}: find the value of {place} that switches it off (`helm show values`)"
    elif party.tool == "Helm":
        yield (
            f"{place}: put the template that renders it (grep -rn '{name}' {party.path}/templates) behind a value:"
            " {{- if .Values.<part>.createShared }} ... {{- end }}, false by default"
        )
    elif party.tool == "Kustomize":
        yield f"{shared.name(party)}: drop it from {place}, or delete it there by a patch with `$patch: delete`"
    else:
        yield f"{shared.name(party)}: delete its manifest from {place}"


def _own_names(shared: Shared, keeper: Party | None) -> Iterator[Fix]:
    """One name per release or Application, where the source allows one."""
    leavers = [p for p in shared.parties if p.claims and p is not keeper]
    if not leavers or shared.id.kind in ("Namespace", "CustomResourceDefinition", "APIService"):
        return
    party = leavers[-1]
    name = shared.id.name
    known = list(party.switches)
    if known:
        renames = next((s["rename"] for s in known if s["rename"]), ())
        if renames:
            yield Fix(
                "Give each release its own name",
                "helm-values",
                f"{known[0]['where']} of {shared.name(party)}",
                Edit("yaml", str(renames[0])),
                caveat=_RENAMED,
            )
        return
    if party.tool == "Helm" and not party.chart:
        firm = [p for p in shared.parties if p.claims]
        if len({p.namespace for p in firm}) == len(firm):
            part = "{{ .Release.Namespace }}"
        elif len({p.release for p in firm}) == len(firm):
            part = "{{ .Release.Name }}"
        else:
            return
        yield Fix(
            "Name it per release in the chart's own template",
            "manifest",
            f"{party.path}/templates of {party.repo}",
            Edit("yaml", f"metadata:\n  name: {part}-{name}\n"),
            caveat=f"{_from_release(shared, party)}; whatever refers to it by name must follow",
        )
    elif party.tool in ("Directory", "Kustomize"):
        yield Fix(
            f"Give it another name in {shared.name(party)}",
            "manifest",
            _place(party),
            Edit("yaml", f"metadata:\n  name: {name}-{party.app.name}\n"[:300]),
            caveat="whatever refers to it by name in that Application must follow",
        )


_RENAMED = "renames other objects of the chart too: new ones are made and the old ones pruned, and data of StatefulSets does not follow"


def _from_release(shared: Shared, party: Party) -> str:
    """Whether a fullnameOverride can help, as far as the names tell."""
    releases = {p.release for p in shared.parties if p.release}
    if not any(release in shared.id.name for release in releases):
        return (
            "the name does not hold the release name, so fullnameOverride or another helm.releaseName changes nothing"
        )
    return (
        "fullnameOverride or a helm.releaseName of its own does the same only where the template derives the name from the"
        f' release ("{party.release}"); where the name is written out, only the template can change it'
    )


def _namespace(shared: Shared, keeper: Party) -> Fix:
    """CreateNamespace in place of the manifest; the first step keeps Argo CD from pruning the namespace."""
    metadata: Mapping[str, Json] = next((p.content["metadata"] for p in shared.parties if p.content), {})
    managed = {k: metadata[k] for k in ("labels", "annotations") if metadata.get(k)}
    policy: dict[str, Any] = {"syncOptions": ["CreateNamespace=true"]}
    if managed:
        policy["managedNamespaceMetadata"] = managed
    body = yaml.safe_dump({"spec": {"syncPolicy": policy}}, sort_keys=False, width=1000, allow_unicode=True)
    return Fix(
        f"Let Argo CD make the namespace: CreateNamespace=true in {shared.name(keeper)}, no manifest anywhere",
        "application",
        f"spec of {shared.name(keeper)}",
        Edit("yaml", f"# first, or pruning deletes the namespace with all in it: {handover.guard(shared.id)}\n{body}"),
        caveat="managedNamespaceMetadata belongs into one Application only; remove the Namespace manifests after the guard is set",
    )
