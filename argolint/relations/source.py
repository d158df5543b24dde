"""spec-says: the message fails on a value in the Application's own source or destination."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from argolint.application.app import App
from argolint.application.application_sets import maker, maker_or_name
from argolint.edits import application_place
from argolint.edits.advice import Shell, advice
from argolint.model import Object
from argolint.redaction import excerpt
from argolint.relations.explained import Explained
from argolint.relations.look_up import Complaint
from argolint.values import bare_address, dig, leaves, same_repository, split_pointer, text_at, with_colon
from argolint.values.patterns import regex

_BRACES = regex(r"\{\{[^{}\n]{0,200}\}\}")


def unexpanded_template(complaint: Complaint) -> Iterator[Explained]:
    """The Application has `{{…}}` instead of a template's value: any later error comes from that."""
    app = complaint.app
    for pointer, value in leaves(app.spec, "/spec"):
        last = split_pointer(pointer)
        if not isinstance(value, str) or not _BRACES.search(value) or not _of_address(last):
            continue
        made_by = maker(app, complaint.fleet)
        name = text_at(maker_or_name(app, complaint.fleet), "metadata", "name")
        braces = (_BRACES.search(value) or [""])[0]
        word = braces.strip("{} -").lstrip(".")
        by_dots, go = braces.strip("{} -").startswith("."), dig(made_by, "spec", "goTemplate") is True
        facts = {
            "set": f"{app.ref.namespace}/{name}" if name else "",
            "dotted": f"{{{{.{word}}}}}" if go and not by_dots else "",
            "not_go": made_by is not None and not go and by_dots,
            "not_given": bool(name) and go == by_dots,
            "word": word,
            "value": excerpt(braces, 80),
            "at": pointer,
            "place": application_place(app),
        }
        yield Explained(
            "spec-says",
            app.ref,
            None,
            f"Application {app.ref} holds {excerpt(braces, 60)} at {pointer}, where no template has put a value, so it cannot sync.",
            evidence=(f"{pointer} is {excerpt(value, 200)}", *(excerpt(t, 400) for t in complaint.texts[:1])),
            fixes=advice(__package__, "spec-says/unexpanded", facts, None),
            pointer=pointer,
        )
        return


def _of_address(tokens: tuple[str, ...] | list[str]) -> bool:
    """True for addresses, names and paths: in other values, braces may be for another program."""
    return tokens[1] in ("destination", "project") or (
        tokens[-1] in ("repoURL", "path", "targetRevision", "chart", "releaseName") and "plugin" not in tokens
    )


_RENDER = (
    "Failed to load target state",
    "failed to generate manifest",
    "Manifest generation error",
    "helm pull",
    "helm dependency",
    "error resolving repo revision",
)


def chart_of_git(complaint: Complaint) -> Iterator[Explained]:
    """A source with `chart` for a Git repository: `chart` is for Helm and OCI repositories, a folder in Git needs `path`.

    reposerver/repository/repository.go: with `chart` the repo-server runs `helm pull --repo URL`.
    """
    app = complaint.app
    if complaint.id is not None or not any(words in text for text in complaint.texts for words in _RENDER):
        return
    for index, source in enumerate(app.sources):
        url, chart = text_at(source, "repoURL"), text_at(source, "chart")
        if chart and not url.startswith("oci://") and _is_git(complaint, app, url):
            at = "/spec/source" if "source" in app.spec and not app.spec.get("sources") else f"/spec/sources/{index}"
            facts = {
                "place": application_place(app),
                "chart": chart,
                "url": excerpt(url, 200),
                "patch": [
                    {"op": "remove", "path": f"{at}/chart"},
                    {"op": "add", "path": f"{at}/path", "value": f"<folder of {chart}>"},
                ],
                "at": at,
            }
            yield Explained(
                "spec-says",
                app.ref,
                None,
                f"Application {app.ref} asks for chart {chart} in a Git repository, where Argo CD looks for a Helm repository and finds none.",
                evidence=(f"{at}/repoURL is {excerpt(url, 200)}, a Git repository; {at}/chart is {chart}",),
                fixes=advice(__package__, "spec-says/chart-of-git", facts, None),
                pointer=f"{at}/chart",
            )
            return


def address_without_colon(complaint: Complaint) -> Iterator[Explained]:
    """An SSH address whose host and path no colon parts: Git takes it for a folder, and asks no host."""
    if complaint.id is not None or not any(words in text for text in complaint.texts for words in _RENDER):
        return
    for at, source in _placed(complaint.app):
        url = text_at(source, "repoURL")
        if meant := with_colon(url):
            patch = [{"op": "replace", "path": f"{at}/repoURL", "value": meant}]
            sentence = f"reads {excerpt(url, 120)}, which Git takes for a folder: a colon is missing behind the host."
            address = f"{at}/repoURL is {excerpt(url, 200)}"
            yield _of_address_at(complaint, at, sentence, address, "without-colon", {"patch": patch})
            return


