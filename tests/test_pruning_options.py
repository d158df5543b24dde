"""What pruning and deleting an Application leave alone: options of the object, of the Application, and since when they count."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from argolint.application.app import App, app_from_list
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.edits.pruning import outlives, prune_option
from argolint.model import Object


def application(*options: str) -> App:
    raw = {"metadata": {"name": "web"}, "spec": {"syncPolicy": {"syncOptions": list(options)}}}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return app_from_list(raw, server="", cluster=IN_CLUSTER, control_plane="argocd", observed_at=now)


def fleet(version: str) -> Fleet:
    return Fleet("", version, {}, ())


def live(kind: str = "ConfigMap", **annotations: str) -> Object:
    options = {f"argocd.argoproj.io/{k.replace('_', '-')}": v for k, v in annotations.items() if k == "sync_options"}
    policy = {"helm.sh/resource-policy": annotations["policy"]} if "policy" in annotations else {}
    return {"kind": kind, "metadata": {"annotations": options | policy}}


@pytest.mark.parametrize(
    ("version", "own", "general", "said"),
    [
        ("v2.12.4", "Prune=false", (), "false"),
        ("v2.12.4", "Validate=false, Prune=false", (), "false"),
        ("v2.12.4", "Prune=False", (), ""),
        ("v2.12.4", "Prune=confirm", (), ""),
        ("v2.14.0", "Prune=confirm", (), "confirm"),
        ("v3.3.11", "", ("Prune=false",), ""),
        ("v3.4.0", "", ("Prune=false",), "false"),
        ("v3.4.0", "", ("Prune=confirm",), "confirm"),
        ("v3.4.0", "Prune=true", ("Prune=false",), ""),
        ("v3.4.0", "PruneLast=true", (), ""),
    ],
)
def test_the_objects_own_prune_option_comes_before_the_applications(
    version: str, own: str, general: tuple[str, ...], said: str
) -> None:
    assert prune_option(application(*general), live(sync_options=own), fleet(version)) == said


@pytest.mark.parametrize(
    ("version", "obj", "general", "stays"),
    [
        ("v3.1.0", live(), (), False),
        ("v3.1.0", live("CustomResourceDefinition"), (), True),
        ("v3.1.0", live(sync_options="Prune=false"), (), False),
        ("v3.1.0", live(sync_options="Delete=false"), (), True),
        ("v3.1.0", live(policy="keep"), (), True),
        ("v3.1.0", live(), ("Delete=false",), False),
        ("v3.5.0", live(), ("Delete=false",), True),
    ],
)
def test_what_stays_when_its_application_is_deleted(
    version: str, obj: Object, general: tuple[str, ...], stays: bool
) -> None:
    assert outlives(application(*general), obj, fleet(version)) is stays
