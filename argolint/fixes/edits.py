"""The edits of files that a fix requires: of an Application, of a manifest, or of Helm values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from argolint.fixes import locate, values_files
from argolint.fixes.compose import fitted_operations
from argolint.fixes.kustomize import require_unowned
from argolint.fixes.site import Choice, Site, place_of
from argolint.fixes.spot import Found, Spot, Unplaced
from argolint.fixes.values_files import Values, reads_values
from argolint.model import MISSING, Json, Object
from argolint.reports.document import ReportedApp, ReportedFinding, ReportedFix
from argolint.sources.same_application import whose
from argolint.sources.yaml_text import EditError, Operation, applied, documents, patch
from argolint.values import dig, get, join_pointer, leaves, mapping, owner_references, split_pointer
from argolint.values.knowledge import dump
from argolint.values.kubernetes import group_of
from argolint.values.patterns import regex


@dataclass(frozen=True)
class FileEdit:
    spot: Spot
    operations: tuple[Operation, ...]
    notes: tuple[str, ...] = ()
    rendered: Object | None = None
    """The spot's object as Argo CD renders it; None if unknown."""


def identity(obj: Json) -> tuple[Json, ...]:
    if not isinstance(obj, Mapping) or "kind" not in obj:
        return ()
    group = group_of(obj)
    return group, obj["kind"], dig(obj, "metadata", "name"), dig(obj, "metadata", "namespace")


def moved_below(operation: Operation, prefix: str) -> Operation:
    return {**operation, **{key: prefix + operation[key] for key in ("path", "from") if key in operation}}


def edits_of(choice: Choice, site: Site, *, blanks: bool = False) -> Iterator[FileEdit]:
    fix = choice.fix
    if fix.edit.kind == "command":
        raise Unplaced("it is a command", "run it as `argolint fix` prints it")
    if fix.edit.kind == "text":
        raise Unplaced("it is advice in words", "follow it by hand")
    if fix.verified is False:
        raise Unplaced(f"it does not work: {fix.unverified}", "take another --alternative")
    if fix.target not in _EDITORS:
        raise Unplaced(
            f"it changes {_ELSEWHERE[fix.target]}, which no manifest of the application holds", "apply it there"
        )
    _require_sound(fix)
    if not blanks:
        _require_complete(fix)
    yield from _EDITORS[fix.target](choice, site)


_ELSEWHERE = {
    "live": "a live object",
    "operator": "an operator's own installation",
    "argocd-settings": "Argo CD's settings",
}
_STEPS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "replace", "test"), ("path", "value")),
    **dict.fromkeys(("move", "copy"), ("path", "from")),
    "remove": ("path",),
}
_POINTER = regex(r"(/([^~/]|~[01])*)+")
_MAX_INDEX_DIGITS = 9


def _require_sound(fix: ReportedFix) -> None:
    """Raise Unplaced for an invalid patch: a saved report may be foreign."""
    if fix.edit.kind != "json-patch":
        return
    steps = fix.edit.content
    if not isinstance(steps, list | tuple) or not all(isinstance(s, Mapping) and _is_step(s) for s in steps):
        raise Unplaced("its edit is no JSON patch of fields", "make the report again, or change the file by hand")


def _is_step(step: Mapping[str, Json]) -> bool:
    """True for an RFC 6902 operation, except on the whole object or with an invalid list index."""
    names = _STEPS.get(step["op"]) if isinstance(step.get("op"), str) else None
    paths = [step.get(name) for name in ("path", "from") if name in (names or ())]
    return (
        names is not None
        and all(name in step for name in names)
        and all(isinstance(path, str) and _POINTER.fullmatch(path) for path in paths)
        and not any(_is_wild(token) for path in paths for token in split_pointer(str(path)))
    )


def _is_wild(token: str) -> bool:
    return token.isdigit() and not (token.isascii() and len(token) <= _MAX_INDEX_DIGITS)


_BLANK = regex(r"<[^<>\n]+>|^\.\.\.$|…|\{\{|^\+{3,}$|\(masked\)")


def _require_complete(fix: ReportedFix) -> None:
    """Raise Unplaced for an edit with placeholders: `<host>`, `...`, a template, a masked value."""
    content = fix.edit.content if fix.edit.kind == "json-patch" else _fragment(fix)
    blanks = [str(value) for _, value in leaves(content) if isinstance(value, str) and _BLANK.search(value)]
    if blanks:
        raise Unplaced("the fix leaves a value to you", "fill it in and change the file by hand")


