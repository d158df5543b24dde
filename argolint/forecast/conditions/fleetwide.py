"""Conditions on resources that applications share: ApplicationSets, projects, repositories, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argolint.application.application_sets import (
    UNSEEN_POLICY,
    generators,
    owned_applications,
    preserves,
    reporting_ref,
    set_id,
)
from argolint.application.fleet import Fleet
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.model import AppRef, Json, Object, Related, ResourceId, Severity
from argolint.values import dig, get, items, join_pointer, mapping, maps, parse_version, text_at


def _selected(generator: Object) -> Iterator[tuple[str, str, str]]:
    """Labels that a cluster generator selects: pointer below the generator, label, value."""
    at = "/clusters/selector"
    selector = mapping(generator, "clusters", "selector")
    for label, value in mapping(selector, "matchLabels").items():
        yield f"{at}/matchLabels{join_pointer(label)}", label, str(value)
    for index, wanted in enumerate(maps(selector, "matchExpressions")):
        if wanted.get("operator") == "In":
            for number, value in enumerate(items(wanted, "values")):
                yield f"{at}/matchExpressions/{index}/values/{number}", text_at(wanted, "key"), str(value)


def _cluster_label(world: World, args: Args) -> Iterator[Hit]:
    """Sets whose cluster generator selects the label `value` in its old form, `1.34`."""
    fleet = world.fleet
    for raw in fleet.application_sets:
        own = owned_applications(fleet, raw)
        for place, generator, _ in generators(raw.get("spec")):
            for pointer, label, value in _selected(generator):
                if label != args["value"] or not _is_plain(value):
                    continue
                fate, severity = _effect_on_applications(world, raw, len(own))
                yield Hit(
                    reporting_ref(fleet, raw),
                    set_id(fleet, raw),
                    place + pointer,
                    {
                        "object": str(set_id(fleet, raw)),
                        "value": value,
                        "label": label,
                        "fate": fate,
                        "versions": ", ".join(_versions(fleet, value)) or f"v{value}.PATCH",
                    },
                    (f"{place + pointer}: {value}", *_unseen_policy(world)),
                    tuple(Related(app.ref, None, "", "dependent") for app in own),
                    severity=severity,
                )


def _unseen_policy(world: World) -> tuple[str, ...]:
    return () if world.sets.policy is not None else (UNSEEN_POLICY,)


def _is_plain(value: str) -> bool:
    return not value.startswith("v") and value.count(".") == 1 and parse_version(value) is not None


def _versions(fleet: Fleet, value: str) -> Iterator[str]:
    """The exact versions of the clusters that the value matches now."""
    found = {fleet.kubernetes_version(server) for server in fleet.clusters}
    wanted = parse_version(value)
    for version in sorted(found):
        exact = parse_version(version)
        if exact is not None and exact[:2] == wanted and len(exact) > 2:
            yield "v" + ".".join(map(str, exact))


def _effect_on_applications(world: World, raw: Object, made: int) -> tuple[str, Severity | None]:
    """The effect on the Applications of a set that no longer selects anything, and its severity if it is not the worst."""
    count = f"its {made} Applications" if made != 1 else "its Application"
    if not world.sets.deletes(raw):
        policy = world.sets.of(raw)
        return f"{count} no longer {'get' if made != 1 else 'gets'} changes ({policy} keeps what is there)", "warning"
    if preserves(raw):
        return f"{count} {'are' if made != 1 else 'is'} deleted, and what was deployed stays", None
    return f"{count} {'are' if made != 1 else 'is'} deleted with all that was deployed", None


def _nested_selector(world: World, args: Args) -> Iterator[Hit]:
    """Sets with a selector in a generator of the third level, which was ignored unless applyNestedSelectors was set."""
    for raw in world.fleet.application_sets:
        if dig(raw, "spec", "applyNestedSelectors") is True:
            continue
        for place, generator, depth in generators(raw.get("spec")):
            if depth >= 2 and generator.get("selector"):
                own = set_id(world.fleet, raw)
                yield Hit(
                    reporting_ref(world.fleet, raw),
                    own,
                    f"{place}/selector",
                    {"object": str(own), "at": f"{place}/selector"},
                    (),
                    tuple(Related(app.ref, None, "", "dependent") for app in owned_applications(world.fleet, raw)),
                )


def _of_project(world: World, name: str) -> AppRef:
    fleet = world.fleet
    first = next((app.ref for app in fleet.apps if app.ref.project == name), None)
    return first or AppRef(fleet.control_plane, name, name, fleet.server)


def _project(world: World, args: Args) -> Iterator[Hit]:
    """Projects with a value at `at`; with `impersonation`, only if the server impersonates."""
    if args.get("impersonation") and world.fleet.settings.get("impersonationEnabled") is not True:
        return
    for name, raw in sorted(world.fleet.projects.items()):
        if get(raw, args["at"], None):
            own = ResourceId("argoproj.io", "AppProject", world.fleet.control_plane, name, "v1alpha1")
            yield Hit(_of_project(world, name), own, args["at"], {"object": str(own), "project": name}, key=name)


def _role(world: World, args: Args) -> Iterator[Hit]:
    """Project roles whose policies allow `grants` and not `lacks`, each `resource, action`; wildcards of a policy count."""
    for name, raw in sorted(world.fleet.projects.items()):
        for index, role in enumerate(maps(raw, "spec", "roles")):
            lines = [line for line in map(_policy, items(role, "policies")) if line]
            (has, has_action), (lacks, lacks_action) = (args[key].split(", ") for key in ("grants", "lacks"))
            granted = [line for line in lines if line[0] == has and _matches_action(line[1], has_action)]
            if not granted or any(line[0] in (lacks, "*") and _matches_action(line[1], lacks_action) for line in lines):
                continue
            own = ResourceId("argoproj.io", "AppProject", world.fleet.control_plane, name, "v1alpha1")
            fields = {"object": str(own), "project": name, "role": text_at(role, "name"), "subject": granted[0][2]}
            yield Hit(
                _of_project(world, name), own, f"/spec/roles/{index}/policies", fields, key=f"{name}/{fields['role']}"
            )


def _policy(line: Json) -> tuple[str, str, str] | None:
    """Resource, action and object of an allow line of a policy; None for any other line."""
    parts = [part.strip() for part in str(line).split(",")]
    if len(parts) == 6 and parts[0] == "p" and parts[5] == "allow":
        return parts[2], parts[3], parts[4]
    return None


def _matches_action(pattern: str, action: str) -> bool:
    """Whether a policy's action matches this one (Argo CD's glob)."""
    return pattern in ("*", action)


def _setting(world: World, args: Args) -> Iterator[Hit]:
    """A setting with this value: one hit for the server, at its first application."""
    if get(world.fleet.settings, args["at"], None) == args["is"] and world.fleet.apps:
        fields = {"value": str(args["is"])}
        yield Hit(world.fleet.apps[0].ref, None, "", fields, (f"settings{args['at']}: {args['is']}",), key=args["at"])


def _scoped_cluster(world: World, args: Args) -> Iterator[Hit]:
    """Applications of one project on a cluster that is registered for another one."""
    for app in world.fleet.apps:
        scope = text_at(world.fleet.clusters.get(app.cluster), "project")
        if scope and scope != app.ref.project:
            fields = {"app": str(app.ref), "project": app.ref.project, "cluster": app.cluster, "scope": scope}
            yield Hit(app.ref, None, "/spec/destination", fields)


CONDITIONS: Mapping[str, Condition] = {
    "cluster-label": Condition(of_fleet=_cluster_label, needs=("applicationsets",)),
    "nested-selector": Condition(of_fleet=_nested_selector, needs=("applicationsets",)),
    "project": Condition(of_fleet=_project, needs=("projects",)),
    "role": Condition(of_fleet=_role, needs=("projects",)),
    "scoped-cluster": Condition(of_fleet=_scoped_cluster, needs=("clusters",)),
    "setting": Condition(of_fleet=_setting, needs=("settings",)),
}
