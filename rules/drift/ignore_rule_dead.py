"""An ignore rule that matches nothing

What it finds: an `ignoreDifferences` entry of an Application that selects none of its objects (no group means only the core group; a group is
written without version; kinds are spelt exactly). Or a pointer or jq path of it that matches nothing in the selected objects: an unescaped slash
of an annotation, an index beyond the list, a wildcard in a pointer, a misspelt field. Also rules in argocd-cm whose key has the wrong group for
a kind that differs.

Why it hurts: the difference that it should hide is still there, or will return at a bad time; and readers of the Application believe that it is
hidden.

How to fix: repair the entry, or delete it.

Example: `{kind: Deployment, jsonPointers: [/spec/replicas]}` without `group: apps`.

Sources: argoproj/argo-cd#4326, #28590; util/argo/normalizers/diff_normalizer.go.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from argolint import MISSING, App, AppRef, Edit, Finding, Fix, Fleet, Json, Location, Object, Resource, ResourceId, Rule
from argolint.comparison import IgnoreRule, jq, managers, matches, server_rules
from argolint.edits import RESPECT, application_patch, application_place, ignore_less, removals, set_field, sync_option
from argolint.values import (
    at_and_above,
    enumerated,
    get,
    index_of,
    join_pointer,
    owner_references,
    parse_version,
    schema,
    split_pointer,
)
from argolint.values.kubernetes import is_secret
from argolint.values.patterns import regex

from ._ignored import expression_pointer, has_entries, own_entries, paths, removed_pointers, selected_resources
from ._misnamed_settings import misnamed_settings_findings

Cause = Literal["group", "kind", "name", "pointer", "index", "jq", "manager", "repeated"]


@dataclass(frozen=True)
class Fault:
    """The reason why an entry or a path of it is dead. `value` repairs `field` of the entry; `other_faults`: its other faults; `sure`: it can never
    match; `judged`: False if argolint cannot decide; `detail`: evidence."""

    cause: Cause
    why: str
    field: str = ""
    value: Json = None
    sure: bool = True
    other_faults: tuple[tuple[str, Json], ...] = ()
    judged: bool = True
    detail: str = ""


@dataclass(frozen=True)
class _Miss:
    """An entry that selects nothing, the objects that it would select without one fault, and the fault; whether other applications have it, too."""

    entry: IgnoreRule
    meant: tuple[Resource, ...]
    fault: Fault
    copied: bool


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each entry that selects nothing, or for all with one wrong group, else one for each path of it that matches nothing."""
    if not app.desired_known or not any(not r.hook for r in app.resources):
        return
    yield from misnamed_settings_findings(app, fleet)
    misses: dict[object, list[_Miss]] = {}
    for entry in own_entries(app):
        objects = selected_resources(app, entry)
        if objects and not (entry.json_pointers or entry.jq_paths or entry.managers):
            yield _empty_entry_finding(app, entry, objects)
            continue
        if objects:
            yield from _dead_path_findings(app, fleet, entry, objects)
            continue
        sibling, copied = _usefulness_elsewhere(app, fleet, entry)
        if not sibling:
            meant, fault = _meant_objects(app, entry)
            alike = (entry.group, fault.value, copied) if fault.cause == "group" and not fault.other_faults else entry
            misses.setdefault(alike, []).append(_Miss(entry, meant, fault, copied))
    for found in misses.values():
        yield _no_object_finding(app, found, fleet.version)


def _empty_entry_finding(app: App, entry: IgnoreRule, objects: Sequence[Resource]) -> Finding:
    """The finding for an entry without fields: Argo CD accepts it, and it ignores nothing."""
    differs = tuple(dict.fromkeys(change.pointer for r in objects for change in r.changes))[:10]
    operations = set_field(app.raw, f"{entry.origin}/jsonPointers", list(differs))
    named = replace(entry, json_pointers=differs)
    repair = (_entry_fix(app, "Name the fields that differ now", operations, [(named, objects)]),) if differs else ()
    return Finding(
        message=f"The ignore rule {_entry_text(entry)} of {app.name} hides nothing: it names no fields.",
        at=Location(app.ref, objects[0].id, differs[0] if differs else entry.origin),
        cause="pointer",
        evidence=(f"{entry.origin} of the Application",),
        fixes=(*repair, _delete_fix(app, [entry])),
    )