def _is_git(complaint: Complaint, app: App, url: str) -> bool:
    """True if the address ends in .git, is registered as Git, or serves other sources by `path`."""
    if url.endswith(".git") or url.startswith(("git@", "ssh://")):
        return True
    registered = [text_at(r, "type") for r in complaint.fleet.repositories if same_repository(text_at(r, "repo"), url)]
    others = (s for s in app.sources if s.get("path") and not s.get("chart"))
    return "git" in registered or any(same_repository(text_at(s, "repoURL"), url) for s in others)


_ABSENT = regex(
    r"\b404\b|not found|manifest unknown|name unknown|repository does not exist",
    re.IGNORECASE,
)
_REFUSED = regex(
    r"\b40[13]\b|unauthorized|authentication required|no basic auth credentials|\bdenied\b|forbidden"
    r'|unsupported protocol scheme "" ?$',
    re.IGNORECASE,
)
_NOT_HAD = regex(f"{_ABSENT.pattern}|{_REFUSED.pattern}", re.IGNORECASE)
_HUB = frozenset({"docker.io", "registry-1.docker.io", "index.docker.io"})


def ignored_chart(complaint: Complaint) -> Iterator[Explained]:
    """An address with oci:// next to `chart`: since 3.1 the address is that of the artifact itself, and the chart's name is not read.

    reposerver/repository/repository.go: a source that is OCI is none of Helm.
    """
    if complaint.id is not None or not complaint.fleet.at_least(3, 1) or complaint.first(_NOT_HAD) is None:
        return
    for at, source in _placed(complaint.app):
        url, chart = text_at(source, "repoURL").rstrip("/"), text_at(source, "chart")
        bare = url.removeprefix("oci://")
        host, _, path = bare.partition("/")
        ends = f"/{bare}".endswith(f"/{chart}")
        if not url.startswith("oci://") or not chart or ends:
            continue
        asked = [t for t in complaint.texts if (bare in t or (host in t and path in t)) and f"{bare}/{chart}" not in t]
        if not asked or not any(r in t for t in asked for r in _RENDER):
            continue
        facts = {
            "at": at,
            "chart": chart,
            "bare": bare,
            "full": f"{url}/{chart}",
            "ref": text_at(source, "targetRevision") or "VERSION",
        }
        sentence = f"asks {excerpt(bare, 120)} for no chart: with oci:// in repoURL, Argo CD does not read chart {excerpt(chart, 60)}."
        address = f"{at}/repoURL is {excerpt(url, 200)}; {at}/chart is {excerpt(chart, 60)}"
        yield _of_address_at(complaint, at, sentence, address, "ignored-chart", facts)
        return


def chart_in_address(complaint: Complaint) -> Iterator[Explained]:
    """The chart's name is at the end of repoURL and in `chart`: the registry is asked for the name twice, one below the other."""
    for at, source in _charts(complaint, _ABSENT):
        url, chart = text_at(source, "repoURL").rstrip("/"), text_at(source, "chart")
        above, _, last = url.rpartition("/")
        requested = f"{url}/index.yaml" if "://" in url else f"{url}/{chart}"
        if url.startswith("oci://") and complaint.fleet.at_least(3, 1):
            continue  # the chart is not read there
        if (
            last != chart
            or "/" not in above.removeprefix("https://").removeprefix("http://")
            or _is_address_used(complaint, url)
        ):
            continue
        sentence = f"writes chart {excerpt(chart, 60)} in repoURL and in chart, and nothing is found at {excerpt(requested, 160)}."
        address = f"{at}/repoURL is {excerpt(url, 200)}; {at}/chart is {excerpt(chart, 60)}"
        facts = {"chart": chart, "at": at, "above": above}
        yield _of_address_at(complaint, at, sentence, address, "chart-in-address", facts, likely=True)
        return


def deep_hub_address(complaint: Complaint) -> Iterator[Explained]:
    """A chart below another repository: names on Docker Hub have two parts, and it answers 401 for any other name."""
    for at, source in _charts(complaint, _NOT_HAD):
        url, chart = bare_address(text_at(source, "repoURL")).rstrip("/"), text_at(source, "chart")
        parts = [part for part in (*url.split("/")[1:], *chart.split("/")) if part]
        if _host(url) not in _HUB or len(parts) <= _OF_HUB:
            continue
        repository = "/".join(parts)
        sentence = f"asks Docker Hub for {excerpt(repository, 120)}, but repositories there have two parts."
        address = f"{at}/repoURL is {excerpt(url, 200)}; {at}/chart is {excerpt(chart, 60)}"
        facts = {"at": at, "first": parts[0], "second": parts[1]}
        yield _of_address_at(complaint, at, sentence, address, "deep-on-hub", facts)
        return


_OF_HUB = 2
"""Parts of a repository's name on Docker Hub: owner and name."""


