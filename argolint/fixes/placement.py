"""Fixes put into Git checkouts: where each one belongs, how several compose, and what cannot be placed and why.

    choices → locate → fit (old values) → compose (with the fixes before) → new texts of files

Nothing is written here, and nothing but the checkouts is read: `checkout.write` takes the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from argolint.fixes import locate
from argolint.fixes.locate import Spot, Unplaced
from argolint.model import MISSING, Json, Object
from argolint.reports.document import App, Finding, Fix, Resource
from argolint.sources.checkout import Checkout
from argolint.sources.same_application import whose
from argolint.sources.yaml_text import EditError, Operation, applied, documents, patch
from argolint.values import below, dig, get, index_of, join_pointer, leaves, mapping, owner_references, split_pointer
from argolint.values.kubernetes import ITEM_NAMES, group_of

Place = tuple[str, str, str]
"""An Application: its Argo CD, namespace and name."""
Rendered = Callable[[App, Resource], Object | None]
"""What Argo CD rendered of an object, as far as known."""


@dataclass(frozen=True)
class Site:
    """What placing may look at: the checkouts, the Applications by server, namespace and name, and what Argo CD rendered."""

    checkouts: tuple[Checkout, ...]
    apps: Mapping[Place, Object] = field(default_factory=dict)
    rendered: Rendered = lambda app, resource: None
    owners: Callable[[App, Resource], Iterable[App]] = lambda app, resource: ()
    """Of an object, on the Argo CD of an application."""


def place_of(app: App) -> Place:
    return app.server, app.namespace, app.name


@dataclass(frozen=True)
class Choice:
    """One alternative of a finding; `number` is its place in the report, from 1."""

    finding: Finding
    fix: Fix
    number: int


@dataclass(frozen=True)
class Outcome:
    """What became of a choice: the files that it changes, or why it was left (`why`) and what to do (`todo`).

    `refused`: it has a place, and the file as it stands does not take it; or the files should hold its place, and none does.
    """

    choice: Choice
    files: tuple[tuple[Checkout, str], ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""
    todo: str = ""
    refused: bool = False


@dataclass(frozen=True)
class Arranged:
    """The outcomes in the choices' order, and the new text of each file that changes."""

    outcomes: tuple[Outcome, ...]
    texts: Mapping[tuple[Checkout, str], str]


def arrange(choices: Sequence[Choice], site: Site, *, dirty: bool = False) -> Arranged:
    """Place the choices one after the other; each whole or not at all. `dirty` allows files with uncommitted changes."""
    return next(iter(staged([choices], site, dirty=dirty)))


def staged(groups: Iterable[Sequence[Choice]], site: Site, *, dirty: bool = False) -> Iterator[Arranged]:
    """The same in several steps: each one's outcomes, and the texts after it and all before."""
    placer = _Placer(site, dirty)
    for choices in groups:
        yield Arranged(tuple(placer.place(choice) for choice in choices), placer.texts)


@dataclass(frozen=True)
class _Edit:
    spot: Spot
    operations: tuple[Operation, ...]
    notes: tuple[str, ...] = ()
    rendered: Object | None = None
    """What the spot's object looks like to Argo CD; None when nobody knows."""