def _owner_sets(app: App) -> frozenset[tuple[str, str]]:
    """The ApplicationSets that made the application."""
    owners = (o.get("name") for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet")
    return frozenset((app.ref.namespace, str(name)) for name in owners)


def _usefulness_elsewhere(app: App, fleet: Fleet, entry: IgnoreRule) -> tuple[bool, bool]:
    """Whether the entry selects something in another application of the same ApplicationSet, whose template contains it; and whether any other
    application has the same entry and needs it."""
    needing = fleet.derive(_applications_needing, replace(entry, origin=""))
    own_sets = _owner_sets(app)
    sibling = any(sets & own_sets and ref != app.ref for ref, sets in needing.items()) if own_sets else False
    return sibling, sibling or any(ref != app.ref for ref in needing)


def _applications_needing(fleet: Fleet, entry: IgnoreRule) -> Mapping[AppRef, frozenset[tuple[str, str]]]:
    """The applications with this entry, at any position, and an object that it selects; and the ApplicationSets that made them."""
    having = (app for app in fleet.apps if any(replace(other, origin="") == entry for other in own_entries(app)))
    return {app.ref: _owner_sets(app) for app in having if selected_resources(app, entry)}


def _no_object_finding(app: App, misses: Sequence[_Miss], version: str) -> Finding:
    """One finding for entries with one fault."""
    entry, meant, fault = misses[0].entry, misses[0].meant, misses[0].fault
    target = meant[0] if meant else None
    any_name = _named_as(entry, target) if target else entry
    places = removed_pointers(any_name, target) if target and target.live_known else ()
    several = f"{len(misses)} ignore rules of {app.name} hide" if misses[1:] else ""
    one = f"The ignore rule {_entry_text(entry)} of {app.name} hides"
    kinds = sorted({miss.meant[0].kind for miss in misses if miss.meant})
    is_of_kinds = len({miss.fault.why for miss in misses}) > 1
    why = f"{enumerated(kinds, 'kind', limit=2)} belong to group {fault.value!r}" if is_of_kinds else fault.why
    return Finding(
        message=f"{several or one} nothing: {why}.",
        at=Location(app.ref, target.id if target else None, (*places, *any_name.json_pointers, entry.origin)[0]),
        cause=fault.cause,
        severity="info" if misses[0].copied and not meant else None,
        evidence=tuple(line for miss in misses for line in _miss_lines(miss, of_several=bool(misses[1:]))),
        fixes=(*_repair_fixes(app, misses, version), _delete_fix(app, [miss.entry for miss in misses])),
    )


def _named_as(entry: IgnoreRule, target: Resource) -> IgnoreRule:
    return replace(entry, group=target.group, kind=target.kind, name="", namespace="")


def _miss_lines(miss: _Miss, *, of_several: bool) -> Iterator[str]:
    entry, target = miss.entry, next(iter(miss.meant), None)
    yield f"{entry.origin} of the Application{f': {_entry_text(entry)}' if of_several else ''}"
    if miss.fault.detail:
        yield miss.fault.detail
    yield from (f"meant, most likely: {r.id}" for r in miss.meant[:5])
    if target and target.live_known and not removed_pointers(_named_as(entry, target), target):
        yield from _path_fault_texts(_named_as(entry, target), target)


def _path_fault_texts(widened: IgnoreRule, target: Resource) -> Iterator[str]:
    """The further faults of an entry that selects nothing: those of its paths, once it selects the object."""
    for path in (*widened.json_pointers, *widened.jq_paths):
        fault = _path_fault(path, (target,), in_jq=path in widened.jq_paths)
        yield f"{_path_text(path)} names nothing there either: {fault.why}"


def _meant_objects(app: App, entry: IgnoreRule) -> tuple[tuple[Resource, ...], Fault]:
    """The objects that the entry would select without one fault, and the fault."""
    objects = tuple(r for r in app.resources if not (r.hook or r.requires_pruning))
    group, _, version = entry.group.partition("/")

    def but(**spelt: str) -> tuple[Resource, ...]:
        other = replace(entry, **spelt)  # type: ignore[arg-type]  # only its four names are replaced
        return tuple(r for r in objects if matches(other, r.group, r.kind, r.namespace, r.name))

    if version and (found := but(group=group)):
        return found, Fault("group", f"a group is written without its version, as {group!r}", "group", group)
    if found := but(group="*"):
        others = sorted({r.group for r in found})
        why = f"{found[0].kind} belongs to group {others[0]!r}"
        detail = "an entry without group means the core group only" if not entry.group else ""
        return found, Fault("group", why, "group", others[0], detail=detail)
    kinds = {r.kind: r for r in objects if r.kind.lower().rstrip("s") == entry.kind.lower().rstrip("s")}
    for kind in sorted(kinds):
        if found := but(kind=kind, group="*"):
            fault = Fault("kind", f"kind {entry.kind!r} is spelt {kind!r}", "kind", kind)
            return found, fault
    if entry.namespace and (found := but(namespace="", name=entry.name)):
        return found, Fault(
            "name", f"no such object is in namespace {entry.namespace!r}", "namespace", found[0].namespace
        )
    if entry.name and (found := but(name="", namespace="")):
        names = [r.name for r in found]
        close = difflib.get_close_matches(entry.name, names, 1)
        return found, Fault(
            "name", f"there is no {entry.name!r}, but {enumerated(names, limit=2)}", "name", (close or names)[0]
        )
    alike = but(group="*", name="", namespace="")
    if len(alike) == 1 and (entry.name or entry.namespace):
        only = alike[0]
        wrong = (("name", only.name), ("namespace", only.namespace))
        also = tuple((field, value) for field, value in wrong if getattr(entry, field) not in ("", value))
        why = f"the only {only.kind} is {only.name}, of group {only.group!r}"
        return alike, Fault("group", why, "group", only.group, other_faults=also)
    return (), Fault("kind", f"there is no {entry.kind or 'object'} of group {entry.group!r}")


def _repair_fixes(app: App, misses: Sequence[_Miss], version: str) -> Iterator[Fix]:
    """The repair of what selects objects, and of the paths that then still name nothing; none if such a path remains."""
    repairs: list[tuple[IgnoreRule, Sequence[Resource]]] = []
    operations: list[Json] = []
    for miss in misses:
        repaired = _with_live_paths(miss.entry, miss.meant) if miss.fault.field else None
        if repaired is None:
            return
        repairs.append((repaired, miss.meant))
        operations += [
            operation
            for field, value in ((miss.fault.field, miss.fault.value), *miss.fault.other_faults)
            for operation in (
                set_field(app.raw, f"{miss.entry.origin}/{field}", value)
                if value
                else [{"op": "remove", "path": f"{miss.entry.origin}/{field}"}]
            )
        ]
        operations += _path_operations(app, miss.entry, repaired)
    fault = misses[0].fault
    fields = " and ".join(field for field, _ in ((fault.field, ""), *fault.other_faults))
    which = f"the {len(misses)} entries" if misses[1:] else "the entry"
    same_paths = [repaired for repaired, _ in repairs] == [miss.entry for miss in misses]
    paths_too = "" if same_paths else " and their paths" if misses[1:] else " and its paths"
    title = f"Repair {fields} of {which}{paths_too}"
    yield _entry_fix(app, title, operations, repairs)
    takes = any(removed_pointers(_of_any_object(entry), r) for entry, meant in repairs for r in meant)
    if takes and (parse_version(version) or _MERGES_LISTS) < _MERGES_LISTS:
        edit = Edit("json-patch", operations)
        yield Fix(
            f"{title}, and nothing else",
            "application",
            application_place(app),
            edit,
            "each sync still writes what Git says there",
        )


def _of_any_object(entry: IgnoreRule) -> IgnoreRule:
    return replace(entry, group="*", kind="*", name="", namespace="")


def _with_live_paths(entry: IgnoreRule, objects: Sequence[Resource]) -> IgnoreRule | None:
    """The entry with each pointer repaired that can never name anything; None if one of them cannot be repaired."""
    any_object = replace(entry, group="*", kind="*", name="", namespace="", jq_paths=(), managers=())
    known = [r for r in objects if r.any]
    pointers, jq_paths = [], list(entry.jq_paths)
    for path in entry.json_pointers:
        single = replace(any_object, json_pointers=(path,))
        fault = _path_fault(path, known, in_jq=False) if known else Fault("pointer", "", sure=False)
        if not fault.sure or any(removed_pointers(_stored_entry(single, r), r) for r in known):
            pointers.append(path)
        elif isinstance(fault.value, str) and any(get(r.any, fault.value) is not MISSING for r in known):
            pointers.append(fault.value)
        elif as_jq := _as_jq_path(path, known):
            jq_paths.append(as_jq)
        else:
            return None
    return replace(entry, json_pointers=tuple(pointers), jq_paths=tuple(jq_paths))


def _path_operations(app: App, entry: IgnoreRule, repaired: IgnoreRule) -> list[Json]:
    """The operations that give the entry the paths of the repaired one."""
    operations: list[Json] = []
    place = f"{entry.origin}/jsonPointers"
    if repaired.json_pointers != entry.json_pointers:
        operations += (
            set_field(app.raw, place, list(repaired.json_pointers))
            if repaired.json_pointers
            else [{"op": "remove", "path": place}]
        )
    if repaired.jq_paths != entry.jq_paths:
        operations += set_field(app.raw, f"{entry.origin}/jqPathExpressions", list(repaired.jq_paths))
    return operations


def _as_jq_path(pointer: str, objects: Sequence[Resource]) -> str:
    """The jq path for a pointer that walks through a list without an index, or has a wildcard; empty if it names nothing in these objects."""
    for resource in objects:
        node: Json = resource.any
        found, jumps = "", 0
        for step in split_pointer(pointer):
            if isinstance(node, list) and (step == "*" or index_of(step) is None):
                found, jumps, node = f"{found}[]?", jumps + 1, next(iter(node), None)
                if step == "*":
                    continue
            found += _jq_step(step) if isinstance(node, Mapping) else f"[{step}]"
            node = get(node, join_pointer(step), None)
        found = found if found.startswith(".") else f".{found}"
        entry = IgnoreRule("*", "*", jq_paths=(found,))
        if jumps and removed_pointers(entry, resource):
            return found
    return ""


def _jq_step(token: str) -> str:
    return f".{token}" if re.fullmatch(r"[A-Za-z_]\w*", token) else f".[{json.dumps(token)}]"


_MERGES_LISTS = (2, 11)
"""The first release in which syncs keep single ignored fields of a list; older ones keep the whole live list."""


def _entry_fix(
    app: App, title: str, operations: list[Json], repaired: Sequence[tuple[IgnoreRule, Sequence[Resource]]]
) -> Fix:
    """The fix of entries, with the option to respect them if they will hide a difference that a sync would silently overwrite."""
    places = [(r, frozenset(removed_pointers(_of_any_object(e), r))) for e, objects in repaired for r in objects]
    differs = any(not found.isdisjoint(at_and_above(change.pointer)) for r, found in places for change in r.changes)
    stated = any(get(r.desired, place) is not MISSING for r, found in places for place in found)
    trusted = any(entry.managers for entry, _ in repaired)
    respect = sync_option(app, RESPECT) if differs or stated or trusted else []
    caveat = "each sync keeps the live values of every ignored field then" if respect else ""
    fix = application_patch(app, title, [*operations, *respect], caveat)
    return replace(fix, older=((Edit("json-patch", operations), _WRITES_ON),)) if respect else fix


_WRITES_ON = "each sync still writes Git's values, which an Argo CD of 2.3 or later can leave alone"


def _delete_fix(app: App, entries: Sequence[IgnoreRule]) -> Fix:
    edit = Edit("json-patch", removals(app.raw, [entry.origin for entry in entries]))
    return Fix(
        "Delete the entries" if entries[1:] else "Delete the entry",
        "application",
        application_place(app),
        edit,
        safe=True,
    )


def _dead_path_findings(app: App, fleet: Fleet, entry: IgnoreRule, objects: Sequence[Resource]) -> Iterator[Finding]:
    known = tuple(r for r in objects if r.live is not None or r.desired is not None)
    if len(known) < len(objects):
        return
    for path, single in paths(app, entry):
        places = {r.id: removed_pointers(_stored_entry(single, r), r) for r in known}
        if not any(places.values()):
            fault = _path_fault(path, known, in_jq=bool(single.jq_paths))
            if fault.sure or any(
                r.live is not None for r in known
            ):  # what is not live yet lacks what a controller fills in
                yield _path_finding(app, entry, path, known, fault)
        elif _is_ignored_by_server(fleet, known, places):
            fault = Fault("repeated", "the server ignores it for every application", sure=False)
            yield _path_finding(app, entry, path, known, fault)
    for manager in entry.managers:
        writers = {w.manager for r in known if r.live is not None for w in managers(r.live)}
        if manager not in writers:
            close = difflib.get_close_matches(manager, sorted(writers), 1, 0.8)
            why = "no such field manager" + (f", but {close[0]!r}" if close else "")
            fault = Fault("manager", why, sure=bool(close))
            yield _path_finding(app, entry, manager, known, fault)


def _stored_entry(entry: IgnoreRule, resource: Resource) -> IgnoreRule:
    """The entry for the stored object: a Secret's `stringData` is shown as `data`, and must be ignored for a sync that keeps live values."""
    if not is_secret(resource):
        return entry
    pointers = tuple(re.sub(r"^/stringData(?=/|$)", "/data", pointer) for pointer in entry.json_pointers)
    paths_ = tuple(re.sub(r"^\.stringData\b", ".data", path) for path in entry.jq_paths)
    return replace(entry, json_pointers=pointers, jq_paths=paths_)


def _is_ignored_by_server(
    fleet: Fleet, objects: Sequence[Resource], places: Mapping[ResourceId, Sequence[str]]
) -> bool:
    rules = server_rules(fleet.settings)

    def served(resource: Resource) -> bool:
        theirs = {
            pointer
            for rule in rules
            if matches(rule, resource.group, resource.kind, resource.namespace, resource.name)
            for pointer in removed_pointers(rule, resource)
        }
        return all(not theirs.isdisjoint(at_and_above(mine)) for mine in places[resource.id])

    return all(served(resource) for resource in objects)


def _path_finding(app: App, entry: IgnoreRule, path: str, objects: Sequence[Resource], fault: Fault) -> Finding:
    what = (
        "hides nothing of its own"
        if fault.cause == "repeated"
        else "names nothing"
        if fault.judged
        else "was not judged"
    )
    return Finding(
        message=f"{_path_text(path)} in the ignore rule {_entry_text(entry)} of {app.name} {what}: {fault.why}.",
        at=Location(app.ref, objects[0].id, _path_place(entry, path)),
        cause=fault.cause,
        severity=None if fault.sure else "info",
        confidence="proven" if fault.sure else "possible",
        evidence=(
            f"{entry.origin} of the Application",
            *(() if _path_text(path) == repr(path) else (path,)),
            *((fault.detail,) if fault.detail else ()),
        ),
        fixes=_path_fixes(app, entry, path, fault, objects),
    )


def _path_text(path: str) -> str:
    """A path for a sentence: a program of several words belongs in the evidence."""
    return repr(path) if len(path.split()) == 1 and len(path) <= _LONG else "A jq expression"


_LONG = 80


def _path_place(entry: IgnoreRule, path: str) -> str:
    """The place that the path should point to; for an invalid path, its place in the Application."""
    if path in entry.managers:
        return f"{entry.origin}/managedFieldsManagers/{entry.managers.index(path)}"
    if path in entry.json_pointers:
        return path if path.startswith("/") else f"{entry.origin}/jsonPointers/{entry.json_pointers.index(path)}"
    return join_pointer(*_jq_steps(path)) or f"{entry.origin}/jqPathExpressions/{entry.jq_paths.index(path)}"


def _path_fixes(app: App, entry: IgnoreRule, path: str, fault: Fault, objects: Sequence[Resource]) -> tuple[Fix, ...]:
    if not isinstance(fault.value, str) or path not in entry.json_pointers:
        take_out = (_take_out_fix(app, entry, path),) if fault.sure or fault.cause == "repeated" else ()
        as_jq = _as_jq_path(path, objects) if fault.sure and path in entry.json_pointers else ""
        return (_as_jq_fix(app, entry, path, as_jq, objects), *take_out) if as_jq else take_out
    place = expression_pointer(entry, path)
    operation = {"op": "replace", "path": place, "value": fault.value}
    meant = replace(entry, json_pointers=(fault.value,), jq_paths=(), managers=())
    return (_entry_fix(app, "Repair the pointer", [operation], [(meant, objects)]),)


def _as_jq_fix(app: App, entry: IgnoreRule, path: str, as_jq: str, objects: Sequence[Resource]) -> Fix:
    rest = tuple(pointer for pointer in entry.json_pointers if pointer != path)
    repaired = replace(entry, json_pointers=rest, jq_paths=(*entry.jq_paths, as_jq))
    meant = replace(entry, json_pointers=(), jq_paths=(as_jq,), managers=())
    operations = _path_operations(app, entry, repaired)
    return _entry_fix(app, "Write the pointer as a jq path, which walks through lists", operations, [(meant, objects)])


def _take_out_fix(app: App, entry: IgnoreRule, path: str) -> Fix:
    operations = ignore_less(app, [expression_pointer(entry, path)])
    whole = operations and operations[0]["path"] in entry.origin
    title = "Delete the entry, which holds no other expression" if whole else "Remove the expression from the entry"
    return Fix(title, "application", application_place(app), Edit("json-patch", operations), safe=True)


def _path_fault(path: str, objects: Sequence[Resource], *, in_jq: bool) -> Fault:
    """The reason why the path matches nothing, by the object in which it matches most; unsure if it may match later."""
    if in_jq:
        return _jq_fault(path, objects)
    if not path:
        return Fault("pointer", "it is empty")
    if not path.startswith("/"):
        spelt = (f"/{path}", f"/{path.strip('.').replace('.', '/')}")
        right = next((p for p in spelt if any(get(r.any, p) is not MISSING for r in objects)), spelt[0])
        return Fault("pointer", "a JSON pointer begins with a slash", "jsonPointers", right)
    if "*" in path.split("/"):
        return Fault("pointer", "a JSON pointer knows no wildcard; jqPathExpressions do")
    return _pointer_fault(objects[0].any, split_pointer(path), "pointer")


def _jq_fault(path: str, objects: Sequence[Resource]) -> Fault:
    """The reason why the jq path matches nothing. A failing program's error message is not used: it may contain any value of the object."""
    if refusal := jq.refusal(path):
        return Fault("jq", "Argo CD cannot parse it and compares nothing", detail=refusal)
    steps = _jq_steps(path)
    walked = (
        _pointer_fault(objects[0].any, steps, "jq")
        if steps
        else Fault("jq", "nothing fits the expression now", sure=False)
    )
    if skipped := jq.skipped(objects[0].any, path):
        always = all(jq.skipped(resource.any, path) for resource in objects)
        sure_of_it = not any(jq.unknown(resource.any, path) for resource in objects)
        why = "Argo CD skips it" if sure_of_it else "argolint cannot run it"
        detail = f"on {objects[0].id} {skipped}{f' ({walked.why})' if walked.sure else ''}"
        return Fault("jq", why, sure=always and sure_of_it, judged=sure_of_it, detail=detail)
    return walked


_JQ_STEP = regex(r'\.([A-Za-z_]\w*)|\.?\["([^"]+)"\]|\."([^"]+)"|\[(\d*)\]')


def _jq_steps(path: str) -> tuple[str, ...]:
    """The plain steps at the beginning of a jq path; an iteration uses the first item."""
    steps: list[str] = []
    at = 0
    while match := _JQ_STEP.match(path, at):
        steps.append(next((group for group in match.groups()[:3] if group), match[4] or "0"))
        at = match.end()
    return tuple(steps)


def _pointer_fault(obj: Object, tokens: Sequence[str], cause: Cause) -> Fault:
    node: Json = obj
    for position, token in enumerate(tokens):
        here = join_pointer(*tokens[:position])
        if isinstance(node, Mapping):
            if token in node:
                node = node[token]
                continue
            known = schema.has_field(obj, tokens[: position + 1])
            return _absent_key_fault(node, tokens, position, cause, may_come=known)
        if isinstance(node, list) and (index := index_of(token)) is not None:
            if index >= len(node):
                return Fault(
                    "index", f"the list at {here} has {len(node)} item{'s' if len(node) != 1 else ''}", sure=bool(node)
                )
            node = node[index]
            continue
        return Fault(
            cause, f"{here} is no map" if not isinstance(node, list) else f"{here} is a list, whose items have indexes"
        )
    return Fault(cause, "nothing fits it now", sure=False)


_FREE_MAPS = frozenset({"annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData", "binaryData"})
"""Maps with free keys: a missing key is not a misspelt other one (`inject-ca-from` next to `inject-ca-from-secret`)."""


def _absent_key_fault(
    node: Mapping[str, Json], tokens: Sequence[str], position: int, cause: Cause, *, may_come: bool
) -> Fault:
    """`may_come`: the kind has a field of this name, so it is no misspelt other one."""
    here, token = join_pointer(*tokens[:position]), tokens[position]
    for length in range(2, len(tokens) - position + 1):
        joined = "/".join(tokens[position : position + length])
        if joined in node:
            right = join_pointer(*tokens[:position], joined, *tokens[position + length :])
            return Fault(cause, "a slash in a key is written as ~1", "jsonPointers", right)
    steps = token.split(".")
    if len(steps) > 1 and get(node, join_pointer(*steps, *tokens[position + 1 :])) is not MISSING:
        right = join_pointer(*tokens[:position], *steps, *tokens[position + 1 :])
        return Fault(cause, f"{token!r} is one key; a pointer separates keys with slashes", "jsonPointers", right)
    bracketed = re.fullmatch(r"(\w+)\[(\d+)\]", token)
    if bracketed and isinstance(node.get(bracketed[1]), list):
        right = join_pointer(*tokens[:position], *bracketed.groups(), *tokens[position + 1 :])
        return Fault(cause, f"{token!r} is one key; a pointer writes the index after a slash", "jsonPointers", right)
    alike = [key for key in node if key.lower() == token.lower()]
    if not (alike or may_come or (position and tokens[position - 1] in _FREE_MAPS)):
        alike = difflib.get_close_matches(token, list(node), 1, 0.85)
    if alike:
        right = join_pointer(*tokens[:position], alike[0], *tokens[position + 1 :])
        return Fault(cause, f"{here or 'the object'} has no {token!r}, but {alike[0]!r}", "jsonPointers", right)
    if not (position or may_come):
        for right in (join_pointer(*tokens[1:]), join_pointer("spec", *tokens)):
            if right and get(node, right) is not MISSING:
                return Fault(cause, f"the object has no {token!r}, but {right}", "jsonPointers", right)
    return Fault(cause, f"{here or 'the object'} has no {token!r} now", sure=False)


def _entry_text(entry: IgnoreRule) -> str:
    kind = f"{entry.group}/{entry.kind}" if entry.group else entry.kind or "*"
    return f"for {kind}" + (f" {entry.name!r}" if entry.name else "")


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    reads=has_entries,
    causes=("group", "kind", "name", "pointer", "index", "jq", "manager", "repeated"),
)
