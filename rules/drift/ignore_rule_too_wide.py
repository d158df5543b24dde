"""An ignore rule hides more than one drift

What it finds: one pointer or jq path of `ignoreDifferences` that now hides differences of several origins: an autoscaler's and a person's, a
webhook's and a commit that never reached the cluster. Its purpose can only be one of them. Also one that ignores a whole `spec`, pod template or
container, or trusts Argo CD's own field manager, with any differences. Also one that hides a waiting commit: the application is Synced, so no
automated sync applies it, be it of the Application or of argocd-cm. With `RespectIgnoreDifferences=true` no sync brings it at all; of images this
shows by their tags. Also a trusted field manager that owns a list as a whole, once Git has something in that list which live lacks, or has changed
something there.

Why it hurts: the application is shown as Synced while someone's edit, or a change in Git, is not live.

How to fix: name the object and the exact field, or trust the one manager (`managedFieldsManagers`).

Example: `/spec` ignored because of the replicas, which hides an image edited by hand.

Sources: docs/user-guide/diffing.md; argoproj/argo-cd#4326.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from argolint import (
    App,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Need,
    Object,
    Resource,
    ResourceKey,
    Rule,
    Writer,
)
from argolint.application.applied import by_argocd, last_applied
from argolint.comparison import IgnoreRule, managers, writer
from argolint.edits import RESPECT, application_place, live_command
from argolint.redaction import show
from argolint.values import at_and_above, get, sh
from argolint.values.kubernetes import COMPARE_OPTIONS

from ._fields import change_line
from ._ignored import (
    expression_pointer,
    has_entries,
    hidden_by,
    is_kept_image,
    is_waiting_commit,
    lists_over_commits,
    own_entries,
    paths,
    removed_pointers,
    selected_resources,
    server_entries,
    settings_key,
    tag_of,
    whole_parts,
)
from ._writers import is_sort

Hidden = tuple[Resource, Change]


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each pointer or jq path that is too wide."""
    for entry in own_entries(app):
        hidden = hidden_by(app, fleet, entry)
        yield from _own_manager_findings(app, entry, hidden)
        yield from _whole_lists(app, entry, hidden)
        for path, single in paths(app, entry):
            objects = selected_resources(app, single)
            found = [(r, c) for r in objects for c in _hidden_by_path(r, single, hidden[r.key])]
            origins = dict.fromkeys(_origin_text(change) for _, change in found)
            whole = [(r, place) for r in objects for place in whole_parts(single, r)]
            if len(origins) > 1:
                fact = f"hides {len(found)} differences of {len(origins)} origins, more than it was meant for"
                yield _finding(app, entry, f"{path!r} of {app.name} {fact}", found[0][0], found[0][1].pointer, found)
            elif whole:
                fact = f"hides the whole {whole[0][1]} of {whole[0][0].id}, so no commit to it shows"
                yield _finding(app, entry, f"{path!r} of {app.name} {fact}", *whole[0], found)
            elif waiting := [(r, c) for r, c in found if is_waiting_commit(app, r, c)]:
                yield _waiting_commit_finding(app, entry, path, waiting)
            elif kept := [(r, c) for r, c in found if is_kept_image(app, r, c)]:
                yield _kept_image_finding(app, entry, path, kept)
    for entry in server_entries(app, fleet):
        hidden = hidden_by(app, fleet, entry)
        for path, single in paths(app, entry):
            objects = selected_resources(app, single)
            found = [(r, c) for r in objects for c in _hidden_by_path(r, single, hidden[r.key])]
            if waiting := [(r, c) for r, c in found if is_waiting_commit(app, r, c)]:
                yield _waiting_commit_finding(app, entry, path, waiting, settings_key(entry.group, entry.kind))


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application's objects may have ignored fields, by its own entries or the server's."""
    return has_entries(app, fleet) or bool(server_entries(app, fleet))


def _waiting_commit_finding(
    app: App, entry: IgnoreRule, path: str, waiting: Sequence[Hidden], key: str = ""
) -> Finding:
    """The finding for a commit that the entry hides from automated syncs; `key`: that of argocd-cm, for an entry of the server."""
    resource, first = waiting[0]
    more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
    consequence = "no automated sync starts for it" if app.automated else "nothing shows it"
    shown = "the application is OutOfSync until the commit is synced"
    take_out = (
        Fix(
            "Remove the expression from the entry, or put it under the key of the kind that needs it"
            if "*" in f"{entry.group}{entry.kind}"
            else "Remove the expression from the entry, or write it in the Applications that need it",
            "argocd-settings",
            "ConfigMap argocd-cm",
            Edit("text", f"{key}: {path}"),
            f"{shown}; the entry applies to every application",
        )
        if key
        else Fix(
            "Remove the expression from the entry",
            "application",
            application_place(app),
            Edit("text", f"{expression_pointer(entry, path)} of Application {app.ref}: {path}"),
            shown,
        )
    )
    by_hand = live_command(
        app.ref,
        "Sync the application by hand",
        f"argocd app sync {sh(app.ref)}",
        "each later commit to an ignored field needs one too",
    )
    return Finding(
        message=f"A commit to {first.pointer}{more} of {resource.id} is not live: an ignore rule of {'argocd-cm' if key else app.name} hides it, so {consequence}.",
        at=Location(app.ref, resource.id, first.pointer),
        evidence=(
            f"{f'{key} of argocd-cm' if key else f'{entry.origin} of the Application'}: {path}",
            *(f"{r.id} {change_line(c, r)}" for r, c in waiting),
        ),
        fixes=(by_hand, take_out) if _is_changed_on_arrival(waiting) else (take_out, by_hand),
    )


def _kept_image_finding(app: App, entry: IgnoreRule, path: str, kept: Sequence[Hidden]) -> Finding:
    """The finding for an image in Git that every sync replaces by the live one, since the entry is respected."""
    resource, first = kept[0]
    wanted = show(first.desired, first.pointer, within=resource.any)
    place = f"{expression_pointer(entry, path)} of Application {app.ref}: {path}"
    webhook = f"{COMPARE_OPTIONS} of Application {app.ref}: ServerSideDiff=true,IncludeMutationWebhook=true"
    digest = "@sha256:" in str(first.live)
    return Finding(
        message=f"Image {wanted} of Git never reaches {resource.id}: an ignore rule of {app.name} hides it, and {RESPECT} keeps tag {tag_of(first.live)}.",
        at=Location(app.ref, resource.id, first.pointer),
        confidence="likely",
        evidence=(f"{entry.origin} of the Application: {path}", *(f"{r.id} {change_line(c, r)}" for r, c in kept)),
        fixes=(
            Fix(
                f"Remove the expression from the entry{', and compare with what the webhook makes of the image' if digest else ''}",
                "application",
                application_place(app),
                Edit("text", "\n".join((place, webhook) if digest else (place,))),
                "the next sync then brings Git's image",
                needs=(Need("argocd", "2.10"),) if digest else (),
            ),
        ),
    )


def _is_changed_on_arrival(waiting: Iterable[Hidden]) -> bool:
    """True if the stored value differs from the last applied one: the entry hides that too, and is needed for it."""
    applied = ((last_applied(r), c) for r, c in waiting)
    return any(a is not None and get(a, c.pointer) != c.live for a, c in applied)


def _own_manager_findings(
    app: App, entry: IgnoreRule, hidden: Mapping[ResourceKey, Sequence[Change]]
) -> Iterator[Finding]:
    """Findings for entries with Argo CD's own manager: it owns every field that it applied, so a commit's change counts as a trusted writer's."""
    for position, manager in enumerate(entry.managers):
        owned = next((r for r in selected_resources(app, entry) if r.live and _is_field_manager(manager, r.live)), None)
        if by_argocd(Writer(manager)) and owned is not None:
            place = f"{entry.origin}/managedFieldsManagers/{position}"
            others = len(entry.managers) > 1 or entry.json_pointers or entry.jq_paths
            found = [(r, c) for r in selected_resources(app, entry) for c in hidden[r.key]]
            removal = Edit("json-patch", [{"op": "remove", "path": place if others else entry.origin}])
            by_hand = f"{place} of Application {app.ref}: remove {manager}, and name in jsonPointers or jqPathExpressions what another writer changes"
            yield Finding(
                message=f"{app.name} ignores what {manager!r} writes, which is Argo CD itself: no commit to {owned.id} shows.",
                at=Location(app.ref, owned.id, place),
                evidence=(
                    f"{entry.origin} of the Application",
                    *(f"{r.id} {change_line(c, r)}" for r, c in found[:_MOST_SHOWN]),
                ),
                fixes=(
                    Fix(
                        "Name the field manager of the other writer"
                        if not found
                        else "Name the fields that another writer changes, in place of Argo CD's own manager",
                        "application",
                        application_place(app),
                        Edit("text", by_hand) if found else removal,
                        _removal_caveat(app),
                    ),
                ),
            )


