"""An Application that ApplicationSets generate twice

What it finds: an ApplicationSet whose template gives one name to two elements (`contains applications with duplicate name`), or two
ApplicationSets of one namespace that generate an Application of the same name. Before Argo CD 2.10 also ApplicationSets of one name in several
namespaces: the controller counts each one's Applications by the name of their owner alone.

Why it hurts: if a name occurs twice, the controller applies the first element and drops the others; since 3.2 it creates and updates none of
them until the name is unique. Of two sets the second fails with `already owned by another ApplicationSet controller`; where both could write it,
they overwrite the Application in turns, and the deletion of one of them deletes it with all its objects.

How to fix: put a value that differs between the elements (cluster, path, branch) into the name. Or set `goTemplate: true` if the template uses
`{{ .name }}`, or remove the Application from one of the sets.

Example: a list generator with two elements and the template name `guestbook`.

Sources: applicationset/controllers/applicationset_controller.go (validateGeneratedApplications, createOrUpdateInCluster);
argoproj/argo-cd issues 9698, 15874, argoproj/applicationset issue 68.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argolint import App, AppRef, Finding, Fix, Fleet, Location, Object, Rank, Related, ResourceId, Rule, Symptom
from argolint.application.application_sets import owned_applications
from argolint.application.fleet import IN_CLUSTER
from argolint.edits.advice import advice
from argolint.redaction import excerpt
from argolint.values import dig, items, mapping, maps, owner_references, text_at
from argolint.values.patterns import regex

from ._application_sets import NAMED_TWICE, OWNED_TWICE, innermost_generators


@dataclass(frozen=True)
class _Duplicate:
    """An Application's name and the sets that generate it: only one, if it does so twice."""

    namespace: str
    name: str
    sets: tuple[str, ...]
    evidence: str


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each duplicate; reported by the Application itself, else by one of the set's, else by the fleet's first."""
    for duplicate in fleet.derive(_duplicates_by_application).get(app.ref, ()):
        yield _finding(duplicate, fleet)
    if fleet.is_older(2, 10):
        yield from (_namesakes(app, name, found) for name, found in fleet.derive(_by_name).get(app.ref, ()))


def _by_name(fleet: Fleet) -> Mapping[AppRef, Sequence[tuple[str, tuple[str, ...]]]]:
    """The names that ApplicationSets of several namespaces have, with these, by the first application of one of them."""
    named: dict[str, set[str]] = {}
    for raw in fleet.application_sets:
        if dig(raw, "spec", "syncPolicy", "applicationsSync") in ("create-only", "create-update"):
            continue  # it deletes none
        named.setdefault(text_at(raw, "metadata", "name"), set()).add(text_at(raw, "metadata", "namespace"))
    found: dict[AppRef, list[tuple[str, tuple[str, ...]]]] = {}
    for name, namespaces in sorted(named.items()):
        if len(namespaces) > 1:
            made = (ref for ref in fleet.derive(_made).get(name, ()) if ref.namespace in namespaces)
            found.setdefault(next(made, fleet.apps[0].ref), []).append((name, tuple(sorted(namespaces))))
    return found


def _namesakes(app: App, name: str, namespaces: tuple[str, ...]) -> Finding:
    ids = [ResourceId("argoproj.io", "ApplicationSet", n, name, "v1alpha1", IN_CLUSTER) for n in namespaces]
    return Finding(
        message=f"{ids[0]} and {ids[1]} have the same name: before Argo CD 2.10 each deletes the Applications of the other.",
        at=Location(app.ref, ids[0]),
        evidence=("the controller lists a set's Applications by the name of their owner, in all namespaces",),
        related=tuple(Related(app.ref, id_, role="claimant") for id_ in ids[1:]),
        fixes=advice(__package__, "appset-duplicate/namesakes", {"other": str(ids[-1])}),
    )


def _duplicates_by_application(fleet: Fleet) -> Mapping[AppRef, Sequence[_Duplicate]]:
    """The duplicates that each application reports; computed once for the fleet."""
    found: dict[AppRef, list[_Duplicate]] = {}
    for duplicate in _duplicates(fleet.application_sets):
        if (reporter := _reporter(duplicate, fleet)) is not None:
            found.setdefault(reporter, []).append(duplicate)
    return found


def _duplicates(sets: Sequence[Object]) -> tuple[_Duplicate, ...]:
    found: dict[tuple[str, str], _Duplicate] = {}
    generated: dict[tuple[str, str], set[str]] = {}
    written: dict[tuple[str, str], set[str]] = {}
    for raw in sets:
        namespace, name = text_at(raw, "metadata", "namespace"), text_at(raw, "metadata", "name")
        for condition in maps(raw, "status", "conditions"):
            message = text_at(condition, "message")
            for twice in NAMED_TWICE.findall(message):
                found[namespace, twice] = _Duplicate(namespace, twice, (name,), f"ApplicationSet {name}: {message}")
            for owned_in, owned, other in OWNED_TWICE.findall(message):
                both = tuple(sorted({name, other}))
                found[owned_in, owned] = _Duplicate(owned_in, owned, both, f"ApplicationSet {name}: {message}")
        for listed in maps(raw, "status", "resources"):
            if listed.get("kind") == "Application":
                made = text_at(listed, "namespace") or namespace, text_at(listed, "name")
                generated.setdefault(made, set()).add(name)
        for listed_name in _literal_names(raw):
            written.setdefault((namespace, listed_name), set()).add(name)
    for known, why in (
        (generated, "status.resources of both sets lists it"),
        (written, "the list generators of both sets give this name"),
    ):
        for key, names in known.items():
            if len(names) > 1 and key not in found:
                found[key] = _Duplicate(*key, tuple(sorted(names)), why)
    return tuple(found[key] for key in sorted(found))


_PARAMETERS = {True: regex(r"\{\{ ?\.(\w{1,100}) ?\}\}"), False: regex(r"\{\{ ?(\w{1,100}) ?\}\}")}
"""A parameter in a name, by whether it is a Go template."""


def _literal_names(raw: Object) -> Iterator[str]:
    """The names that the elements of plain list generators give, where the template takes parameters of theirs and nothing else."""
    template = text_at(raw, "spec", "template", "metadata", "name")
    placed = text_at(raw, "spec", "template", "metadata", "namespace")
    for generator in () if placed else maps(raw, "spec", "generators"):
        if set(generator) == {"list"} and set(mapping(generator, "list")) == {"elements"}:
            names = (
                _named(template, e, go=bool(dig(raw, "spec", "goTemplate")))
                for e in maps(generator, "list", "elements")
            )
            yield from (name for name in names if name and "{" not in name)


def _named(template: str, element: Object, *, go: bool) -> str:
    return _PARAMETERS[go].sub(lambda found: str(element.get(found[1], found[0])), template)


def _reporter(duplicate: _Duplicate, fleet: Fleet) -> AppRef | None:
    itself = fleet.app(duplicate.name, duplicate.namespace)
    if itself is not None:
        return itself.ref
    made = (fleet.derive(_made).get(name, ())[:1] for name in duplicate.sets)
    return min((ref for refs in made for ref in refs), default=fleet.apps[0].ref if fleet.apps else None)


def _made(fleet: Fleet) -> Mapping[str, Sequence[AppRef]]:
    """The Applications of all sets with one name, by that name, in the order of the fleet."""
    found: dict[str, list[AppRef]] = {}
    for app in fleet.apps:
        for name in {str(o.get("name")) for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"}:
            found.setdefault(name, []).append(app.ref)
    return found


def _finding(duplicate: _Duplicate, fleet: Fleet) -> Finding:
    itself = fleet.app(duplicate.name, duplicate.namespace)
    ref = itself.ref if itself else AppRef(duplicate.namespace, duplicate.name, server=fleet.server)
    ids = [
        ResourceId("argoproj.io", "ApplicationSet", duplicate.namespace, name, "v1alpha1", IN_CLUSTER)
        for name in duplicate.sets
    ]
    raw = _raw_set(fleet, duplicate, duplicate.sets[0])
    if len(ids) == 1 and "{{" in duplicate.name and (kept := _unfilled(raw)):
        ref = AppRef(duplicate.namespace, text_at(raw, "spec", "template", "metadata", "name"), server=fleet.server)
        message = f"ApplicationSet {duplicate.sets[0]} has no goTemplate, so {kept} stays as it is in each name, and no Application can have such a name."
    elif len(ids) == 1:
        end = (
            "the controller neither makes nor updates it"
            if fleet.at_least(3, 2)
            else "the controller applies only the first of them"
        )
        message = (
            f'ApplicationSet {duplicate.sets[0]} generates Application "{duplicate.name}" more than once, so {end}.'
        )
    else:
        first, second = duplicate.sets[:2]
        message = f'ApplicationSets {first} and {second} both generate Application "{duplicate.name}" and fight over it; deleting either one deletes it.'
    owner = _owner(duplicate, itself)
    if owner:
        message = f'ApplicationSet {_second(duplicate, owner)} generates Application "{duplicate.name}" too, which ApplicationSet {owner} owns: the controller refuses the second one.'
    return Finding(
        message=message,
        at=Location(ref, ids[0]),
        evidence=(duplicate.evidence,),
        related=tuple(Related(ref, id_, role="claimant") for id_ in ids[1:]),
        fixes=_fixes(duplicate, fleet, raw, owner),
        explains=tuple(Symptom.health(id_) for id_ in ids),
    )


def _owner(duplicate: _Duplicate, itself: App | None) -> str:
    """The set that made the Application, as its owner reference has it: the controller lets no other one write it (SetControllerReference)."""
    owners = owner_references(itself.brief) if itself and len(duplicate.sets) > 1 else ()
    return next(
        (n for o in owners if o.get("kind") == "ApplicationSet" and (n := text_at(o, "name")) in duplicate.sets), ""
    )


def _second(duplicate: _Duplicate, owner: str) -> str:
    return next(name for name in duplicate.sets if name != owner)


_OF_GO = regex(r"\{\{ ?\.\w[\w.]{0,100} ?\}\}")


def _unfilled(raw: Object) -> str:
    """The first parameter of a Go template in the name, if the set renders none; a plain one keeps its braces, which no object's name may have."""
    found = _OF_GO.search(text_at(raw, "spec", "template", "metadata", "name"))
    return found[0] if found and not dig(raw, "spec", "goTemplate") else ""


