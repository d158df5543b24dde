"""What the live suite would make and delete: valid objects, all with its label."""

from __future__ import annotations

import kubernetes_validate
import pytest
import yaml

from .live import steps


def test_every_object_is_valid_and_carries_the_label() -> None:
    made = [*steps.git_server("registry.example/argocd:v3"), *(a for of in steps.applications().values() for a in of)]
    assert len(made) == 7
    for obj in made:
        assert obj["metadata"]["labels"][steps.LABEL] == "true"
        if not obj["apiVersion"].startswith("argoproj.io/"):
            kubernetes_validate.validate(obj, "1.30", strict=True)


@pytest.mark.parametrize("command", steps.clean_up())
def test_nothing_is_deleted_but_by_the_label(command: tuple[str, ...]) -> None:
    assert "delete" in command
    assert command[command.index("-l") + 1] == "argolint.dev/live=true"
    assert "--all" not in command


def test_each_path_of_an_application_holds_manifests() -> None:
    for family, apps in steps.applications().items():
        for app in apps:
            folder = steps.REPOSITORY / app["spec"]["source"]["path"]
            assert folder.is_dir(), family
            for file in folder.glob("*.yaml"):
                assert list(yaml.safe_load_all(file.read_text())), file
