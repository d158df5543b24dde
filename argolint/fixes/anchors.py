"""File and line of findings: the place that a person would edit, found by the code that places fixes.

the field's own manifest, or the patch that sets it → what the fixes edit → related objects → the line of the change that touches the
application: one that holds what the render has newly, else the first

With a change to judge, the first of these places that it edits is used: that is the line to discuss in a review. A place outside of the
change is marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from argolint.errors import UsageError
from argolint.fixes import kustomize, locate
from argolint.fixes.edits import application_of, own_manifest
from argolint.fixes.placement import spots
from argolint.fixes.site import Choice, Place, Site, place_of
from argolint.fixes.spot import Spot, Unplaced
from argolint.model import MISSING, Json, Object
from argolint.redaction import PRINTED, without_secrets
from argolint.reports.document import (
    GateChange,
    GateField,
    Report,
    ReportedApp,
    ReportedFinding,
    ReportedResource,
    ReportedSource,
)
from argolint.sources.checkout import Checkout, Committed, Named
from argolint.sources.git import Changed
from argolint.sources.yaml_text import Document, EditError, Span, span
from argolint.values import below, get, index_of, join_pointer, leaves, shorten, split_pointer
from argolint.values.decoding import json_value
from argolint.values.kubernetes import ITEM_NAMES
from argolint.values.patterns import regex

Lines = Sequence[range]


@dataclass(frozen=True)
class Diff:
    """The files of a change: `head` has the new files, `changed` lists those that differ, `touching` says which an application reads.

    `base`: the merge base.
    """

    head: Committed
    changed: Mapping[str, Changed]
    touching: Mapping[Place, Sequence[str]] = field(default_factory=dict)
    base: str = ""
    _lines: dict[str, Lines] = field(default_factory=dict, compare=False, repr=False)

    def deletes(self, file: str) -> bool:
        return file in self.changed and self.changed[file].after is None

    def lines(self, file: str) -> Lines:
        """The new or changed lines of head's file; none for an unchanged file."""
        if file not in self._lines:
            if len(self._lines) == _MANY and self.base:
                with suppress(UsageError):  # too large to be read in full
                    self._lines.update(self.head.git.all_changed_lines(self.base, self.head.revision))
            change = self.changed.get(file)
            entry = change.after if change else None
            known = self._lines.get(file) if entry else ()
            try:
                found = (
                    self.head.git.changed_lines(change.before, entry) if change and entry and known is None else known
                )
            except UsageError:  # too large for git to compare: nothing is known about its lines
                found = ()
            self._lines[file] = found or ()
        return self._lines[file]


_SEARCHED = 200
"""Most changed files that are searched for the name of an object."""
_MANY = 20
"""Most files that are compared one by one; beyond that, the whole change is compared at once."""


@dataclass(frozen=True)
class _Place:
    spot: Spot
    first: int
    last: int
    direct: bool
    """The finding's own field, or a place where its first fix ends the cause; not a mitigation, or another object."""
    whole: bool
    """An object, and no field of it: its first line shows nothing."""


News = Mapping[tuple[ReportedApp, ReportedResource], GateChange]
"""What the change does to objects."""


def anchored(report: Report, site: Site, diff: Diff | None = None) -> Report:
    """The report with file and line in the sources of its findings, if a checkout has them."""
    apps = report.gate.apps if report.gate else ()
    news = {(a.app, c.resource): c for a in apps for c in a.changes}
    findings = tuple(_anchored(f, site, diff, news) for f in report.findings)
    return msgspec.structs.replace(report, findings=findings)


def of_finding(finding: ReportedFinding, site: Site) -> ReportedFinding:
    """One finding with its file and line, if a checkout has them."""
    return _anchored(finding, site, None, {})


def of_field(
    app: ReportedApp, resource: ReportedResource, pointer: str, finding: ReportedFinding, site: Site
) -> ReportedSource | None:
    """The place of an object's field in Git: file, line and text; None if no checkout has it. `finding`: one on that object."""
    for spot, at in _of_object(app, resource, pointer, finding, site):
        lines = _span(spot, at)
        if lines is not None:
            text, first = excerpt(spot.checkout, spot.file, lines.first)
            return ReportedSource(
                "", "", "", file=spot.file, line=lines.first, excerpt=text or msgspec.UNSET, excerpt_from=first
            )
    return None


def of_application(app: ReportedApp, site: Site) -> str:
    """`file:line` of an Application's manifest; empty if no checkout has it."""
    for spot, pointer in _of_application(app, "", site):
        lines = _span(spot, pointer)
        return f"{spot.file}:{lines.first}" if lines else ""
    return ""


