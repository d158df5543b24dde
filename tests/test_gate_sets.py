"""What a change makes of the Applications of ApplicationSets: those that come, change and go, with what goes along."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from argolint.application.app import app_from_list
from argolint.application.application_sets import Controller, owned_applications
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.engine.load import read_fleet
from argolint.gate.change import ManifestPair
from argolint.gate.generated import generated_change
from argolint.snapshots.reader import SnapshotTransport
from argolint.sources.appset_templates import NotEvaluatedError, fill
from argolint.sources.generators import generated
from tests.conftest import recording
from tests.fleets import serving
from tests.gitops import REPO, GitServer, commit, git
from tests.here import run_here
from tests.moving_world import FINALIZER

CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: books}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {MODE: fast}\n"
FOLDERS = {"git": {"repoURL": REPO, "directories": [{"path": "*"}]}}
BOTH = {"list": {"elements": [{"folder": "ledger"}, {"folder": "web"}]}}


def a_set(*generators: Any, name: str = "{{path.basename}}", folder: str = "{{path}}", **more: Any) -> dict[str, Any]:
    source = {"repoURL": REPO, "path": folder, "targetRevision": "main"}
    destination = {"server": "https://kubernetes.default.svc", "namespace": "shop"}
    template = {
        "metadata": {"name": name},
        "spec": {"project": "default", "source": source, "destination": destination},
    }
    spec = {"generators": list(generators), "template": template, **more}
    metadata = {"name": "shop", "namespace": "argocd"}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": metadata, "spec": spec}


def listed(*folders: str, **more: Any) -> dict[str, Any]:
    made = {"list": {"elements": [{"folder": folder} for folder in folders]}}
    return a_set(made, name="{{folder}}", folder="{{folder}}", **more)


class Case:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "clone"
        self.root.mkdir()
        git(self.root, "init", "--quiet")
        commit(self.root, {"web/config.yaml": CONFIG, "ledger/claim.yaml": CLAIM})
        git(self.root, "remote", "add", "origin", REPO)

    def judged(
        self, live: Mapping[str, Any], files: Mapping[str, str | None], own: tuple[str, ...] = ("web", "ledger")
    ) -> dict[str, Any]:
        """The report on a change of these files, where the set is live and owns these Applications."""
        owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "shop", "uid": "u"}
        finalizers = ["resources-finalizer.argocd.argoproj.io"]
        more = {n: {"metadata": {"ownerReferences": [owner], "finalizers": finalizers}} for n in own}
        if "set.yaml" in files:
            commit(self.root, {"set.yaml": yaml.safe_dump(live)})
        server = GitServer(self.root, more=more, sets=[live])
        git(self.root, "switch", "--quiet", "--create", "feature")
        commit(self.root, files)
        with serving(self.root.parent, {"eu": server}) as fleets:
            ran = run_here(
                *(
                    "gate",
                    "--servers",
                    fleets.file,
                    "--checkout",
                    ".",
                    "--repo",
                    REPO,
                    "--base",
                    "main",
                    "--head",
                    "feature",
                    "-o",
                    "json",
                ),
                cwd=self.root,
                env=fleets.environ,
            )
        found: dict[str, Any] = json.loads(ran.out)
        return found


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def told(found: Mapping[str, Any]) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """The first line of what is deleted, what becomes of each application, and what is not judged."""
    apps = [(a["app"]["name"], a["what"]) for a in found["gate"]["apps"]]
    return found["gate"].get("deletes", [])[:2], apps, [f["error"].partition(": ")[2] for f in found["failures"]]


GONE = "ApplicationSet argocd/shop no longer gives argocd/ledger, and deletes it with its objects, unless the policy of its controller forbids that."
CLAIM_GOES = "PersistentVolumeClaim shop/books of argocd/ledger is deleted, and its volume too, unless that has the reclaim policy Retain."


@pytest.mark.parametrize(
    ("live", "edit", "apps"),
    [
        (a_set(FOLDERS), {"ledger/claim.yaml": None}, [("ledger", "removed")]),
        (listed("ledger", "web"), listed("web", "shop"), [("ledger", "removed"), ("shop", "added")]),
    ],
)
def test_what_a_set_no_longer_gives_is_in_the_first_lines(case: Case, live: Any, edit: Any, apps: Any) -> None:
    files = edit if "kind" not in edit else {"set.yaml": yaml.safe_dump(edit)}
    found = case.judged(live, files)
    assert told(found) == ([GONE, CLAIM_GOES], apps, [])
    data = [f["message"] for f in found["findings"] if f["rule"] == "prune-deletes-data"]
    assert [each.partition(": ")[0] for each in data] == [
        "PersistentVolumeClaim shop/books is deleted with application argocd/ledger"
    ]


def test_an_edited_template_is_an_edit_of_each_application(case: Case) -> None:
    edit = listed("ledger", "web")
    edit["spec"]["template"]["spec"]["project"] = "ledgers"
    found = case.judged(listed("ledger", "web"), {"set.yaml": yaml.safe_dump(edit)})
    assert told(found) == ([], [("ledger", "changed"), ("web", "changed")], [])


# Without a server


CLUSTERS: dict[str, dict[str, Any]] = {
    "https://eu.example.com": {"name": "eu", "labels": {"tier": "gold"}},
    "https://us.example.com": {"name": "us", "labels": {"tier": "iron"}},
    IN_CLUSTER: {"name": "in-cluster"},
}


def fleet(live: Mapping[str, Any], *names: str) -> Fleet:
    owner = {"kind": "ApplicationSet", "name": "shop"}
    raws = [{"metadata": {"name": name, "namespace": "argocd", "ownerReferences": [owner]}} for name in names]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    apps = [app_from_list(r, server="", cluster=IN_CLUSTER, control_plane="argocd", observed_at=now) for r in raws]
    return Fleet("https://cd.example.com", "v3.5.1", {}, tuple(apps), clusters=CLUSTERS, application_sets=(live,))


def of(live: Any, edit: Any, *names: str, policy: str | None = "") -> tuple[list[str], list[str], list[str], list[str]]:
    """Names that go and that come, notes, and why something is not known."""
    made = generated_change(fleet(live, *names), [ManifestPair(live, edit)], (), None, lambda: Controller(policy))
    why = [f.error.partition(" before the merge: ")[2] for f in made.failures]
    return sorted(r.name for r in made.gone), [m["metadata"]["name"] for m in made.new], list(made.notes), why


def golden(tier: str, **more: Any) -> dict[str, Any]:
    return a_set({"clusters": {"selector": {"matchLabels": {"tier": tier}}}}, name="{{name}}", folder="web", **more)


def secrets() -> dict[str, Any]:
    """A set of every cluster that has a Secret."""
    labels = {"matchLabels": {"argocd.argoproj.io/secret-type": "cluster"}}
    return a_set({"clusters": {"selector": labels}}, name="{{name}}", folder="web")


MATRIX = {"matrix": {"generators": [{"clusters": {"selector": {"matchLabels": {"tier": "gold"}}}}, BOTH]}}
AS = {"list": {"elements": [{"folder": "ledger", "as": "l"}, {"folder": "web", "as": "x"}]}}
MERGED = {
    "merge": {"mergeKeys": ["folder"], "generators": [AS, {"list": {"elements": [{"folder": "web", "as": "w"}]}}]}
}
CHOSEN = {**BOTH, "selector": {"matchLabels": {"folder": "web"}}}
PULLS: dict[str, Any] = {"pullRequest": {"github": {"owner": "shop", "repo": "web"}}}
GO: dict[str, Any] = {"goTemplate": True, "goTemplateOptions": ["missingkey=error"]}


@pytest.mark.parametrize(
    ("live", "edit", "names", "gone", "new"),
    [
        (golden("gold"), golden("iron"), ["eu"], ["eu"], ["us"]),
        (a_set(MATRIX, name="{{name}}-{{folder}}"), a_set(BOTH, name="{{folder}}"), ["eu-web", "eu-ledger"],
         ["eu-ledger", "eu-web"], ["ledger", "web"]),
        (a_set(MERGED, name="{{as}}-{{folder}}"), listed("w-web"), ["l-ledger", "w-web"], ["l-ledger"], []),
        (listed("web"), listed("web", "new"), ["web"], [], ["new"]),
        (a_set(BOTH, name="a-{{ .folder }}", folder="web", **GO), a_set(BOTH, name='{{ printf "%s-%s" "b" .folder | lower }}', folder="web", **GO),
         ["a-web", "a-ledger"], ["a-ledger", "a-web"], ["b-ledger", "b-web"]),
        (a_set(PULLS, BOTH, name="{{folder}}"), a_set(PULLS, name="{{folder}}"), ["pr-7", "ledger", "web"], ["ledger", "web"], []),
        (listed("web", "late"), listed("late"), ["web"], ["web"], []),
        (a_set(CHOSEN, name="{{ .folder }}", **GO), listed("new"), ["web"], ["web"], ["new"]),
        (secrets(), golden("gold"), ["eu", "us"], ["us"], []),
        (secrets(), golden("gold"), ["eu", "us", "in-cluster"], ["in-cluster", "us"], []),
    ],
)  # fmt: skip
def test_generators_are_evaluated_on_both_sides(live: Any, edit: Any, names: Any, gone: Any, new: Any) -> None:
    assert of(live, edit, *names) == (gone, new, [], [])


def projects(policy: str, **more: Any) -> tuple[list[str], list[str], list[str]]:
    """Which applications an edit of the template changes, notes, and what is not known."""
    edit = listed("ledger", "web", **more)
    edit["spec"]["template"]["spec"]["project"] = "{{folder}}"
    known = fleet(listed("ledger", "web", **more), "ledger", "web")
    made = generated_change(
        known, [ManifestPair(listed("ledger", "web", **more), edit)], (), None, lambda: Controller(policy)
    )
    why = [f.error.partition(" before the merge: ")[2] for f in made.failures]
    return sorted(r.name for r in made.edited), made.notes, why


def test_an_edited_template_reaches_only_what_the_policy_lets_it_change() -> None:
    assert projects("") == (["ledger", "web"], [], [])
    left = "ApplicationSet argocd/shop leaves it as it is (policy create-only)"
    assert projects("create-only") == ([], [f"argocd/ledger: {left}", f"argocd/web: {left}"], [])
    patched = projects("", templatePatch="spec: {}")
    assert patched[2][0] == "the set has a templatePatch, so what it makes of ledger is not known"
    own = {"list": {"elements": [{"folder": "web"}], "template": {"spec": {"project": "other"}}}}
    edit = a_set(own, name="{{folder}}", folder="{{folder}}")
    made = generated_change(
        fleet(listed("web"), "web"), [ManifestPair(listed("web"), edit)], (), None, lambda: Controller("")
    )
    assert [after["spec"]["project"] for _, after in made.edited.values()] == ["other"]


PLUGIN = {"plugin": {"configMapRef": {"name": "variables"}}}


def literal(edit: dict[str, Any], own: dict[str, Any], name: str = "{{x}}", **more: Any) -> tuple[Any, ...]:
    """Projects after an edit of the template of a set whose generator is not evaluated, names that go and come, and whether something is not known."""
    live = a_set(PLUGIN, name=name, folder="{{folder}}", **more)
    template = live["spec"]["template"]
    changed = {**live, "spec": {**live["spec"], "template": {**template, "spec": {**template["spec"], **edit}}}}
    if "name" in own:
        changed["spec"]["template"]["metadata"] = {"name": own["name"]}
    owner = {"kind": "ApplicationSet", "name": "shop"}
    raw = {
        "metadata": {"name": "web", "namespace": "argocd", "ownerReferences": [owner]},
        "spec": {"project": "default", **own.get("spec", {})},
    }
    now = datetime(2026, 1, 1, tzinfo=UTC)
    app = app_from_list(raw, server="", cluster=IN_CLUSTER, control_plane="argocd", observed_at=now)
    known = Fleet("https://cd.example.com", "v3.5.1", {}, (app,), clusters=CLUSTERS, application_sets=(live,))
    made = generated_change(known, [ManifestPair(live, changed)], (), None, lambda: Controller(""))
    after = [m["spec"]["project"] for _, m in made.edited.values()]
    return after, [r.name for r in made.gone], [m["metadata"]["name"] for m in made.new], bool(made.failures)


@pytest.mark.parametrize(
    ("edit", "own", "more", "found"),
    [
        ({"project": "ledgers"}, {}, {}, (["ledgers"], [], [], False)),
        ({}, {"name": "front"}, {"name": "web"}, ([], ["web"], ["front"], False)),
        ({"project": "{{x}}"}, {}, {}, ([], [], [], True)),
        ({"project": "ledgers"}, {"spec": {"project": "other"}}, {}, ([], [], [], True)),
        ({"project": "ledgers"}, {}, {"templatePatch": "spec: {project: default}"}, ([], [], [], True)),
        ({"project": "ledgers"}, {}, {"templatePatch": "spec: {info: []}"}, (["ledgers"], [], [], False)),
        ({}, {"name": "front-{{x}}"}, {"name": "web"}, ([], [], [], True)),
    ],
    ids=("a text", "the name", "a parameter", "another live value", "a patch of it", "another patch", "a name with one"),
)  # fmt: skip
def test_an_edit_of_plain_texts_of_a_template_is_known_whatever_the_generator_gives(
    edit: Any, own: Any, more: Any, found: Any
) -> None:
    assert literal(edit, own, **more) == found


def test_objects_are_not_kept_by_an_option_that_comes_with_the_deletion(case: Case) -> None:
    edit = listed("web", syncPolicy={"preserveResourcesOnDeletion": True})
    said = told(case.judged(listed("ledger", "web"), {"set.yaml": yaml.safe_dump(edit)}))[0]
    late = (
        "The preserveResourcesOnDeletion that the change gives ApplicationSet argocd/shop does not keep its objects: "
    )
    assert (said[0], said[1].startswith(late)) == (GONE, True)


def test_a_patch_of_other_fields_hides_nothing_of_what_is_deployed(case: Case) -> None:
    patch = "spec: {syncPolicy: {automated: {{ if .x }}{}{{ end }}}}"
    edit = listed("ledger", "web", "shop", templatePatch=patch)
    found = case.judged(
        listed("ledger", "web", templatePatch=patch), {"set.yaml": yaml.safe_dump(edit), "shop/c.yaml": CONFIG}
    )
    (app,) = (a for a in found["gate"]["apps"] if a["what"] == "added")
    assert [c["resource"]["name"] for c in app["changes"]] == ["settings"]
    assert (
        "eu: argocd/shop: judged without the templatePatch of ApplicationSet argocd/shop" in found["gate"]["unlisted"]
    )


def test_a_new_application_of_which_only_the_name_is_known_is_named(case: Case) -> None:
    patched = listed("ledger", "web", templatePatch="spec: {source: {}}")
    found = case.judged(
        patched, {"set.yaml": yaml.safe_dump(listed("ledger", "web", "shop", templatePatch="spec: {source: {}}"))}
    )
    (app,) = (a for a in found["gate"]["apps"] if a["what"] == "added")
    assert app["notes"] == ["ApplicationSet argocd/shop makes it new: what it renders is not known before the merge."]
    assert found["findings"] == []


KEEPS: dict[str, Any] = {"syncPolicy": {"applicationsSync": "create-update"}}


@pytest.mark.parametrize(
    ("live", "edit", "policy", "said"),
    [
        (listed("web"), listed("shop", **KEEPS), "", "deletes nothing (policy create-update)"),
        (listed("web"), listed("shop"), "create-only", "deletes nothing (policy create-only)"),
        (listed("web"), listed("shop", **KEEPS), "sync", ""),
        (listed("web", **KEEPS), listed("shop"), "", ""),
    ],
)
def test_the_policy_that_counts_says_whether_something_goes(live: Any, edit: Any, policy: str, said: str) -> None:
    gone, new, notes, why = of(live, edit, "web", policy=policy)
    assert (gone, new, why) == ([] if said else ["web"], ["shop"], [])
    assert notes == ([f"ApplicationSet argocd/shop no longer gives argocd/web, and {said}"] if said else [])


@pytest.mark.parametrize(
    ("live", "edit", "names", "why"),
    [
        (a_set(PULLS), a_set(PULLS, BOTH, name="{{folder}}"), ["pr-7"], "it has a pullRequest generator, which is not evaluated here"),
        (listed("web"), listed("shop"), ["web", "old"], "its generators, as they are understood here, do not account for old, which it owns"),
        (a_set(FOLDERS), a_set(BOTH), ["web"], f"it reads {REPO} at HEAD, which is not available here"),
        (a_set(BOTH, name="{{ .folder }}", **GO), a_set(BOTH, name="{{ if .folder }}a{{ end }}", **GO), ["web", "ledger"],
         "its template has {{ if .folder }}"),
        (listed("web"), a_set(BOTH, name="{{ .folder }}", **GO, templatePatch="metadata: {name: x}"), ["web"], "its templatePatch changes metadata"),
        (listed("web"), a_set({"list": {"elements": ["web"]}}), ["web"], "an element of its list is no map"),
        (listed("web"), a_set({"list": {"elementsYaml": "[web]"}}), ["web"], "its elementsYaml is no list of maps"),
        (listed("web"), a_set({"list": {"elements": [{"folder": "web"}] * 3000}}), ["web"], "it makes more than 2,000 elements"),
        (listed("web"), a_set({"clusters": {"selector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}}}, name="{{name}}"), ["web"],
         "no API shows whether the cluster in-cluster has a Secret to select it by"),
        (listed("web"), a_set({"clusters": {}, "selector": {"matchLabels": {"name": "eu"}}}, name="{{ .name }}", **GO), ["web"],
         "it selects among elements with metadata or values"),
        (listed("web"), listed("web", "other"), ["web"], ""),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_said_and_nothing_else(live: Any, edit: Any, names: Any, why: str) -> None:
    gone, new, notes, found = of(live, edit, *names)
    assert (gone, notes, found) == ([], [], [why] if why else [])
    assert new == ([] if why else ["other"])


@pytest.mark.parametrize(
    ("finalizers", "policy", "surely"),
    [
        ([], "create-only", True),
        ([FINALIZER], "create-only", False),
        ([FINALIZER], "sync", True),
        ([FINALIZER], None, False),
    ],
)
def test_a_set_that_its_parent_removes_takes_its_applications_along(
    finalizers: list[str], policy: str | None, surely: bool
) -> None:
    live = listed("web")
    live["metadata"]["finalizers"] = finalizers
    made = generated_change(
        fleet(live, "web"), [ManifestPair(live, None)], [ManifestPair(live, None)], None, lambda: Controller(policy)
    )
    assert [(r.name, by.removed, by.is_certain) for r, by in made.gone.items()] == [("web", True, surely)]
    live["metadata"]["annotations"] = {"argocd.argoproj.io/sync-options": "Prune=false"}
    assert not generated_change(
        fleet(live, "web"), [], [ManifestPair(live, None)], None, lambda: Controller(policy)
    ).gone


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ('a {{- " b" -}} c{{/* x */}}', "a bc"),
        ('{{ index .m "k" | default "d" | upper }}-{{ (index .m "a").b | trunc 2 }}', "D-xy"),
        ('{{ .path.basename | replace "_" "-" | trimPrefix "a-" | normalize }}', "b.c"),
        ("{{ range .l }}x{{ end }}", None),
        ("{{ .l }}", None),
        ("{{ .none }}", None),
        ("{{ $x := 1 }}", None),
        ("{{ " + "(" * 90 + ".l", None),
    ],
)
def test_texts_are_put_together_as_go_does_or_not_at_all(text: str, made: str | None) -> None:
    params = {"m": {"a": {"b": "xyz"}}, "l": ["z"], "path": {"basename": "a_B.C"}}
    if made is None:
        with pytest.raises(NotEvaluatedError):
            fill(text, params, go=True, strict=False)
    else:
        assert fill(text, params, go=True, strict=False) == made


@pytest.mark.parametrize("company", ["harbourline", "harbourline-3.6"])
def test_a_recorded_set_gives_the_very_applications_that_argo_cd_made(company: str) -> None:
    known, _ = read_fleet(SnapshotTransport([recording(f"{company}/3-after-commits")]))
    (raw,) = known.application_sets
    live = {app.name: app.spec for app in owned_applications(known, raw)}
    given = generated(raw["spec"], "argocd", known, None)
    assert {name: one.manifest and one.manifest["spec"] for name, one in given.items()} == live


class OneCommit:
    """A commit that holds these files."""

    def __init__(self, files: Mapping[str, str], *others: str) -> None:
        self.held, self.files, self.others = files, sorted(files), others

    def reads(self, url: str, revision: str) -> bool:
        return (url, revision) == (REPO, "main")

    def texts(self, paths: Sequence[str]) -> list[str | None]:
        return [self.held[path] for path in paths]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("{{team.name}}-{{path.basename}}-{{path.filenameNormalized}}-{{path[0]}}", {}),
        ("{{.team.name}}-{{.path.basename}}-{{.path.filenameNormalized}}-{{index .path.segments 0}}", GO),
    ],
)
def test_a_file_gives_its_keys_and_its_path(name: str, more: dict[str, Any]) -> None:
    """Flat without Go templates, maps with them."""
    files = {"git": {"repoURL": REPO, "revision": "main", "files": [{"path": "*/*.yaml"}]}}
    commit = OneCommit({"web/app.yaml": "team: {name: red}", "README.md": "no element"})
    made = generated(a_set(files, name=name, folder="web", **more)["spec"], "argocd", fleet({}), commit)
    assert list(made) == ["red-web-app.yaml-web"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([{"path": "*"}, {"path": "ledger", "exclude": True}], ["web"]),
        ([{"path": "*"}, {"path": "web/base", "exclude": True}], ["ledger", "web"]),
        ([{"path": "*/*"}], ["base"]),
        ([{"path": "*/*"}, {"path": "web/*", "exclude": True}], []),
        ([{"path": "*"}], None),
        ([{"path": "shared/*"}], None),
    ],
)
def test_folders_that_a_pattern_takes_and_no_exclusion_leaves(wanted: list[Any], found: list[str] | None) -> None:
    files = {"web/a.yaml": "", "web/base/b.yaml": "", "ledger/c.yaml": "", ".ci/d.yaml": ""}
    commit = OneCommit(files, *([] if found is not None else ["shared"]))
    given = a_set({"git": {"repoURL": REPO, "revision": "main", "directories": wanted}})["spec"]
    if found is None:
        with pytest.raises(NotEvaluatedError, match="its folders may lie in shared"):
            generated(given, "argocd", fleet({}), commit)
    else:
        assert list(generated(given, "argocd", fleet({}), commit)) == found
