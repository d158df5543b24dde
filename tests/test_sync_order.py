"""The model of one sync does what Argo CD's own tests say that a sync does, in cases of our own.

`upstream` names the test of gitops-engine (pkg/sync) or of Argo CD's end-to-end suite (e2e) whose behaviour a case has. Where the model differs, or a
test of that suite is about something else than order, sync_order_upstream.yaml says so; the last test here holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from argolint.sequence.order import PHASES, delete_policies, is_hook, phases_of
from argolint.sequence.play import End, Played, play
from argolint.sequence.tasks import Item, Options, Task, tasks
from argolint.values.kubernetes import wave

HOOK, WAVE, OPTIONS = "argocd.argoproj.io/hook", "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/sync-options"
POLICY = "argocd.argoproj.io/hook-delete-policy"
COVERED: set[str] = set()
_GROUPS = {
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "Kiln": "pottery.example.com/v1",
}


def obj(
    kind: str, name: str, wave: int | None = None, hook: str = "", *, namespace: str = "", **annotations: str
) -> dict[str, Any]:
    """A manifest; further annotations by their short names `policy` and `options`."""
    notes = {POLICY: annotations.get("policy"), OPTIONS: annotations.get("options"), HOOK: hook or None}
    notes[WAVE] = None if wave is None else str(wave)
    metadata = {"name": name, "annotations": {k: v for k, v in notes.items() if v is not None}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": _GROUPS.get(kind, "v1"), "kind": kind, "metadata": metadata}


def crd(group: str, kind: str, wave: int = 0) -> dict[str, Any]:
    made = obj("CustomResourceDefinition", f"{kind.lower()}s.{group}", wave)
    return {**made, "spec": {"group": group, "names": {"kind": kind}}}


def new(*manifests: dict[str, Any]) -> list[Item]:
    return [Item(m) for m in manifests]


def gone(*manifests: dict[str, Any]) -> list[Item]:
    """Objects that left Git."""
    return [Item(None, m) for m in manifests]


def ends(**by_name: End) -> Callable[[Task], End]:
    """How objects turn out, by name with `_` for `-`; healthy where nothing is said."""
    return lambda task: by_name.get(task.name.replace("-", "_"), "healthy")


F = TypeVar("F", bound=Callable[..., None])


def upstream(*names: str) -> Callable[[F], F]:
    """Marks a case with the tests whose behaviour it has."""
    COVERED.update(names)
    return lambda function: function


def placed(found: Iterable[Task]) -> Mapping[str, tuple[str, int]]:
    return {t.name: (PHASES[t.place.phase], t.place.wave) for t in found}


def names(found: Iterable[Task]) -> list[str]:
    return [t.name for t in found]


# What is a hook, when it runs, and when it is deleted


@upstream(
    "sync_phase_test/TestSyncPhaseNone",
    "sync_phase_test/TestSyncPhasePreSync",
    "sync_phase_test/TestSyncPhaseSync",
    "sync_phase_test/TestSyncPhaseSkip",
    "sync_phase_test/TestSyncPhaseGarbage",
    "sync_phase_test/TestSyncPhasePost",
    "sync_phase_test/TestSyncPhaseFail",
    "sync_phase_test/TestSyncPhaseTwoPhases",
    "sync_phase_test/TestSyncDuplicatedPhases",
    "hook_test/TestNoHooks",
    "hook_test/TestOneHook",
    "hook_test/TestSkipHook",
    "hook_test/TestGarbageHook",
    "hook_test/TestTwoHooks",
    "hook_test/TestDupHookTypes",
    "hook_test/TestSkipAndHook",
    "hook_test/TestGarbageAndHook",
    "hook_test/TestHelmHook",
    "hook_test/TestGarbageHelmHook",
    "hook_test/TestBothHooks",
    "helm/hook_test/TestIsHook",
    "helm/type_test/TestTypes",
    "helm/type_test/TestType_HookType",
    "ignore/ignore_test/TestIgnore",
    "e2e/TestHelmHooksAreCreated",
    "sync_task_test/Test_syncTask_hookType",
)
@pytest.mark.parametrize(
    ("own", "helm", "hook", "phases"),
    [
        (None, None, False, ["Sync"]),
        ("PreSync", None, True, ["PreSync"]),
        ("Sync", None, True, ["Sync"]),
        ("PostSync", None, True, ["PostSync"]),
        ("SyncFail", None, True, ["SyncFail"]),
        ("PreSync, PostSync", None, True, ["PreSync", "PostSync"]),
        ("PreSync,PreSync", None, True, ["PreSync"]),
        ("Skip", None, False, []),
        ("Skip,Skip", None, False, []),
        ("Skip, nightly", None, False, []),
        ("Skip,PreSync", None, True, ["PreSync"]),
        ("Firing", None, True, []),
        ("Firing,Sync", None, True, ["Sync"]),
        ("PostDelete", None, True, []),
        (None, "pre-install", True, ["PreSync"]),
        (None, "pre-install,pre-upgrade", True, ["PreSync"]),
        (None, "post-upgrade", True, ["PostSync"]),
        (None, "test", True, []),
        (None, "crd-install", False, ["Sync"]),
        ("Sync", "pre-install", True, ["Sync"]),
        ("Firing", "post-install", True, ["PostSync"]),
    ],
)
def test_hooks_and_their_phases(own: str | None, helm: str | None, hook: bool, phases: list[str]) -> None:
    annotations = {k: v for k, v in ((HOOK, own), ("helm.sh/hook", helm)) if v is not None}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kiln", "annotations": annotations}}
    assert is_hook(manifest) is hook
    assert [PHASES[p] for p in phases_of(manifest)] == phases


@upstream(
    "delete_policy_test/TestDeletePolicies",
    "helm/delete_policy_test/TestDeletePolicies",
    "helm/delete_policy_test/TestDeletePolicy_DeletePolicy",
    "sync_task_test/Test_syncTask_hasHookDeletePolicy",
)
@pytest.mark.parametrize(
    ("own", "helm", "policies"),
    [
        (None, None, {"BeforeHookCreation"}),
        ("sometimes", None, {"BeforeHookCreation"}),
        ("HookSucceeded", None, {"HookSucceeded"}),
        ("HookFailed,HookSucceeded", None, {"HookFailed", "HookSucceeded"}),
        (None, "before-hook-creation,hook-succeeded", {"BeforeHookCreation", "HookSucceeded"}),
        ("HookFailed", "hook-succeeded", {"HookFailed", "HookSucceeded"}),
    ],
)
def test_delete_policies(own: str | None, helm: str | None, policies: set[str]) -> None:
    annotations = {k: v for k, v in ((POLICY, own), ("helm.sh/hook-delete-policy", helm)) if v is not None}
    assert delete_policies({"metadata": {"annotations": annotations}}) == policies


@upstream("waves_test/TestWave", "helm/weight_test/TestWeight", "sync_task_test/Test_syncTask_wave")
@pytest.mark.parametrize(
    ("own", "weight", "number"),
    [
        (None, None, 0),
        ("3", None, 3),
        ("-2", None, -2),
        ("soon", None, 0),
        (None, "4", 4),
        ("1", "4", 1),
        ("soon", "4", 4),
    ],
)
def test_wave_of_a_manifest(own: str | None, weight: str | None, number: int) -> None:
    annotations = {k: v for k, v in ((WAVE, own), ("helm.sh/hook-weight", weight)) if v is not None}
    assert wave({"metadata": {"annotations": annotations}}) == number


# The order of tasks


@upstream(
    "sync_tasks_test/TestSortSyncTask",
    "sync_tasks_test/Test_syncTasks_kindOrder",
    "sync_context_test/TestSyncCreateInSortedOrder",
)
def test_phase_then_wave_then_kind_then_name() -> None:
    found = tasks(
        new(
            obj("Pod", "announce", hook="PostSync"),
            obj("Kiln", "b"), obj("Kiln", "a"), obj("Deployment", "web"), obj("Service", "web-svc"), obj("ConfigMap", "settings"),
            obj("PersistentVolume", "disk"), obj("Kiln", "last", 1), obj("Kiln", "first", -1), obj("Pod", "clean", hook="SyncFail"),
            obj("Pod", "prepare", hook="PreSync"),
        )
    )  # fmt: skip
    assert names(found) == [
        "prepare",
        "first",
        "settings",
        "disk",
        "web-svc",
        "web",
        "a",
        "b",
        "last",
        "announce",
        "clean",
    ]


@upstream("sync_tasks_test/TestSyncNamespaceAgainstCRD")
def test_a_namespace_comes_before_any_custom_resource() -> None:
    assert names(tasks(new(obj("Kiln", "a"), obj("Namespace", "pottery")))) == ["pottery", "a"]


@upstream("sync_tasks_test/TestSyncTasksSort_NamespaceAndObjectInNamespace")
def test_a_namespace_of_a_later_wave_is_made_with_the_first_object_in_it() -> None:
    found = tasks(
        new(
            obj("Job", "fire-east", hook="PreSync", namespace="east"), obj("Job", "fire-west", hook="PreSync", namespace="west"),
            obj("Namespace", "east", 1), obj("Namespace", "west", 2), obj("Namespace", "north", 3),
        )
    )  # fmt: skip
    assert names(found) == ["east", "fire-east", "west", "fire-west", "north"]
    assert placed(found)["west"] == ("PreSync", 0)
    assert placed(found)["north"] == ("Sync", 3)


@upstream("sync_tasks_test/TestSyncTasksSort_CRDAndCR", "e2e/TestHelmCrdHook", "e2e/TestHelm3CRD")
def test_a_definition_of_a_later_wave_is_made_with_the_first_object_of_its_kind() -> None:
    found = tasks(
        new(
            obj("Kiln", "a", -2),
            obj("ConfigMap", "x", -2),
            crd("pottery.example.com", "Kiln", 4),
            crd("pottery.example.com", "Wheel", 4),
        )
    )
    assert names(found) == ["x", "kilns.pottery.example.com", "a", "wheels.pottery.example.com"]
    assert placed(found)["kilns.pottery.example.com"] == ("Sync", -2)


@upstream("sync_context_test/TestSyncNotPermittedNamespace")
def test_one_object_that_the_project_denies_keeps_all_others_from_being_applied() -> None:
    found = play(new(obj("ConfigMap", "x", -3), obj("Pod", "hook", 0, "PreSync"), obj("Kiln", "a")), ends(a="denied"))
    assert (found.phase, found.done, names(found.failed), len(found.left)) == ("Failed", (), ["a"], 3)


@upstream("sync_context_test/TestObjectsGetANamespace")
def test_an_object_without_a_namespace_counts_as_one_of_the_destination() -> None:
    found = tasks(new(obj("ConfigMap", "x", -1), obj("Namespace", "pottery", 2)), Options(namespace="pottery"))
    assert [(t.name, t.namespace) for t in found][1] == ("x", "pottery")
    assert placed(found)["pottery"] == ("Sync", -1)


@upstream(
    "sync_context_test/TestUnnamedHooksGetUniqueNames",
    "sync_context_test/TestManagedResourceAreNotNamed",
    "e2e/TestAutomaticallyNamingUnnamedHook",
)
def test_a_hook_that_is_named_at_the_time_has_a_name_in_each_phase() -> None:
    hook = obj("Pod", "", hook="PreSync,PostSync")
    hook["metadata"] |= {"name": "", "generateName": "glaze-"}
    found = tasks(new(hook), Options(revision="0123456789"))
    assert names(found) == ["glaze-0123456-presync", "glaze-0123456-postsync"]
    plain = obj("Pod", "")
    assert names(tasks(new(plain))) == [""]


@upstream("sync_context_test/TestDeDupingTasks", "sync_context_test/TestDoNotSyncOrPruneHooks")
def test_a_hook_that_its_last_run_left_is_neither_synced_nor_pruned() -> None:
    assert tasks(gone(obj("Pod", "left", hook="PreSync"))) == ()
    assert len(tasks([Item(obj("Pod", "web", hook="Sync")), Item(None, obj("Pod", "web", hook="Sync"))])) == 1


@upstream("sync_context_test/TestSelectiveSyncOnly", "e2e/TestSelectiveSync", "e2e/TestSelectiveSyncDoesNotRunHooks")
def test_a_selective_sync_takes_what_is_chosen_and_no_hook() -> None:
    options = Options(chosen=lambda m: m["kind"] == "Pod")
    assert names(tasks(new(obj("Pod", "web"), obj("ConfigMap", "x"), obj("Pod", "hook", hook="PreSync")), options)) == [
        "web"
    ]


@upstream("e2e/TestSelectiveSyncWithoutNamespace", "e2e/TestSelectiveSyncWithNamespace")
def test_a_selective_sync_tells_namespaces_apart() -> None:
    options = Options(chosen=lambda m: m["metadata"].get("namespace") == "east")
    found = tasks(new(obj("Pod", "web", namespace="east"), obj("Pod", "web", namespace="west")), options)
    assert [t.namespace for t in found] == ["east"]


@upstream(
    "sync_context_test/TestNamespaceAutoCreation",
    "sync_context_test/TestNamespaceAutoCreationForNonExistingNs",
    "e2e/TestSyncWithCreateNamespace",
    "e2e/TestNamespaceAutoCreation",
    "e2e/TestNamespaceCreationWithSSA",
)
def test_the_destination_is_made_before_all_else_unless_a_manifest_brings_it() -> None:
    options = Options(namespace="pottery", create_namespace=True)
    found = tasks(new(obj("ConfigMap", "x", -9), obj("Pod", "hook", -4, "PreSync")), options)
    assert names(found) == ["pottery", "hook", "x"]
    assert placed(found)["pottery"] == ("PreSync", -4)
    brought = tasks(new(obj("Namespace", "pottery"), obj("ConfigMap", "x")), options)
    assert [(t.name, t.made) for t in brought] == [("pottery", False), ("x", False)]


# The order of prunes


@upstream("sync_context_test/TestWaveReorderingOfPruneTasks", "sync_context_test/TestPruneLast")
@pytest.mark.parametrize(
    ("kept", "left", "last", "expected"),
    [
        ({"a": 0}, {"b": 0, "c": 0}, (), {"a": 0, "b": 0, "c": 0}),
        ({}, {"a": 0, "b": 1, "c": 2, "d": 5}, (), {"a": 5, "b": 2, "c": 1, "d": 0}),
        ({"a": 0, "b": 7}, {"c": 1, "d": 3, "e": 4}, (), {"a": 0, "b": 7, "c": 4, "d": 3, "e": 1}),
        ({"a": -3, "b": 2}, {"c": -1, "d": 2, "e": 2}, (), {"a": -3, "b": 2, "c": 2, "d": -1, "e": -1}),
        ({"a": 2}, {"b": 1, "c": 6}, "all", {"a": 2, "b": 7, "c": 7}),
        ({"a": -4}, {"b": -3}, "all", {"a": -4, "b": 1}),
        ({"a": 0}, {"b": 1, "c": 2, "d": 4}, ("c",), {"a": 0, "b": 4, "c": 5, "d": 1}),
        ({}, {}, "all", {}),
    ],
    ids=[
        "one-wave",
        "all-pruned",
        "mixed",
        "equal-waves",
        "prune-last",
        "prune-last-below-zero",
        "prune-last-of-one",
        "nothing",
    ],
)
def test_prunes_go_in_reverse_and_prune_last_after_all(
    kept: Mapping[str, int], left: Mapping[str, int], last: Any, expected: Mapping[str, int]
) -> None:
    items = new(*(obj("Pod", n, w) for n, w in kept.items()))
    items += gone(*(obj("Pod", n, w, options="PruneLast=true" if n in last else "") for n, w in left.items()))
    found = tasks(items, Options(prune_last=last == "all"))
    assert {t.name: t.place.wave for t in found} == expected


@upstream("sync_context_test/TestWaitForCleanUpBeforeNextWave", "e2e/TestSyncPruneOrderWithSyncWaves")
def test_a_prune_that_does_not_end_keeps_the_next_wave_from_being_pruned() -> None:
    items = gone(obj("Pod", "account", 0), obj("Pod", "binding", 1), obj("Pod", "worker", 2))
    assert names(play(items, ends()).done) == ["worker", "binding", "account"]
    stopped = play(items, ends(binding="progressing"))
    assert (stopped.phase, names(stopped.waiting), names(stopped.left)) == ("Running", ["binding"], ["account"])


@upstream(
    "sync_context_test/TestDoNotPruneAppLevelPruneFalse", "sync_context_test/TestDoNotPruneResourceLevelPruneFalse", "e2e/TestPruningRequired",
    "e2e/TestSyncOptionPruneFalseResourceLevel", "e2e/TestSyncOptionPruneFalseAppLevel",
)  # fmt: skip
def test_what_may_not_be_pruned_is_left_and_not_waited_for() -> None:
    items = [*new(obj("Pod", "web", 3)), *gone(obj("Pod", "old", 0, options="Prune=false"))]
    assert ended(play(items, ends(old="progressing"))) == ("Succeeded", ["web"], [])
    items = [*new(obj("Pod", "web", 3)), *gone(obj("Pod", "old", 0))]
    assert ended(play(items, ends(old="progressing"), Options(prune=False))) == ("Succeeded", ["web"], [])
    assert ended(play(items, ends(old="progressing"))) == ("Running", ["old"], ["old"])


@upstream("sync_context_test/TestPruneConfirmResourceLevel", "sync_context_test/TestPruneConfirmAppLevel")
def test_a_prune_that_someone_confirms_holds_up_its_wave_and_all_later_ones() -> None:
    items = [*new(obj("Pod", "early", -1), obj("Pod", "web", 0), obj("Pod", "late", 3))]
    marked = [*items, *gone(obj("Pod", "old", 0, options="Prune=confirm"))]
    found = play(marked, ends())
    assert ended(found) == ("Running", ["early"], ["old"])
    assert names(found.left) == ["old", "web", "late"]
    assert ended(play(marked, ends(), Options(confirmed=True))) == ("Succeeded", ["early", "old", "web", "late"], [])
    plain = [*items, *gone(obj("Pod", "old", 0))]
    assert ended(play(plain, ends(), Options(confirm=True))) == ("Running", ["early"], ["old"])
    kept = [*items, *gone(obj("Pod", "old", 0, options="Prune=false"))]
    assert ended(play(kept, ends(), Options(confirm=True))) == ("Succeeded", ["early", "web", "late"], [])
    assert ended(play(plain, ends(), Options(confirm=True, prune=False)))[0] == "Succeeded"


@upstream("sync_context_test/TestSyncDeleteSuccessfully")
def test_within_a_wave_prunes_come_before_what_is_applied() -> None:
    found = play([*new(obj("Service", "web")), *gone(obj("Pod", "old"))], ends())
    assert (names(found.done), found.phase) == (["old", "web"], "Succeeded")


# The end of a sync


def ended(found: Played) -> tuple[str, list[str], list[str]]:
    return found.phase, names(found.done), names(found.waiting or found.failed)


@upstream(
    "sync_context_test/TestSyncSuccessfully",
    "e2e/TestOneProgressingDeploymentIsSucceededAndSynced",
    "e2e/TestDegradedDeploymentIsSucceededAndSynced",
)
@pytest.mark.parametrize("health", ["healthy", "progressing", "degraded", "suspended"])
def test_one_wave_without_hooks_is_done_when_it_is_applied(health: End) -> None:
    assert ended(play(new(obj("Deployment", "web")), ends(web=health))) == ("Succeeded", ["web"], [])


@upstream("sync_context_test/TestSyncSuccessfully_Multistep", "sync_tasks_test/Test_syncTasks_multiStep")
@pytest.mark.parametrize("health", ["progressing", "suspended"])
def test_a_wave_starts_when_the_one_before_is_healthy(health: End) -> None:
    items = new(obj("Deployment", "web", 0), obj("Deployment", "late", 1))
    assert ended(play(items, ends(web=health))) == ("Running", ["web"], ["web"])
    assert ended(play(items, ends(web="none"))) == ("Succeeded", ["web", "late"], [])
    assert ended(play(items, ends(late=health))) == ("Succeeded", ["web", "late"], [])


@upstream("e2e/TestFixingDegradedApp")
def test_a_degraded_object_fails_the_sync_before_the_next_wave() -> None:
    items = new(obj("ConfigMap", "x", 0), obj("ConfigMap", "y", 1))
    assert ended(play(items, ends(x="degraded"))) == ("Failed", ["x"], ["x"])
    assert ended(play(items, ends())) == ("Succeeded", ["x", "y"], [])


@upstream("e2e/TestPreSyncHookSuccessful", "e2e/TestSyncHookSuccessful", "e2e/TestPostSyncHookSuccessful")
@pytest.mark.parametrize(
    ("hook", "order"), [("PreSync", ["hook", "web"]), ("Sync", ["hook", "web"]), ("PostSync", ["web", "hook"])]
)
def test_hooks_of_each_phase(hook: str, order: list[str]) -> None:
    assert ended(play(new(obj("Pod", "web"), obj("Pod", "hook", hook=hook)), ends())) == ("Succeeded", order, [])


@upstream(
    "e2e/TestPreSyncHookFailure",
    "e2e/TestSyncHookFailure",
    "e2e/TestPostSyncHookFailure",
    "e2e/TestPostSyncHookPodFailure",
)
def test_a_failed_hook_fails_the_sync_and_what_comes_after_it_is_not_applied() -> None:
    def of(phase: str, **health: End) -> tuple[str, list[str], list[str]]:
        return ended(play(new(obj("Pod", "web"), obj("Pod", "hook", hook=phase)), ends(**health)))

    assert of("PreSync", hook="degraded") == ("Failed", ["hook"], ["hook"])
    assert of("Sync", hook="degraded") == ("Failed", ["hook", "web"], ["hook"])
    assert of("PostSync", hook="degraded") == ("Failed", ["web", "hook"], ["hook"])
    assert of("PostSync", web="degraded") == ("Failed", ["web"], ["web"])


@upstream("e2e/TestHelmHookWeight", "e2e/TestFailedSyncWithRetry")
def test_the_weight_of_a_helm_hook_is_its_wave() -> None:
    hook = obj("Pod", "hook", hook="Sync")
    hook["metadata"]["annotations"]["helm.sh/hook-weight"] = "-1"
    assert ended(play(new(hook, obj("Pod", "web")), ends(hook="degraded"))) == ("Failed", ["hook"], ["hook"])


@upstream("e2e/TestSyncHookResourceFailure")
def test_a_hook_in_the_only_wave_is_waited_for_and_the_objects_next_to_it_are_not() -> None:
    items = new(obj("Deployment", "web"), obj("Job", "hook", hook="Sync"))
    assert ended(play(items, ends(web="progressing"))) == ("Succeeded", ["web", "hook"], [])
    assert ended(play(items, ends(hook="progressing"))) == ("Running", ["web", "hook"], ["hook"])
    earlier = [*items, *new(obj("ConfigMap", "x", -1))]
    assert ended(play(earlier, ends(web="progressing")))[2] == ["web"]


@upstream("sync_context_test/TestSyncCreateFailure", "sync_context_test/TestSyncPruneFailure")
def test_what_the_api_server_refuses_fails_the_sync() -> None:
    assert ended(play(new(obj("Pod", "web"), obj("Pod", "late", 1)), ends(web="refused"))) == ("Failed", [], ["web"])
    assert ended(play(gone(obj("Pod", "old")), ends(old="refused"))) == ("Failed", [], ["old"])


@upstream(
    "sync_context_test/TestSync_SuccessfulSyncWithSyncFailHook", "sync_context_test/TestSync_FailedSyncWithSyncFailHook_HookFailed",
    "sync_context_test/TestSync_FailedSyncWithSyncFailHook_ApplyFailed", "sync_context_test/Test_executeSyncFailPhase",
    "sync_context_test/Test_executeSyncFailPhase_NoTasks", "sync_context_test/Test_executeSyncFailPhase_RunningHooks",
    "sync_context_test/Test_executeSyncFailPhase_CompletedHooks", "e2e/TestSyncFailHookPodFailure", "e2e/TestSyncFailHookPodFailureSyncFailFailure",
)  # fmt: skip
def test_hooks_of_a_failure_run_only_then_and_are_waited_for() -> None:
    items = new(obj("Pod", "web"), obj("Pod", "check", hook="PostSync"), obj("Pod", "clean", hook="SyncFail"))
    assert ended(play(items, ends())) == ("Succeeded", ["web", "check"], [])
    assert ended(play(items, ends(check="degraded"))) == ("Failed", ["web", "check", "clean"], ["check"])
    assert ended(play(items, ends(web="refused"))) == ("Failed", ["clean"], ["web"])
    assert ended(play(items, ends(web="refused", clean="progressing"))) == ("Running", ["clean"], ["clean"])
    assert ended(play(items, ends(web="refused", clean="degraded"))) == ("Failed", ["clean"], ["web", "clean"])


def test_a_refused_destination_leaves_all_but_the_hooks_of_a_failure() -> None:
    items = new(obj("Pod", "web"), obj("Pod", "clean", hook="SyncFail"))
    found = play(items, ends(pottery="refused"), Options(namespace="pottery", create_namespace=True))
    assert (ended(found), names(found.left)) == (("Failed", ["clean"], ["pottery"]), ["pottery", "web"])


@upstream(
    "e2e/TestInvalidlHookWaitsForOtherHooksToComplete", "e2e/TestInvalidSyncFailureHookWaitsForOtherHooksToComplete"
)
def test_a_refused_hook_lets_the_others_of_its_wave_come_to_their_end() -> None:
    items = new(obj("Pod", "bad", hook="Sync"), obj("Pod", "good", hook="Sync"))
    assert ended(play(items, ends(bad="refused"))) == ("Failed", ["good"], ["bad"])
    assert ended(play(items, ends(bad="refused", good="progressing"))) == ("Running", ["good"], ["good"])


@upstream(
    "e2e/TestHookDeletePolicyHookSucceededHookExit0", "e2e/TestHookDeletePolicyHookSucceededHookExit1",
    "e2e/TestHelmHookDeletePolicy", "e2e/TestHookDeletePolicyHookFailedHookExit0", "e2e/TestHookDeletePolicyHookFailedHookExit1", "e2e/TestHookBeforeHookCreation",
    "sync_context_test/TestSync_HooksDeletedAfterSyncSucceeded", "sync_context_test/TestSync_HooksDeletedAfterSyncFailed",
    "sync_context_test/TestSync_HooksNotDeletedIfPhaseNotCompleted", "sync_context_test/TestBeforeHookCreation",
    "sync_task_test/Test_syncTask_deleteOnPhaseCompletion", "sync_task_test/Test_syncTask_deleteBeforeCreation",
)  # fmt: skip
@pytest.mark.parametrize(
    ("policy", "health", "deleted"),
    [
        ("HookSucceeded", "healthy", ["hook"]), ("HookSucceeded", "degraded", []), ("HookFailed", "healthy", []), ("HookFailed", "degraded", ["hook"]),
        ("", "healthy", []), ("", "degraded", []), ("HookSucceeded", "progressing", []), ("HookFailed", "progressing", []),
    ],
)  # fmt: skip
def test_hooks_are_deleted_at_the_end_that_their_policy_names(policy: str, health: End, deleted: list[str]) -> None:
    found = play(new(obj("Pod", "web"), obj("Pod", "hook", hook="Sync", policy=policy)), ends(hook=health))
    assert names(found.deleted) == deleted


@upstream("e2e/TestHookSkip", "e2e/TestSyncWithSkipHook")
def test_what_is_to_be_skipped_is_never_applied() -> None:
    assert ended(play(new(obj("Pod", "web", hook="Skip"), obj("Pod", "hook", hook="Sync")), ends())) == (
        "Succeeded",
        ["hook"],
        [],
    )


@upstream(
    "sync_context_test/TestSyncCustomResources",
    "sync_context_test/Test_syncContext_hasCRDOfGroupKind",
    "sync_context_test/TestSync_getSyncTasks_FailureMessage",
)
@pytest.mark.parametrize(
    ("brought", "option", "everywhere", "phase"),
    [
        (False, "", False, "Failed"),
        (True, "", False, "Succeeded"),
        (False, "SkipDryRunOnMissingResource=true", False, "Succeeded"),
        (False, "", True, "Succeeded"),
    ],
    ids=["unknown", "defined-in-the-sync", "option-of-the-object", "option-of-the-application"],
)
def test_a_kind_that_the_cluster_does_not_know_stops_all_unless_it_is_expected(
    brought: bool, option: str, everywhere: bool, phase: str
) -> None:
    items = new(
        obj("ConfigMap", "x", -5),
        obj("Kiln", "a", 3, options=option),
        *([crd("pottery.example.com", "Kiln")] if brought else []),
    )
    found = play(items, ends(a="unknown-kind"), Options(skip_missing_kinds=everywhere))
    assert found.phase == phase
    assert bool(found.done) is (phase == "Succeeded")


@upstream(
    "sync_context_test/TestSyncNamespaceCreatedBeforeDryRunWithoutFailure", "sync_context_test/TestSyncNamespaceCreatedBeforeDryRunWithFailure",
    "e2e/TestSyncWithCreateNamespaceAndDryRunError",
)  # fmt: skip
def test_the_namespace_is_made_before_anything_else_is_tried() -> None:
    items, options = new(obj("Pod", "web", -1), obj("Namespace", "pottery", 4)), Options(namespace="pottery")
    assert names(play(items, ends(), options).done) == ["pottery", "web"]
    assert ended(play(items, ends(pottery="refused"), options)) == ("Failed", [], ["pottery"])


@upstream(
    "sync_context_test/TestSync_ApplyOutOfSyncOnly",
    "sync_context_test/TestSync_ApplyOutOfSyncOnly_ClusterResources",
    "e2e/TestSyncWithApplyOutOfSyncOnly",
)
def test_objects_without_a_difference_are_passed_over_and_not_waited_for() -> None:
    same = obj("Deployment", "same", 0)
    items = [
        Item(same, same, modified=False),
        *new(obj("Pod", "web", 1), obj("Pod", "hook", 1, "Sync")),
        *gone(obj("Pod", "old", 0)),
    ]
    only = Options(out_of_sync_only=True)
    assert ended(play(items, ends(same="progressing"), only)) == ("Succeeded", ["old", "hook", "web"], [])
    assert ended(play(items, ends(same="progressing"))) == ("Running", ["old", "same"], ["same"])


@upstream("sync_context_test/TestSync_SyncWaveHook")
def test_the_waves_of_a_sync_come_one_after_the_other() -> None:
    items = new(obj("Pod", "a", -1, "PreSync"), obj("Pod", "b", 0), obj("Pod", "c", 1), obj("Pod", "d", 3, "PostSync"))
    stopped = [
        play(items, ends(a="progressing")),
        play(items, ends(b="progressing")),
        play(items, ends(d="progressing")),
    ]
    assert [names(s.waiting) for s in stopped] == [["a"], ["b"], ["d"]]
    assert [names(s.left) for s in stopped] == [["b", "c", "d"], ["c", "d"], []]


@upstream("e2e/TestAutoSyncRetryAndRefreshEnabled")
def test_a_retry_starts_again_and_meets_the_same_end() -> None:
    items, turned = new(obj("Pod", "hook", hook="PreSync"), obj("Pod", "web")), ends(hook="degraded")
    assert ended(play(items, turned)) == ended(play(items, turned)) == ("Failed", ["hook"], ["hook"])


# What holds for any sync

PLACES = st.tuples(
    st.sampled_from(("", "PreSync", "Sync", "PostSync", "PreSync,PostSync", "Skip", "SyncFail")), st.integers(-2, 2)
)
KINDS = st.sampled_from(("ConfigMap", "Deployment", "Job", "Kiln", "Wheel", "Namespace", "CustomResourceDefinition"))


@st.composite
def applications(draw: st.DrawFn) -> list[Item]:
    items = []
    for number in range(draw(st.integers(1, 9))):
        kind, (hook, place) = draw(KINDS), draw(PLACES)
        if kind == "CustomResourceDefinition":
            items.append(Item(crd("pottery.example.com", draw(st.sampled_from(("Kiln", "Other"))), place)))
        elif kind == "Namespace":
            items.append(Item(obj("Namespace", draw(st.sampled_from(("east", "west"))), place)))
        else:
            one = obj(kind, f"n{number}", place, hook, namespace=draw(st.sampled_from(("east", "west", "north"))))
            items.append(
                Item(None, one) if draw(st.booleans()) and not hook else Item(one, draw(st.sampled_from((None, one))))
            )
    return items


@given(applications(), st.randoms())
def test_the_order_hangs_on_the_objects_alone_and_brings_first_what_others_need(items: list[Item], random: Any) -> None:
    found = tasks(items)
    shuffled = [*items]
    random.shuffle(shuffled)

    def seen(ordered: Iterable[Task]) -> list[tuple[Any, ...]]:
        return sorted((t.place, t.kind, t.name, t.namespace, t.prune) for t in ordered)

    assert seen(tasks(shuffled)) == seen(found)
    assert [t.place for t in found] == sorted(t.place for t in found)
    first: dict[str, int] = {}
    for number, task in enumerate(found):
        if not task.prune:
            first.setdefault(f"{task.kind}/{task.name}", number)
    for number, task in enumerate(found):
        if not task.prune and task.kind != "Namespace":
            assert first.get(f"Namespace/{task.namespace}", -1) < number
        if not task.prune and task.kind == "Kiln":
            assert first.get("CustomResourceDefinition/kilns.pottery.example.com", -1) < number


@given(
    applications(), st.dictionaries(st.sampled_from([f"n{i}" for i in range(9)]), st.sampled_from(get_args(End)[:6]))
)
def test_a_sync_does_each_task_once_or_says_why_not(items: list[Item], health: Mapping[str, End]) -> None:
    found = play(items, lambda task: health.get(task.name, "healthy"))
    ids = [id(t) for t in (*found.done, *found.left)]
    assert len(ids) == len(set(ids))
    assert bool(found.waiting) is (found.phase == "Running")
    assert bool(found.failed) is (found.phase == "Failed") or found.waiting
    if found.phase == "Succeeded":
        assert not found.left
        assert len(found.done) == sum(t.place.phase != PHASES.index("SyncFail") for t in tasks(items))
    early = [t.place for t in found.done if t.place.phase != PHASES.index("SyncFail")]
    assert not early or all(max(early) < t.place for t in found.left)


def test_every_test_of_order_is_covered_or_its_absence_is_explained() -> None:
    """Each test of Argo CD's that is listed has a case above, or a reason why it has none; where the model differs, that is said."""
    listed = yaml.safe_load((Path(__file__).parent / "sync_order_upstream.yaml").read_text(encoding="utf-8"))
    everything = {f"{file}/{name}" for file, found in listed["tests"].items() for name in found.split()}
    absent = [name for entry in listed["without"] for name in entry["tests"].split()]
    for entry in listed["elsewhere"]:
        file, _, case = entry["case"].partition(", ")
        assert f"def {case}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")
        absent += entry["tests"].split()
    assert len(absent) == len(set(absent))
    assert not COVERED & set(absent)
    assert COVERED | set(absent) == everything
    assert all(entry["why"] for entry in (*listed["without"], *listed["differs"]))
    assert {name for entry in listed["differs"] for name in entry["tests"].split()} <= COVERED
