"""A values file that Argo CD ignores

What it finds: an Application with `ignoreMissingValueFiles: true` and a values file that cannot exist. Its name has a placeholder that nothing
filled in (`placeholder`). Or it differs only in its ending, in letter case or in a dash from the file that other Applications of the same folder
use (`slip`).

Why it hurts: Argo CD silently ignores a missing file. The application is Synced and Healthy with the values of another environment.

How to fix: name the existing file. If each file must exist, remove `ignoreMissingValueFiles`: then a missing one is an error.

Example: `valueFiles: [values.yaml, envs/<no value>.yaml]`, made by an ApplicationSet whose generator lacks the parameter.

Sources: Argo CD's documentation, Helm (ignore missing value files); ApplicationSet, Go template (missingkey); util/io/path (ResolveValueFilePathOrUrl).
Files in Git are not read here. `--helm-render` takes them from a clone.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from argolint import App, AppRef, Edit, Finding, Fix, Fleet, Location, Object, Related, Rule
from argolint.redaction import excerpt
from argolint.values import bare_address, dig, maps, owner_references, text_at, texts
from argolint.values.patterns import regex

_PLACEHOLDER = regex(r"\{\{|\}\}|<no value>|(?:^|[/\-_.])\.ya?ml$")
"""The remains of a template without a value: `{{env}}`, `<no value>`, `envs/.yaml`, `values-.yaml`."""
Place = tuple[str, str, str]
"""A repository, a folder in it, and the file's name without folder."""


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Application: the first such file, the others in its evidence."""
    if app.deleting:
        return
    found = [each for each in _optional_files(app) if _PLACEHOLDER.search(each[1])]
    if found:
        yield _placeholder_finding(app, found)
        return
    for pointer, file, place in _optional_files(app):
        others = fleet.derive(_files_by_place).get(place, {})
        near = sorted(
            ((name, refs) for name, refs in others.items() if name != posixpath.basename(file)),
            key=lambda n: (-len(n[1]), n[0]),
        )
        own = others.get(posixpath.basename(file), ())
        if near and len(near[0][1]) > len(own) and app.ref not in near[0][1]:
            yield _slip_finding(app, pointer, file, *near[0])
            return


def _optional_files(app: App) -> Iterator[tuple[str, str, Place]]:
    """(pointer, file, place) of each values file that may be missing."""
    for pointer, file, place, ignored in _values_files(app):
        if ignored:
            yield pointer, file, place


def _values_files(app: App) -> Iterator[tuple[str, str, Place, bool]]:
    """The same for all values files, with whether they may be missing. Patterns, addresses and files with Argo CD's own variables are left out."""
    several = bool(maps(app.spec, "sources"))
    refs = {text_at(s, "ref"): s for s in app.sources if text_at(s, "ref")}
    for index, source in enumerate(app.sources):
        at = f"/spec/sources/{index}" if several else "/spec/source"
        if app.spec.get("sourceHydrator"):
            at = "/spec/sourceHydrator/drySource"
        ignored = dig(source, "helm", "ignoreMissingValueFiles") is True
        for number, file in enumerate(texts(source.get("helm"), "valueFiles")):
            where = _repository_folder(source, file, refs)
            if where is not None:
                name = re.sub(r"[-_.]", "", posixpath.basename(file).lower()).removesuffix("yaml").removesuffix("yml")
                yield f"{at}/helm/valueFiles/{number}", file, (*where, name), ignored


def _repository_folder(source: Object, file: str, refs: Mapping[str, Object]) -> tuple[str, str] | None:
    """The repository and the folder of a values file; None if they are unknown."""
    if "://" in file or any(mark in file for mark in "*?["):
        return None
    if not file.startswith("$"):
        if source.get("chart"):
            return None
        folder = "" if file.startswith("/") else text_at(source, "path")
        return bare_address(text_at(source, "repoURL")), posixpath.normpath(
            posixpath.join(folder, posixpath.dirname(file).lstrip("/"))
        )
    name, _, rest = file[1:].partition("/")
    if name not in refs or "$" in rest:
        return None
    return bare_address(text_at(refs[name], "repoURL")), posixpath.normpath(posixpath.dirname(rest) or ".")


def _files_by_place(fleet: Fleet) -> Mapping[Place, Mapping[str, Sequence[AppRef]]]:
    """By place: the files that Applications name there, each with its Applications."""
    found: dict[Place, dict[str, list[AppRef]]] = defaultdict(lambda: defaultdict(list))
    for app in fleet.apps:
        for _, file, place, _ in _values_files(app):
            refs = found[place][posixpath.basename(file)]
            if app.ref not in refs[-1:]:
                refs.append(app.ref)
    return found


def _placeholder_finding(app: App, found: Sequence[tuple[str, str, Place]]) -> Finding:
    pointer, file, _ = found[0]
    owner = next((str(o.get("name")) for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"), "")
    where = f"template of ApplicationSet {owner}" if owner else f"Application {app.ref}"
    text = "goTemplate: true\ngoTemplateOptions: [missingkey=error]   # of the ApplicationSet: a parameter that is not there is then an error\n"
    return Finding(
        message=f"Application {app.ref} names values file {excerpt(file, 120)}, whose placeholder nothing filled in; Argo CD skips it, so its values are missing.",
        at=Location(app.ref, None, pointer),
        cause="placeholder",
        evidence=("ignoreMissingValueFiles is true", *(excerpt(f, 200) for _, f, _ in found[1:6])),
        fixes=(
            Fix(
                "Fill in the placeholder",
                "application",
                where,
                Edit("yaml", text) if owner else Edit("text", f"write the file's name at {pointer}\n"),
            ),
        ),
    )


def _slip_finding(app: App, pointer: str, file: str, other: str, refs: Sequence[AppRef]) -> Finding:
    meant = posixpath.join(posixpath.dirname(file), other)
    return Finding(
        message=f"Application {app.ref} names values file {excerpt(file, 120)}, others name {excerpt(other, 120)}; Argo CD skips the missing one.",
        at=Location(app.ref, None, pointer),
        cause="slip",
        confidence="possible",
        evidence=(
            "ignoreMissingValueFiles is true",
            f"{len(refs)} Applications of the folder name {excerpt(other, 120)}",
        ),
        related=tuple(Related(ref, role="other") for ref in refs[:5]),
        fixes=(
            Fix(
                f"Name {excerpt(meant, 120)}",
                "application",
                f"Application {app.ref}",
                Edit("json-patch", [{"op": "replace", "path": pointer, "value": meant}]),
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, causes=("placeholder", "slip"), standing=True)
