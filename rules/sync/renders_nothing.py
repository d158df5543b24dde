"""An application that is Synced because it holds no object

What it finds: an application that Argo CD has compared, and that has no object: nothing in Git, nothing in the cluster. Hooks do not count in a
comparison; an application whose last sync or render shows hooks is another rule's.

Why it hurts: nothing is deployed, and Argo CD shows Synced and Healthy, since there is nothing that could differ or be ill.

How to fix: point the source at the folder with the manifests, or let Argo CD read the sub-folders. A directory is read without them unless
`directory.recurse` is set.

Example: `path: apps` in a repository with `apps/web/deployment.yaml` and `apps/db/statefulset.yaml`.

Sources: reposerver/repository/repository.go (getPotentiallyValidManifests), controller/state.go (CompareAppState) of Argo CD.
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fix, Fleet, Location, Object, Rule, Want
from argolint.edits import application_patch, application_place, set_field
from argolint.edits.advice import advice
from argolint.values import dig, mapping, text_at

from ..shared.charts import source_type


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for the application."""
    operation = app.operation
    if app.rows or app.deleting or not app.desired_known or app.sync_status != "Synced" or not any(app.revisions):
        return
    if app.evidence.get(Want("manifests")) or (operation is not None and (operation.failed or operation.results)):
        return
    place = next((n for n, source in enumerate(app.sources) if not source.get("ref") or source.get("path")), 0)
    source, kind = app.sources[place] if app.sources else {}, source_type(app, place)
    if not kind or app.spec.get("sourceHydrator"):
        return
    pointer = f"/spec/sources/{place}" if app.spec.get("sources") else "/spec/source"
    yield Finding(
        message=f"Application {app.ref} is Synced and holds no object: {_why(source, kind)}.",
        at=Location(app.ref, None, f"{pointer}/chart" if source.get("chart") else f"{pointer}/path"),
        confidence="likely",
        fixes=tuple(_fixes(app, source, kind, pointer)),
    )


def _why(source: Object, kind: str) -> str:
    path = text_at(source, "path").strip("/")
    path = f"path {path}" if path not in ("", ".") else "the root of the repository"
    if kind != "Directory":
        return f"{kind} renders nothing to compare from {source.get('chart') or path}"
    if chosen := _chosen(source):
        return f"no manifest of {path} passes {chosen} of its directory"
    if dig(source, "directory", "recurse"):
        return f"{path} and the folders in it have no manifest"
    return f"{path} itself has no manifest, and the folders in it are not read"


def _chosen(source: Object) -> str:
    return next((name for name in ("include", "exclude") if mapping(source, "directory").get(name)), "")


def _fixes(app: App, source: Object, kind: str, pointer: str) -> Iterator[Fix]:
    if kind == "Directory" and not _chosen(source) and not dig(source, "directory", "recurse"):
        caveat = "the next sync applies every manifest below; where a folder has a chart or a kustomization, name that folder as the path"
        patch = set_field(app.raw, f"{pointer}/directory/recurse", True)
        yield application_patch(app, "Let Argo CD read the folders below", patch, caveat)
    facts = {"place": application_place(app), "pointer": pointer, "path": text_at(source, "path") or "."}
    topic = kind if kind in ("Helm", "Kustomize") else _chosen(source) or "path"
    yield from advice(__package__, f"renders-nothing/{topic.lower()}", facts)


RULE = Rule(**Rule.page(__name__), severity="warning", check=check)