def _raw_set(fleet: Fleet, duplicate: _Duplicate, name: str) -> Object:
    return next(
        (
            s
            for s in fleet.application_sets
            if (dig(s, "metadata", "namespace"), dig(s, "metadata", "name")) == (duplicate.namespace, name)
        ),
        {},
    )


def _fixes(duplicate: _Duplicate, fleet: Fleet, raw: Object, owner: str) -> tuple[Fix, ...]:
    name = str(dig(raw, "spec", "template", "metadata", "name") or "<name>")
    go = bool(dig(raw, "spec", "goTemplate"))
    listed = owned_applications(fleet, raw) or items(raw, "status", "resources")
    made = bool(listed) or not fleet.at_least(3, 2) or fleet.app(duplicate.name, duplicate.namespace) is not None
    kept = dig(raw, "spec", "syncPolicy", "preserveResourcesOnDeletion") is True
    place = f"ApplicationSet {duplicate.namespace}/{duplicate.sets[0]}"
    facts = {"set": place, "template": name, "made": made and not kept}
    if len(duplicate.sets) > 1:
        second = _second(duplicate, owner or duplicate.sets[0])
        other = {"namespace": duplicate.namespace, "other": second, "application": duplicate.name, "owner": owner}
        return advice(__package__, "appset-duplicate/two-sets", other)
    if "{{." in name.replace(" ", "") and not go:
        return advice(__package__, "appset-duplicate/go-template", facts)
    if twice := _equal_elements(raw):
        return advice(__package__, "appset-duplicate/equal-elements", {**facts, "kept": twice[0], "removed": twice[1]})
    part = _distinct_parameter(raw, name, go=go)
    by_name = advice(__package__, "appset-duplicate/name", {**facts, "part": part})
    if part and _is_alike(raw):
        field, value = _destination_of_each(fleet, raw, part, go=go)
        return advice(__package__, "appset-duplicate/alike", {**facts, "part": part, "field": field, "value": value})
    if not part and (path := _starred_path(raw)):
        by_name = advice(__package__, "appset-duplicate/star", {**facts, "path": path})
    paths = () if "path" in name else _several_paths(raw)
    one = {**facts, "first": excerpt(paths[0], 60), "paths": "\n".join(paths)} if paths else None
    return (*(advice(__package__, "appset-duplicate/one-path", one) if one else ()), *by_name)