def credentials_elsewhere(complaint: Complaint) -> Iterator[Explained]:
    """Credentials are registered for another address of the same registry: for charts, Argo CD uses only credentials of exactly this address."""
    for at, source in _charts(complaint, _REFUSED, artifacts=True):
        url = text_at(source, "repoURL")
        known = [text_at(r, "repo") for r in complaint.fleet.repositories]
        near = [k for k in known if _host(k) == _host(url)]
        native = url.startswith("oci://")
        if not near or any(same_repository(k, url) for k in known):
            continue
        facts = {
            "url": excerpt(url, 200),
            "near": excerpt(near[0], 200),
            "prefix": f"oci://{_host(url)}" if native else _host(url),
            "as": Shell("--type oci" if native else "--type helm --enable-oci"),
            "oci": "://" not in url or native,
        }
        sentence = f"reads charts of {excerpt(url, 100)}, but Argo CD has {excerpt(near[0], 100)} registered, which is another address."
        address = f"{at}/repoURL is {excerpt(url, 200)}"
        yield _of_address_at(complaint, at, sentence, address, "registered-apart", facts, likely=True)
        return


_PULLED = regex(
    r"helm (?:chart )?pull (?:oci://)?(?P<of>[\w./:-]{1,300}?)(?: --version |:)(?P<version>v?\d[\w.+-]{0,60})(?=[ `])"
)
_NO_CHART = regex(
    r"not found|manifest unknown|minimum number of descriptors|layer with mediatype|could not load config with mediatype",
    re.IGNORECASE,
)


def picked_version(complaint: Complaint) -> Iterator[Explained]:
    """A range of versions, and the one that Argo CD picked for it among the registry's tags is no chart."""
    pulled = complaint.first(_PULLED)
    if pulled is None:
        return
    for at, source in _charts(complaint, _NO_CHART):
        revision, chart, picked = text_at(source, "targetRevision"), text_at(source, "chart"), pulled["version"]
        if not pulled["of"].endswith(f"/{chart}") or not revision or _EXACT.fullmatch(revision) or revision == picked:
            continue
        repository = f"{bare_address(text_at(source, 'repoURL')).rstrip('/')}/{chart}"
        facts = {
            "chart": f"oci://{repository}",
            "revision": revision,
            "repository": repository,
            "stripped": not complaint.fleet.at_least(3, 1) and not picked.startswith("v"),
            "picked": picked,
        }
        sentence = f"picks {excerpt(picked, 40)} for {excerpt(revision, 40)} among the tags of {excerpt(repository, 120)}, and finds no chart of that tag."
        address = f"{at}/targetRevision is {excerpt(revision, 40)}: Argo CD takes the highest tag that fits, of charts and images alike"
        found = _of_address_at(complaint, at, sentence, address, "picked-version", facts, likely=True)
        yield replace(found, pointer=f"{at}/targetRevision")
        return


_EXACT = regex(r"v?\d+(?:\.\d+){0,2}(?:[-+][\w.+-]{1,100})?")
"""One version, and no range."""


def _of_address_at(
    complaint: Complaint,
    at: str,
    sentence: str,
    address: str,
    topic: str,
    facts: Mapping[str, Any],
    *,
    likely: bool = False,
) -> Explained:
    """The fault in a source's address; `sentence`: what the Application does, `address`: the value."""
    app = complaint.app
    return Explained(
        "spec-says",
        app.ref,
        None,
        f"Application {app.ref} {sentence}",
        evidence=(address, excerpt(complaint.texts[0], 400)),
        fixes=advice(__package__, f"spec-says/{topic}", {"place": application_place(app), **facts}, None),
        pointer=f"{at}/repoURL",
        likely=likely,
    )


def _charts(complaint: Complaint, words: re.Pattern[str], *, artifacts: bool = False) -> Iterator[tuple[str, Object]]:
    """The sources with a chart, or an OCI artifact too, that could not be fetched, according to the words of a render error."""
    is_render_error = complaint.id is None and any(r in t for t in complaint.texts for r in _RENDER)
    if is_render_error and complaint.first(words):
        for at, source in _placed(complaint.app):
            url, chart = text_at(source, "repoURL"), text_at(source, "chart")
            path = bare_address(url).partition("/")[2].rstrip("/")
            fetched = chart or (artifacts and url.startswith("oci://"))
            named = tuple(filter(None, (chart, path)))
            if fetched and url and any(name in text for text in complaint.texts for name in named):
                yield at, source


def _placed(app: App) -> Iterator[tuple[str, Object]]:
    """The sources, each with its pointer."""
    single = "source" in app.spec and not app.spec.get("sources")
    for index, source in enumerate(app.sources):
        yield "/spec/source" if single else f"/spec/sources/{index}", source


def _host(url: str) -> str:
    return bare_address(url).partition("/")[0]


def _is_address_used(complaint: Complaint, url: str) -> bool:
    """True if another application uses charts from this very address without an error."""
    others = (a for a in complaint.fleet.apps if a.ref != complaint.app.ref and a.desired_known)
    return any(text_at(s, "repoURL").rstrip("/") == url for a in others for s in a.sources if s.get("chart"))
