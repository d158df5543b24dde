"""A target revision floats where it should be pinned

What it finds: a chart source, or a Git source that follows tags, whose target revision is a range (`*`, `1.x`, `^2.0`,
`>=1.2`) or is left out for a chart: a warning. Branches, `HEAD` and tags of OCI artifacts that are no version (`latest`) are
reported once for each repository and branch, as info: following a branch of a configuration repository is how GitOps deploys, so
it is worth knowing and no fault by itself.

Why it hurts: with a range a release that someone else publishes is deployed by no one's commit, cannot be reviewed, and
cannot be rolled back by reverting. With a branch that many applications share, one push is a deployment of all of them.

How to fix: name the version that is deployed now, and let a bot raise it by pull request. For a chart repository that many
applications render, follow a tag.

Example: `targetRevision: 17.*` deploys 17.4.0 the night it is published.

Sources: Argo CD docs/user-guide/tracking_strategies.md, docs/user-guide/best_practices.md; util/versions/tags.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from argolint import App, AppRef, Edit, Fact, Finding, Fix, Fleet, Location, Object, Related, Rule
from argolint.edits import set_field
from argolint.values import owner_references

_CHART_RANGE = re.compile(r"[\^~<>=*|,]|(?:^|\.)[xX](?:\.|$)|\s-\s")
_TAG_RANGE = re.compile(r"^v?[\d.\sxX-]*[\^~<>=*][\^~<>=*|,\d.\sxXv-]*$")
_COMMIT = re.compile(r"^(?:[0-9a-f]{7,40}|sha(?:256|512):[0-9a-f]+)$")
_TAG = re.compile(r"refs/tags/.|v?\d+\.\d")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each source that follows a range."""
    for index, source in enumerate(app.sources):
        revision = str(source.get("targetRevision") or "")
        if _is_range(source, revision):
            yield _range(app, index, source, revision or "*")


def _is_range(source: Object, revision: str) -> bool:
    """`1.x` alone is a range of a chart's versions, and as good a name for a branch."""
    if source.get("chart"):
        return not revision or bool(_CHART_RANGE.search(revision))
    return bool(_TAG_RANGE.match(revision))


def _range(app: App, index: int, source: Object, revision: str) -> Finding:
    now = app.revisions[index] if index < len(app.revisions) else ""
    what = f"chart {source['chart']} of {source.get('repoURL')}" if source.get("chart") else f"{source.get('repoURL')}"
    pinned = bool(_TAG.match(now))
    pointer = f"/spec/sources/{index}" if app.spec.get("sources") else "/spec/source"
    parent = next((o for o in owner_references(app.raw) if o.get("kind") == "ApplicationSet"), None)
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
        if not source.get("chart")
    }
    for repo, revision in sorted(followed):
        if repo and not (_TAG_RANGE.match(revision) or _COMMIT.match(revision) or _TAG.match(revision)):
            yield Fact(f"{repo}@{revision}", app.ref, {"repo": repo, "revision": revision})


def join(key: str, facts: Sequence[Fact], options: object) -> Iterator[Finding]:
    """One comment for a branch, however many applications follow it."""
    refs: list[AppRef] = list(dict.fromkeys(fact.app for fact in facts))
    repo, revision = facts[0].data["repo"], facts[0].data["revision"]
    kind = "tag" if repo.startswith("oci://") else "branch"
    branch = "the default branch" if revision == "HEAD" else f'{kind} "{revision}"'
    many = f"{len(refs)} Applications follow" if len(refs) > 1 else "1 Application follows"
    yield Finding(
        message=f"{many} {branch} of {repo}, so a push there deploys at once.",
        at=Location(refs[0]),
        severity="info",
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
    id="floating-revision",
    family="nondeterminism",
    severity="warning",
    doc=__doc__,
    check=check,
    collect=collect,
    join=join,
    standing=True,
    pedantic=True,
)
