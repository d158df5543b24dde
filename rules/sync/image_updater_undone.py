"""A sync undoes the changes of Argo CD Image Updater

What it finds: an Application into which Argo CD Image Updater writes new images (its annotations, without a write-back to Git), while something
overwrites them: its ApplicationSet writes the Application again, or its parent application heals the list of images to Git's. Neither ignores
that field. Also two Applications whose write-back to Git changes the same key of one file by different rules (`one-file`).

Why it hurts: each new image is deployed and undone minutes later, or never deployed at all, and both programs report success.

How to fix: write back to Git (`write-back-method: git`), or ignore spec.source in the parent or in the ApplicationSet. Give each Application its
own write-back file.

Example: `argocd-image-updater.argoproj.io/image-list: web=registry.example.com/web` on a child of an app of apps with selfHeal.

Sources: Argo CD Image Updater's documentation, update methods (write-back target, git-branch); Argo CD's documentation, ApplicationSet, ignoreApplicationDifferences.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from argolint import App, Edit, Fact, Finding, Fix, Fleet, Location, Object, Related, Rule
from argolint.redaction import excerpt
from argolint.values import (
    annotations_of,
    bare_address,
    dig,
    items,
    join_pointer,
    maps,
    owner_references,
    text_at,
    texts,
)

_PREFIX = "argocd-image-updater.argoproj.io"
_IMAGE_LIST = join_pointer("metadata", "annotations", f"{_PREFIX}/image-list")
_SOURCE_FIELDS = ("/spec/source", "/spec/sources", ".spec.source", ".spec.sources")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each Application: on itself if its ApplicationSet writes it, on its parent if that heals it."""
    if _writes_application(app.raw) and not app.deleting and (owner := _application_set(app, fleet)) is not None:
        yield _finding(
            app, app, f"ApplicationSet {text_at(owner, 'metadata', 'name')}", Location(app.ref, None, _IMAGE_LIST)
        )
    if (
        dig(app.spec, "syncPolicy", "automated", "selfHeal") is not True
        or _ignores_child_source(app.spec)
        or app.deleting
    ):
        return
    for resource in app.of_kind("Application", "argoproj.io"):
        child = fleet.app(resource.name, resource.namespace)
        if child is not None and _writes_application(child.raw) and (pointer := _overwritten_field(resource.desired)):
            yield _finding(app, child, f"application {app.ref}", Location(app.ref, resource.id, pointer))


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """A fact for each place of a file that Image Updater writes for the Application, with the rule by which it chooses the value."""
    annotations = {
        key.removeprefix(f"{_PREFIX}/"): str(v) for key, v in annotations_of(app.raw).items() if key.startswith(_PREFIX)
    }
    if (
        app.deleting
        or not annotations.get("write-back-method", "").startswith("git")
        or not annotations.get("image-list")
    ):
        return
    sources = [s for s in app.sources if s.get("path") and not s.get("chart")]
    if len(sources) != 1:
        return  # Image Updater itself chooses one of several
    file = _written_file(annotations.get("write-back-target", ""), text_at(sources[0], "path"), app)
    branch = annotations.get("git-branch", "") or text_at(sources[0], "targetRevision") or "HEAD"
    repository = bare_address(annotations.get("git-repository", "") or text_at(sources[0], "repoURL"))
    for image in annotations["image-list"].split(",")[:_IMAGES]:
        alias, _, name = image.strip().rpartition("=")
        name, _, constraint = name.partition(":")
        rule = (
            constraint,
            *(
                annotations.get(f"{alias}.{k}") or annotations.get(k) or ""
                for k in ("update-strategy", "allow-tags", "ignore-tags")
            ),
        )
        helm = (
            file.endswith((".yaml", ".yml"))
            and not file.endswith("kustomization.yaml")
            and ".argocd-source" not in file
        )
        place = (
            (annotations.get(f"{alias}.helm.image-tag") or annotations.get(f"{alias}.helm.image-spec") or "image.tag")
            if helm
            else name
        )
        data = {
            "file": file,
            "branch": branch,
            "repository": repository,
            "place": place,
            "rule": "\n".join((name, *rule)),
        }
        yield Fact("\n".join((repository, branch, file, place)), app.ref, data)


_IMAGES = 50
"""Most images of one list that are read."""