class _Placer:
    """The texts as they stand after the fixes so far, and what those did to each document."""

    def __init__(self, site: Site, dirty: bool) -> None:
        self.site, self.dirty = site, dirty
        self.texts: dict[tuple[Checkout, str], str] = {}
        self._done: dict[tuple[Checkout, str, int], list[tuple[Operation, str]]] = {}

    def place(self, choice: Choice) -> Outcome:
        edits: tuple[_Edit, ...] = ()
        try:
            edits = tuple(_edits(choice, self.site))
            texts, done, notes = dict(self.texts), {k: list(v) for k, v in self._done.items()}, []
            for edit in edits:
                notes += [*edit.notes, *self._apply(edit, choice, texts, done)]
        except Unplaced as left:
            todo = left.todo + self._instead(choice)
            return Outcome(choice, why=left.why, todo=todo, refused=bool(edits) or left.missing)
        except EditError as error:
            todo = "change it by hand" + self._instead(choice)
            return Outcome(choice, why=str(error), todo=todo, refused=bool(edits))
        self.texts, self._done = texts, done
        files = tuple(dict.fromkeys((edit.spot.checkout, edit.spot.file) for edit in edits))
        return Outcome(choice, files, tuple(dict.fromkeys(notes)))

    def _instead(self, choice: Choice) -> str:
        """Names the other alternatives that have a place."""
        possible = []
        for number, fix in enumerate(choice.finding.fixes, 1):
            if number != choice.number:
                try:
                    found = list(_edits(Choice(choice.finding, fix, number), self.site))
                    for edit in found:
                        list(self._apply(edit, choice, dict(self.texts), {k: list(v) for k, v in self._done.items()}))
                    possible.append(str(number))
                except (Unplaced, EditError):
                    continue
        return f" (--alternative {' or '.join(possible)} has a place)" if possible else ""

    def _apply(
        self,
        edit: _Edit,
        choice: Choice,
        texts: dict[tuple[Checkout, str], str],
        done: dict[tuple[Checkout, str, int], list[tuple[Operation, str]]],
    ) -> Iterator[str]:
        spot = edit.spot
        where = (spot.checkout, spot.file)
        if not self.dirty and spot.checkout.is_dirty(spot.file):
            raise Unplaced(f"{spot.file} has uncommitted changes", "commit or stash them, or pass --force")
        before = spot.checkout.text(spot.file)
        text = texts.get(where, before)
        original = get(spot.checkout.documents(spot.file)[spot.index].data, spot.prefix)
        now = documents(text)[spot.index].data
        history = done.setdefault((*where, spot.index), [])
        operations = [_moved(o, spot.prefix) for o in fitted(edit.operations, original, edit.rendered)]
        steps = list(_leaving_nothing(composed(operations, now, history), now))
        text = patch(text, spot.index, steps)
        if _identity(get(documents(text)[spot.index].data, spot.prefix)) != _identity(original):
            raise Unplaced("the edit makes another object of it", "change it by hand, with all that refers to it")
        history += [(operation, _subject(choice)) for operation in operations]
        if text != before:
            texts[where] = text
        if not steps:
            yield f"{spot.file} holds it already"
        if edit.rendered is None and any(_by_index(o["path"]) for o in operations):
            yield f"what Argo CD rendered is not known here: compare the list items of {spot.file} before you merge"


def spots(choice: Choice, site: Site) -> Iterator[tuple[Spot, str]]:
    """The places that a fix edits, as pointers into documents; none for a fix without a place. Blanks do not matter."""
    try:
        for edit in _edits(choice, site, blanks=True):
            for operation in edit.operations[:1]:
                yield edit.spot, edit.spot.prefix + operation["path"]
    except (Unplaced, EditError):
        return


def _subject(choice: Choice) -> str:
    return f"{choice.finding.rule} ({choice.fix.title})"


def _identity(obj: Json) -> tuple[Json, ...]:
    if not isinstance(obj, Mapping) or "kind" not in obj:
        return ()
    group = group_of(obj)
    return group, obj["kind"], dig(obj, "metadata", "name"), dig(obj, "metadata", "namespace")


def _by_index(path: str) -> bool:
    return any(index_of(token) is not None for token in split_pointer(path))


def _moved(operation: Operation, prefix: str) -> Operation:
    return {**operation, **{key: prefix + operation[key] for key in ("path", "from") if key in operation}}


# Which edit a fix is, and where


def _edits(choice: Choice, site: Site, *, blanks: bool = False) -> Iterator[_Edit]:
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
_POINTER = re.compile(r"(/([^~/]|~[01])*)+")
_MAX_INDEX_DIGITS = 9


def _require_sound(fix: Fix) -> None:
    """Raises Unplaced for a patch that is none: a saved report may come from anywhere."""
    if fix.edit.kind != "json-patch":
        return
    steps = fix.edit.content
    if not isinstance(steps, list | tuple) or not all(isinstance(s, Mapping) and _is_step(s) for s in steps):
        raise Unplaced("its edit is no JSON patch of fields", "make the report anew, or change the file by hand")


def _is_step(step: Mapping[str, Json]) -> bool:
    """RFC 6902, but for an edit of the whole object, and for indexes that no list has."""
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


_BLANK = re.compile(r"<[^<>\n]+>|^\.\.\.$|…|\{\{|^\+{3,}$|\(masked\)")


def _require_complete(fix: Fix) -> None:
    """Raises Unplaced for an edit with blanks: `<host>`, `...`, a template, a masked value."""
    content = fix.edit.content if fix.edit.kind == "json-patch" else _fragment(fix)
    blanks = [str(value) for _, value in leaves(content) if isinstance(value, str) and _BLANK.search(value)]
    if blanks:
        raise Unplaced("the fix leaves a value to you", "fill it in and change the file by hand")


