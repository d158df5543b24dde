"""Finds an object that Argo CD renders in a checkout: through the application's source, as Argo CD itself reads it.

Plain directories (recurse, include, exclude: reposerver/repository/repository.go), Kustomize (resources followed to the base; a field that
a patch, generator or transformer sets is reported), Application manifests anywhere, Helm values files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from argolint.fixes.kustomize import in_kustomization, kustomization_in
from argolint.fixes.spot import (
    Found,
    Spot,
    Unplaced,
    checkout_of,
    display_name,
    is_named,
    is_object,
    is_same,
    mentions,
    objects_in,
    only_one,
    path_below,
    sources_of,
    split_objects,
    tool_options,
)
from argolint.model import Object
from argolint.reports.document import ReportedResource
from argolint.sources.checkout import YAML_NAMES, Checkout, inside
from argolint.sources.yaml_text import EditError, documents
from argolint.values import dig, glob, text_at
from argolint.values.kubernetes import group_of


def application(
    checkouts: Iterable[Checkout], namespace: str, name: str, fits: Callable[[Object], bool] = lambda obj: True
) -> tuple[Spot, Object]:
    """The Application's manifest in any checkout. Unplaced if there is none, or more than one.

    `fits` rejects manifests of same-named Applications on other Argo CDs.
    """
    found: list[tuple[Spot, Object]] = []
    templates = []
    for checkout in checkouts:
        held, unread = checkout.derived("applications", partial(_applications, checkout))
        found += [(spot, obj) for spot, obj in held.get(name, ()) if is_named(obj, name, namespace)]
        templates += [file for file in unread if mentions(checkout, file, name)]
    own = [(spot, obj) for spot, obj in found if fits(obj)]
    if found and not own:
        raise Unplaced(
            f"{found[0][0].file} holds Application {namespace}/{name} of another Argo CD",
            "add --write DIR for the repository with its manifest",
        )
    if len(own) == 1:
        return own[0]
    if own:
        files = ", ".join(spot.file for spot, _ in own)
        raise Unplaced(
            f"Application {namespace}/{name} is in {len(own)} places: {files}", "change the one that is applied"
        )
    if templates:
        why = (
            f"no checkout holds Application {namespace}/{name} as plain YAML, and {templates[0]} could be its template"
        )
        raise Unplaced(why, "change the template or its values by hand")
    raise Unplaced(
        f"no checkout given holds Application {namespace}/{name}",
        "add --write DIR for the repository with its manifest; change an ApplicationSet that generates it by hand",
    )


def _applications(checkout: Checkout) -> tuple[Mapping[str, Sequence[tuple[Spot, Object]]], Sequence[str]]:
    """All Applications of a checkout by name, and unreadable files that mention some."""
    found: dict[str, list[tuple[Spot, Object]]] = defaultdict(list)
    unread = []
    for file in checkout.files:
        if not file.endswith(YAML_NAMES) or not mentions(checkout, file, "Application"):
            continue
        try:
            for spot, obj in objects_in(checkout, file, "Application"):
                if obj.get("kind") == "Application" and group_of(obj) == "argoproj.io":
                    found[str(dig(obj, "metadata", "name"))].append((spot, obj))
        except EditError:
            unread.append(file)
    return found, unread


def manifest(checkouts: Sequence[Checkout], app: Object, resource: ReportedResource) -> Found:
    """The object's own manifest in the application's sources. Unplaced says why there is none to edit."""
    elsewhere, left = [], None
    for number, source in enumerate(sources_of(app)):
        path = str(source.get("path") or "")
        if not path and not source.get("chart"):
            continue
        url = str(source.get("repoURL") or "")
        checkout = checkout_of(checkouts, url)
        if source.get("chart"):
            elsewhere.append(f"the chart {source['chart']} of {url}")
            continue
        if checkout is None:
            elsewhere.append(url)
            continue
        try:
            return _in_source(checkout, app, source, number, resource)
        except Unplaced as why:
            left = left or why
    if left is not None:
        raise left
    where = " and ".join(dict.fromkeys(elsewhere)) or "no known source"
    raise Unplaced(
        f"{display_name(resource)} comes from {where}", "add --write DIR for a clone of it, or change it there by hand"
    )


def at_revision(found: Found, revision: str) -> Object | None:
    """The object in its file at the commit that Argo CD rendered; None if unknown."""
    spot = found.spot
    text = spot.checkout.text_at(revision, spot.file)
    if text is None:
        return None
    try:
        for _, obj in split_objects(documents(text)):
            if is_same(obj, found.obj):
                return obj
    except EditError:
        pass
    return None


def _in_source(checkout: Checkout, app: Object, source: Object, number: int, resource: ReportedResource) -> Found:
    folder = inside("", str(source.get("path") or "")) or ""
    if source.get("plugin"):
        raise Unplaced(
            f"a config management plugin renders {display_name(resource)}", "change what the plugin reads by hand"
        )
    named = next((kind for kind in ("kustomize", "helm", "directory") if source.get(kind)), None)
    kustomization = kustomization_in(checkout, folder)
    if named == "helm" or (named is None and path_below(folder, "Chart.yaml") in checkout.files):
        raise Unplaced(
            f"the Helm chart {folder} renders {display_name(resource)}, and templates are not edited",
            "set a value of the chart by hand",
        )
    if named == "kustomize" or (named is None and kustomization is not None):
        if kustomization is None:
            raise Unplaced(f"there is no kustomization in {folder or 'the top folder'}", "is it the right branch?")
        return in_kustomization(checkout, app, source, kustomization, number, resource)
    return _in_directory(checkout, app, source, folder, number, resource)


def _in_directory(
    checkout: Checkout, app: Object, source: Object, folder: str, number: int, resource: ReportedResource
) -> Found:
    options = tool_options(source, "directory")
    include, exclude = text_at(options, "include"), text_at(options, "exclude")
    found: list[Found] = []
    unread = ""
    for file in checkout.under(folder):
        relative = file[len(folder) + 1 :] if folder else file
        if (
            not file.endswith(YAML_NAMES)
            or ("/" in relative and not options.get("recurse"))
            or (include and not glob.matches(include, relative))
            or (exclude and glob.matches(exclude, relative))
        ):
            continue
        try:
            if not all(word in checkout.text(file) for word in (resource.name, resource.kind)):
                continue
            if "+argocd:skip-file-rendering" in checkout.text(file):
                continue
            found += [
                Found(spot, obj, source=number)
                for spot, obj in objects_in(checkout, file, resource.name)
                if is_object(obj, resource, dig(app, "spec", "destination", "namespace") or resource.namespace)
            ]
        except EditError as error:
            text = str(error)
            unread = unread or (f" ({text})" if text.startswith(file) else f" ({file}: {text})")
    return only_one(found, resource, folder, unread)
