"""What the live suite would make and delete: valid objects, all with its label."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from argolint import testing
from argolint.plugins import load_rules
from argolint.reports.document import plain_data

from .live import steps


def test_every_object_is_valid_and_carries_the_label() -> None:
    made = [
        steps.namespace(),
        *steps.git_server("registry.example/argocd:v3"),
        steps.project(),
        *(a for of in steps.applications().values() for a in of),
    ]
    assert all(map(steps.is_ours, made))
    assert len(made) == 8
    for obj in made:
        assert obj["metadata"]["labels"][steps.LABEL] == "true"
        if not obj["apiVersion"].startswith("argoproj.io/"):
            kubernetes_validate.validate(obj, "1.30", strict=True)


@pytest.mark.parametrize("command", steps.clean_up())
def test_nothing_is_deleted_but_by_the_label(command: tuple[str, ...]) -> None:
    assert "delete" in command
    assert command[command.index("-l") + 1] == "argolint.dev/live=true"
    assert "--all" not in command


@pytest.mark.parametrize("labels", [None, {}, {steps.LABEL: "false"}, {"app": "git"}])
def test_what_lacks_the_label_is_somebody_elses(labels: dict[str, str] | None) -> None:
    metadata = {"name": steps.NAMESPACE} if labels is None else {"name": steps.NAMESPACE, "labels": labels}
    assert not steps.is_ours({"kind": "Namespace", "metadata": metadata})


def _objects(path: str) -> list[dict[str, Any]]:
    files = sorted((steps.REPOSITORY / path).glob("*.yaml"))
    return [o for file in files for o in yaml.safe_load_all(file.read_text())]


def _first_fix(folder: Path, apps: list[dict[str, Any]], rule: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first fix that argolint prints for the rule's one finding, and the object it is about."""
    fixture = folder / "fixture.yaml"
    fixture.write_text(yaml.safe_dump({"about": "live", "apps": apps}))
    checked = testing.check(testing.load_fixture(fixture), tuple(load_rules().values()))
    (finding,) = (f for f in plain_data(checked.findings) if f["rule"] == rule)
    return finding["fixes"][0], finding["resource"]


def _app(app: dict[str, Any], objects: list[tuple[dict[str, Any], dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {
        "name": app["metadata"]["name"],
        "spec": app["spec"],
        "resources": [{"desired": d, "live": live} for d, live in objects],
        **more,
    }


def _spaced(obj: dict[str, Any]) -> dict[str, Any]:
    return (
        obj if obj["kind"] == "ClusterRole" else {**obj, "metadata": {**obj["metadata"], "namespace": steps.NAMESPACE}}
    )


def test_the_first_fix_of_two_owners_is_carried_out(tmp_path: Path) -> None:
    one, two = steps.applications()["ownership"]
    (role,) = (o for o in _objects("ownership/two") if o["kind"] == "ClusterRole")
    tracking = (
        f"{two['metadata']['name']}:rbac.authorization.k8s.io/ClusterRole:{steps.NAMESPACE}/{role['metadata']['name']}"
    )
    live = {**role, "metadata": {**role["metadata"], "annotations": {"argocd.argoproj.io/tracking-id": tracking}}}
    apps = [_app(one, [(role, live)], status={"sync": {"status": "OutOfSync"}}), _app(two, [(role, live)])]
    fix, subject = _first_fix(tmp_path, apps, "shared-resource")
    copy = tmp_path / "copy"
    shutil.copytree(steps.REPOSITORY, copy)
    assert steps.carry_out(fix, subject, copy) == "ownership/one/clusterrole.yaml"
    left = sorted(p.relative_to(copy).as_posix() for p in copy.glob("ownership/*/*"))
    assert left == ["ownership/one/configmap.yaml", "ownership/two/clusterrole.yaml", "ownership/two/configmap.yaml"]


def test_the_first_fix_of_a_stuck_secret_is_carried_out(tmp_path: Path) -> None:
    (app,) = steps.applications()["secrets"]
    store, secret = map(_spaced, _objects("secrets"))
    error = 'could not get SecretStore "pantri", SecretStore.external-secrets.io "pantri" not found'
    failed = {
        "type": "Ready",
        "status": "False",
        "reason": "SecretSyncedError",
        "message": error,
        "lastTransitionTime": "2026-01-01T11:00:00Z",
    }
    pairs = [
        (store, {**store, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Valid"}]}}),
        (secret, {**secret, "status": {"conditions": [failed]}}),
    ]
    fix, subject = _first_fix(tmp_path, [_app(app, pairs)], "external-secret-sync-error")
    copy = tmp_path / "copy"
    shutil.copytree(steps.REPOSITORY, copy)
    assert steps.carry_out(fix, subject, copy) == "secrets/objects.yaml"
    changed = list(yaml.safe_load_all((copy / "secrets/objects.yaml").read_text()))
    assert changed[0] == _objects("secrets")[0]
    assert changed[1]["spec"]["secretStoreRef"] == {"name": "pantry", "kind": "SecretStore"}


def test_the_first_fix_of_a_drawn_value_names_the_file_that_the_suite_edits(tmp_path: Path) -> None:
    (app,) = steps.applications()["nondeterminism"]
    secret = _spaced(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "drawn"}, "data": {"password": "++++++++"}}
    )
    one, other = (
        _spaced(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "drawn", "annotations": {"checksum/secret": c * 64}},
            }
        )
        for c in "12"
    )
    made = _app(
        app, [(secret, secret), (one, one)], renders=[[secret, one], [secret, other]], status={"sourceType": "Helm"}
    )
    fix, subject = _first_fix(tmp_path, [made], "nondeterministic-checksum")
    assert fix["where"] == "nondeterminism/values.yaml"
    with pytest.raises(ValueError, match="no edit of a checkout"):
        steps.carry_out(fix, subject, steps.REPOSITORY)


def test_each_path_of_an_application_holds_manifests() -> None:
    for family, apps in steps.applications().items():
        for app in apps:
            folder = steps.REPOSITORY / app["spec"]["source"]["path"]
            assert folder.is_dir(), family
            for file in folder.glob("*.yaml"):
                assert list(yaml.safe_load_all(file.read_text())), file
