"""Finds the source of an Application that a message is about, and other applications that use its repository."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from argolint import App, AppRef, Fleet, Object, ResourceKey
from argolint.application.application_sets import generators, maker
from argolint.application.fleet import IN_CLUSTER
from argolint.redaction import excerpt
from argolint.values import bare_address, mapping, text_at
from argolint.values.patterns import regex

Repository = tuple[str, str]
"""repoURL and chart."""

_NUMBERED = regex(r"source (\d{1,9}) of \d+")


def pointer_of_source(app: App, message: str, *, dry: bool = False) -> str:
    """The RFC 6901 pointer, in the Application, of the source that the message counts or names; of the first by default.

    With a source hydrator it is the source that Argo CD compares, or (`dry`) the one that is rendered into it.
    """
    if app.spec.get("sourceHydrator"):
        return f"/spec/sourceHydrator/{'drySource' if dry else 'syncSource'}"
    if not app.spec.get("sources"):
        return "/spec/source"
    return f"/spec/sources/{_source_index(app, message)}"


def source_in(app: App, message: str, *, dry: bool = False) -> Object:
    """The source that the message counts (Argo CD counts from 1) or names by its repoURL; the first by default."""
    hydrator = mapping(app.spec, "sourceHydrator")
    if hydrator and not dry:
        rendered, written = mapping(hydrator, "drySource"), mapping(hydrator, "syncSource")
        return {
            "repoURL": written.get("repoURL") or rendered.get("repoURL"),
            "path": written.get("path"),
            "targetRevision": written.get("targetBranch"),
        }
    return app.sources[_source_index(app, message)] if app.sources else {}


def _source_index(app: App, message: str) -> int:
    found = _NUMBERED.search(message)
    if found:
        return min(max(int(found.group(1)) - 1, 0), max(len(app.sources) - 1, 0))
    urls = [str(source.get("repoURL") or "") for source in app.sources]
    named = [url for url in urls if url and url in message]
    return urls.index(max(named, key=len)) if named else 0


def usual_revision(fleet: Fleet, app: App, source: Object) -> str:
    """The revision of the same repository that most other applications without errors use; empty if there are none."""
    followed = fleet.derive(_revision_counts).get(_repository(source), Counter())
    listed = fleet.by_ref.get(app.ref)
    own = _revisions(listed, _repository(source)) if listed is not None and listed.desired_known else ()
    ranked = sorted((followed - Counter(own)).items(), key=lambda pair: (-pair[1], pair[0]))
    return ranked[0][0] if ranked and ranked[0][0] != source.get("targetRevision") else ""


def _revision_counts(fleet: Fleet) -> Mapping[Repository, Counter[str]]:
    """How many applications without errors use each revision of each repository."""
    found: dict[Repository, Counter[str]] = defaultdict(Counter)
    for app in fleet.apps:
        for repository in {_repository(source) for source in app.sources} if app.desired_known else ():
            found[repository].update(_revisions(app, repository))
    return found


def _revisions(app: App, repository: Repository) -> list[str]:
    found = (text_at(source, "targetRevision") for source in app.sources if _repository(source) == repository)
    return [revision for revision in found if revision]


def _repository(source: Object) -> Repository:
    return text_at(source, "repoURL"), text_at(source, "chart")


def renderers(app: App, fleet: Fleet) -> tuple[AppRef, ...]:
    """The Applications that render this one."""
    return fleet.owners(ResourceKey(IN_CLUSTER, "argoproj.io", "Application", app.ref.namespace, app.ref.name))


def pull_requests_of(app: App, fleet: Fleet, source: Object) -> str:
    """The repository (OWNER/NAME) whose pull requests make this Application, where its source is another one: a commit of theirs is not there."""
    raw = maker(app, fleet)
    asked = {
        f"{owner}/{'_git/' if provider == 'azuredevops' else ''}{name}"
        for _, generator, _ in generators(mapping(raw, "spec"))
        for provider, body in mapping(generator, "pullRequest").items()
        if isinstance(body, dict)
        and (owner := text_at(body, "owner") or text_at(body, "project"))
        and (name := text_at(body, "repo"))
    }
    meant = next(iter(asked)) if len(asked) == 1 else ""
    same = bare_address(text_at(source, "repoURL")).endswith(f"/{meant.lower()}")
    return "" if same or "{" in meant else excerpt(meant, 200)
