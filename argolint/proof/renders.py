"""Verifies Helm values by two renders with them: the values that were generated again at each render must then be equal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from argolint.application.app import App
from argolint.comparison import diff
from argolint.errors import ArgolintError, NotHereError
from argolint.model import Finding, Fix, Object, ResourceKey, Want
from argolint.proof.outcomes import CannotReplay, Contradicted, NotRendered, Proven
from argolint.values import below, dig
from argolint.values.kubernetes import group_of
from argolint.values.manifests import ManifestError, mapping_of

Pair = tuple[Sequence[Object], Sequence[Object]]
Render = Callable[[App, Object], Pair | None]
"""Two renders with these Helm values over the application's own; None if it cannot be rendered here."""
Place = tuple[ResourceKey, str]
"""A field of an object of the application."""


def render_again(fix: Fix, finding: Finding, app: App, render: Render) -> Proven:
    """Returns if the values end the differences that the finding names. Raises CannotReplay or Contradicted."""
    named = places_named(finding, app)
    rendered = app.evidence.get(Want("render")) or _rendered(None, app, render)
    before = regenerated_places(rendered, app)
    random = {place for place in before if is_named(place, named)}
    if not random:
        raise CannotReplay("two renders do not differ in what the finding names even without these values")
    pair = _rendered(str(fix.edit.content), app, render)
    after = regenerated_places(pair, app)
    if new := sorted(after - before):
        raise Contradicted(f"two renders with these values newly differ in {_place_text(new[0])}")
    if left := sorted(place for place in after if is_named(place, named)):
        if random <= set(left):
            raise Contradicted(f"two renders with these values still differ in {_place_text(left[0])}")
        raise CannotReplay(f"it ends a part: two renders with these values still differ in {_place_text(left[0])}")
    gone = {_key(m, app) for m in rendered[0]} - {_key(m, app) for side in pair for m in side}
    return Proven("rendered-twice", frozenset({"deletes"}) if gone else frozenset())


def require_left_out(values: str, key: ResourceKey, app: App, render: Render) -> None:
    """Returns if a render with these values leaves out this object and nothing else. Raises CannotReplay or Contradicted."""
    before, after = app.evidence.get(Want("render")) or _rendered(None, app, render), _rendered(values, app, render)
    kept, left = ({_key(m, app): m for m in pair[0]} for pair in (before, after))
    if key in left:
        raise CannotReplay(f"with these values {app.ref} still renders it")
    if more := sorted((kept.keys() ^ left.keys()) - {key}):
        raise CannotReplay(f"with these values {app.ref} changes {more[0].kind} {more[0].name} too")
    random = regenerated_places(before, app)
    for other in sorted(kept.keys() & left.keys()):
        changed = (p for p, _, _ in diff.differences(kept[other], left[other]) if (other, p) not in random)
        if pointer := next(changed, ""):
            raise CannotReplay(f"with these values {app.ref} changes {_place_text((other, pointer))} too")


def _rendered(values: str | None, app: App, render: Render) -> Pair:
    """Two renders with these values, or without any for None. Raises CannotReplay or Contradicted."""
    try:
        given = mapping_of(values)
        pair = render(app, given) if given or values is None else None
    except ManifestError as error:
        raise Contradicted(f"the values are no YAML: {error}") from error
    except NotHereError as error:
        raise NotRendered(f"nothing is rendered here: {error.message}") from None
    except ArgolintError as error:
        how = "even without these values" if values is None else "with these values as they are"
        raise CannotReplay(f"the chart does not render {how}: {error.message}") from None
    if pair is None:
        raise CannotReplay("what is rendered from this fragment is not known here")
    return pair


def places_named(finding: Finding, app: App) -> set[Place]:
    """All places of the application that the finding names."""
    named = {(claim.resource, claim.detail) for claim in finding.explains if claim.kind == "change" and claim.resource}
    if finding.at.resource is not None:
        named.add((finding.at.resource.key, finding.at.pointer))
    return named | {(r.resource.key, r.pointer) for r in finding.related if r.app == app.ref and r.resource is not None}


def regenerated_places(pair: Pair, app: App) -> set[Place]:
    """The places where two renders differ. An object that only one of them has differs in its name."""
    one, two = ({_key(m, app): m for m in side} for side in pair)
    apart = {(key, "/metadata/name") for key in one.keys() ^ two.keys()}
    return apart | {
        (key, pointer)
        for key in one.keys() & two.keys()
        if one[key] != two[key]
        for pointer, _, _ in diff.differences(one[key], two[key])
    }


def _key(manifest: Object, app: App) -> ResourceKey:
    """The identity under which the application lists it: without its own namespace it may get the destination's."""
    group = group_of(manifest)
    own = str(dig(manifest, "metadata", "namespace") or "")
    name = str(dig(manifest, "metadata", "name") or "")
    key = ResourceKey(app.cluster, group, str(manifest.get("kind") or ""), own, name)
    placed = key._replace(namespace=app.destination_namespace)
    return placed if not own and app.resource(placed) is not None else key


def is_named(place: Place, named: Iterable[Place]) -> bool:
    """True if the finding names the place; a generated name matches any object of that kind whose name the finding is about."""
    key, pointer = place
    return any(
        (key == other and below(pointer, claim)) or (pointer == claim == "/metadata/name" and key[:3] == other[:3])
        for other, claim in named
    )


def _place_text(place: Place) -> str:
    key, pointer = place
    return f"{pointer} of {key.kind} {key.name}"
