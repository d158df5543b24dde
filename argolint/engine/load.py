"""Reads the fleet, and for one application the states and evidence that its rules want. All I/O of a check is here."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

from argolint.application.app import App, app_from_list
from argolint.application.application_sets import Controller, controller_of, settings_want
from argolint.application.fleet import Fleet, cluster_of, control_plane_of, impersonates_reads
from argolint.application.resource import Resource
from argolint.engine.guard import crash_failure, guarded_failures
from argolint.engine.plan import ChosenRule, Plan
from argolint.errors import ApiError, ArgolintError, AuthError, ExportError, HelmError, NotRecorded
from argolint.host.threads import THINKING
from argolint.host.timing import charged
from argolint.model import DESTINATION, SETTINGS, AppRef, Failure, Object, Want
from argolint.redaction import in_name
from argolint.server import api, application_list
from argolint.server.transport import Transport
from argolint.values import dig, mapping, owner_references, plain, sh, text_at
from argolint.values.patterns import regex

ReadFleet = Callable[[Transport], tuple[Fleet, tuple[Failure, ...]]]
"""A function that reads the fleet: `read_fleet`, or one that knows an earlier fleet."""


def read_fleet(t: Transport) -> tuple[Fleet, tuple[Failure, ...]]:
    """The fleet, and failures of its parts. Raises ArgolintError if the applications cannot be listed."""
    failures: list[Failure] = []

    def optional(stage: str, call: Callable[[Transport], Any], default: Any) -> Any:
        try:
            return call(t)
        except AuthError:
            raise
        except ArgolintError as error:
            failures.append(Failure(stage, error.message, error.hint))
            return default

    try:
        settings: Object = api.settings(t)  # the first answer shows whether the host is an Argo CD
        if not settings:
            failures.append(
                Failure(SETTINGS, "the server sent no settings", "run again; if it stays, look at this answer")
            )
    except (ApiError, NotRecorded) as error:
        failures.append(Failure(SETTINGS, error.message, error.hint))
        settings = {}
    version: str = optional("version", api.version, "")
    projects: tuple[Object, ...] = optional("projects", api.projects, ())
    remarks: list[str] = []
    clusters = {text_at(c, "server").rstrip("/"): c for c in optional("clusters", api.clusters, ())}
    by_name = {text_at(c, "name"): server for server, c in clusters.items()}
    server = in_name(text_at(settings, "url") or t.server).rstrip("/")  # everything in the report refers to it
    control_plane = control_plane_of(settings, ())
    observed_at = t.now()
    sets = optional("applicationsets", api.application_sets, ())
    apps = sorted(
        (
            app_from_list(
                entry,
                server=server,
                cluster=cluster_of(mapping(entry.brief, "spec"), by_name),
                control_plane=control_plane,
                observed_at=observed_at,
            )
            for entry in application_list.applications(t, projects, failures, remarks)
        ),
        key=lambda app: app.ref,
    )
    if project := getattr(t, "project", ""):
        remarks.append(
            f"The token is of project {project} alone: applications of other projects, what they own, and the settings of "
            "projects are not seen."
        )
    if impersonates_reads(settings, version):
        remarks.append(
            "Argo CD reads objects and Events as the service accounts that projects name under destinationServiceAccounts: where those may "
            "not `get` an object or `list` Events, argolint sees less."
        )
    if not project:  # its role cannot have a right to see projects
        failed = {failure.stage for failure in failures}
        listed = {"projects": projects, "clusters": clusters, "applicationsets": sets}
        failures += [_hidden_list_failure(stage) for stage in _hidden_lists(apps, listed) if stage not in failed]
    if not apps:
        what = "the server shows this account no application at all"
        failures.append(Failure("applications", what, "`argolint explain --setup` prints the rights that it needs"))
    fleet = Fleet(
        server,
        version,
        settings,
        tuple(apps),
        {text_at(p, "metadata", "name"): p for p in projects},
        clusters,
        optional("repositories", api.repositories, ()),
        sets,
        tuple(remarks),
    )
    return fleet, tuple(failures)


def _hidden_lists(apps: Sequence[App], listed: Mapping[str, Sized]) -> Iterator[str]:
    """The empty lists that cannot really be empty: to an account without `get`, the server answers 200 with `items: null`.

    Every application has a project and a cluster. An ApplicationSet may be deleted while its applications exist, so the list of sets counts
    as hidden only if that of projects is.
    """
    made = any(owner.get("kind") == "ApplicationSet" for app in apps for owner in owner_references(app.brief))
    certain = {"projects": apps, "clusters": apps, "applicationsets": made and not listed["projects"]}
    return (stage for stage, found in listed.items() if certain[stage] and not found)


def _hidden_list_failure(stage: str) -> Failure:
    """The failure for a list that is empty because the account lacks the right."""
    what = f"the server shows this account none of its {stage}, and its applications are of some"
    return Failure(
        stage, what, f"the account lacks `{stage}, get`; `argolint explain --setup` prints the policy lines it needs"
    )


def read_application(
    t: Transport, app: App, fleet: Fleet, plan: Plan, *, states: bool
) -> tuple[App, tuple[Failure, ...]]:
    """One application with its states, if they are to be read, and the evidence that the rules want; and failures."""
    failures: list[Failure] = []
    if states and (stages := _BOTH if plan.deep else _telling_answers(app, fleet)):
        with charged("read"):
            app = _with_states_and_tree(t, app, fleet, failures, stages)
    with charged("evidence"):
        read = with_evidence(t, app, fleet, plan, failures)
    return read, guarded_failures(app, tuple(dict.fromkeys(failures)))


def needs_states(app: App, fleet: Fleet, rules: Sequence[ChosenRule]) -> bool:
    """False if the list shows the application as Synced, Healthy and idle, and no rule wants to read it anyway."""
    if app.sync_status != "Synced" or app.health.status != "Healthy" or app.conditions:
        return True
    if app.operation is not None and app.operation.phase not in ("Succeeded", ""):
        return True
    return any(chosen.rule.reads is not None and chosen.rule.reads(app, fleet, chosen.options) for chosen in rules)


def _telling_answers(app: App, fleet: Fleet) -> tuple[str, ...]:
    """Those of the states and the tree that can show more than the list.

    There is nothing to show of an application whose first render failed. The tree repeats the list for a Healthy application of objects that
    make no others.
    """
    if _may_have_more(app, fleet):
        return _BOTH
    if not app.rows:
        return _BOTH if app.desired_known else ()
    alone = app.health.status == "Healthy" and all((r.group, r.kind) in _ALONE and not r.hook for r in app.rows)
    return (_MANAGED,) if alone else _BOTH


def _may_have_more(app: App, fleet: Fleet) -> bool:
    """Whether the cluster may show objects of the application that its list does not name: hooks, orphans, objects in deletion."""
    operation = app.operation
    done = operation is None or operation.phase == "Succeeded"
    project = fleet.projects.get(app.ref.project)
    watched = project is None or dig(project, "spec", "orphanedResources") is not None
    return not done or app.deleting or watched


_RBAC = "rbac.authorization.k8s.io"
_ALONE = frozenset(
    {
        ("", "ConfigMap"),
        ("", "LimitRange"),
        ("", "Namespace"),
        ("", "ResourceQuota"),
        ("", "ServiceAccount"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "StorageClass"),
        (_RBAC, "ClusterRole"),
        (_RBAC, "ClusterRoleBinding"),
        (_RBAC, "Role"),
        (_RBAC, "RoleBinding"),
    }
)
"""Kinds, by group, whose objects make no others."""
_BOTH = _MANAGED, _TREE = "managed-resources", "resource-tree"


def _with_states_and_tree(
    t: Transport, app: App, fleet: Fleet, failures: list[Failure], stages: Sequence[str] = _BOTH
) -> App:
    """The application with its states and tree. A deleted or forbidden application is reported once.

    An error caused by a condition (500 with its text) is no failure: the condition's finding explains it.
    """
    found: dict[str, Any] = {}
    for stage in stages:
        try:
            found[stage] = _CALLS[stage](t, app.ref)
        except AuthError:
            raise
        except ArgolintError as error:
            status = error.status if isinstance(error, ApiError) else None
            if status != 500 or app.desired_known:
                failures.append(_read_failure(stage, error, app, fleet))
            if status in (403, 404):
                break
    if listed := sum(row.claimed for row in app.rows) if app.desired_known else 0:
        for stage, what in ((_MANAGED, "states"), (_TREE, "resource tree")):
            if stage in found and not (found[stage] if stage == _MANAGED else found[stage].nodes):
                del found[stage]
                missing = f"the server sent no {what}, and its list names objects of this application: {listed}"
                failures.append(Failure(stage, missing, "run again; if it stays, look at this answer", app.ref))
    read = app.with_states(found.get(_MANAGED), found.get(_TREE))
    return replace(read, unanswered=frozenset(stages) - found.keys() if failures else frozenset())


_CALLS: Mapping[str, Callable[[Transport, AppRef], Any]] = {_MANAGED: api.managed_resources, _TREE: api.resource_tree}


def _read_failure(stage: str, error: ArgolintError, app: App, fleet: Fleet, rule: str | None = None) -> Failure:
    """The failure of a read. A destination that is down is one failure of the application, whichever read failed."""
    failed = fleet.connection(app.cluster).get("status") == "Failed"
    if not api.is_cluster_silent(error, app.cluster, failed=failed):
        return Failure(stage, error.message, _hint(stage, error, app, fleet), app.ref, rule)
    why = f"cluster {plain(app.cluster)} does not answer Argo CD"
    hint = f"`argocd cluster get {sh(app.cluster)}` shows why; run again when it answers"
    return Failure(DESTINATION, why, hint, app.ref)


def _hint(stage: str, error: ArgolintError, app: App, fleet: Fleet) -> str:
    """The error's hint, or a hint on the service account if Argo CD impersonates one of the project for this read."""
    refused = isinstance(error, ApiError) and error.status in (403, 500) and _FORBIDDEN.search(error.reason)
    if stage in ("events", "live", "peer") and refused and impersonates_reads(fleet.settings, fleet.version):
        return (
            f"Argo CD reads as the service account that project {plain(app.ref.project)} names for this destination: give that account "
            "`get` on the object and `list` on events"
        )
    return error.hint