def _fragment(fix: ReportedFix) -> Mapping[str, Json]:
    try:
        found = [d.data for d in documents(str(fix.edit.content)) if d.data is not None]
    except EditError:
        raise Unplaced("the fix is a sketch and no complete YAML", "change it by hand") from None
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise Unplaced("the fix is more than one piece of YAML", "add it by hand")
    return found[0]


def _steps_first(fix: ReportedFix) -> tuple[str, ...]:
    """The instructions in the fragment's comments; they are not part of the file."""
    if fix.edit.kind != "yaml":
        return ()
    return tuple(m[1].rstrip() for m in re.finditer(r"^#[ ]?(.*\S)", str(fix.edit.content), re.MULTILINE))


def _application_edits(choice: Choice, site: Site) -> Iterator[FileEdit]:
    fix, finding = choice.fix, choice.finding
    if "ApplicationSet" in fix.where:
        raise Unplaced(
            f"it belongs into the {fix.where}", "change the template by hand: it makes all Applications of the set"
        )
    for app in _apps_named(finding, fix):
        spot, obj, raw = _own_application(app, site)
        yield FileEdit(spot, _operations(fix, obj, lists=True), _steps_first(fix), raw)


def _own_application(app: ReportedApp, site: Site) -> tuple[Spot, Object, Object | None]:
    """The Application's manifest, and the Application on the server, if known. Unplaced if an ApplicationSet generates it."""
    raw = site.apps.get(place_of(app))
    owner = next((o for o in owner_references(raw) if o.get("kind") == "ApplicationSet"), None)
    if owner is not None:
        why = f"ApplicationSet {owner.get('name')} generates Application {app.namespace}/{app.name}"
        raise Unplaced(why, "change the set's template by hand")
    spot, obj = own_manifest(app, site)
    return spot, obj, raw


def own_manifest(app: ReportedApp, site: Site) -> tuple[Spot, Object]:
    """The manifest of an Application of this Argo CD. Unplaced if there is none, or more than one."""
    here = place_of(app)
    named = {place: raw for place, raw in site.apps.items() if place[1:] == here[1:]}

    def fits(manifest: Object) -> bool:
        owners = whose(manifest, named)
        return not owners or here in owners or here not in named

    return locate.application(site.checkouts, app.namespace, app.name, fits)


def _apps_named(finding: ReportedFinding, fix: ReportedFix) -> tuple[ReportedApp, ...]:
    """The applications in the fix's `where`, else the finding's own."""
    known = dict.fromkeys((finding.app, *(r.app for r in finding.related)))
    named = tuple(a for a in known if re.search(rf"(?<![\w.-]){re.escape(a.name)}(?![\w.-])", fix.where))
    return named or (finding.app,)


def _manifest_edits(choice: Choice, site: Site) -> Iterator[FileEdit]:
    fix, finding = choice.fix, choice.finding
    resource = fix.resource or finding.resource
    if resource is None:
        raise Unplaced("the fix names no object", "change it by hand")
    apps = (
        finding.app,
        *site.owners(finding.app, resource),
        *(r.app for r in finding.related if r.resource == resource),
    )
    left = None
    for app in dict.fromkeys(apps):
        raw = application_of(app, finding, site)
        try:
            found = locate.manifest(site.checkouts, raw, resource)
        except Unplaced as why:
            left = left or why
            continue
        operations = _operations(fix, found.obj)
        for operation in operations:
            require_unowned(found, operation["path"])
        seen = site.rendered(app, resource) or locate.at_revision(found, _revision(raw, found, finding))
        yield FileEdit(found.spot, operations, (*_steps_first(fix), *found.notes), seen)
        return
    assert left is not None
    raise left


def application_of(app: ReportedApp, finding: ReportedFinding, site: Site) -> Object:
    """The Application: from the server or a checkout, else rebuilt from the report."""
    known = site.apps.get(place_of(app))
    if known is not None:
        return known
    try:
        return own_manifest(app, site)[1]
    except Unplaced:
        source = finding.source if app == finding.app else None
        if source is None:
            raise Unplaced(
                f"the source of Application {app.namespace}/{app.name} is not known",
                "let argolint read the server or a --snapshot, or give a checkout that holds the Application",
            ) from None
        return {"spec": {"source": {"repoURL": source.repo, "path": source.path, "chart": source.chart}}}


