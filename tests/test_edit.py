"""Fixes find their place in real Git checkouts, compose, and are refused where they do not belong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from argolint.errors import ArgolintError, UsageError
from argolint.fixes.placement import Arranged, arrange
from argolint.fixes.site import Choice, Site
from argolint.host.folder import Folder
from argolint.reports.document import ReportedFinding
from argolint.sources import checkout
from argolint.sources.checkout import ChangedError, open_checkouts
from argolint.sources.yaml_text import EditError
from tests.checkouts import APPLICATION, DEPLOYMENT, REPO, app, finding, fragment, patch, repository, resource
from tests.gitops import git

SERVER = "https://argocd.example.com"
REPLICAS = patch({"op": "replace", "path": "/spec/replicas", "value": 5})
IMAGE = patch({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"})


def choices(*findings: Any) -> list[Choice]:
    made = [msgspec.convert(f, ReportedFinding) for f in findings]
    return [Choice(f, f.fixes[0], 1) for f in made]


def placed(root: Path, *findings: Any, apps: Mapping[tuple[str, str], Any] | None = None, **site: Any) -> Arranged:
    """The findings' first fixes put into one checkout."""
    known = {(SERVER, *place): raw for place, raw in (apps or {}).items()}
    return arrange(choices(*findings), Site(open_checkouts([str(root)]), known, **site))


def only(arranged: Arranged) -> str:
    """The one text that changes."""
    assert [o.why for o in arranged.outcomes] == [""] * len(arranged.outcomes)
    (text,) = arranged.texts.values()
    return text


def left(arranged: Arranged) -> tuple[str, str]:
    """Why the only fix has no place, and what to do."""
    (outcome,) = arranged.outcomes
    assert not arranged.texts
    return outcome.why, outcome.todo


def spec(**source: Any) -> dict[tuple[str, str], Any]:
    """The Application as the server has it, with this source."""
    full = {"repoURL": REPO, "path": "web", **source}
    return {("argocd", "web"): {"spec": {"source": full, "destination": {"namespace": "shop"}}}}


# plain YAML


def test_a_manifest_in_a_plain_directory_changes_in_its_one_line(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": "kind: ConfigMap\nmetadata: {name: web}\n---\n" + DEPLOYMENT})
    text = only(placed(root, finding(REPLICAS)))
    assert text == "kind: ConfigMap\nmetadata: {name: web}\n---\n" + DEPLOYMENT.replace("replicas: 3", "replicas: 5")


def test_an_item_of_a_list_is_found(tmp_path: Path) -> None:
    items = "apiVersion: v1\nkind: List\nitems:\n- kind: Service\n- apiVersion: apps/v1\n  kind: Deployment\n"
    items += "  metadata: {name: web}\n  spec: {replicas: 3}\n"
    root = repository(tmp_path, {"web/list.yaml": items})
    assert only(placed(root, finding(REPLICAS))) == items.replace("replicas: 3", "replicas: 5")


@pytest.mark.parametrize(
    ("directory", "found"),
    [
        ({}, ["web/a.yaml"]),
        ({"recurse": True, "include": "deep/*"}, ["web/deep/b.yaml"]),
        ({"recurse": True, "exclude": "{deep/*,x.yaml}"}, ["web/a.yaml"]),
    ],
)
def test_files_count_as_argo_cd_counts_them(tmp_path: Path, directory: dict[str, Any], found: list[str]) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT, "web/deep/b.yaml": DEPLOYMENT, "web/x.txt": DEPLOYMENT})
    arranged = placed(root, finding(REPLICAS), apps=spec(directory=directory))
    assert [file for _, file in arranged.texts] == found


def test_an_object_that_stands_twice_is_not_guessed(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT, "web/b.yaml": DEPLOYMENT})
    why, todo = left(placed(root, finding(REPLICAS)))
    assert why == "Deployment shop/web is 2 times in web/a.yaml, web/b.yaml"
    assert todo == "keep one of them"
    named = DEPLOYMENT.replace("  name: web ", "  namespace: shop\n  name: web ")
    root = repository(tmp_path / "named", {"web/a.yaml": named, "web/b.yaml": named})
    assert left(placed(root, finding(REPLICAS))) == (why, todo)


def test_an_object_of_the_same_name_in_another_namespace_is_another_one(tmp_path: Path) -> None:
    root = repository(
        tmp_path,
        {"web/a.yaml": DEPLOYMENT.replace("  name: web  # the shop's front", "  name: web\n  namespace: other")},
    )
    assert left(placed(root, finding(REPLICAS)))[0] == "no file in web holds Deployment shop/web"


