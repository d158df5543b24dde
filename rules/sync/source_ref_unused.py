"""A ref that nothing uses, or a values file of a ref that does not exist

What it finds: an Application of several sources with a `ref` that no values file uses (`unused`), or with a values file that begins with `$name`
although no source has that ref (`unknown`), or in which something comes before `$name` (`misplaced`).

Why it hurts: with `unknown` and `misplaced` Argo CD cannot render. With `unused` it fetches a repository at each comparison without need, and the values in it
have no effect.

How to fix: name the file as `$ref/path`, or remove the source.

Example: `ref: config` next to `valueFiles: [$values/prod.yaml]`.

Sources: Argo CD's documentation, Helm value files from external Git repository; util/argo/argo.go (GetRefSources).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Edit, Finding, Fix, Fleet, Location, Rule
from argolint.edits import application_patch
from argolint.redaction import excerpt
from argolint.values import maps, text_at, texts
from argolint.values.patterns import regex

_REF = regex(r"^\$(?!ARGOCD_|KUBE_)([^/]{1,253})/")
_MISPLACED = regex(r"^([\\./\"']{1,4})\$(?!ARGOCD_|KUBE_)([^/]{1,253})/")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each source."""
    listed = maps(app.spec, "sources")
    if len(listed) < 2 or app.deleting:
        return
    used: dict[str, str] = {}
    all_files: list[tuple[str, str]] = []
    for index, source in enumerate(listed):
        helm = source.get("helm")
        files = [(f"/spec/sources/{index}/helm/valueFiles/{i}", f) for i, f in enumerate(texts(helm, "valueFiles"))]
        files += [
            (f"/spec/sources/{index}/helm/fileParameters/{i}/path", text_at(p, "path"))
            for i, p in enumerate(maps(helm, "fileParameters"))
        ]
        all_files += files
        for place, file in files:
            if found := _REF.match(file):
                used.setdefault(found[1], place)
    for place, file in all_files:
        if found := _MISPLACED.match(file):
            yield _misplaced_finding(app, place, file, found[1], found[2])
    refs = {text_at(source, "ref"): index for index, source in enumerate(listed) if text_at(source, "ref")}
    for name, index in refs.items():
        source = listed[index]
        mentioned = any(f"${name}/" in str(other) for other in listed)
        if name not in used and not mentioned and not source.get("path") and not source.get("chart"):
            yield _unused_finding(app, name, index)
    for name, place in used.items():
        if name not in refs and refs:
            yield _unknown_finding(app, name, place, refs)


def _misplaced_finding(app: App, place: str, file: str, before: str, name: str) -> Finding:
    right = file.removeprefix(before)
    return Finding(
        message=f'Application {app.ref} cannot be rendered: "{excerpt(file, 100)}" does not begin with ${excerpt(name, 63)}, so it is looked for next to the chart.',
        at=Location(app.ref, None, place),
        cause="misplaced",
        severity="error",
        confidence="likely",
        fixes=(
            application_patch(
                app,
                f"Leave out {before} before ${excerpt(name, 63)}",
                [{"op": "replace", "path": place, "value": right}],
            ),
        ),
    )


def _unused_finding(app: App, name: str, index: int) -> Finding:
    return Finding(
        message=f"Application {app.ref} fetches a source with ref {excerpt(name, 63)} that no values file names, so what it holds has no effect.",
        at=Location(app.ref, None, f"/spec/sources/{index}/ref"),
        cause="unused",
        fixes=(
            Fix(
                "Name its file, or remove the source",
                "application",
                f"Application {app.ref}",
                Edit("yaml", f"helm:\n  valueFiles:\n  - ${name}/path/to/values.yaml\n"),
            ),
        ),
    )


def _unknown_finding(app: App, name: str, place: str, refs: dict[str, int]) -> Finding:
    return Finding(
        message=f"Application {app.ref} cannot be rendered: its values name ref {excerpt(name, 63)}, and its sources have {excerpt(next(iter(refs)), 63)}.",
        at=Location(app.ref, None, place),
        cause="unknown",
        severity="error",
        fixes=(
            Fix(
                f"Begin the file with ${excerpt(next(iter(refs)), 63)}",
                "application",
                f"Application {app.ref}",
                Edit("text", f"write ${next(iter(refs))}/ in place of ${name}/ at {place}\n"),
            ),
        ),
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, causes=("unused", "unknown", "misplaced"))