def _revision(raw: Object, found: Found, finding: ReportedFinding) -> str:
    """The commit that Argo CD rendered, of the source that has the object."""
    sync = mapping(raw, "status", "sync")
    revisions = sync.get("revisions") or [sync.get("revision")]
    known = revisions[found.source] if found.source < len(revisions) else None
    return str(known or (finding.source.revision if finding.source else ""))


def _values_edits(choice: Choice, site: Site) -> Iterator[FileEdit]:
    fix, finding = choice.fix, choice.finding
    raw = application_of(finding.app, finding, site)
    patched = fix.edit.kind == "json-patch"
    paths = [o["path"] for o in fix.edit.content] if patched else [p for p, _ in leaves(_fragment(fix))]
    values = values_files.values(site.checkouts, raw, paths, fix.where)
    if values.spot is None:
        yield _own_values_edit(choice, site, values)
        return
    spot = values.spot
    others = sorted(
        (name if namespace == finding.app.namespace else f"{namespace}/{name}")
        + ("" if server == finding.app.server else f" of {server}")
        for (server, namespace, name), other in site.apps.items()
        if (server, namespace, name) != place_of(finding.app) and reads_values(site.checkouts, other, spot)
    )
    shared = (f"{spot.file} is also read by {', '.join(others)}",) if others else ()
    yield FileEdit(spot, _operations(fix, values.content), (*_steps_first(fix), *shared))


def _own_values_edit(choice: Choice, site: Site, values: Values) -> FileEdit:
    """The edit of values in the Application itself, as a map or as text."""
    app = choice.finding.app
    spot, obj, raw = _own_application(app, site)
    held = get(obj, values.at)
    if values.text == "" and not held:
        steps: tuple[Operation, ...] = _new_values(obj, values.at, dump([applied({}, _operations(choice.fix, {}))]))
    elif values.text is not None:
        if not isinstance(held, str):
            raise Unplaced(f"the file has no text at {values.at}, as the Application has", "change it by hand")
        operations = _operations(choice.fix, documents(held)[0].data)
        new: Json = patch(held, 0, list(fitted_operations(operations, documents(held)[0].data, None)))
        steps = ({"op": "replace", "path": values.at, "value": new},)
    elif held is not MISSING:
        steps = tuple(moved_below(o, values.at) for o in _operations(choice.fix, held))
    else:
        steps = _new_values(obj, values.at, applied({}, _operations(choice.fix, {})))
    return FileEdit(spot, steps, _steps_first(choice.fix), raw)


def _new_values(obj: Json, at: str, new: Json) -> tuple[Operation, ...]:
    """The operation that gives the Application its first own values, and the map around them where that is missing."""
    helm, _, field = at.rpartition("/")
    if get(obj, helm.rpartition("/")[0]) is MISSING:
        raise Unplaced(f"the file has no {helm.rpartition('/')[0]}, as the Application has", "change it by hand")
    if get(obj, helm) is MISSING:
        return ({"op": "add", "path": helm, "value": {field: new}},)
    return ({"op": "add", "path": at, "value": new},)


_EDITORS: Mapping[str, Callable[[Choice, Site], Iterator[FileEdit]]] = {
    "application": _application_edits,
    "manifest": _manifest_edits,
    "helm-values": _values_edits,
}


def _operations(fix: ReportedFix, obj: Json, *, lists: bool = False) -> tuple[Operation, ...]:
    """The edit as RFC 6902 operations on the object in the file. `lists`: list items of a fragment are appended."""
    if fix.edit.kind == "json-patch":
        return tuple(fix.edit.content)
    fragment = _fragment(fix)
    if {"apiVersion", "kind"} <= set(fragment):
        whole = {"metadata": mapping(obj, "metadata"), **fragment}
        if identity(whole) != identity(obj):
            raise Unplaced(f"the fix adds another object, a {fragment.get('kind')}", "add it by hand")
    return tuple(_merge("", obj or {}, fragment, lists))


def _merge(at: str, old: Json, new: Mapping[str, Json], lists: bool) -> Iterator[Operation]:
    for key, value in new.items():
        path = at + join_pointer(key)
        present = old.get(key)
        if present is None:
            yield {"op": "add", "path": path, "value": value}
        elif isinstance(present, Mapping) and isinstance(value, Mapping):
            yield from _merge(path, present, value, lists)
        elif isinstance(present, list) and isinstance(value, list):
            if not lists and present != value:
                raise Unplaced(f"the file has a list at {path} already", "join the two by hand")
            yield from ({"op": "add", "path": f"{path}/-", "value": item} for item in value if item not in present)
        elif present != value:
            yield {"op": "replace", "path": path, "value": value}