_MOST_SHOWN = 10
"""Most hidden differences in the evidence."""


def _whole_lists(app: App, entry: IgnoreRule, hidden: Mapping[ResourceKey, Sequence[Change]]) -> Iterator[Finding]:
    """Findings for lists that a trusted manager owns as one field, where Git has something that live lacks.

    A custom resource's lists have no keys: who writes one value in a list owns all of it from then on.
    """
    for resource in (r for r in selected_resources(app, entry) if entry.managers and hidden[r.key]):
        for place, lost in lists_over_commits(app, resource, entry, hidden[resource.key]):
            owner = writer(resource.live or {}, place)
            if owner is None:
                continue
            yield Finding(
                message=f"{owner.manager} owns all of {place} of {resource.id}, so an ignore rule of {app.name} hides Git's {lost[0].pointer}, which is not live.",
                at=Location(app.ref, resource.id, lost[0].pointer),
                evidence=(
                    f"{entry.origin} of the Application",
                    *(f"{resource.id} {change_line(c, resource)}" for c in lost),
                ),
                fixes=(
                    Fix(
                        f"Name the fields that {owner.manager} changes (jqPathExpressions), in place of the manager",
                        "application",
                        application_place(app),
                        Edit(
                            "text",
                            f"{entry.origin}/managedFieldsManagers of Application {app.ref}: take {owner.manager} out for {resource.group}/{resource.kind}, and name in jqPathExpressions what it changes below {place}; then sync.",
                        ),
                        _removal_caveat(app),
                    ),
                ),
            )


