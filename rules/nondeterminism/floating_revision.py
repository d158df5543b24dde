"""A target revision floats where it should be pinned

What it finds: a chart source, or a Git source that follows tags, whose target revision is a range (`*`, `1.x`, `^2.0`, `>=1.2`), or is missing
for a chart: a warning. Branches, `HEAD` and tags of OCI artifacts that are no version (`latest`) are reported once for each repository and
branch, as info. Following a branch of a configuration repository is the usual way of GitOps, so it is information and no fault.

Another info: an Application that renders a folder at a tag or commit with values from a branch of the same repository.

Why it hurts: with a range, a release of another publisher is deployed without a commit, cannot be reviewed, and cannot be rolled back by
reverting. With a branch that many applications share, one push is a deployment of all of them.

How to fix: name the version that is deployed now, and let a bot raise it by pull request. For a chart repository that many applications render,
follow a tag.

Example: `targetRevision: 17.*` deploys 17.4.0 the night it is published.

Sources: Argo CD docs/user-guide/tracking_strategies.md, docs/user-guide/best_practices.md; util/versions/tags.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argolint import App, AppRef, Edit, Fact, Finding, Fix, Fleet, Location, Object, Related, Rule
from argolint.edits import set_field
from argolint.values import owner_references, same_repository, text_at, texts
from argolint.values.patterns import regex

_CHART_RANGE = regex(r"[\^~<>=*|,]|(?:^|\.)[xX](?:\.|$)|\s-\s")
_TAG_RANGE = regex(r"^v?[\d.\sxX-]*[\^~<>=*][\^~<>=*|,\d.\sxXv-]*$")
_COMMIT = regex(r"^(?:[0-9a-f]{7,40}|sha(?:256|512):[0-9a-f]+)$")
_MAJOR = regex(r"v?\d{1,4}")
"""A major version, which is the name of a branch or of a tag that is moved."""
_TAG = regex(r"refs/tags/.|v?\d+\.\d")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each source that follows a range."""
    for index, source in enumerate(app.sources):
        revision = str(source.get("targetRevision") or "")
        if _is_range(source, revision):
            yield _range_finding(app, index, source, revision or "*")
    for index, revision, values in _pinned_sources_with_values(app):
        chart = app.sources[index]
        if not chart.get("chart") and same_repository(text_at(chart, "repoURL"), text_at(values, "repoURL")):
            yield _two_revisions_finding(app, index, revision, values)


def _pinned_sources_with_values(app: App) -> Iterator[tuple[int, str, Object]]:
    """(position, revision, source of values) of pinned sources whose values, from a `ref`, follow a branch."""
    refs = {text_at(s, "ref"): s for s in app.sources if s.get("ref") and not s.get("chart")}
    for index, source in enumerate(app.sources):
        revision = str(source.get("targetRevision") or "")
        if not revision or _is_range(source, revision) or _follows_a_branch(source):
            continue
        for name in dict.fromkeys(file[1:].partition("/")[0] for file in texts(source.get("helm"), "valueFiles")):
            if name in refs and refs[name] is not source and _follows_a_branch(refs[name]):
                yield index, revision, refs[name]


def _follows_a_branch(source: Object) -> bool:
    revision = str(source.get("targetRevision") or "HEAD")
    return not source.get("chart") and not (
        _TAG_RANGE.match(revision) or _COMMIT.match(revision) or _TAG.match(revision)
    )


def _two_revisions_finding(app: App, index: int, revision: str, values: Object) -> Finding:
    branch = str(values.get("targetRevision") or "HEAD")
    return Finding(
        message=f"Application {app.ref} renders {app.sources[index].get('path')} at {revision} with values of {branch} of the same repository, which may fit only another version.",
        at=Location(app.ref, None, f"/spec/sources/{index}/targetRevision"),
        severity="info",
        confidence="possible",
        evidence=(f"values by ref {text_at(values, 'ref')} of {values.get('repoURL')}",),
        fixes=(
            Fix(
                "Let both sources name one revision",
                "application",
                f"Application {app.ref}",
                Edit(
                    "text",
                    f"targetRevision {revision} for the source with ref {text_at(values, 'ref')}, or {branch} for both\n",
                ),
            ),
        ),
    )


