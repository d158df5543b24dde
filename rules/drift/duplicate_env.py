"""One name twice in a list that Kubernetes merges by name

What it finds: an environment variable, port, mount path, volume or container that occurs twice in one list. Also syncs or comparisons that
failed on such a list ("duplicate entries for key", "doesn't match $setElementOrder list", "Duplicate value"), where only the live object may still have both.
And entries that the API server tells apart and a client-side apply does not, where a later commit did not arrive: ports of one number and two
protocols (before their sync, too), host aliases of one address, spread constraints over one topology.

Why it hurts: the last entry counts today. At the next change the merge patch by name may drop or keep the wrong one, and a server-side apply
refuses the object.

How to fix: keep one entry. What must stay twice needs `ServerSideApply=true`.

Argo CD shows no sign of this fault. In a fleet of up to 200 applications, all are read for it. In a larger fleet, an application without
symptoms is only checked if another rule reads it, or with `--deep`.

Example: `env: [{name: LIMIT, value: "5"}, ..., {name: LIMIT, value: "20"}]`.

Sources: argoproj/argo-cd#20979; docs/faq.md; kubernetes/kubernetes#58477, #39188, #105610.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from argolint import App, Edit, Finding, Fix, Fleet, Json, Location, Object, Rank, Resource, Rule, Symptom
from argolint.edits import application_place, live_patch
from argolint.values import below, get, items, leaves, mapping, maps, split_pointer
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex

from ..shared.charts import inline_values
from ..shared.triage import worth_reading
from ._edits import removal_fix
from ._refused import Refusal, refusals
from ._taken_for_one import merged_port_findings, taken_for_one

_LISTS = {
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
}
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet", "Pod", "Rollout")
_POD_LISTS = {"volumes": ("name",), "initContainers": ("name",), "containers": ("name",)}
_UNIQUE = ("volumeMounts", "volumeDevices", "volumes", "initContainers", "containers")
"""Lists whose repeated names the API server refuses (pkg/apis/core/validation); a merge patch may still fold them into one entry."""
_MESSAGE = regex(
    r"duplicate entries for key|\$setElementOrder|\b(env|ports|volumes|volumeMounts|volumeDevices|containers)\[\d+\][\w.]*: Duplicate value"
    r"|mountPath: Invalid value: \S+ must be unique"
)
_OF_ANOTHER_KIND = regex(
    rf'(?<![\w.])(?!(?:{"|".join(_WORKLOADS)})\b)[A-Z]\w{{1,60}}(?:\.[\w.]{{1,100}})? "[^"]{{1,253}}" is invalid'
)
"""A list of an object that is no workload, such as the ports of a Service: sync-failed reports its field."""
_OF_PORT_FIELD = regex(r"\bports\[\d{1,9}\]\.(?:name|hostPort): Duplicate value")
"""Fields that no merge goes by: two ports of different numbers may share them, in Git or after a merge with live; sync-failed knows which."""


@dataclass(frozen=True)
class Repeat:
    """One name that occurs twice in the list `field`; `earlier` and `later` are pointers of its entries."""

    field: str
    name: str
    earlier: str
    later: str
    same_value: bool

    @property
    def list_pointer(self) -> str:
        """The pointer of the list itself."""
        return self.later.rpartition("/")[0]


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object whose manifest has such entries; otherwise one for a message on them."""
    yield from taken_for_one(app)
    refused = tuple(refusal for refusal in refusals(app, _MESSAGE) if not _OF_ANOTHER_KIND.search(refusal.message))
    is_reported = False
    for resource in app.stated:
        repeats = resource.derive(_repeats) if resource.kind in _WORKLOADS else ()
        if repeats:
            is_reported = True
            yield _finding(app, resource, repeats, refused)
        elif resource.kind in ("Service", *_WORKLOADS) and (resource.pending or resource.changes):
            yield from merged_port_findings(app, resource)
    if refused and not is_reported:
        for resource in app.resources:
            repeats = tuple(_repeats_in(resource.live)) if resource.kind in _WORKLOADS and resource.live else ()
            if repeats and resource.as_compared.desired is not None:
                is_reported = True
                yield _live_finding(app, resource.as_compared, repeats, refused)
    unplaced = tuple(refusal for refusal in refused if not _OF_PORT_FIELD.search(refusal.message))
    if unplaced and not is_reported:
        yield _merged_finding(app, unplaced)