def _fragment(fix: Fix) -> Mapping[str, Json]:
    try:
        found = [d.data for d in documents(str(fix.edit.content)) if d.data is not None]
    except EditError:
        raise Unplaced("the fix is a sketch and no complete YAML", "change it by hand") from None
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise Unplaced("the fix is more than one piece of YAML", "add it by hand")
    return found[0]


def _steps_first(fix: Fix) -> tuple[str, ...]:
    """What the fragment's comments ask for; they are instructions, not part of the file."""
    if fix.edit.kind != "yaml":
        return ()
    return tuple(m[1].rstrip() for m in re.finditer(r"^#[ ]?(.*\S)", str(fix.edit.content), re.MULTILINE))


def _application_edits(choice: Choice, site: Site) -> Iterator[_Edit]:
    fix, finding = choice.fix, choice.finding
    if "ApplicationSet" in fix.where:
        raise Unplaced(
            f"it belongs into the {fix.where}", "change the template by hand: it makes all Applications of the set"
        )
    for app in _apps_named(finding, fix):
        spot, obj, raw = _own_application(app, site)
        yield _Edit(spot, _operations(fix, obj, lists=True), _steps_first(fix), raw)


def _own_application(app: App, site: Site) -> tuple[Spot, Object, Object | None]:
    """The Application's manifest, and the Application as the server has it, if known. Unplaced when a set generates it."""
    raw = site.apps.get(place_of(app))
    owner = next((o for o in owner_references(raw) if o.get("kind") == "ApplicationSet"), None)
    if owner is not None:
        why = f"ApplicationSet {owner.get('name')} generates Application {app.namespace}/{app.name}"
        raise Unplaced(why, "change the set's template by hand")
    spot, obj = own_manifest(app, site)
    return spot, obj, raw


def own_manifest(app: App, site: Site) -> tuple[Spot, Object]:
    """The manifest of an Application of this Argo CD. Unplaced when there is none, or more than one."""
    here = place_of(app)
    named = {place: raw for place, raw in site.apps.items() if place[1:] == here[1:]}

    def fits(manifest: Object) -> bool:
        owners = whose(manifest, named)
        return not owners or here in owners or here not in named

    return locate.application(site.checkouts, app.namespace, app.name, fits)


def _apps_named(finding: Finding, fix: Fix) -> tuple[App, ...]:
    """The applications that the fix's `where` names, else the finding's own."""
    known = dict.fromkeys((finding.app, *(r.app for r in finding.related)))
    named = tuple(a for a in known if re.search(rf"(?<![\w.-]){re.escape(a.name)}(?![\w.-])", fix.where))
    return named or (finding.app,)


def _manifest_edits(choice: Choice, site: Site) -> Iterator[_Edit]:
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
            locate.require_unowned(found, operation["path"])
        seen = site.rendered(app, resource) or locate.at_revision(found, _revision(raw, found, finding))
        yield _Edit(found.spot, operations, (*_steps_first(fix), *found.notes), seen)
        return
    assert left is not None
    raise left


def application_of(app: App, finding: Finding, site: Site) -> Object:
    """The Application: as the server or a checkout has it, else as far as the report tells."""
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


def _revision(raw: Object, found: locate.Found, finding: Finding) -> str:
    """The commit that Argo CD rendered, of the source that holds the object."""
    sync = mapping(raw, "status", "sync")
    revisions = sync.get("revisions") or [sync.get("revision")]
    known = revisions[found.source] if found.source < len(revisions) else None
    return str(known or (finding.source.revision if finding.source else ""))


def _values_edits(choice: Choice, site: Site) -> Iterator[_Edit]:
    fix, finding = choice.fix, choice.finding
    raw = application_of(finding.app, finding, site)
    patched = fix.edit.kind == "json-patch"
    paths = [o["path"] for o in fix.edit.content] if patched else [p for p, _ in leaves(_fragment(fix))]
    values = locate.values(site.checkouts, raw, paths, fix.where)
    if values.spot is None:
        yield _own_values_edit(choice, site, values)
        return
    spot = values.spot
    others = sorted(
        (name if namespace == finding.app.namespace else f"{namespace}/{name}")
        + ("" if server == finding.app.server else f" of {server}")
        for (server, namespace, name), other in site.apps.items()
        if (server, namespace, name) != place_of(finding.app) and locate.reads_values(site.checkouts, other, spot)
    )
    shared = (f"{spot.file} is also read by {', '.join(others)}",) if others else ()
    yield _Edit(spot, _operations(fix, values.content), (*_steps_first(fix), *shared))


