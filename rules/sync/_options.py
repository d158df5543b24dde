"""Hooks and sync options as annotations of manifests."""

from __future__ import annotations

from collections.abc import Iterator

from argolint import App, Fleet, Json, Object, Resource
from argolint.comparison import Strategy, strategy_of
from argolint.edits import annotate, annotation_option
from argolint.values import annotations_of, comma_list, sh, split_pointer
from argolint.values.kubernetes import COMPARE_OPTIONS, HOOK, SYNC_OPTIONS

from ..shared.triage import worth_reading


def sync_option_operations(desired: Object | None, *options: str) -> list[Json]:
    """Operations that add sync options to the annotation of one manifest; none if it has them all."""
    return [*annotation_option(desired, SYNC_OPTIONS, *options)]


def sync_hook_operations(desired: Object | None) -> list[Json]:
    """Operations that make the manifest a Sync hook that is deleted before each run."""
    hook = {HOOK: "Sync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
    return [*annotate(desired, hook)]


def delete_before_operations(hook: Object | None) -> list[Json]:
    """Operations that have a hook deleted before each run, with the annotations that its manifest uses (Argo CD's or Helm's)."""
    of_helm = "helm.sh/hook" in annotations_of(hook) and HOOK not in annotations_of(hook)
    policy = (
        {"helm.sh/hook-delete-policy": "before-hook-creation"}
        if of_helm
        else {"argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
    )
    return [*annotate(hook, policy)]


def hook_warnings(app: App, resource: Resource) -> Iterator[str]:
    """Warnings after the object has become a hook: hooks do not count as objects of the application, so its live object is extra, and automated
    sync with prune refuses to delete the last one (controller/appcontroller.go, autoSync)."""
    if resource.live is not None:
        yield f"what is live now is then extraneous: run `argocd app sync {sh(app.ref)} --prune` once"
    others = (r for r in app.resources if not (r.hook or r.extra or r.key == resource.key))
    if app.automated and app.prune and not any(others):
        yield (
            'it is the only object of the application: automated sync refuses that ("will wipe out all resources") until it is'
            " synced by hand or spec.syncPolicy.automated.allowEmpty is true"
        )


def annotations_yaml(operations: list[Json]) -> str:
    """The annotations that these operations add, as YAML to paste: for edits that a replayed comparison cannot prove."""
    pairs: dict[str, str] = {}
    for operation in operations:
        value = operation["value"]
        pairs |= value if isinstance(value, dict) else {split_pointer(operation["path"])[-1]: value}
    return "metadata:\n  annotations:" + "".join(f"\n    {key}: {value}" for key, value in sorted(pairs.items()))


def sync_options(desired: Object | None) -> frozenset[str]:
    """The options in the manifest's own annotation."""
    return frozenset(comma_list(annotations_of(desired).get(SYNC_OPTIONS)))


def is_sent_whole(app: App, desired: Object | None) -> bool:
    """True if a sync sends the object whole (Replace=true) without deleting it first."""
    own = sync_options(desired)
    whole = "Replace=true" in own or ("Replace=true" in app.sync_options and "Replace=false" not in own)
    return whole and "Force=true" not in own


def may_be_forgotten(app: App, fleet: Fleet, options: object) -> bool:
    """Whether the API server compares, as a rule's `reads`: a list that says Synced may hide a refused dry run then."""
    asked = "ServerSideApply=true" in app.sync_options or "ServerSideDiff=true" in app.compare_options
    return asked and worth_reading(app, fleet)


def failing_step(app: App, fleet: Fleet, resource: Resource) -> str:
    """What fails first of an object that the API server refuses: `comparison`, if a server-side diff tries what is live already, else `sync`.

    Argo CD then shows a ComparisonError, after the next refresh perhaps Synced from its cache, and starts no automated sync (seen with 3.6.1).
    """
    tried = strategy_of(app.raw, resource.desired, fleet.version) is Strategy.SERVER_SIDE
    return "comparison" if tried and resource.live is not None and not resource.hook else "sync"


def compare_options_with(app: App, option: str) -> str:
    """The Application's compare-options with this one, without those that it replaces."""
    present = comma_list(annotations_of(app.raw).get(COMPARE_OPTIONS))
    kept = [o for o in present if o.partition("=")[0] not in ("ServerSideDiff", "IncludeMutationWebhook")]
    return ",".join([*kept, option])