_MERGED = regex(
    r"\((?:(?P<namespace>[\w.-]{1,253})/)?(?P<name>[\w.-]{1,253}); (?P<group>[\w.-]{0,253})/\w{1,60}, Kind=(?P<kind>\w{1,63})\): "
    r"(?P<path>(?:\.\w{1,100}){1,20}): duplicate entries for key \[(?P<key>[^\]\n]{1,300})\]"
)
"""The object and the list of which a server-side merge finds one key twice (structured-merge-diff, typed)."""
_PAIR = regex(r'(\w{1,60})="?([^",]{0,253})"?')


def _merged_finding(app: App, refused: tuple[Refusal, ...]) -> Finding:
    """The finding for a list of an object of another kind, such as the ports of a Service; without a place where the message names none."""
    known = next((m for refusal in refused if (m := _MERGED.search(refusal.message))), None)
    resource = app.find(known["group"], known["kind"], known["namespace"] or "", known["name"]) if known else None
    pointer = known["path"].replace(".", "/") if known else ""
    wanted = dict(_PAIR.findall(known["key"])) if known else {}
    entries = items(get(resource.desired, pointer, None)) if resource else []
    twice = [n for n, entry in enumerate(entries) if wanted and all(_holds(entry, *pair) for pair in wanted.items())]
    key = " and ".join(f"{name} {value}" for name, value in wanted.items())
    what = (
        f"{resource.id} has two entries with {key} at {pointer}"
        if resource
        else f"One key is listed twice in an object of {app.name}"
    )
    return Finding(
        message=f"{what}, so Argo CD can neither compare nor sync it.",
        at=Location(app.ref, resource.id if resource else None, pointer if resource else ""),
        evidence=tuple(dict.fromkeys(refusal.message for refusal in refused)),
        explains=tuple(refusal.symptom for refusal in refused),
        fixes=(removal_fix(app, resource, [f"{pointer}/{n}" for n in twice[1:]], "Keep one entry of each key"),)
        if resource and len(twice) > 1
        else (),
    )


def _holds(entry: Json, key: str, value: str) -> bool:
    return isinstance(entry, dict) and str(entry.get(key, "TCP" if key == "protocol" else "")) == value


def _repeats(resource: Resource) -> tuple[Repeat, ...]:
    return tuple(_repeats_in(resource.desired)) if resource.desired else ()


def _repeats_in(manifest: Object) -> Iterator[Repeat]:
    for base, container in containers(manifest):
        for field, keys in _LISTS.items():
            yield from _repeats_in_list(f"{base}/{field}", field, items(container, field), keys)
    base, spec = pod_spec(manifest)
    for field, keys in _POD_LISTS.items():
        yield from _repeats_in_list(f"{base}/{field}", field, items(spec, field), keys)


def _repeats_in_list(list_pointer: str, field: str, entries: Iterable[Json], keys: Sequence[str]) -> Iterator[Repeat]:
    if not isinstance(entries, list | tuple) or _all_differ(entries, keys[0]):
        return
    first_by_name: dict[tuple[str, ...], tuple[str, Object]] = {}
    for index, item in enumerate(entries):
        if not isinstance(item, dict) or keys[0] not in item:
            continue
        name = tuple(str(item.get(key, "TCP" if key == "protocol" else None)) for key in keys)
        pointer = f"{list_pointer}/{index}"
        if name in first_by_name:
            yield Repeat(field, name[0], first_by_name[name][0], pointer, first_by_name[name][1] == item)
        first_by_name[name] = (pointer, item)


def _all_differ(entries: Sequence[Json], key: str) -> bool:
    """A cheap test that excludes nearly every list: no two entries share even their first key."""
    try:
        return len({entry[key] for entry in entries}) == len(entries)
    except (TypeError, KeyError):
        return False


