"""Conditions on the objects and sources of one application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from argolint.application.app import App
from argolint.application.resource import Resource
from argolint.comparison import strategy_of
from argolint.forecast.conditions.condition import Args, Condition
from argolint.forecast.world import Hit, World
from argolint.model import MISSING, Json, Related
from argolint.values import fits, get, items, leaves


def _kind(app: App, args: Args) -> Iterator[Resource]:
    """The managed objects that match `group`, `kind` or `kinds`, `name` (globs) and `version`, and that a sync still writes."""
    kinds = args.get("kinds") or [args.get("kind", "*")]
    for r in app.resources:
        if (
            not r.requires_pruning
            and fnmatchcase(r.group, args.get("group", ""))
            and any(fnmatchcase(r.kind, kind) for kind in kinds)
            and fnmatchcase(r.name, args.get("name", "*"))
            and (not args.get("version") or r.id.version in (args["version"], ""))
        ):
            yield r


def _named(app: App, world: World, args: Args) -> bool:
    """Whether the states of an application are needed: it has such objects, and the row looks at their content."""
    looks = any(args.get(key) is not None for key in ("at", "mentions"))
    return looks and any(True for _ in _kind(app, args))


def _object(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects of a kind.

    `at` (a pattern of pointers): the value there matches `is`, `isnt`, `has` or `lacks`. `mentions`: the manifest contains the text.
    `unless`: it does not contain that one. `live`: look at the live object. `without`: none of these sync options is set. `strategy`: how
    the object is compared.
    """
    if any(option in app.sync_options for option in args.get("without") or ()):
        return
    for r in _kind(app, args):
        if args.get("strategy") and strategy_of(app.raw, r.desired, world.after.version) != args["strategy"]:
            continue
        if (unless := args.get("unless")) and r.mentions(unless, "desired"):
            continue
        if (text := args.get("mentions")) is not None:
            if r.mentions(str(text), "desired"):
                yield _hit(app, r, "", str(text))
        elif (pattern := args.get("at")) is None:
            yield _hit(app, r, "", "")
        elif (state := r.live if args.get("live") else r.desired) is not None:
            first = next(_values(state, str(pattern), args), None)
            if first is not None and not (args.get("strategy") and _defaulted(r, first[0], args)):
                yield _hit(app, r, *first)


def _defaulted(r: Resource, pointer: str, args: Args) -> bool:
    """Whether the live object already has the default, or does not exist: then the new CRD changes nothing."""
    value = get(r.live, pointer)
    return not isinstance(value, Mapping) or args["lacks"] in value


def _values(of: Json, pattern: str, args: Args) -> Iterator[tuple[str, Json]]:
    if "*" not in pattern:
        value = get(of, pattern)
        if value is MISSING and isinstance(get(of, pattern.rpartition("/")[0]), Mapping):
            value = "" if "" in (args.get("is") or ()) else value  # Go does not distinguish empty and missing
        if value is not MISSING and _is(value, args):
            yield pattern, value
        return
    depth = pattern.count("/")
    for pointer in dict.fromkeys("/".join(p.split("/")[: depth + 1]) for p, _ in leaves(of)):
        if fits(pattern, pointer) and _is(value := get(of, pointer), args):
            yield pointer, value


def _is(value: Json, args: Args) -> bool:
    if "is" in args:
        wanted = args["is"] if isinstance(args["is"], list) else [args["is"]]
        return value in wanted
    if "has" in args:
        return isinstance(value, str | Mapping) and args["has"] in value
    if "lacks" in args:
        return isinstance(value, Mapping) and args["lacks"] not in value
    return "isnt" not in args or value != args["isnt"]


def _hit(app: App, r: Resource, pointer: str, value: Json) -> Hit:
    shown_value = value if isinstance(value, str | int | bool) else ""
    return Hit(
        app.ref, r.id, pointer, {"object": str(r.id), "app": str(app.ref), "value": str(shown_value), "at": pointer}
    )


def _source(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Fields of the Application's spec at one of `at`, with a value that matches `is` or `isnt`."""
    for pattern in args["at"]:
        for pointer, value in _values({"spec": app.spec}, pattern, args):
            yield Hit(app.ref, None, pointer, {"app": str(app.ref), "value": str(value), "at": pointer})
            return


def _option(app: App, world: World, args: Args) -> Iterator[Hit]:
    """A sync option of the Application, `value`. `tracking`: only on an Argo CD that tracks objects in this way."""
    option, method = args["value"], args.get("tracking")
    if option in app.sync_options and method in (None, world.fleet.tracking_method):
        place = list(items(app.spec, "syncPolicy", "syncOptions")).index(option)
        yield Hit(app.ref, None, f"/spec/syncPolicy/syncOptions/{place}", {"app": str(app.ref), "value": str(option)})


def _api(app: App, world: World, args: Args) -> Iterator[Hit]:
    """Objects with an API version that the next release of a product no longer serves: one hit per kind.

    A cluster that does not serve the version now is left to the rules of a check.
    """
    version = args["version"]
    found: dict[str, list[Resource]] = {}
    for r in app.resources:
        written = r.group == args["group"] and r.id.version == version and not (r.requires_pruning or r.hook)
        if written and (not args.get("kinds") or r.kind in args["kinds"]):
            found.setdefault(r.kind, []).append(r)
    for kind, resources in sorted(found.items()):
        served = world.fleet.served_versions(app.cluster, args["group"], kind)
        if served and version not in served:
            continue
        first, *others = sorted(resources, key=lambda r: r.key)
        more = f" and {len(others)} more" if others else ""
        yield Hit(
            app.ref,
            first.id,
            "/apiVersion",
            {
                "object": f"{first.id}{more}",
                "verb": "are" if others else "is",
                "app": str(app.ref),
                "cluster": app.cluster,
                "api": first.id.api_version,
                "removed": str(args["removed"]),
                "replacement": str(args.get("replacement") or ""),
            },
            (f"the cluster serves {', '.join(served)}",) if served else (),
            tuple(Related(app.ref, r.id, "/apiVersion", "other") for r in others),
        )


def _image(app: App, world: World, args: Args) -> Iterator[Hit]:
    """An image of the application, from Argo CD's summary."""
    for image in items(app.status, "summary", "images"):
        name = str(image).partition("@")[0].rpartition(":")[0]
        if f"/{name}".endswith(f"/{args['value']}"):
            yield Hit(
                app.ref,
                None,
                "",
                {"app": str(app.ref), "value": str(image), "cluster": app.cluster},
                (f"image {image}",),
            )
            return


CONDITIONS: Mapping[str, Condition] = {
    "object": Condition(of_app=_object, reads=_named),
    "source": Condition(of_app=_source),
    "option": Condition(of_app=_option),
    "api": Condition(of_app=_api, needs=("clusters",)),
    "image": Condition(of_app=_image),
}