def _own_values_edit(choice: Choice, site: Site, values: locate.Values) -> _Edit:
    """The edit of values that stand in the Application itself, as a map or as text."""
    app = choice.finding.app
    spot, obj, raw = _own_application(app, site)
    held = get(obj, values.at)
    if values.text is not None:
        if not isinstance(held, str):
            raise Unplaced(f"the file has no text at {values.at}, as the Application has", "change it by hand")
        operations = _operations(choice.fix, documents(held)[0].data)
        new: Json = patch(held, 0, list(fitted(operations, documents(held)[0].data, None)))
        steps: tuple[Operation, ...] = ({"op": "replace", "path": values.at, "value": new},)
    elif held is not MISSING:
        steps = tuple(_moved(o, values.at) for o in _operations(choice.fix, held))
    else:
        new = applied({}, _operations(choice.fix, {}))
        helm = values.at.rpartition("/")[0]
        if get(obj, helm.rpartition("/")[0]) is MISSING:
            raise Unplaced(f"the file has no {helm.rpartition('/')[0]}, as the Application has", "change it by hand")
        whole = {"op": "add", "path": helm, "value": {"valuesObject": new}}
        steps = (whole if get(obj, helm) is MISSING else {"op": "add", "path": values.at, "value": new},)
    return _Edit(spot, steps, _steps_first(choice.fix), raw)


_EDITORS: Mapping[str, Callable[[Choice, Site], Iterator[_Edit]]] = {
    "application": _application_edits,
    "manifest": _manifest_edits,
    "helm-values": _values_edits,
}


def _operations(fix: Fix, obj: Json, *, lists: bool = False) -> tuple[Operation, ...]:
    """The edit as RFC 6902 operations on the object as the file has it. `lists`: a fragment's list items are added."""
    if fix.edit.kind == "json-patch":
        return tuple(fix.edit.content)
    fragment = _fragment(fix)
    if {"apiVersion", "kind"} <= set(fragment):
        whole = {"metadata": mapping(obj, "metadata"), **fragment}
        if _identity(whole) != _identity(obj):
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


# Whether old values fit, and how fixes compose

_ARGO_ADDS = ("/metadata/annotations", "/metadata/labels")
"""Maps that the rendered object may have though the file has not: Argo CD writes its tracking data there."""


def fitted(operations: Iterable[Operation], data: Json, rendered: Object | None) -> Iterator[Operation]:
    """The operations as they apply to the file's object. EditError when its old values are not those of the rendered one."""
    for operation in operations:
        step, path = operation, operation["path"]
        parent = path.rpartition("/")[0]
        if step["op"] == "add" and parent in _ARGO_ADDS and not get(data, parent, None):
            step = {"op": "add", "path": parent, "value": {split_pointer(path)[-1]: step["value"]}}
            if isinstance(get(data, "/metadata", None), Mapping):
                data = applied(data, [step])
                yield step
                continue
        if (
            step["op"] in ("add", "replace")
            and isinstance(get(data, parent), Mapping)
            and get(data, path) == step["value"]
        ):
            continue  # the file holds it already
        _require_fit(step, data, rendered)
        data = applied(data, [step])
        try:
            rendered = applied(rendered, [operation]) if rendered is not None else None
        except EditError:
            rendered = None
        yield step


def _require_fit(step: Operation, data: Json, rendered: Object | None) -> None:
    if step["op"] in ("move", "copy"):
        _require_fit({"op": "remove", "path": step["from"]}, data, rendered)
        _require_fit({"op": "add", "path": step["path"], "value": None}, data, rendered)
        return
    path = step["path"]
    tokens = split_pointer(path)
    held, parent = get(data, path), get(data, path.rpartition("/")[0])
    if rendered is not None:
        for depth, token in enumerate(tokens):
            at = join_pointer(*tokens[: depth + 1])
            if index_of(token) is not None and not _same_item(get(data, at), get(rendered, at)):
                raise EditError(f"the item at {at} is another one in the file than Argo CD rendered")
    if step["op"] in ("replace", "remove", "test"):
        if held is MISSING:
            raise EditError(f"the file has no {path}: Argo CD or a tool adds it to what it renders")
        if rendered is not None and get(rendered, path) not in (held, MISSING):
            raise EditError(f"the file has another value at {path} than Argo CD rendered")
    elif step["op"] == "add":
        if parent is MISSING or parent is None:
            raise EditError(f"the file has nothing at {path.rpartition('/')[0]}, where the fix adds a field")
        known = get(rendered, path) if rendered is not None else MISSING
        if isinstance(parent, Mapping) and held not in (MISSING, None, step["value"], known):
            raise EditError(f"the file already has a value at {path}")