def _written_file(target: str, path: str, app: App) -> str:
    """The path of the written file from the root of the repository (its annotation write-back-target)."""
    kind, _, named = target.partition(":")
    if kind == "kustomization":
        folder = named.lstrip("/") if named.startswith("/") else posixpath.join(path, named)
        return posixpath.normpath(posixpath.join(folder, "kustomization.yaml"))
    if kind == "helmvalues":
        file = named or "values.yaml"
        return posixpath.normpath(file.lstrip("/") if file.startswith("/") else posixpath.join(path, file))
    return posixpath.normpath(posixpath.join(path, f".argocd-source-{app.name}.yaml"))


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One finding for a place that several Applications write by different rules: equal rules write the same."""
    refs = list(dict.fromkeys(fact.app for fact in facts))
    if len(refs) < 2 or len({str(fact.data["rule"]) for fact in facts}) < 2:
        return
    data = facts[0].data
    file, place = excerpt(str(data["file"]), 120), excerpt(str(data["place"]), 120)
    own = (
        "kustomization:<its own overlay>   # a folder, from the source's path"
        if file.endswith("kustomization.yaml")
        else "helmvalues:values-<environment>.yaml"
    )
    many = f"applications {refs[0]} and {refs[1]}" if len(refs) == 2 else f"{len(refs)} applications"
    yield Finding(
        message=f"Image Updater writes {place} of {file} for {many} by different rules, so they overwrite each other.",
        at=Location(refs[0], None, _IMAGE_LIST),
        cause="one-file",
        confidence="likely",
        evidence=(
            f"{excerpt(str(data['repository']), 200)} at {excerpt(str(data['branch']), 120)}",
            *(f"{f.app}: {excerpt(' '.join(str(f.data['rule']).split()), 240)}" for f in facts[:6]),
        ),
        related=tuple(Related(ref, role="other") for ref in refs[1:20]),
        fixes=(
            Fix(
                "Give each Application a file of its own",
                "application",
                "these Applications, or the template of their ApplicationSet",
                Edit(
                    "yaml",
                    f"metadata:\n  annotations:\n    {_PREFIX}/write-back-target: {own}\n",
                ),
                "the Application must render from that file",
            ),
        ),
    )


def _writes_application(raw: Object) -> bool:
    """Whether Image Updater writes into the Application itself, its default."""
    annotations = annotations_of(raw)
    method = str(annotations.get(f"{_PREFIX}/write-back-method") or "argocd")
    return bool(annotations.get(f"{_PREFIX}/image-list")) and method.startswith("argocd")


def _overwritten_field(desired: Object | None) -> str:
    """The field in Git with the list of images or parameters: a comparison ignores fields that Git lacks."""
    for path in ("helm/parameters", "kustomize/images"):
        if items(desired, "spec", "source", *path.split("/")):
            return f"/spec/source/{path}"
    return ""


def _application_set(app: App, fleet: Fleet) -> Object | None:
    """The ApplicationSet that made the Application and overwrites its source; None if it ignores the source or cannot be read."""
    names = {str(o.get("name")) for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"}
    for raw in fleet.application_sets:
        if text_at(raw, "metadata", "name") in names:
            policy = text_at(raw, "spec", "syncPolicy", "applicationsSync")
            kept = any(_ignores_source(entry) for entry in maps(raw, "spec", "ignoreApplicationDifferences"))
            return None if kept or policy in ("create-only", "create-delete") else raw
    return None


def _ignores_child_source(spec: Object) -> bool:
    """Whether the parent ignores the source of its child Applications."""
    return any(e.get("kind") in ("Application", "*") and _ignores_source(e) for e in maps(spec, "ignoreDifferences"))


def _ignores_source(entry: Object) -> bool:
    written = (*texts(entry, "jsonPointers"), *texts(entry, "jqPathExpressions"))
    return any(each.startswith(_SOURCE_FIELDS) or each in ("/spec", ".spec") for each in written)


def _finding(app: App, child: App, owner: str, at: Location) -> Finding:
    images = excerpt(str(annotations_of(child.raw)[f"{_PREFIX}/image-list"]), 240)
    return Finding(
        message=f"Image Updater writes new images into application {child.ref}, which {owner} reverts, so they do not stay.",
        at=at,
        cause="undone",
        confidence="likely",
        evidence=(f"image-list: {images}", "no write-back to Git"),
        related=() if child is app else (Related(child.ref, role="dependent"),),
        fixes=(
            Fix(
                "Let Image Updater write back to Git",
                "application",
                f"Application {child.ref}",
                Edit("yaml", f"metadata:\n  annotations:\n    {_PREFIX}/write-back-method: git\n"),
                "it needs the right to push; the annotation belongs where the Application is written",
            ),
            Fix(
                "Or leave the images alone there",
                "application",
                owner,
                Edit(
                    "yaml",
                    "# of an ApplicationSet\nignoreApplicationDifferences:\n- jqPathExpressions: [.spec.source.helm.parameters, .spec.source.kustomize.images]\n"
                    if owner.startswith("ApplicationSet")
                    else "ignoreDifferences:\n- group: argoproj.io\n  kind: Application\n  jqPathExpressions: [.spec.source.helm.parameters, .spec.source.kustomize.images]\n"
                    "syncPolicy:\n  syncOptions: [RespectIgnoreDifferences=true]\n",
                ),
            ),
        ),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="warning",
    check=check,
    collect=collect,
    join=join,
    causes=("undone", "one-file"),
    standing=True,
)