_FORBIDDEN = regex(
    r"PermissionDenied|permission denied|forbidden|cannot (?:get|list) resource|service account", re.IGNORECASE
)

_ROUNDS = 3


_ONE_RENDER = threading.Lock()  # a fresh render keeps a repo-server busy: one at a time, for any number of workers


def with_evidence(t: Transport, app: App, fleet: Fleet, plan: Plan, failures: list[Failure]) -> App:
    """Fetch the evidence that rules want, until they want nothing new: an Event may name a store that a rule then wants."""
    for _ in range(_ROUNDS):
        with THINKING:
            wanted = _wants_of_rules(app, fleet, plan, failures)
        new = [w for w in sorted(wanted, key=repr) if w not in app.evidence and _is_allowed(w, t, app, plan)]
        if not new:
            break
        found: dict[Want, Any] = {}
        for want in new:
            try:
                found[want] = _fetch(t, app, fleet, want, plan)
            except AuthError:
                raise
            except NotRecorded:
                found[want] = None  # a snapshot may lack it; the finding that it would refine says so
            except (HelmError, ExportError) as error:
                found[want] = None
                failures.append(Failure("helm-render", error.message, error.hint, app.ref, wanted[want]))
            except ArgolintError as error:
                found[want] = None
                if not (
                    isinstance(error, ApiError)
                    and error.status in (400, 404, 500)
                    and want.kind in ("manifests", "render", "peer", "revision", "sync-windows")
                ):
                    failures.append(_read_failure(want.kind, error, app, fleet, wanted[want]))
        app = app.with_evidence(found)
    return app