def _is_alike(raw: Object) -> bool:
    """Whether the template's spec takes no parameter, so that all its Applications would deploy the same objects to one place."""
    parts = (dig(raw, "spec", "template", "spec"), dig(raw, "spec", "templatePatch"), items(raw, "spec", "generators"))
    return bool(mapping(raw, "spec", "template", "spec", "destination")) and not any(
        "{{" in json.dumps(p) for p in parts
    )


def _destination_of_each(fleet: Fleet, raw: Object, part: str, *, go: bool) -> tuple[str, str]:
    """The field of the destination that can differ between the elements, and its value: their cluster, if they have one, else a namespace."""
    destination = mapping(raw, "spec", "template", "spec", "destination")
    by_name = "name" in destination
    generator = maps(raw, "spec", "generators")[0]
    if "clusters" in generator:
        field = "name" if by_name else "server"
        return field, f"{{{{ .{field} }}}}" if go else f"{{{{{field}}}}}"
    elements = maps(generator, "list", "elements")
    names = {text_at(cluster, "name") for cluster in fleet.clusters.values()}
    for key in sorted({key for element in elements for key in element}):
        values = [str(element.get(key)) for element in elements]
        servers = all(value.startswith(("https://", "http://")) for value in values)
        if len(set(values)) == len(values) and (servers if not by_name else names.issuperset(values)):
            return "name" if by_name else "server", f"{{{{ .{key} }}}}" if go else f"{{{{{key}}}}}"
    return "namespace", f"{text_at(destination, 'namespace') or text_at(raw, 'metadata', 'name')}-{part}"