def test_a_field_that_argo_cd_adds_is_not_in_the_file(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    fix = patch({"op": "remove", "path": "/metadata/annotations"})
    assert left(placed(root, finding(fix)))[0].startswith("the file has no /metadata/annotations")


def test_an_annotation_is_added_where_the_file_has_none(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    fixes = [patch({"op": "add", "path": f"/metadata/annotations/{key}", "value": "1"}) for key in ("a", "b")]
    text = only(placed(root, *(finding(fix) for fix in fixes)))
    assert text == DEPLOYMENT.replace("front\n", 'front\n  annotations:\n    a: "1"\n    b: "1"\n')


def test_old_values_must_be_those_that_argo_cd_rendered(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    seen = {"spec": {"replicas": 4}}
    why, _ = left(placed(root, finding(REPLICAS), rendered=lambda app, resource: seen))
    assert why == "the file has another value at /spec/replicas than Argo CD rendered"


def test_list_items_must_be_those_that_argo_cd_rendered(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    seen = {"spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "web:1"}]}}}}
    why, _ = left(placed(root, finding(IMAGE), rendered=lambda app, resource: seen))
    assert why == "the item at /spec/template/spec/containers/0 is another one in the file than Argo CD rendered"


def test_the_commit_that_argo_cd_rendered_tells_the_old_values(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    revision = git(root, "rev-parse", "HEAD").strip()
    (root / "web/a.yaml").write_text(DEPLOYMENT.replace("replicas: 3", "replicas: 4"))
    git(root, "commit", "-qam", "four")
    source = {"repo": REPO, "revision": revision, "path": "web"}
    assert left(placed(root, finding(REPLICAS, source=source)))[0].startswith(
        "the file has another value at /spec/replicas"
    )
    assert "web:2" in only(placed(root, finding(IMAGE, source=source)))


def test_a_fragment_is_merged_and_another_object_is_not(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    merged = fragment("# first do this\nspec:\n  replicas: 4\n  paused: true\n")
    arranged = placed(root, finding(merged))
    assert only(arranged) == DEPLOYMENT.replace("replicas: 3", "replicas: 4") + "  paused: true\n"
    assert arranged.outcomes[0].notes == ("first do this",)
    assert (
        left(placed(root, finding(fragment("apiVersion: v1\nkind: Service\n"))))[0]
        == "the fix adds another object, a Service"
    )
    assert left(placed(root, finding(fragment("spec:\n  host: <host name>\n"))))[0] == "the fix leaves a value to you"
    two = "spec:\n  paused: true\n---\nspec:\n  replicas: 4\n"
    assert left(placed(root, finding(fragment(two))))[0] == "the fix is more than one piece of YAML"
    assert (
        left(placed(root, finding(fragment("metadata:\n  name: web-2\n"))))[0] == "the edit makes another object of it"
    )


def test_a_newer_version_of_the_same_api_is_no_other_object(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT.replace("apps/v1", "apps/v1beta1")})
    assert (
        only(placed(root, finding(patch({"op": "replace", "path": "/apiVersion", "value": "apps/v1"})))) == DEPLOYMENT
    )


# Applications


def ignore(*pointers: str, name: str = "web") -> dict[str, Any]:
    entry = {"group": "apps", "kind": "Deployment", "name": name, "jsonPointers": list(pointers)}
    return patch(
        {"op": "add", "path": "/spec/ignoreDifferences", "value": [entry]},
        {"op": "add", "path": "/spec/syncPolicy", "value": {"syncOptions": ["RespectIgnoreDifferences=true"]}},
        target="application",
        where="Application argocd/web",
    )


def test_ignore_entries_of_several_fixes_become_one_list(tmp_path: Path) -> None:
    root = repository(tmp_path, {"apps/all.yaml": "kind: Note\n---\n" + APPLICATION})
    fixes = (
        ignore("/spec/replicas"),
        ignore("/spec/paused"),
        ignore("/spec/replicas", name="api"),
        ignore("/spec/replicas"),
    )
    text = only(placed(root, *(finding(fix) for fix in fixes)))
    assert text == "kind: Note\n---\n" + APPLICATION + (
        "  ignoreDifferences:\n"
        "    - group: apps\n      kind: Deployment\n      name: web\n"
        "      jsonPointers:\n        - /spec/replicas\n        - /spec/paused\n"
        "    - group: apps\n      kind: Deployment\n      name: api\n      jsonPointers:\n        - /spec/replicas\n"
        "  syncPolicy:\n    syncOptions:\n      - RespectIgnoreDifferences=true\n"
    )


def test_a_manifest_is_that_of_the_argo_cd_that_deploys_to_where_it_says(tmp_path: Path) -> None:
    root = repository(tmp_path, {"apps/eu.yaml": APPLICATION})
    own, other = ({"spec": {"destination": {"namespace": name}}} for name in ("shop", "shop-us"))
    of_us = {(SERVER, "argocd", "web"): other, ("https://eu.example.com", "argocd", "web"): own}
    of_eu = {(SERVER, "argocd", "web"): own, ("https://us.example.com", "argocd", "web"): other}
    fix = choices(finding(ignore("/spec/replicas")))
    (outcome,) = arrange(fix, Site(open_checkouts([str(root)]), of_us)).outcomes
    assert outcome.why == "apps/eu.yaml holds Application argocd/web of another Argo CD"
    (outcome,) = arrange(fix, Site(open_checkouts([str(root)]), of_eu)).outcomes
    assert outcome.why == ""


def test_an_application_that_stands_twice_is_not_guessed(tmp_path: Path) -> None:
    root = repository(tmp_path, {"apps/a.yaml": APPLICATION, "old/b.yaml": APPLICATION})
    why, todo = left(placed(root, finding(ignore("/spec/replicas"))))
    assert why == "Application argocd/web is in 2 places: apps/a.yaml, old/b.yaml"
    assert todo == "change the one that is applied"


def test_an_application_of_another_namespace_is_another_one(tmp_path: Path) -> None:
    other = APPLICATION.replace("namespace: argocd", "namespace: team-b")
    root = repository(tmp_path, {"apps/a.yaml": APPLICATION, "apps/b.yaml": other})
    arranged = placed(root, finding(ignore("/spec/replicas")))
    assert [file for _, file in arranged.texts] == ["apps/a.yaml"]


def test_an_application_of_another_product_is_another_one(tmp_path: Path) -> None:
    other = APPLICATION.replace("argoproj.io/v1alpha1", "core.oam.dev/v1beta1")
    assert other != APPLICATION
    root = repository(tmp_path, {"apps/argo.yaml": APPLICATION, "apps/velocity.yaml": other})
    arranged = placed(root, finding(ignore("/spec/replicas")))
    assert only(arranged).startswith(APPLICATION)


def test_an_application_of_a_set_is_told_and_not_edited(tmp_path: Path) -> None:
    root = repository(tmp_path, {"apps/all.yaml": APPLICATION})
    raw = {"metadata": {"ownerReferences": [{"kind": "ApplicationSet", "name": "shops"}]}, "spec": {}}
    why, todo = left(placed(root, finding(ignore("/spec/replicas")), apps={("argocd", "web"): raw}))
    assert why == "ApplicationSet shops generates Application argocd/web"
    assert todo == "change the set's template by hand"


def test_an_application_in_a_template_is_told(tmp_path: Path) -> None:
    template = "{{- range .Values.apps }}\n" + APPLICATION + "{{- end }}\n"
    root = repository(tmp_path, {"chart/templates/apps.yaml": template})
    assert left(placed(root, finding(ignore("/spec/replicas"))))[0].endswith(
        "chart/templates/apps.yaml could be its template"
    )


def test_every_application_that_the_fix_names_is_changed(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.yaml": APPLICATION, "b.yaml": APPLICATION.replace("name: web", "name: api")})
    fix = fragment(
        "spec:\n  syncPolicy:\n    syncOptions:\n    - FailOnSharedResource=true\n",
        "application",
        where='spec of "web" and "api"',
    )
    arranged = placed(root, finding(fix, related=[{"app": app("api"), "role": "claimant"}]))
    assert sorted(file for _, file in arranged.texts) == ["a.yaml", "b.yaml"]


# Kustomize

BASE = {
    "base/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator:\n- name: settings\n",
    "base/web.yaml": DEPLOYMENT,
    "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: shop-\nnamespace: shop\n",
    "test/kustomization.yaml": "resources: [../base]\n",
}
PROD = spec(path="prod")
SHOP_WEB = {"resource": resource(name="shop-web")}


def test_kustomize_edits_the_base_and_names_who_shares_it(tmp_path: Path) -> None:
    arranged = placed(repository(tmp_path, BASE), finding(REPLICAS, **SHOP_WEB), apps=PROD)
    assert only(arranged) == DEPLOYMENT.replace("replicas: 3", "replicas: 5")
    assert arranged.outcomes[0].notes == ("base/web.yaml is also the base of test/kustomization.yaml",)


@pytest.mark.parametrize(
    ("more", "fix", "owner"),
    [
        ("replicas:\n- name: web\n  count: 4\n", REPLICAS, "`replicas`"),
        ("images:\n- name: web\n  newTag: '3'\n", IMAGE, "`images`"),
        ("patches:\n- path: p.yaml\n", REPLICAS, "the patch prod/p.yaml"),
        (
            "patches:\n- target: {kind: Deployment}\n  patch: '[{op: add, path: /spec/replicas, value: 4}]'\n",
            REPLICAS,
            "an inline patch",
        ),
        (  # an expression on which Python may never end
            "patches:\n- target: {name: '(a+)+$'}\n  patch: '[{op: add, path: /spec/replicas, value: 4}]'\n",
            REPLICAS,
            "an inline patch",
        ),
        (
            "replacements:\n- targets:\n  - select: {kind: Deployment}\n    fieldPaths: ['spec.template.spec.containers.[name=web].image']\n",
            IMAGE,
            "`replacements`",
        ),
    ],
)
def test_a_field_that_an_overlay_sets_is_told(tmp_path: Path, more: str, fix: Any, owner: str) -> None:
    files = {**BASE, "prod/p.yaml": "kind: Deployment\nmetadata: {name: web}\nspec: {replicas: 4}\n"}
    files["prod/kustomization.yaml"] += more
    why, _ = left(placed(repository(tmp_path, files), finding(fix, **SHOP_WEB), apps=PROD))
    assert why.startswith(f"{owner} in prod/kustomization.yaml sets /spec/")


def test_what_the_application_sets_for_kustomize_is_told(tmp_path: Path) -> None:
    own = spec(path="prod", kustomize={"images": ["web=registry.example.com/web:7"]})
    why, _ = left(placed(repository(tmp_path, BASE), finding(IMAGE, **SHOP_WEB), apps=own))
    assert why.startswith(
        "`images` in the Application's spec.source.kustomize sets /spec/template/spec/containers/0/image"
    )


def test_a_remote_base_is_named(tmp_path: Path) -> None:
    files = {"prod/kustomization.yaml": "resources: ['https://git.example.com/base?ref=v1']\n"}
    why, _ = left(placed(repository(tmp_path, files), finding(REPLICAS), apps=PROD))
    assert why == "no file in prod holds Deployment shop/web (it also builds on https://git.example.com/base?ref=v1)"


@pytest.mark.parametrize(
    "junk",
    [
        "[]",
        "resources: 3",
        "resources: [{a: 1}, ../base]\nimages: x\nreplicas: [1]\nlabels: [2]\npatches: [3, {target: 4}]",
    ],
)
def test_a_kustomization_of_any_shape_is_survived(tmp_path: Path, junk: str) -> None:
    files = {**BASE, "prod/kustomization.yaml": junk + "\n"}
    arranged = placed(repository(tmp_path, files), finding(IMAGE), apps=PROD)
    assert bool(arranged.texts) == ("../base" in junk)


def test_a_patch_of_a_component_counts_for_what_its_parent_builds(tmp_path: Path) -> None:
    files = {**BASE, "part/kustomization.yaml": "kind: Component\npatches:\n- target: {kind: Deployment}\n  patch: |\n"}
    files["part/kustomization.yaml"] += "    - {op: replace, path: /spec/replicas, value: 4}\n"
    files["prod/kustomization.yaml"] += "components: [../part]\n"
    why, _ = left(placed(repository(tmp_path, files), finding(REPLICAS, **SHOP_WEB), apps=PROD))
    assert why == "an inline patch in part/kustomization.yaml sets /spec/replicas"


def test_a_patch_of_another_field_leaves_the_base_editable(tmp_path: Path) -> None:
    files = {**BASE, "prod/p.yaml": "kind: Deployment\nmetadata: {name: web}\nspec: {paused: true}\n"}
    files["prod/kustomization.yaml"] += "patches:\n- path: p.yaml\n"
    assert "replicas: 5" in only(placed(repository(tmp_path, files), finding(REPLICAS, **SHOP_WEB), apps=PROD))


def test_a_generated_object_names_its_generator(tmp_path: Path) -> None:
    generated = resource("ConfigMap", "shop-settings-4fhk5m2b9t")
    fix = patch({"op": "remove", "path": "/data/a"})
    why, _ = left(placed(repository(tmp_path, BASE), finding(fix, resource=generated), apps=PROD))
    assert why == "configMapGenerator settings in base/kustomization.yaml makes ConfigMap shop/shop-settings-4fhk5m2b9t"


# Helm

CHART = {
    "chart/Chart.yaml": "name: web\n",
    "chart/values.yaml": "replicas: 1\n",
    "values/web.yaml": "image:\n  tag: '1'  # pinned\n",
}


def helm(**options: Any) -> dict[tuple[str, str], Any]:
    return spec(path="chart", helm={"valueFiles": ["values.yaml", "../values/web.yaml"], **options})


def test_a_value_goes_where_its_key_stands_else_into_the_last_file(tmp_path: Path) -> None:
    root = repository(tmp_path, CHART)
    known = placed(root, finding(fragment("replicas: 2\n", "helm-values")), apps=helm())
    assert [(file, text) for (_, file), text in known.texts.items()] == [("chart/values.yaml", "replicas: 2\n")]
    new = placed(root, finding(fragment("image:\n  pull: Always\n", "helm-values")), apps=helm())
    assert only(new) == "image:\n  tag: '1'  # pinned\n  pull: Always\n"


def test_values_at_an_address_beat_the_files_of_a_checkout(tmp_path: Path) -> None:
    known = spec(path="chart", helm={"valueFiles": ["values.yaml", "https://values.example.com/web.yaml"]})
    fix = finding(fragment("replicas: 2\n", "helm-values"))
    why, _ = left(placed(repository(tmp_path, CHART), fix, apps=known))
    assert why == "no checkout has a values file of higher precedence"


def test_values_of_another_repository_are_found_by_their_ref(tmp_path: Path) -> None:
    charts = {
        "repoURL": "https://charts.example.com",
        "chart": "web",
        "helm": {"valueFiles": ["$mine/values/web.yaml"]},
    }
    sources = {"spec": {"sources": [charts, {"repoURL": REPO, "ref": "mine"}]}}
    arranged = placed(
        repository(tmp_path, CHART),
        finding(fragment("image:\n  tag: '2'\n", "helm-values")),
        apps={("argocd", "web"): sources, ("argocd", "twin"): sources},
    )
    assert only(arranged) == "image:\n  tag: '2'  # pinned\n"
    assert arranged.outcomes[0].notes == ("values/web.yaml is also read by twin",)


def own_values(tmp_path: Path, *lines: str, where: str = "", **options: Any) -> str:
    """What becomes of an Application with these lines under `helm:`, on which the server agrees."""
    start = APPLICATION.replace(
        "path: web\n", "path: chart\n    helm:\n" + "".join(f"      {line}\n" for line in lines)
    )
    root = repository(tmp_path, {**CHART, "apps.yaml": start})
    edit = fragment("image:\n  tag: '2'\n", "helm-values", where=where)
    text = only(placed(root, finding(edit), apps=helm(**options)))
    before = start.partition("path: chart\n")[0]
    assert text.startswith(before)
    return text.removeprefix(before + "path: chart\n").partition("  destination")[0]


def test_a_value_that_the_application_sets_itself_is_changed_there(tmp_path: Path) -> None:
    lines = "valueFiles: [values.yaml]", "valuesObject:", "  image:", "    tag: '3'  # mine"
    changed = own_values(tmp_path / "map", *lines, valueFiles=["values.yaml"], valuesObject={"image": {"tag": "3"}})
    assert changed.endswith("valuesObject:\n        image:\n          tag: '2'  # mine\n")
    text = own_values(
        tmp_path / "text",
        "values: |",
        "  # mine",
        "  image: {tag: '3'}",
        values="# mine\nimage: {tag: '3'}\n",
        valueFiles=[],
    )
    assert text.startswith("    helm:\n      values: |\n        # mine\n        image: {tag: '2'}\n")
    new = own_values(tmp_path / "new", "releaseName: web", releaseName="web", valueFiles=[])
    assert new.startswith(
        "    helm:\n      releaseName: web\n      valuesObject:\n        image:\n          tag: '2'\n"
    )
    place = "the Application's spec.source.helm.values"  # an Argo CD before 2.8
    old = own_values(tmp_path / "old", "releaseName: web", where=place, releaseName="web", valueFiles=[])
    assert old.startswith("    helm:\n      releaseName: web\n      values: |\n        image:\n          tag: '2'\n")


def test_a_parameter_beats_all_values_and_is_told(tmp_path: Path) -> None:
    root, fix = repository(tmp_path, CHART), fragment("image:\n  tag: '2'\n", "helm-values")
    why, _ = left(placed(root, finding(fix), apps=helm(parameters=[{"name": "image.tag"}])))
    assert why == "the Application's helm.parameters set image.tag, which beats all values"


@pytest.mark.parametrize("apps", [helm(), spec(path="chart")])
def test_a_chart_template_is_never_edited_and_another_alternative_is_named(tmp_path: Path, apps: Any) -> None:
    files = {**CHART, "apps.yaml": APPLICATION}
    why, todo = left(placed(repository(tmp_path, files), finding(REPLICAS, ignore("/spec/replicas")), apps=apps))
    assert why == "the Helm chart chart renders Deployment shop/web, and templates are not edited"
    assert todo.endswith("(--alternative 2 has a place)")


# Composing and writing


def test_fixes_of_one_object_compose(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    text = only(placed(root, finding(REPLICAS), finding(IMAGE), finding(REPLICAS)))
    assert text == DEPLOYMENT.replace("replicas: 3", "replicas: 5").replace('"web:1"', '"web:2"')


@pytest.mark.parametrize(
    "second",
    [
        {"op": "remove", "path": "/spec/replicas"},
        {"op": "replace", "path": "/spec/replicas", "value": 7},
        {"op": "replace", "path": "/spec", "value": {}},
    ],
)
def test_fixes_that_contradict_each_other_are_told(tmp_path: Path, second: Any) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    arranged = placed(root, finding(REPLICAS), finding(patch(second)))
    assert [o.why for o in arranged.outcomes] == ["", "it contradicts another fix of this run: live-edit (Try this)"]
    assert list(arranged.texts.values()) == [DEPLOYMENT.replace("replicas: 3", "replicas: 5")]


def test_an_index_that_an_earlier_fix_moved_is_not_used(tmp_path: Path) -> None:
    root = repository(
        tmp_path,
        {"web/a.yaml": DEPLOYMENT.replace("        - name: web", "        - name: proxy\n        - name: web")},
    )
    gone = patch({"op": "remove", "path": "/spec/template/spec/containers/0"})
    later = patch({"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "web:2"})
    arranged = placed(root, finding(gone), finding(later))
    assert [bool(o.why) for o in arranged.outcomes] == [False, True]


def test_a_fix_of_two_files_is_placed_whole_or_not_at_all(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.yaml": APPLICATION})
    fix = fragment("spec:\n  project: shop\n", "application", where="web and api")
    assert left(placed(root, finding(fix, related=[{"app": app("api"), "role": "claimant"}])))[0].startswith(
        "no checkout given holds Application argocd/api"
    )


def test_uncommitted_changes_are_told_unless_allowed(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    (root / "web/a.yaml").write_text(DEPLOYMENT + "# mine\n")
    assert left(placed(root, finding(REPLICAS))) == (
        "web/a.yaml has uncommitted changes",
        "commit or stash them, or pass --force",
    )
    forced = arrange(choices(finding(REPLICAS)), Site(open_checkouts([str(root)])), dirty=True)
    assert only(forced).endswith("# mine\n")


def test_a_file_that_changed_meanwhile_stops_the_whole_run(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT, "apps.yaml": APPLICATION})
    arranged = placed(root, finding(REPLICAS), finding(ignore("/spec/replicas")))
    (root / "web/a.yaml").write_text("changed: true\n")
    with pytest.raises(ChangedError, match="nothing was written"):
        checkout.write(arranged.texts)
    assert (root / "apps.yaml").read_text() == APPLICATION
    assert (root / "web/a.yaml").read_text() == "changed: true\n"
    assert git(root, "status", "--porcelain") == " M web/a.yaml\n"


def test_written_files_keep_their_rights_and_nothing_else_is_left(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT.replace("\n", "\r\n")})
    (root / "web/a.yaml").chmod(0o640)
    checkout.write(placed(root, finding(REPLICAS)).texts)
    assert (root / "web/a.yaml").read_bytes() == DEPLOYMENT.replace("replicas: 3", "replicas: 5").replace(
        "\n", "\r\n"
    ).encode()
    assert (root / "web/a.yaml").stat().st_mode & 0o777 == 0o640
    assert git(root, "status", "--porcelain", "--ignored") == " M web/a.yaml\n"


def test_a_symlink_out_of_the_checkout_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(DEPLOYMENT)
    root = tmp_path / "clone"
    (root / "web").mkdir(parents=True)
    (root / "web/a.yaml").symlink_to(outside)
    repository(root, {})
    why = "no file in web holds Deployment shop/web (web/a.yaml is a symlink that leads out of the checkout)"
    assert left(placed(root, finding(REPLICAS)))[0] == why
    assert outside.read_text() == DEPLOYMENT


def test_a_symlink_within_the_checkout_changes_the_file_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/a.yaml").symlink_to("../real.yaml")
    root = repository(tmp_path, {"real.yaml": DEPLOYMENT})
    checkout.write(placed(root, finding(REPLICAS)).texts)
    assert (root / "web/a.yaml").is_symlink()
    assert "replicas: 5" in (root / "real.yaml").read_text()


def test_a_link_to_a_file_with_uncommitted_changes_is_told(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/a.yaml").symlink_to("../real.yaml")
    root = repository(tmp_path, {"real.yaml": DEPLOYMENT})
    (root / "real.yaml").write_text(DEPLOYMENT + "# mine\n")
    assert left(placed(root, finding(REPLICAS)))[0] == "web/a.yaml has uncommitted changes"


def test_two_names_of_one_file_are_not_both_written(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/a.yaml").symlink_to("../real.yaml")
    root = repository(tmp_path, {"real.yaml": DEPLOYMENT})
    (found,) = open_checkouts([str(root)])
    texts = {(found, "web/a.yaml"): "one", (found, "real.yaml"): "two"}
    with pytest.raises(ArgolintError, match=r"web/a\.yaml and real\.yaml are one file; nothing was written"):
        checkout.write(texts)
    assert (root / "real.yaml").read_text() == DEPLOYMENT


def test_a_folder_that_becomes_a_link_meanwhile_stops_the_whole_run(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT, "apps.yaml": APPLICATION})
    arranged = placed(root, finding(REPLICAS), finding(ignore("/spec/replicas")))
    (root / "web").rename(tmp_path / "outside")
    (root / "web").symlink_to(tmp_path / "outside")
    with pytest.raises(ChangedError, match="nothing was written"):
        checkout.write(arranged.texts)
    assert (tmp_path / "outside/a.yaml").read_text() == DEPLOYMENT
    assert (root / "apps.yaml").read_text() == APPLICATION


def test_what_was_moved_is_put_back_when_a_later_file_cannot_be(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    with Folder.open(tmp_path) as folder:
        parts = [folder.stage(name, b"new") for name in ("a", "b", "c")]
        (tmp_path / "b").unlink()
        (tmp_path / "b").mkdir()  # no file can take its place
        with pytest.raises(ArgolintError, match=r"cannot write .*/b: .*; nothing was written"):
            checkout.move(parts)
        for part in parts:
            part.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_checkout_whose_work_tree_is_elsewhere_is_refused(tmp_path: Path) -> None:
    root, home = repository(tmp_path / "clone", {"web/a.yaml": DEPLOYMENT}), tmp_path / "home"
    home.mkdir()
    git(root, "config", "core.worktree", str(home))
    with pytest.raises(UsageError, match="is no part of the work tree that it names"):
        open_checkouts([str(root)])


def test_a_checkout_behind_a_link_of_another_checkout_is_refused(tmp_path: Path) -> None:
    mine = repository(tmp_path / "mine", {"web/a.yaml": DEPLOYMENT})
    change = repository(tmp_path / "change", {"x": "y"})
    (change / "apps").symlink_to(mine)
    with pytest.raises(UsageError, match="is a link inside a Git work tree"):
        open_checkouts([str(change / "apps")])


@pytest.mark.parametrize(
    "steps",
    [
        {"op": "replace", "path": "/spec/replicas", "value": 5},
        [5],
        [{"op": "exec", "path": "/spec"}],
        [{"op": ["add"], "path": "/spec", "value": 1}],
        [{"path": "/spec", "value": 1}],
        [{"op": "replace", "path": "/spec/replicas"}],
        [{"op": "replace", "path": "", "value": {}}],
        [{"op": "replace", "path": "spec", "value": {}}],
        [{"op": "replace", "path": 5, "value": {}}],
        [{"op": "replace", "path": "/spec/~2", "value": {}}],
        [{"op": "move", "path": "/spec/x"}],
        [{"op": "move", "from": "spec", "path": "/spec/x"}],
        [{"op": "add", "path": "/spec/template/spec/containers/²/image", "value": "x"}],
        [{"op": "add", "path": "/spec/template/spec/containers/٣/image", "value": "x"}],
        [{"op": "add", "path": "/spec/template/spec/containers/" + "9" * 5000, "value": "x"}],
    ],
)
def test_what_is_no_patch_in_a_report_is_left(tmp_path: Path, steps: Any) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    fix = {**patch(), "edit": {"kind": "json-patch", "content": steps}}
    assert left(placed(root, finding(fix)))[0] == "its edit is no JSON patch of fields"


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: *a}\n", "spec: {replicas: !!int many}\n", "a: \0\n"])
def test_a_fragment_that_is_no_data_is_left(tmp_path: Path, text: str) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    assert left(placed(root, finding(fragment(text))))[0] == "the fix is a sketch and no complete YAML"


@pytest.mark.parametrize("text", ["x: \0\n", "# a\u2028b\x0cc\n", "x: \x1b\n", "x: &x [*x]\n", "x: !!int many\n"])
def test_a_file_that_is_no_yaml_beside_the_object_is_left_alone(tmp_path: Path, text: str) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT + text})
    why = left(placed(root, finding(REPLICAS)))[0]
    assert why.startswith("no file in web holds Deployment shop/web (web/a.yaml: ")
    assert "\n" not in why


def test_a_checkout_of_another_repository_is_told(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT}, url="https://git.example.com/other.git")
    why, todo = left(placed(root, finding(REPLICAS)))
    assert why == f"Deployment shop/web comes from {REPO}"
    assert todo.startswith("add --write DIR for a clone of it")


@pytest.mark.parametrize(
    ("pattern", "owns"),
    [("web", True), ("we.*", True), ("^w.b$", True), ("api|web", True), ("api", False), ("w", False), ("(w+)+x", True)],
)
def test_a_patch_is_told_by_its_selector_in_bounded_time(tmp_path: Path, pattern: str, owns: bool) -> None:
    """A selector that is not plain enough to tell counts as one that takes the object."""
    target = {"kind": "Deployment", "name": pattern}
    text = yaml.safe_dump({"resources": ["a.yaml"], "patches": [{"path": "p.yaml", "target": target}]})
    name = "w" * 40 if "+" in pattern else "web"
    patch_ = "- op: replace\n  path: /spec/replicas\n  value: 4\n"
    files = {
        "web/kustomization.yaml": text,
        "web/a.yaml": DEPLOYMENT.replace("name: web  ", f"name: {name}  "),
        "web/p.yaml": patch_,
    }
    made = placed(repository(tmp_path, files), finding(REPLICAS, resource=resource(name=name)))
    assert ("the patch web/p.yaml" in made.outcomes[0].why) is owns


def test_kustomizations_that_multiply_end_in_time(tmp_path: Path) -> None:
    """Thirty that name the next one twice would be a thousand million."""
    files = {f"{n}/kustomization.yaml": f"resources: [../{n + 1}, ../{n + 1}/.]\n" for n in range(30)}
    files["web/kustomization.yaml"] = "resources: [../0]\n"
    files["30/kustomization.yaml"] = "resources: [a.yaml]\n"
    files["30/a.yaml"] = DEPLOYMENT
    made = placed(repository(tmp_path, files), finding(REPLICAS))
    assert left(made)[0] == "web/kustomization.yaml builds on too many kustomizations"


def test_a_file_of_a_commit_that_is_no_text_is_refused_alone(tmp_path: Path) -> None:
    root = repository(tmp_path, {"web/a.yaml": DEPLOYMENT})
    (root / "web/b.yaml").write_bytes(b"a: \xff\n")
    git(root, "add", "--all")
    git(root, "commit", "--message", "bytes")
    committed = checkout.Committed(root, frozenset(), revision="HEAD")
    with pytest.raises(EditError, match=r"web/b\.yaml cannot be read: it is no UTF-8"):
        committed.text("web/b.yaml")
    assert committed.text("web/a.yaml") == DEPLOYMENT