def _removal_caveat(app: App) -> str:
    if app.self_heal:
        return "self-heal resets what it no longer hides: first commit what should stay"
    return "what it no longer hides shows up as a difference"


def _is_field_manager(manager: str, live: Object) -> bool:
    return any(found.manager == manager for found in managers(live))


def _hidden_by_path(resource: Resource, single: IgnoreRule, hidden: Iterable[Change]) -> Iterator[Change]:
    """The entry's hidden differences at places that this path alone removes."""
    places = frozenset(removed_pointers(single, resource))
    return (change for change in hidden if not places.isdisjoint(at_and_above(change.pointer)))


def _origin_text(change: Change) -> str:
    if change.writer is None or by_argocd(change.writer):
        return "a change in Git that is not live"
    return change.writer.manager


def _finding(
    app: App, entry: IgnoreRule, fact: str, resource: Resource, pointer: str, found: Sequence[Hidden]
) -> Finding:
    return Finding(
        message=f"The ignore rule {fact}.",
        at=Location(app.ref, resource.id, pointer),
        evidence=(f"{entry.origin} of the Application", *(f"{r.id} {change_line(change, r)}" for r, change in found)),
        fixes=(
            Fix(
                "Name exactly this field, on exactly this object",
                "application",
                application_place(app),
                Edit("text", _narrower_fields(found)),
                _removal_caveat(app),
            ),
        ),
    )


def _narrower_fields(found: Sequence[Hidden]) -> str:
    """The fields that autoscalers, webhooks and other controllers write, to replace the wide path."""
    meant = [(r, c) for r, c in found if c.writer and not by_argocd(c.writer) and not is_sort(c.writer, "person")]
    lines = [f"{r.group}/{r.kind} {r.name}: {c.pointer} (written by {c.writer.manager})" for r, c in meant if c.writer]
    return (
        "\n".join(("in place of the wide path, ignore only", *lines))
        if lines
        else "nothing that a controller writes differs now: delete the entry"
    )


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads)