def _anchored(finding: ReportedFinding, site: Site, diff: Diff | None, news: News) -> ReportedFinding:
    found = _chosen(finding, site, diff, news)
    if found is None:
        return finding
    checkout, file, line, in_change, is_shown = found
    known = finding.source or ReportedSource("", "", "")
    url = known.repo if known.repo in checkout.urls else next(iter(sorted(checkout.urls)), "")
    revision = checkout.revision if isinstance(checkout, Committed) else ""
    lines, first = excerpt(checkout, file, line) if is_shown else ((), 0)
    source = msgspec.structs.replace(
        known,
        repo=without_secrets(url),
        revision=revision,
        file=file,
        line=line,
        in_change=in_change,
        excerpt=lines or msgspec.UNSET,
        excerpt_from=first if lines else msgspec.UNSET,
    )
    return msgspec.structs.replace(finding, source=source)


_AROUND = 1
_LONG_LINE = 160


def excerpt(checkout: Checkout, file: str, line: int) -> tuple[tuple[str, ...], int]:
    """The line and its neighbours, masked for printing, and the number of the first one; none for a file with a Secret."""
    redacted = _printable(checkout, file)
    first = max(1, line - _AROUND)
    return tuple(shorten(text, _LONG_LINE) for text in redacted[first - 1 : line + _AROUND]), first


def _printable(checkout: Checkout, file: str) -> Sequence[str]:
    def made() -> Sequence[str]:
        try:
            text = checkout.text(file)
            if holds_secret(checkout.documents(file)):
                return ()
        except EditError:
            return ()
        redacted = PRINTED.document(text).split("\n")
        return redacted if len(redacted) == text.count("\n") + 1 else ()

    return checkout.derived(f"printable {file}", made)


def holds_secret(stream: Iterable[Document]) -> bool:
    """True for a file whose text must not be shown: it has a Secret, or a list that may have one."""
    kinds = [d.data.get("kind") for d in stream if isinstance(d.data, Mapping)]
    return "Secret" in kinds or "List" in kinds


def _chosen(
    finding: ReportedFinding, site: Site, diff: Diff | None, news: News
) -> tuple[Checkout, str, int, bool | None, bool] | None:
    """The checkout, file and line; whether the line is in the change; whether it is worth to be shown."""
    places: list[_Place] = []
    for place in _places(finding, site):
        places.append(place)
        if diff is None:
            return place.spot.checkout, place.spot.file, place.first, None, True
        line = _line_within(diff.lines(place.spot.file), place) if place.spot.checkout == diff.head else None
        if line is not None:
            return place.spot.checkout, place.spot.file, line, True, True
    if diff is None:
        return None
    outside = next((p for p in places if p.direct), None)
    if outside is None and (at := _quoted_patch(finding, diff)) is not None:
        return diff.head, *at, any(at[1] in lines for lines in diff.lines(at[0])), True
    touching = _with_new_value(finding, diff, news) or (_touching(finding, diff, news) if outside is None else None)
    if touching is not None:
        return diff.head, *touching, True, True
    if outside is None:
        for spot, pointer in _of_application(finding.app, "/spec", site):  # such as the version of its chart
            lines = _span(spot, pointer) if spot.checkout == diff.head else None
            line = (
                _line_within(diff.lines(spot.file), _Place(spot, lines.first, lines.last, False, False))
                if lines
                else None
            )
            if line is not None:
                return diff.head, spot.file, line, True, True
    outside = outside or next((p for p in places if not p.whole), None)
    return (outside.spot.checkout, outside.spot.file, outside.first, False, not outside.whole) if outside else None


def _line_within(lines: Lines, place: _Place) -> int | None:
    """The first line of the place that the change edits."""
    return next((max(r.start, place.first) for r in lines if r.start <= place.last and place.first < r.stop), None)


def _with_new_value(finding: ReportedFinding, diff: Diff, news: News) -> tuple[str, int] | None:
    """The changed line of a file that the application reads which holds what is new in the finding's objects."""
    values = _new_values(finding, news)
    files = _read_files(finding, diff, news) if values else ()
    for value in values:
        for candidate in files[:_SEARCHED]:
            if line := _line_of(value, candidate, diff):
                return candidate, line
    return None


def _read_files(finding: ReportedFinding, diff: Diff, news: News) -> Sequence[str]:
    """The changed files that the applications of the finding read, or those that bring their Applications."""
    apps = dict.fromkeys((finding.app, *(r.app for r in finding.related)))
    if not diff.touching.get(place_of(finding.app)):
        own = ("Application", finding.app.namespace, finding.app.name)
        apps = dict.fromkeys((*(a for a, r in news if (r.kind, r.namespace, r.name) == own), *apps))
    return [f for a in apps for f in diff.touching.get(place_of(a), ()) if diff.lines(f)]