def _starred_path(raw: Object) -> str:
    """The first path of files with a `*` in a folder's place: it matches `/` as well, so files of deeper folders are elements too."""
    paths = (text_at(e, "path") for _, generator in innermost_generators(raw) for e in maps(generator, "git", "files"))
    return next((excerpt(path, 120) for path in paths if "*" in path.rpartition("/")[0].replace("**", "")), "")


def _several_paths(raw: Object) -> Sequence[str]:
    """The paths of the first Git generator that includes several, each of one file or directory; also below matrix and merge."""
    for _, generator in innermost_generators(raw):
        for key in ("files", "directories"):
            paths = [text_at(e, "path") for e in maps(generator, "git", key) if e.get("exclude") is not True]
            if len(paths) > 1 and not any(set("*?[") & set(path) for path in paths):
                return paths
    return ()


def _equal_elements(raw: Object) -> tuple[int, int] | None:
    """The indexes of two equal elements of the only generator, a list."""
    generators = items(raw, "spec", "generators")
    elements = items(generators[0], "list", "elements") if len(generators) == 1 else []
    index_by_text: dict[str, int] = {}
    for index, element in enumerate(elements):
        text = json.dumps(element, sort_keys=True)
        if text in index_by_text:
            return index_by_text[text], index
        index_by_text[text] = index
    return None


def _distinct_parameter(raw: Object, name: str, *, go: bool) -> str:
    """A parameter of the only generator that differs between all elements, together with those in the name; else empty."""
    known: Mapping[str, tuple[str, str]] = {
        "clusters": ("{{name}}", "{{ .name }}"),
        "pullRequest": ("{{number}}", "{{ .number }}"),
        "scmProvider": ("{{repository}}", "{{ .repository }}"),
    }
    generators = items(raw, "spec", "generators")
    for generator in generators if len(generators) == 1 else ():
        for kind, texts in known.items():
            if kind in generator:
                return "" if _without_spaces(texts[go]) in _without_spaces(name) else texts[go]
        if segment := _other_segment(generator, name, go=go):
            return segment
        elements = items(generator, "list", "elements")
        named = re.findall(r"{{ ?\.?(\w{1,100}) ?}}", name)
        for key in sorted({k for e in elements if isinstance(e, Mapping) for k in e}):
            values = [str(e.get(key)) for e in elements if isinstance(e, Mapping)]
            whole = {tuple(str(e.get(k)) for k in (*named, key)) for e in elements if isinstance(e, Mapping)}
            if len(whole) == len(values) and all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", v) for v in values):
                found = f"{{{{ .{key} }}}}" if go else f"{{{{{key}}}}}"
                if _without_spaces(found) not in _without_spaces(name):
                    return found
    return ""


def _other_segment(generator: object, name: str, *, go: bool) -> str:
    """The parameter of a segment that differs between the directories of a Git generator, for a name that holds the last one (path.basename) alone."""
    chosen = [text_at(d, "path").split("/") for d in items(generator, "git", "directories") if not dig(d, "exclude")]
    if "path.basename" not in name or dig(generator, "git", "pathParamPrefix"):
        return ""
    columns = enumerate(zip(*(parts[:-1] for parts in chosen), strict=False))
    index = next((n for n, column in columns if "*" in column or len(set(column)) > 1), None)
    found = "" if index is None else f"{{{{index .path.segments {index}}}}}" if go else f"{{{{path[{index}]}}}}"
    return found if _without_spaces(found) not in _without_spaces(name) else ""


def _without_spaces(template: str) -> str:
    return template.replace(" ", "")


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.ROOT)
