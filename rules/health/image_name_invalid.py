"""An image that is no image name

What it finds: a container whose image no kubelet can read, in an object that a sync will create or change: a template that nothing filled in
(`web:<no value>`, `web:{{ .Values.tag }}`), an empty tag, two tags, capital letters in the repository, a blank.

Why it hurts: the API server takes any text, so the sync succeeds and each new pod stays in InvalidImageName.

How to fix: give the chart or the kustomization the value that is missing, or write the name as registries take it.

Example: `image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"` without `image.tag` renders `shop/web:`.

Not reported: workloads that have the image already, whose pods say it themselves.

Sources: distribution/reference (ParseNormalizedNamed, splitDockerDomain); kubelet, pkg/util/parsers (ParseImageName).
"""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Finding, Fix, Fleet, Location, Rank, Resource, Rule
from argolint.edits import manifest_patch, manifest_text
from argolint.redaction import show
from argolint.values import get
from argolint.values.kubernetes import containers
from argolint.values.patterns import regex

_LONGEST = 512
"""Characters: a repository has at most 255, a tag 128, and a digest follows."""
_NAME = regex(
    r"(?:(?P<domain>(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])(?:\.[A-Za-z0-9-]+)*(?::[0-9]+)?|\[[a-fA-F0-9:]+\](?::[0-9]+)?)/)?"
    r"(?P<path>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)"
    r"(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)
_UNFILLED = regex(r"\{\{|\}\}|<no value>|<nil>|%!|\$\{?\w")


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each container whose image is new."""
    for resource in app.with_pods("desired"):
        if not resource.requires_pruning:
            for at, container in containers(resource.desired):
                image, place = container.get("image"), f"{at}/image"
                if (
                    isinstance(image, str)
                    and image
                    and (why := _fault(image))
                    and get(resource.live, place, None) != image  # last: it decodes the live object
                ):
                    yield _finding(app, resource, place, image, why)


def _fault(image: str) -> str:
    """Why this is no image name; empty if it is one."""
    if len(image) > _LONGEST:
        return "it is too long"
    if _NAME.fullmatch(image):
        return ""
    if _UNFILLED.search(image):
        return "a template in it was not filled in"
    if " " in image:
        return "it has a blank"
    if image.endswith((":", "@")) or ":@" in image:
        return "its tag is empty"
    if image.partition("@")[0].rpartition("/")[2].count(":") > 1:
        return "it has two tags"
    return "a repository has no capital letters" if _NAME.fullmatch(image.lower()) else "it names no image"


def _finding(app: App, resource: Resource, place: str, image: str, why: str) -> Finding:
    shown = show(image, place, within=resource.desired)
    return Finding(
        message=f"{resource.id} asks for image {shown}: {why}, so new pods stay in InvalidImageName.",
        at=Location(app.ref, resource.id, place),
        confidence="likely",
        fixes=(_fix(resource, place, image),),
    )


def _fix(resource: Resource, place: str, image: str) -> Fix:
    above, slash, last = image.strip().rpartition("/")
    repository, colon, tag = last.partition(":")
    right = f"{above.lower()}{slash}{repository.lower()}{colon}{tag}"
    if not _fault(right):
        return manifest_patch(resource.id, f"Write {right}", [{"op": "replace", "path": place, "value": right}])
    title = (
        "Give the image the value that it lacks"
        if _UNFILLED.search(image) or image.endswith(":")
        else "Correct the image"
    )
    text = "An image is [REGISTRY/]REPOSITORY[:TAG][@DIGEST], with the repository in small letters.\n"
    return manifest_text(f"the values or kustomization that give {resource.id} its image", title, text)


RULE = Rule(**Rule.page(__name__), severity="error", check=check, rank=Rank.CAUSE)