def _is_range(source: Object, revision: str) -> bool:
    """Whether the revision is a range; `1.x` is a range only for a chart, since a branch may have that name."""
    if source.get("chart"):
        return not revision or bool(_CHART_RANGE.search(revision))
    return bool(_TAG_RANGE.match(revision))


def _range_finding(app: App, index: int, source: Object, revision: str) -> Finding:
    now = app.revisions[index] if index < len(app.revisions) else ""
    what = f"chart {source['chart']} of {source.get('repoURL')}" if source.get("chart") else f"{source.get('repoURL')}"
    pinned = bool(_TAG.match(now))
    pointer = f"/spec/sources/{index}" if app.spec.get("sources") else "/spec/source"
    parent = next((o for o in owner_references(app.brief) if o.get("kind") == "ApplicationSet"), None)
    return Finding(
        message=f'Application {app.ref} follows "{revision}" of {what}: the next release is deployed without a commit.',
        at=Location(app.ref, None, f"{pointer}/targetRevision"),
        evidence=(f"targetRevision {revision!r}" + (f" resolved to {now}" if now else ""),),
        fixes=(
            Fix(
                title=f"Pin {now}" if pinned else "Pin one version",
                target="application",
                where=f"template of ApplicationSet {parent['name']}" if parent else f"Application {app.ref}",
                edit=Edit("json-patch", set_field(app.raw, f"{pointer}/targetRevision", now))
                if pinned
                else Edit("text", "Set targetRevision to the version that is deployed now."),
                caveat="New releases then need a commit.",
                safe=pinned,
            ),
        ),
    )


def collect(app: App, fleet: Fleet, options: object) -> Iterator[Fact]:
    """One fact for each repository and branch that the application follows."""
    followed = {
        (str(source.get("repoURL") or ""), str(source.get("targetRevision") or "HEAD"))
        for source in app.sources
        if _follows_a_branch(source)
    }
    values = {
        (
            str(s.get("repoURL") or ""),
            str(s.get("targetRevision") or "HEAD"),
        ): f"{of.get('chart') or of.get('path')} {revision}"
        for index, revision, s in _pinned_sources_with_values(app)
        for of in (app.sources[index],)
    }
    for repo, revision in sorted(followed):
        if repo:
            pinned = {"pinned": values[repo, revision]} if (repo, revision) in values else {}
            yield Fact(f"{repo}@{revision}", app.ref, {"repo": repo, "revision": revision, **pinned})


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One comment for each branch, for any number of applications."""
    refs: list[AppRef] = list(dict.fromkeys(fact.app for fact in facts))
    repo, revision = facts[0].data["repo"], facts[0].data["revision"]
    kind = "tag" if repo.startswith("oci://") else "branch or tag" if _MAJOR.fullmatch(revision) else "branch"
    branch = "the default branch" if revision == "HEAD" else f'{kind} "{revision}"'
    many = f"{len(refs)} Applications follow" if len(refs) > 1 else "1 Application follows"
    yield Finding(
        message=f"{many} {branch} of {repo}, so a push there deploys at once.",
        at=Location(refs[0]),
        severity="info",
        evidence=tuple(
            f"{fact.app} pins {fact.data['pinned']} and takes its values from there"
            for fact in facts
            if "pinned" in fact.data
        )[:5],
        related=tuple(Related(ref, role="other") for ref in refs[1:]),
        fixes=(
            Fix(
                title="Follow a tag or a commit",
                target="application",
                where="targetRevision of these Applications",
                edit=Edit(
                    "text",
                    "A tag for charts and bases that many Applications share; a branch suits a repository whose merges are the deployments.",
                ),
            ),
        ),
    )


RULE = Rule(
    **Rule.page(__name__), severity="warning", check=check, collect=collect, join=join, standing=True, pedantic=True
)