def _wants_of_rules(app: App, fleet: Fleet, plan: Plan, failures: list[Failure]) -> dict[Want, str]:
    """The wants of all rules, each with the last rule that has it."""
    wanted: dict[Want, str] = {}
    for chosen in plan.rules:
        if chosen.rule.wants is not None:
            try:
                wanted.update(dict.fromkeys(chosen.rule.wants(app, fleet, chosen.options), chosen.rule.id))
            except BaseException as error:  # a rule's crash becomes a Failure that names it; the other rules go on
                failures.append(crash_failure(chosen.rule, app, "wants", error))
    return wanted


def _is_allowed(want: Want, t: Transport, app: App, plan: Plan) -> bool:
    """False for renders that the user did not allow: they cost the server, and fresh ones can change what it deploys.

    Recorded fresh renders are always read: someone allowed them when recording. Plain manifests are always allowed, so that a server and
    its snapshot give the same report.
    """
    if want.kind == "render":
        return plan.renders or t.offline or _is_local(app, plan)
    return want.kind != "manifests" or plan.manifests


def _is_local(app: App, plan: Plan) -> bool:
    return plan.local is not None and plan.local.covers(app)


def _fetch(t: Transport, app: App, fleet: Fleet, want: Want, plan: Plan) -> Any:
    match want.kind:
        case "events":
            return api.events(t, app.ref, want.resource, want.uid)
        case "app-events":
            return api.events(t, app.ref)
        case "live":
            return api.resource(t, want.app or app.ref, want.resource) if want.resource else None
        case "peer":
            return _peer_object(t, fleet, want)
        case "manifests":
            return api.manifests(t, app.ref)
        case "render":
            made = plan.local.twice(app, fleet) if plan.local and plan.local.covers(app) else None
            if made is not None or not (plan.renders or t.offline):
                return made
            with _ONE_RENDER:
                return tuple(api.manifests(t, app.ref, fresh=turn) for turn in (1, 2))
        case "sync-windows":
            return api.sync_windows(t, app.ref)
        case "revision":
            return api.revision_metadata(t, app.ref, want.revision, want.source)


def controller(t: Transport, fleet: Fleet) -> Controller:
    """The ApplicationSet controller's settings, if an application manages them and they can be read."""
    want = settings_want(fleet) if fleet.application_sets else None
    try:
        found = _peer_object(t, fleet, want) if want is not None else None
    except AuthError:
        raise
    except ArgolintError:
        found = None
    return controller_of(found.live if found is not None else None)


def _peer_object(t: Transport, fleet: Fleet, want: Want) -> Resource | None:
    other = fleet.by_ref.get(want.app) if want.app else None
    if other is None or want.resource is None:
        return None
    states = api.managed_resources(t, other.ref, want.resource)
    return other.with_states(states, None).resource(want.resource.key)
