"""Argo CD cannot read a line of an RBAC policy

What it finds: in the ConfigMap argocd-rbac-cm or in the roles of an AppProject that an application has: a line that Argo CD cannot read (`cause` is `line`), a line that it
reads and that can never match (`value`), and a `policy.default` that names no role (`default`).

Why it hurts: because of one line that it cannot read, Argo CD's API server refuses the whole ConfigMap, answers every request that needs a right with an error, and does not
start again. In an AppProject, all roles of the project lose their rights. A line that never matches has no effect, and nothing says so.

How to fix: `p` takes a subject, a resource, an action, an object and an effect; `g` takes a member and a role. Write `argocd admin settings rbac validate` into CI.

Example: `p, role:dev, applications, sync, shop/*` lacks `allow`; the group `CN=dev,OU=it` of a project role lacks quotes.

Sources: util/rbac/rbac.go (loadPolicyLine, tryGetCasbinEnforcer), server/server.go (rbacPolicyLoader), pkg/apis/application/v1alpha1 (ProjectPoliciesString) of Argo CD, 2.14 to 3.6. With
`policy.matchMode: regex`, only unreadable lines are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Rank, Resource, Rule
from argolint.application.fleet import IN_CLUSTER
from argolint.edits import manifest_patch, manifest_text
from argolint.redaction import excerpt
from argolint.values import join_pointer, mapping, maps, text_at, texts

from ._rbac_lines import LineFault, line_faults, policy_keys, roles_of

_NAME = "argocd-rbac-cm"
_MOST = 5
"""Most findings of one project."""
_MOST_LINES = 100
"""Most lines of one key with a fault that are counted."""


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application has Argo CD's policy, or a project with a line that cannot be read."""
    for row in app.rows:
        if (row.group, row.kind, row.name) == ("", "ConfigMap", _NAME):
            return app.cluster == IN_CLUSTER and row.namespace == fleet.control_plane
        if (row.group, row.kind) == ("argoproj.io", "AppProject"):
            spec = mapping(fleet.projects.get(row.name), "spec")
            if any(True for _ in _project_faults(row.name, spec)):
                return True
    return False


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """The first findings of each policy."""
    for resource in app.of_kind("ConfigMap", ""):
        if resource.name == _NAME and app.cluster == IN_CLUSTER and resource.namespace == fleet.control_plane:
            yield from _of_settings(app, resource)
    for resource in app.of_kind("AppProject", "argoproj.io"):
        found = _project_faults(resource.name, mapping(resource.desired, "spec"))
        for pointer, line, fault in islice(found, _MOST):
            yield _finding_of_project(app, resource, pointer, line, fault)


def _of_settings(app: App, resource: Resource) -> Iterator[Finding]:
    data = mapping(resource.desired, "data")
    by_pattern = text_at(data, "policy.matchMode") == "regex"
    for key in policy_keys(data):
        found = tuple(islice(line_faults(str(data[key]), by_pattern=by_pattern), _MOST_LINES))
        if found:
            yield _finding_of_settings(app, resource, key, sorted(found, key=lambda fault: not fault.stops))
    yield from _of_default(app, resource, data)


def _finding_of_settings(app: App, resource: Resource, key: str, found: Sequence[LineFault]) -> Finding:
    """One finding for a key: of the first line that cannot be read, else of the first that never matches."""
    first, name = found[0], excerpt(key, 40)
    if first.stops:
        message = f"Argo CD's API server refuses requests and does not start again, since line {first.number} of {name} has {first.says}."
    else:
        message = f"Line {first.number} of {name} in {resource.id} has no effect: {first.says}."
    return Finding(
        message=message,
        at=Location(app.ref, resource.id, f"/data{join_pointer(key)}"),
        cause="line" if first.stops else "value",
        severity=None if first.stops else "warning",
        confidence="proven" if first.stops else "likely",
        evidence=tuple(f"line {fault.number}: {fault.says}" for fault in found[:20]),
        fixes=(_line_fix(resource, [fault for fault in found if fault.stops == first.stops], name),),
    )


def _line_fix(resource: Resource, found: Sequence[LineFault], name: str) -> Fix:
    lines = "".join(f"{name}, line {fault.number}: {excerpt(fault.meant, 200) or _FORM}\n" for fault in found[:20])
    return manifest_text(resource.id, _TITLE, lines)


_TITLE = "Write the line with all its fields, each as Argo CD knows it"


def _of_default(app: App, resource: Resource, data: Mapping[str, Json]) -> Iterator[Finding]:
    """A default role that almost has the name of a known one."""
    default = text_at(data, "policy.default")
    roles = roles_of([str(data[key]) for key in policy_keys(data)])
    near = get_close_matches(default[:80], sorted(roles), 1, cutoff=0.75) if default and default not in roles else []
    if near:
        at = "/data/policy.default"
        yield Finding(
            message=f'The default role "{excerpt(default, 40)}" of {resource.id} grants nothing: no line gives it anything; {excerpt(near[0], 40)} exists.',
            at=Location(app.ref, resource.id, at),
            cause="default",
            severity="warning",
            confidence="likely",
            fixes=(
                manifest_patch(
                    resource.id, "Name the existing role", [{"op": "replace", "path": at, "value": near[0]}]
                ),
            ),
        )


def _project_faults(name: str, spec: Mapping[str, Json]) -> Iterator[tuple[str, str, LineFault]]:
    """The faults of a project's roles: pointer, line, and what is wrong."""
    for number, role in enumerate(maps(spec, "roles")):
        subject = f"proj:{name}:{text_at(role, 'name')}"
        for place, line in enumerate(texts(role, "policies")):
            yield from ((f"/spec/roles/{number}/policies/{place}", line, fault) for fault in line_faults(line))
        for place, group in enumerate(texts(role, "groups")):
            line = f"g, {group}, {subject}"
            for fault in line_faults(line):
                quoted = '"' + group.strip().strip('"').replace('"', '""') + '"'
                pointer = f"/spec/roles/{number}/groups/{place}"
                yield pointer, group, fault._replace(meant=quoted if "," in group else "", says="commas and no quotes")


def _finding_of_project(app: App, resource: Resource, pointer: str, line: str, fault: LineFault) -> Finding:
    shown = excerpt(line.strip(), 60)
    if fault.stops:
        message = f'No role of {resource.id} grants anything, since Argo CD cannot read "{shown}": it has {fault.says}.'
    else:
        message = f'The policy "{shown}" of {resource.id} has no effect: {fault.says}.'
    edit = Edit("text", f"{pointer}: {excerpt(fault.meant or _FORM, 200)}\n")
    step = {"op": "replace", "path": pointer, "value": fault.meant}
    return Finding(
        message=message,
        at=Location(app.ref, resource.id, pointer),
        cause="line" if fault.stops else "value",
        severity=None if fault.stops else "warning",
        confidence="proven" if fault.stops else "likely",
        fixes=(
            manifest_patch(resource.id, _TITLE, [step])
            if fault.meant
            else Fix(_TITLE, "manifest", str(resource.id), edit),
        ),
    )


_FORM = "p, SUBJECT, RESOURCE, ACTION, OBJECT, EFFECT or g, MEMBER, ROLE"

RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    reads=reads,
    causes=("line", "value", "default"),
    rank=Rank.CAUSE,
)
