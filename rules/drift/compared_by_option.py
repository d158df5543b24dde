"""A difference that an option of the comparison causes

What it finds: a field that differs only because of Argo CD's way to compare. With the sync option `ServerSideApply=true` Argo CD predicts the
result of a server-side apply. A replay of the comparison without the option finds both sides equal. With `ServerSideDiff=true` it may count a
field as live that the live object lacks, since `managedFields` still have it, list a port a second time if Git omits its protocol, undo a
commit's change of a custom resource, or take a field that an ignore rule ignores by its manager from the live side alone. Without
`ServerSideApply=true` it overlooks fields that a commit has removed. It also compares what Git does not set, a status or a webhook's stamp,
with the answer of a dry run of another time.

Why it hurts: the object is OutOfSync although nothing differs, and a sync changes nothing useful. Or it is Synced, and a commit is not live.

How to fix: write in Git what the API server fills in, or let the API server itself compare (`ServerSideDiff=true`), which knows defaults and types
that Argo CD does not. If that option is the cause, remove it.

Sources: gitops-engine pkg/diff/diff.go (Diff, structuredMergeDiff, serverSideDiff, removeWebhookMutation); docs/user-guide/diff-strategies.md;
argoproj/argo-cd#28861, #24786, #28818, #23127 and #20178.
"""

from collections.abc import Iterator, Mapping

from argolint import (
    MISSING,
    App,
    Change,
    Edit,
    Finding,
    Fix,
    Fleet,
    Follows,
    Json,
    Location,
    Rank,
    Resource,
    Rule,
    Symptom,
    narrowest_ignore,
)
from argolint.application.applied import by_argocd, git_moved, settled
from argolint.comparison import (
    Strategy,
    builtin,
    change,
    compared_by,
    differing,
    last_applied,
    managers,
    matches_object,
    rules_of,
    strategy_of,
    syncs_server_side,
    writer,
)
from argolint.edits import (
    annotation_option,
    application_patch,
    application_place,
    argocd_cm,
    live_command,
    patch_command,
)
from argolint.redaction import show
from argolint.values import below, enumerated, get, parse_version, sh
from argolint.values.kubernetes import COMPARE_OPTIONS

from ..shared.triage import worth_reading
from ._dropped import left_fields
from ._edits import server_side_diff_fix, source_place, webhook_diff_fix
from ._fields import (
    Drift,
    change_line,
    is_from_dry_run,
    is_left_out,
    is_phantom_field,
    is_server_set,
    pointers,
    pointers_text,
)

_OPTION = "ServerSideApply=true"
"""Before Argo CD 3.6 it selects the structured merge. For a comparison by the API server there is no better one."""