def _finding(app: App, resource: Resource, repeats: tuple[Repeat, ...], refused: tuple[Refusal, ...]) -> Finding:
    first = repeats[0]
    others = {(r.list_pointer, r.name) for r in repeats} - {(first.list_pointer, first.name)}
    more = f" (and {len(others)} more)" if others else ""
    times = sum((r.list_pointer, r.name) == (first.list_pointer, first.name) for r in repeats) + 1
    used = "first" if _first_is_used(resource, repeats) else "last"
    is_new = used == "last" and get(resource.live, first.later, None) is None
    second = (
        "both are equal"
        if first.same_value
        else f"the {'first' if used == 'first' else 'second'} {'counts' if is_new else 'is used now'}"
    )
    end = "the last sync failed on it" if refused else f"{second}, but an update may drop either"
    is_sent_as_is = not get(resource.live, first.list_pointer, None)  # nothing live to merge it with
    if not refused and is_sent_as_is and first.field in _UNIQUE and resource.kind != "Rollout":
        end = "the API server refuses such an object"
    drifted = dict.fromkeys(
        r.list_pointer for r in repeats if any(below(change.pointer, r.list_pointer) for change in resource.changes)
    )
    return Finding(
        message=f"{first.name}{more} is listed {'twice' if times == 2 else f'{times} times'} in {first.field} of {resource.id}; {end}.",
        at=Location(app.ref, resource.id, first.later),
        evidence=(
            *(
                f"{r.name!r} is at {r.earlier} and at {r.later}, {'twice the same' if r.same_value else 'with two values'}"
                for r in repeats
            ),
            *dict.fromkeys(refusal.message for refusal in refused),
        ),
        explains=(
            *(Symptom.change(resource.id, place) for place in drifted),
            *(refusal.symptom for refusal in refused),
        ),
        fixes=(
            *_values_fixes(app, first),
            removal_fix(
                app,
                resource,
                [r.later if used == "first" else r.earlier for r in repeats],
                _title(first, used, refused=bool(refused)),
            ),
        ),
    )


def _values_fixes(app: App, first: Repeat) -> Iterator[Fix]:
    """The entry in the Application's own Helm values, if one of two equal ones is there: the chart writes the other."""
    values = [inline_values(mapping(source, "helm")) for source in app.sources if first.same_value]
    held = [at for each in values for at, value in leaves(each) if value == first.name and _OF_LIST.search(at)]
    if len(held) == 1:
        yield Fix(
            f"Remove {first.name} from the Helm values of the Application: the chart writes it, too",
            "application",
            application_place(app),
            Edit("text", f"remove {held[0].removesuffix('/name')} from the values"),
        )


_OF_LIST = regex(r"/\d{1,4}/name$")


def _live_finding(app: App, resource: Resource, repeats: tuple[Repeat, ...], refused: tuple[Refusal, ...]) -> Finding:
    """The finding for a list that Git has put right, and of which the live object still has both entries."""
    first = repeats[0]
    patch = [{"op": "remove", "path": at} for at in sorted(_superfluous(resource, repeats), key=split_pointer)[::-1]]
    return Finding(
        message=f"{first.name} is listed twice in {first.field} of the live {resource.id}, not in Git, so Argo CD can neither compare nor sync it.",
        at=Location(app.ref, resource.id, first.later),
        evidence=(
            *(f"{r.name!r} is at {r.earlier} and at {r.later} of the live object" for r in repeats),
            *dict.fromkeys(refusal.message for refusal in refused),
        ),
        explains=tuple(refusal.symptom for refusal in refused),
        fixes=(
            live_patch(
                resource.id,
                "Remove from the live object the entry that Git does not have",
                patch,
                "" if resource.kind in ("Job", "CronJob") else "its pods restart",
            ),
        ),
    )


def _superfluous(resource: Resource, repeats: tuple[Repeat, ...]) -> Iterator[str]:
    """The pointers of all live entries of a repeated name, without the one that Git has; without the last if Git has none of them."""
    places: dict[tuple[str, str], list[str]] = {}
    for repeat in repeats:
        places.setdefault((repeat.list_pointer, repeat.name), [repeat.earlier]).append(repeat.later)
    for (listed, _), pointers in places.items():
        wanted = tuple(maps(get(resource.desired, listed, None)))
        held = {pointer: mapping(get(resource.live, pointer, None)) for pointer in pointers}
        kept = [at for at, item in held.items() if any(stated.items() <= item.items() for stated in wanted)]
        yield from (at for at in pointers if at != (kept or pointers)[-1])


def _first_is_used(resource: Resource, repeats: Sequence[Repeat]) -> bool:
    """True if an update dropped the later entry and left only the earlier one in the live list."""
    if len(repeats) != 1 or repeats[0].same_value:
        return False
    listed, earlier = repeats[0].list_pointer, get(resource.desired, repeats[0].earlier)
    later, live_entries = get(resource.desired, repeats[0].later), get(resource.live, listed, None)
    return isinstance(live_entries, list) and earlier in live_entries and later not in live_entries


def _title(first: Repeat, used: str, *, refused: bool) -> str:
    if refused and first.field == "ports":
        return f"Keep one entry of port {first.name}, and use its name or number everywhere"
    return "Keep one entry of each" if refused else f"Keep the {used} entry, which counts"


RULE = Rule(**Rule.page(__name__), severity="error", check=check, reads=worth_reading, rank=Rank.CAUSE)