def _same_item(one: Json, other: Json) -> bool:
    if MISSING in (one, other) or not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return True
    return all(one.get(name) == other.get(name) for name in ITEM_NAMES if name in one and name in other)


def composed(
    operations: Iterable[Operation], now: Json, history: Sequence[tuple[Operation, str]]
) -> Iterator[Operation]:
    """The operations as they apply after those in `history`, all made for the same original.

    What was done already is left out, additions to one list or map are joined. EditError names the fix that contradicts.
    """
    for operation in operations:
        if any(operation == before for before, _ in history):
            continue
        joint = operation["path"].endswith("/-")
        for before, title in history:
            if _joins(operation, before):
                joint = True
            elif any(_clash(path, before) for path in _paths(operation)):
                raise EditError(f"it contradicts another fix of this run: {title}")
        steps = list(_joined(operation, now)) if joint else [operation]
        now = applied(now, steps)
        yield from steps


_HOLLOW = frozenset(
    {"annotations", "labels", "ignoreDifferences", "syncOptions", "syncPolicy", "managedNamespaceMetadata"}
)
"""Fields that say nothing when they are empty."""


def _leaving_nothing(operations: Iterable[Operation], now: Json) -> Iterator[Operation]:
    """The operations; what takes the last entry out of a field that says nothing when empty takes the field out."""
    for operation in operations:
        path = operation["path"]
        while operation["op"] == "remove":
            parent = path.rpartition("/")[0]
            held = get(now, parent, None)
            if (
                split_pointer(parent)[-1:]
                and split_pointer(parent)[-1] in _HOLLOW
                and isinstance(held, list | Mapping)
                and len(held) == 1
            ):
                path = parent
            else:
                break
        step = {**operation, "path": path}
        now = applied(now, [step])
        yield step


def _joins(operation: Operation, before: Operation) -> bool:
    """Two additions to one list, or of one list or map that was not there."""
    if operation["op"] != "add" or before["op"] != "add":
        return False
    one, other = (o["path"].removesuffix("/-") for o in (operation, before))
    appended = operation["path"] != one or before["path"] != other
    return one == other and (appended or isinstance(operation["value"], list | Mapping))


def _clash(path: str, before: Operation) -> bool:
    """One path holds the other, or the earlier operation moved the items of a list that the path goes through."""
    for done in _paths(before):
        if path.endswith("/-"):
            if below(path.removesuffix("/-"), done):
                return True
            continue
        if below(path, done) or below(done, path):
            return True
        parent, _, last = done.rpartition("/")
        if before["op"] != "replace" and index_of(last) is not None and path.startswith(parent + "/"):
            return index_of(split_pointer(path[len(parent) :])[0]) is not None
    return False


def _paths(operation: Operation) -> tuple[str, ...]:
    return tuple(operation[key] for key in ("path", "from") if key in operation)


def _joined(operation: Operation, now: Json) -> Iterator[Operation]:
    path, value = operation["path"], operation["value"]
    if path.endswith("/-"):
        path, value = path.removesuffix("/-"), [value]
    yield from _union(path, get(now, path), value)


def _union(path: str, present: Json, value: Json) -> Iterator[Operation]:
    if present is MISSING or present is None:
        yield {"op": "add", "path": path, "value": value}
    elif isinstance(present, Mapping) and isinstance(value, Mapping):
        for key, child in value.items():
            yield from _union(path + join_pointer(key), present.get(key, MISSING), child)
    elif isinstance(present, list) and isinstance(value, list):
        for item in value:
            index = next((i for i, other in enumerate(present) if _same_target(other, item)), None)
            if index is not None:
                yield from _union(f"{path}/{index}", present[index], item)
            elif item not in present:
                yield {"op": "add", "path": f"{path}/-", "value": item}
    elif present != value:
        raise EditError(f"another fix of this run sets {path} to another value")


def _same_target(one: Any, other: Any) -> bool:
    """Two entries that differ in their lists alone, as two ignore entries of one object do."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return False
    fields = [k for k in {**one, **other} if not isinstance(one.get(k, other.get(k)), list)]
    return bool(fields) and all((one.get(k) or "") == (other.get(k) or "") for k in fields)
