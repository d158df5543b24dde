"""What is too new for the fleet is not offered; what cannot be judged says what it needs."""

from __future__ import annotations

from pathlib import Path

from argolint import testing
from argolint.model import Edit, Fix, Need
from argolint.plugins import load_rules
from argolint.proof.needs import fitted_fix

OPTION = Fix("Compare", "application", "", Edit("yaml", "metadata:\n  annotations: {x: ServerSideDiff=true}\n"))
TOLD = Fix("Allow", "application", "", Edit("text", "any words"), needs=(Need("argocd", "2.13"),))


def test_what_an_edit_says_tells_what_it_needs() -> None:
    later, works = fitted_fix(OPTION, ("v2.9.3+abc",))
    assert (later.title, later.edit.kind, works) == (
        "After an upgrade of Argo CD to 2.10 or later: compare",
        "text",
        False,
    )
    assert later.unverified == "it needs Argo CD 2.10, and this is v2.9.3+abc"
    assert fitted_fix(OPTION, ("v3.5.1",)) == (OPTION, True)
    assert fitted_fix(OPTION, ("",))[0].caveat == "needs Argo CD 2.10 or later"


def test_a_need_that_a_fix_names_counts_beside_it() -> None:
    assert not fitted_fix(TOLD, ("v2.12.9",))[1]
    assert fitted_fix(TOLD, ("v2.13.0",))[1]
    assert fitted_fix(TOLD, ("v2.13",))[1]
    assert fitted_fix(TOLD, ("v3.0.0", "v2.5.2"))[0].unverified == "it needs Argo CD 2.13, and this is v2.5.2"


def test_a_release_without_applications_in_other_namespaces_gets_plain_names() -> None:
    asked = "argocd app terminate-op argocd/web && argocd app sync argocd/web --resource apps:Deployment:shop/web"
    fix = Fix("end it", "live", "web", Edit("command", asked), caveat="then `argocd app wait argocd/web`")
    old, new = (fitted_fix(fix, (version,))[0] for version in ("v2.4.9", "v2.5.0"))
    assert old.edit.content == "argocd app terminate-op web && argocd app sync web --resource apps:Deployment:shop/web"
    assert (old.caveat, new) == ("then `argocd app wait web`", fix)


def test_a_fix_that_the_server_is_too_old_for_is_for_after_its_upgrade() -> None:
    rules = list(load_rules().values())
    fixture = testing.load_fixture(Path(__file__).parent / "rules/compared-by-option/bad-atomic-list.yaml")
    old = testing.Fixture(fixture.path, {**fixture.data, "server": {"version": "v2.9.3"}})
    titles = [
        [fix.title for f in testing.check(each, rules).findings if f.rule == "compared-by-option" for fix in f.fixes]
        for each in (fixture, old)
    ]
    assert titles == [
        ["Let the API server compare: ServerSideDiff=true", "Write the filled-in values into Git"],
        [
            "Write the filled-in values into Git",
            "After an upgrade of Argo CD to 2.10 or later: let the API server compare: ServerSideDiff=true",
        ],
    ]


def test_no_account_for_clusters_needs_to_be_read_where_an_image_tells_the_operator(tmp_path: Path) -> None:
    """A cluster whose kinds nobody may list, and the operator's image of another application."""
    path = tmp_path / "old.yaml"
    store = "{apiVersion: external-secrets.io/v1beta1, kind: SecretStore, metadata: {name: s, namespace: shop}}"
    titles = []
    for tag in ("v0.9.20", "v0.16.1"):
        path.write_text(
            f"""
about: what runs tells what is served
apps:
- name: operator
  status: {{summary: {{images: ["ghcr.io/external-secrets/external-secrets:{tag}"]}}}}
  resources: []
- name: shop
  resources:
  - desired: &s {store}
    live: *s
"""
        )
        found = testing.check(testing.load_fixture(path), list(load_rules().values())).findings
        titles.append([fix.title for f in found if f.rule == "removed-api" for fix in f.fixes])
    assert titles == [
        ["Upgrade External Secrets to v0.16, which serves both, then write apiVersion: external-secrets.io/v1"],
        ["Write apiVersion: external-secrets.io/v1"],
    ]


def test_advice_that_the_operator_is_too_old_for_is_for_after_its_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    secret = "{apiVersion: external-secrets.io/v1beta1, kind: ExternalSecret, metadata: {name: a, namespace: shop}, spec: {refreshInterval: '0', secretStoreRef: {name: s}}}"
    offered = []
    for images in (
        "[]",
        '["ghcr.io/external-secrets/external-secrets:v0.15.1"]',
        '["ghcr.io/external-secrets/external-secrets:v0.16.1"]',
    ):
        path.write_text(
            f"""
about: what the operator knows
apps:
- name: operator
  status: {{summary: {{images: {images}}}}}
  resources: []
- name: shop
  resources:
  - desired: &s {secret}
    live: *s
"""
        )
        found = testing.check(testing.load_fixture(path), list(load_rules().values())).findings
        fix = next(f.fixes[-1] for f in found if f.rule == "external-secret-refresh-disabled")
        offered.append((fix.title.partition(":")[0], fix.edit.kind, fix.caveat))
    say = "Refresh it when its manifest changes, and let force-sync work"
    assert offered == [
        ("Refresh every hour", "json-patch", "one call a key and hour"),
        ("After an upgrade of External Secrets to v0.16.0 or later", "text", ""),
        (say, "json-patch", ""),
    ]