def _quoted_patch(finding: ReportedFinding, diff: Diff) -> tuple[str, int] | None:
    """The only place at or below the source's path with a JSON patch of the path that the render's error quotes."""
    quoted = _PATCHED.search(" ".join(finding.evidence)) if finding.resource is None else None
    folder = finding.source.path.strip("/") if finding.source else ""
    if quoted is None or not folder:
        return None
    inside = [f for f in diff.head.files if f.startswith(f"{folder}/") and f.endswith((".yaml", ".yml"))][:_SEARCHED]
    found = [(f, n) for f in inside for n, line in enumerate(_lines_of(f, diff), 1) if _path_in(line) == quoted[1]]
    return found[0] if len(found) == 1 else None


def _path_in(line: str) -> str:
    """The value of a line `path: …`."""
    key, _, value = line.strip().removeprefix("- ").partition(": ")
    return value.strip().strip("'\"") if key == "path" else ""


_PATCHED = regex(r"""doc is missing (?:path|key): ['"]?(/[^\s'"]{1,200}?)['"]?(?::|\s|$)""")


def _lines_of(file: str, diff: Diff) -> Sequence[str]:
    try:
        return diff.head.text(file).split("\n")
    except EditError:
        return ()


def _touching(finding: ReportedFinding, diff: Diff, news: News) -> tuple[str, int] | None:
    """The first changed line of a file that the application reads; a file with the object's name is preferred.

    None for an object that goes with its file.
    """
    own = news.get((finding.app, finding.resource)) if finding.resource is not None else None
    if (
        own is not None
        and own.what == "removed"
        and any(diff.deletes(f) for f in diff.touching.get(place_of(finding.app), ()))
    ):
        return None
    files = _read_files(finding, diff, news)
    if not files:
        return None
    words = " ".join((finding.message, *finding.evidence))
    name = finding.resource.name if finding.resource else ""
    file = next((f for f in files if f in words), None) or next(
        (f for f in files if f.rpartition("/")[2] in words), None
    )
    for candidate in () if file or not name else files[:_SEARCHED]:
        try:
            if name in diff.head.text(candidate):
                file = candidate
                break
        except EditError:
            continue
    file = file or files[0]
    return file, diff.lines(file)[0].start


def _new_values(finding: ReportedFinding, news: News) -> Sequence[str]:
    """The texts and numbers that the change gives fields of the finding's objects: of its own field first."""
    held = [(finding.app, finding.resource, finding.pointer)]
    held += [(r.app, r.resource, r.pointer) for r in finding.related]
    near, far = list[GateField](), list[GateField]()
    for app, resource, pointer in held:
        change = news.get((app, resource)) if resource is not None else None
        for one in change.fields if change is not None else ():
            is_near = bool(pointer) and (below(one.pointer, pointer) or below(pointer, one.pointer))
            (near if is_near else far).append(one)
    found = dict.fromkeys(value for one in (*near, *far) for value in _scalars(one.head or ""))
    return [value for value in found if len(value) > 1]