def reads(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the application is shown as Synced although its chart's version has changed since the last sync, or may lack a removal."""
    if app.sync_status != "Synced" or settled(app):
        return False
    blind = "ServerSideDiff=true" in app.compare_options and _OPTION not in app.sync_options
    return any(source.get("chart") for source in app.sources) or (blind and worth_reading(app, fleet))


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each object."""
    for resource in app.changed:
        live, desired = resource.live, resource.desired
        if live is None or desired is None:
            continue
        strategy = strategy_of(app.raw, desired, fleet.version)
        if strategy is Strategy.STRUCTURED:
            rules = rules_of(app.raw, fleet.settings, fleet.version)
            made = frozenset(compared_by(live, desired, rules, strategy))
            if changes := tuple(c for c in resource.changes if c.pointer in made and not c.masked):
                yield _merged_finding(Drift(app, resource, changes))
        if changes := tuple(c for c in resource.changes if is_phantom_field(resource, c)):
            yield _not_live_finding(Drift(app, resource, changes))
        if strategy is Strategy.SERVER_SIDE:
            if changes := tuple(c for c in resource.changes if _is_repeated_port(resource, c)):
                yield _repeated_port_finding(Drift(app, resource, changes))
            yield from _half_ignored_findings(app, fleet, resource)
        yield from _dry_run_findings(app, resource)
    if app.sync_status != "Synced" or settled(app):
        return
    if strategy_of(app.raw, None, fleet.version) is Strategy.SERVER_SIDE:  # an object's own options do not choose it
        yield from (found for r in app.resources if (found := _removal_finding(app, r)) is not None)
    at_fault = _FIRST <= (parse_version(fleet.version) or _MENDED) < _MENDED
    if at_fault:
        yield from (found for r in app.resources if (found := _hidden_commit_finding(app, fleet, r)) is not None)


def _merged_finding(drift: Drift) -> Finding:
    is_filled_in = all(c.desired is MISSING and (c.writer is None or by_argocd(c.writer)) for c in drift.changes)
    over = f"{drift.places()}, which Git leaves out," if is_filled_in else drift.places()
    waits = "" if settled(drift.app, drift.resource) else "unless a commit that waits for its sync has taken it out"
    written = drift.write_live("Write the filled-in values into Git", waits) if is_filled_in else None
    compared = server_side_diff_fix(drift.app)
    return drift.finding(
        f"{drift.resource.id} is OutOfSync over {over} only because of {_OPTION}: without it both sides are equal.",
        confidence="likely",
        evidence=("no other field manager is recorded for it: most likely a default",) * is_filled_in,
        fixes=(compared, written) if waits else (written, compared),
    )


def _not_live_finding(drift: Drift) -> Finding:
    """The finding for a field that the API server itself removed: it merges by managedFields, and those still list the field."""
    patch = patch_command(drift.resource.id, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])
    reset = live_command(
        drift.resource.id,
        "Reset the managedFields of the object, then sync",
        f"{patch}\nargocd app sync {sh(drift.app.ref)}",
        "other writers own their fields again when they write them next",
    )
    return drift.finding(
        f"{drift.resource.id} is OutOfSync over {drift.places()}, which the live object does not have: Argo CD only assumes it.",
        confidence="proven",
        evidence=("managedFields still say that Argo CD applied it",),
        fixes=(reset, _own_comparison_fix(drift.app)),
    )


def _own_comparison_fix(app: App) -> Fix | None:
    """The fix that lets Argo CD compare by itself."""
    operations = annotation_option(app.raw, COMPARE_OPTIONS, "ServerSideDiff=false")
    if not operations:
        return None
    title = "Let Argo CD compare by itself: ServerSideDiff=false"
    return application_patch(app, title, operations)


def _is_repeated_port(resource: Resource, change: Change) -> bool:
    """True for a port that is added next to the same one, since only one of the two has its protocol."""
    parent, _, index = change.pointer.rpartition("/")
    if not (index.isdigit() and parent.endswith("/ports") and isinstance(change.desired, Mapping)):
        return False
    live_ports = get(resource.live, parent)
    return (
        isinstance(live_ports, list)
        and "protocol" not in change.desired
        and {**change.desired, "protocol": "TCP"} in live_ports
    )


def _repeated_port_finding(drift: Drift) -> Finding:
    lists = dict.fromkeys(c.pointer.rpartition("/")[0] for c in drift.changes)
    operations: list[Json] = [
        {"op": "add", "path": f"{pointer}/{index}/protocol", "value": "TCP"}
        for pointer in lists
        for index, port in enumerate(get(drift.resource.desired, pointer, None) or ())
        if isinstance(port, Mapping) and "protocol" not in port
    ]
    write = Fix("Write the protocol of each port", "manifest", source_place(drift.app), Edit("json-patch", operations))
    return drift.finding(
        f"Argo CD's server-side diff lists ports of {drift.resource.id} twice, with and without protocol, so it stays OutOfSync.",
        confidence="likely",
        evidence=("a fault of the pre-releases of Argo CD 3.2.0 (argo-cd 24786)",),
        fixes=(write if operations else None, _own_comparison_fix(drift.app)),
    )


def _half_ignored_findings(app: App, fleet: Fleet, resource: Resource) -> Iterator[Finding]:
    """One finding for each trusted manager whose fields are taken from the live side alone: the API server's answer still has them."""
    left_out = tuple(c for c in resource.changes if c.writer is not None and is_left_out(resource, c))
    if not left_out:
        return
    entries = tuple(e for e in rules_of(app.raw, fleet.settings, fleet.version).ignore if e.managers)
    trusted = {name for e in entries if matches_object(e, resource.any) for name in e.managers}
    for manager in dict.fromkeys(c.writer.manager for c in left_out if c.writer and c.writer.manager in trusted):
        changes = tuple(c for c in left_out if c.writer and c.writer.manager == manager)
        yield Drift(app, resource, changes).finding(
            f"{resource.id} is OutOfSync over {pointers_text(changes)}: the server-side diff ignores {manager}'s fields on the live side only.",
            evidence=(
                f"an ignore rule names {manager} in managedFieldsManagers",
                "an entry by pointer ignores both sides",
            ),
            fixes=(narrowest_ignore(app, resource, pointers(changes)), _own_comparison_fix(app)),
        )


def _dry_run_findings(app: App, resource: Resource) -> Iterator[Finding]:
    """Findings for fields that Git does not set: one for the status, one for each program that writes others, one for what no program owns."""
    unsent = tuple(c for c in resource.changes if is_from_dry_run(app, resource, c))
    status = tuple(c for c in unsent if below(c.pointer, "/status"))
    if status:
        yield Drift(app, resource, status).finding(
            f"Argo CD's server-side diff finds another status of {resource.id} in its dry run than live, though Git sets none.",
            evidence=(_MOVING,),
            fixes=(narrowest_ignore(app, resource, ("/status",)), _ignored_status_fix(), _own_comparison_fix(app)),
        )
    counted = tuple(c for c in unsent if is_server_set(c))
    if counted:
        others = tuple(c for c in resource.changes if c not in counted)
        yield Drift(app, resource, counted).finding(
            f"The API server counts {pointers_text(counted)} of {resource.id} with each change of its spec, so Argo CD's dry run differs there.",
            severity="info" if others else None,
            follows=tuple(Follows(Symptom.change(resource.id, c.pointer)) for c in others[:1]),
            fixes=() if others else (narrowest_ignore(app, resource, pointers(counted)), _own_comparison_fix(app)),
        )
    rest = tuple(c for c in unsent if c not in (*status, *counted))
    for manager in dict.fromkeys(c.writer.manager if c.writer else "" for c in rest):
        changes = tuple(c for c in rest if (c.writer.manager if c.writer else "") == manager)
        fact = f"{manager} moves" if manager else "An admission webhook sets"
        end = "compares two of its values" if manager else "gets another value than live"
        yield Drift(app, resource, changes).finding(
            f"{fact} {pointers_text(changes)} of {resource.id}, which Git does not set: Argo CD's server-side diff {end}.",
            confidence="likely",
            evidence=(_MOVING if manager else _UNOWNED,),
            fixes=(narrowest_ignore(app, resource, pointers(changes)), _own_comparison_fix(app)),
        )


_MOVING = "the dry run answers at another time than the live state was read"
_UNOWNED = "no field manager owns it: so it is with what a webhook sets in a server-side apply"


def _ignored_status_fix() -> Fix:
    return argocd_cm(
        "Ignore the status of all objects, as Argo CD 3.0 and later do by default",
        "resource.compareoptions: |\n  ignoreResourceStatusField: all\n",
        "applies to every application of this Argo CD; keep the entries of other options there",
    )


def _removal_finding(app: App, resource: Resource) -> Finding | None:
    """The finding for fields that a commit has removed: a dry run takes out only what its manager has applied server-side before."""
    live, desired = resource.live, resource.desired
    if live is None or desired is None or resource.hook or resource.changes or syncs_server_side(app.raw, desired):
        return None
    was = last_applied(live)
    if was is None or any(w.operation == "Apply" and by_argocd(w) for w in managers(live)):
        return None
    found = tuple(left_fields(was, desired, live))
    if not found:
        return None
    return Finding(
        message=f"A commit has removed {enumerated(found, 'field', limit=1)} of {resource.id}, yet Argo CD shows it as Synced: its server-side diff overlooks that.",
        at=Location(app.ref, resource.id, found[0]),
        confidence="likely",
        evidence=(
            *(f"{p}: {show(get(live, p), p, within=live)} live and applied last, absent in Git" for p in found[:10]),
            "syncs are client-side, so a server-side apply, even as a dry run, owns none of these fields",
        ),
        fixes=(
            live_command(
                app.ref,
                "Sync the application by hand",
                f"argocd app sync {sh(app.ref)}",
                "the next removal needs one too",
            ),
            Fix(
                "Or let Argo CD compare by itself: ServerSideDiff=false",
                "application",
                application_place(app),
                Edit("yaml", f"metadata:\n  annotations:\n    {COMPARE_OPTIONS}: ServerSideDiff=false\n"),
                "shows such removals, and what the API server fills in too",
            ),
        ),
    )


def _hidden_commit_finding(app: App, fleet: Fleet, resource: Resource) -> Finding | None:
    """The finding for a custom resource that Argo CD finds equal although a commit waits: argolint's own comparisons show the difference.

    Before 3.4.6 the server-side diff treats fields without a manager as a webhook's work, and removes them with all fields below.
    """
    live, desired = resource.live, resource.desired
    if live is None or desired is None or resource.hook or builtin(desired) or resource.changes:
        return None
    rules = rules_of(app.raw, fleet.settings, fleet.version)
    found = differing(live, desired, rules, strategy_of(app.raw, desired, fleet.version))
    made = (
        change(p, get(desired, p), get(live, p), desired, live, writer(live, p)) for p in found if below(p, "/spec")
    )
    waiting = tuple(c for c in made if by_argocd(c.writer) and git_moved(app, resource, c))
    if not waiting:
        return None
    first = waiting[0]
    return Finding(
        message=f"A commit to {pointers_text(waiting)} of {resource.id} is not live, yet Argo CD shows it as Synced: its server-side diff takes it back.",
        at=Location(app.ref, resource.id, first.pointer),
        confidence="likely",
        evidence=(
            *(change_line(c, resource) for c in waiting[:10]),
            "before 3.4.6, fields that the CRD does not describe count as a webhook's (argo-cd 28818)",
        ),
        fixes=(
            live_command(
                app.ref,
                "Sync the application by hand",
                f"argocd app sync {sh(app.ref)}",
                "the next commit needs one too",
            ),
            *filter(None, (webhook_diff_fix(app),)),
        ),
    )


_FIRST, _MENDED = (2, 10), (3, 4, 6)
"""The releases with this server-side diff (removeWebhookMutation); 3.5.0 has the correction too."""


RULE = Rule(**Rule.page(__name__), severity="warning", check=check, reads=reads, rank=Rank.WRITER - 5)
