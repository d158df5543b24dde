"""The paths of an Application leave out a file that it reads

What it finds: an Application with the annotation `argocd.argoproj.io/manifest-generate-paths` that reads a file outside these paths
(`left-out`): a values file, a file parameter or a component of its own source. As information: a repository that many Applications render
without any such paths (`absent`).

Why it hurts: a commit that changes only that file causes no new render. Argo CD checks only the paths, both when a webhook reports a push and
when it compares a new revision with the cached one. So the application stays Synced to the old values. Without any paths, each push renders
every Application of the repository again.

How to fix: add the file's folder to the annotation.

Example: `manifest-generate-paths: .` next to `valueFiles: [../common/values.yaml]`.

Sources: Argo CD's documentation, High Availability (webhook and manifest paths annotation); util/app/path (GetSourceRefreshPaths). Values files
of another source (`$ref/...`) and addresses are left out, and so are applications whose paths hold patterns.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argolint import App, Edit, Fact, Finding, Fix, Fleet, Location, Object, Related, Rule
from argolint.edits import set_field
from argolint.redaction import excerpt
from argolint.values import annotations_of, dig, enumerated, items, join_pointer, maps, text_at, texts

ANNOTATION = "argocd.argoproj.io/manifest-generate-paths"
_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class Options:
    """`shared`: the number of Applications of one repository without paths from which on it is reported."""

    shared: int = 50


def check(app: App, fleet: Fleet, options: Options) -> Iterator[Finding]:
    """One finding for each Application."""
    annotation = str(annotations_of(app.raw).get(ANNOTATION) or "")
    if not annotation or app.deleting or _PATTERN & set(annotation):
        return
    listed = maps(app.spec, "sources")
    sources = (
        [(f"/spec/sources/{i}", s) for i, s in enumerate(listed)]
        if listed
        else [("/spec/source", dig(app.spec, "source"))]
    )
    missed = [
        found
        for at, source in sources
        if isinstance(source, dict)
        for found in _uncovered_files(at, source, annotation)
    ]
    if missed:
        yield _finding(app, annotation, missed)


def _uncovered_files(at: str, source: Object, annotation: str) -> Iterator[tuple[str, str]]:
    """(pointer, path in the repository) of each file that the source reads and no path covers."""
    own = text_at(source, "path")
    if not own or source.get("chart"):
        return
    covered = [_repository_path(own, path.strip()) for path in annotation.split(";") if path.strip()]
    for pointer, file in _read_files(at, source):
        if file.startswith("$") or "://" in file or not file:
            continue
        path = _repository_path(own, file)
        if not path.startswith("..") and not any(c in ("", path) or path.startswith(f"{c}/") for c in covered):
            yield pointer, path


def _read_files(at: str, source: Object) -> Iterator[tuple[str, str]]:
    helm, kustomize = source.get("helm"), source.get("kustomize")
    yield from ((f"{at}/helm/valueFiles/{i}", f) for i, f in enumerate(texts(helm, "valueFiles")))
    yield from (
        (f"{at}/helm/fileParameters/{i}/path", text_at(p, "path")) for i, p in enumerate(maps(helm, "fileParameters"))
    )
    for index, component in enumerate(items(kustomize, "components")):
        if isinstance(component, str):
            yield f"{at}/kustomize/components/{index}", component


def _repository_path(own: str, path: str) -> str:
    """An entry of the annotation as a path in the repository: from its root with a slash in front, else from the source's path."""
    joined = path.lstrip("/") if path.startswith("/") else posixpath.join(own, path)
    found = posixpath.normpath(joined)
    return "" if found == "." else found.lstrip("/")


def _finding(app: App, annotation: str, missed: list[tuple[str, str]]) -> Finding:
    pointer, path = missed[0]
    folders = list(dict.fromkeys(f"/{posixpath.dirname(p)}" if posixpath.dirname(p) else f"/{p}" for _, p in missed))
    value = ";".join((annotation.rstrip(";"), *folders))
    place = join_pointer("metadata", "annotations", ANNOTATION)
    more = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
    return Finding(
        message=f"Application {app.ref} reads {excerpt(path, 120)}{more}, which its manifest-generate-paths leave out, so changes there are not rendered.",
        at=Location(app.ref, None, pointer),
        cause="left-out",
        evidence=(
            f"{ANNOTATION}: {excerpt(annotation, 240) or annotation}",
            f"left out: {enumerated([excerpt(p, 120) for _, p in missed])}",
        ),
        fixes=(
            Fix(
                f"Add {enumerated([excerpt(folder, 120) for folder in folders])} to the paths",
                "application",
                f"Application {app.ref}",
                Edit("json-patch", set_field(app.raw, place, value)),
                safe=True,
            ),
        ),
    )


def collect(app: App, fleet: Fleet, options: Options) -> Iterator[Fact]:
    """A fact for each repository from which the Application renders a folder, without the annotation."""
    if not annotations_of(app.raw).get(ANNOTATION) and not app.deleting:
        for repo in sorted({text_at(s, "repoURL") for s in app.sources if text_at(s, "path") and not s.get("chart")}):
            yield Fact(repo, app.ref, {})


def join(key: str, facts: Sequence[Fact], options: Options) -> Iterator[Finding]:
    """One information for each repository."""
    refs = list(dict.fromkeys(fact.app for fact in facts))
    if not key or len(refs) < options.shared:
        return
    yield Finding(
        message=f"{len(refs)} Applications of {excerpt(key, 200)} have no manifest-generate-paths, so each push there renders all of them.",
        at=Location(refs[0]),
        cause="absent",
        severity="info",
        related=tuple(Related(ref, role="other") for ref in refs[1:6]),
        fixes=(
            Fix(
                "Name the paths that each of them reads",
                "application",
                "these Applications, or the template of their ApplicationSet",
                Edit(
                    "yaml",
                    f"metadata:\n  annotations:\n    {ANNOTATION}: .   # and, after a semicolon, what lies outside of its path\n",
                ),
                "what the paths leave out is no longer seen",
            ),
        ),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    collect=collect,
    join=join,
    options=Options,
    causes=("left-out", "absent"),
    standing=True,
)