def _scalars(text: str) -> Iterator[str]:
    """The texts and numbers in a field's value, which is JSON unless it was cut."""
    try:
        value: Json = json_value(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return
    yield from (
        str(leaf) for _, leaf in leaves(value) if isinstance(leaf, str | int | float) and not isinstance(leaf, bool)
    )


def _line_of(value: str, file: str, diff: Diff) -> int | None:
    """The changed line with this value, or with the last part of it, such as an image's tag."""
    lines = _lines_of(file, diff)
    changed = [n for r in diff.lines(file) for n in range(r.start, min(r.stop, len(lines) + 1))]
    written = {n: lines[n - 1].strip().removeprefix("- ").rpartition(": ")[2].strip("\"'") for n in changed}
    whole = next((n for n, text in written.items() if value in (text, *_WORDS.split(text))), None)
    return whole or next((n for n, text in written.items() if len(text) > _SHORT and value.endswith(text)), None)


_WORDS = regex(r"[\s{}\[\],\"']+")


_SHORT = 3
"""Letters of a value that is a part of others by chance."""


def _places(finding: ReportedFinding, site: Site) -> Iterator[_Place]:
    """The places where a person would look and edit, best first. Unreadable and missing ones are skipped."""
    seen = set[tuple[Spot, int, int]]()
    for spot, pointer, direct in _pointers(finding, site):
        lines = _span(spot, pointer)
        if lines is None:
            continue
        key = spot, lines.first, lines.last
        if key not in seen:
            seen.add(key)
            yield _Place(spot, lines.first, lines.last, direct and _has(spot, pointer), pointer == spot.prefix)


def _span(spot: Spot, pointer: str) -> Span | None:
    try:
        document = spot.checkout.documents(spot.file)[spot.index]
        return span(document, spot.checkout.text(spot.file).count("\n", 0, document.start) + 1, pointer)
    except (EditError, IndexError):
        return None


def _has(spot: Spot, pointer: str) -> bool:
    """Whether the file has the field itself, and not only what would hold it."""
    return not pointer or get(spot.checkout.documents(spot.file)[spot.index].data, pointer, MISSING) is not MISSING


def _pointers(finding: ReportedFinding, site: Site) -> Iterator[tuple[Spot, str, bool]]:
    if finding.resource is not None:
        apps = (finding.app, *(r.app for r in finding.related if r.resource == finding.resource))
        for app in dict.fromkeys(apps):
            yield from ((*found, True) for found in _of_object(app, finding.resource, finding.pointer, finding, site))
    elif finding.pointer:
        yield from ((*found, True) for found in _of_application(finding.app, finding.pointer, site))
    for number, fix in enumerate(finding.fixes, 1):
        cause = number == 1 and fix.target in ("manifest", "helm-values")
        yield from ((spot, at, cause) for spot, at in spots(Choice(finding, fix, number), site))
    for related in finding.related:
        if related.resource is not None:
            found = _of_object(related.app, related.resource, related.pointer, finding, site)
            yield from ((spot, at, False) for spot, at in found)
    named = any(isinstance(checkout, Named) for checkout in site.checkouts)  # files of Applications only
    if (finding.resource is None and not finding.pointer) or named:
        yield from ((spot, at, False) for spot, at in _of_application(finding.app, "/spec", site))


def _of_object(
    app: ReportedApp, resource: ReportedResource, pointer: str, finding: ReportedFinding, site: Site
) -> Iterator[tuple[Spot, str]]:
    """The object's manifest among the files, or the patch that sets the field; none for an object from a chart."""
    if resource.kind == "Application" and resource.group == "argoproj.io":
        yield from _of_application(ReportedApp("", resource.namespace, resource.name, ""), pointer, site)
    try:
        found = locate.manifest(site.checkouts, application_of(app, finding, site), resource)
        setter = kustomize.owner(found, pointer) if pointer else None
    except (Unplaced, EditError):
        return
    at = _in_file(pointer, found.obj, site.rendered(app, resource))
    if setter is not None:
        yield setter, _in_patch(setter, pointer) or at
    yield found.spot, found.spot.prefix + at


def _in_patch(spot: Spot, pointer: str) -> str:
    """The pointer of the operation that sets the field, in a JSON patch; empty in any other file."""
    try:
        found = spot.checkout.documents(spot.file)[spot.index].data
    except (EditError, IndexError):
        return ""
    for index, operation in enumerate(found if isinstance(found, list) else ()):
        path = str(operation.get("path") or "") if isinstance(operation, Mapping) else ""
        if path and below(pointer, path):
            inside = f"/{index}/value{pointer.removeprefix(path)}"
            return inside if get(found, inside, MISSING) is not MISSING else f"/{index}"
    return ""


def _of_application(app: ReportedApp, pointer: str, site: Site) -> Iterator[tuple[Spot, str]]:
    try:
        spot, _ = own_manifest(app, site)
    except (Unplaced, EditError):
        return
    yield spot, spot.prefix + pointer


def _in_file(pointer: str, obj: Object, rendered: Object | None) -> str:
    """The pointer with the file's own indexes: the rendered object may have more list items, or another order."""
    found: list[str] = []
    for token in split_pointer(pointer) if pointer else ():
        index = index_of(token)
        item = (
            get(rendered, join_pointer(*split_pointer(pointer)[: len(found)], token)) if index is not None else MISSING
        )
        value_found: Json = get(obj, join_pointer(*found)) if found else obj
        if isinstance(item, Mapping) and isinstance(value_found, list):
            token = str(_index(value_found, item, index or 0))  # noqa: PLW2901  # the same item in the file
        found.append(token)
    return join_pointer(*found)


def _index(items: Iterable[Json], wanted: Mapping[str, Json], otherwise: int) -> int:
    names = [name for name in ITEM_NAMES if name in wanted]
    alike = (
        index
        for index, item in enumerate(items)
        if names
        and isinstance(item, Mapping)
        and all(item.get(name) == wanted[name] for name in names if name in item)
        and any(name in item for name in names)
    )
    return next(alike, otherwise)
