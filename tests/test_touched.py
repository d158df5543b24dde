"""Which applications a change touches, by repository, revision and changed files of a real clone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from argolint.application.app import App, app_from_list
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.errors import UsageError
from argolint.gate import written as manifests
from argolint.gate.candidates import Candidate, candidate_files, candidates, usual_base
from argolint.gate.change import GatedChange
from argolint.gate.declared import declared
from argolint.gate.delta import Delta, Edited
from argolint.gate.generated import unseen_set_notes
from argolint.gate.own_settings import own_settings
from argolint.gate.sides import without_ended_warnings
from argolint.gate.touched import Touched
from argolint.gate.written import application_edits, written
from argolint.model import ResourceKey
from argolint.sources.git import Git
from argolint.values import same_repository

from .gitops import commit, git

REPO = "https://git.example.com/team/apps.git"


def app(name: str, *sources: Mapping[str, Any], **annotations: str) -> App:
    spec: dict[str, Any] = {"destination": {"server": IN_CLUSTER}}
    spec |= {"source": sources[0]} if len(sources) == 1 else {"sources": list(sources)}
    raw = {
        "metadata": {"name": name, "annotations": annotations},
        "spec": spec,
        "status": {"sourceTypes": ["Directory"] * len(sources)},
    }
    return app_from_list(
        raw, server="", cluster=IN_CLUSTER, control_plane="argocd", observed_at=datetime(2026, 1, 1, tzinfo=UTC)
    )


def source(path: str | None = None, revision: str = "main", repo: str = REPO, **more: Any) -> dict[str, Any]:
    return {"repoURL": repo, "targetRevision": revision, **({"path": path} if path is not None else {}), **more}


def fleet(*apps: App) -> Fleet:
    return Fleet("https://cd.example.com", "v3.5.1", {}, apps)


@pytest.mark.parametrize(
    "other",
    [
        "https://git.example.com/team/apps",
        "https://git.example.com/team/apps/",
        "https://user:pw@git.example.com:8443/team/apps.git",
        "http://GIT.example.com/team/Apps.git",
        "git@git.example.com:team/apps.git",
        "ssh://git@git.example.com:22/team/apps.git",
    ],
)
def test_one_repository_has_many_addresses(other: str) -> None:
    assert same_repository(REPO, other)
    assert same_repository(other, REPO)


@pytest.mark.parametrize("other", ["", "https://git.example.com/team/apps2.git", "https://example.com/team/apps.git"])
def test_other_repositories_are_told_apart(other: str) -> None:
    assert not same_repository(REPO, other)


def test_sources_that_follow_the_base_get_the_head_and_pinned_ones_do_not() -> None:
    follows = app("follows", source("a"))
    default = app("default", source("b", "HEAD"))
    release = app("release", source("c", "release-2"))
    pinned = app("pinned", source("d", "0" * 40))
    spelt = app("spelt", source("g", "refs/heads/main"))
    chart = app("chart", {"repoURL": REPO, "chart": "apps", "targetRevision": "1.0.0"})
    mixed = app("mixed", source("e", "v1"), source(revision="main", ref="values"), source("f", repo="https://x/y"))
    found, others = candidates(fleet(follows, default, release, pinned, chart, mixed, spelt), REPO, "main")
    assert [(c.app.name, c.positions) for c in found] == [
        ("follows", (1,)),
        ("default", (1,)),
        ("mixed", (2,)),
        ("spelt", (1,)),
    ]
    assert [a.name for a in others] == ["release", "pinned"]


def test_a_base_that_no_application_names_touches_all_that_are_not_pinned() -> None:
    apps = fleet(
        app("follows", source("a")), app("release", source("c", "release-2")), app("pin", source("d", "0" * 40))
    )
    found, others = candidates(apps, REPO, "1f0e3dad")
    assert [c.app.name for c in found] == ["follows", "release"]
    assert [a.name for a in others] == ["pin"]


def test_where_all_follow_the_default_branch_a_commit_is_still_pinned() -> None:
    found, others = candidates(fleet(app("a", source("a", "HEAD")), app("b", source("b", "0" * 40))), REPO, "")
    assert ([c.app.name for c in found], [a.name for a in others]) == (["a"], ["b"])


def test_the_usual_base_is_what_most_sources_follow() -> None:
    apps = fleet(
        app("a", source("a", "HEAD")),
        app("b", source("b", "trunk")),
        app("c", source("c", "release-2"), source("d", "trunk")),
    )
    assert usual_base(apps, REPO) == "trunk"
    assert usual_base(fleet(app("a", source("a", "HEAD"))), REPO) == ""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    commit(
        tmp_path,
        {
            "web/kustomization.yaml": "resources: [deployment.yaml, ../base]\ncomponents: [../parts/tls]\npatches: [{path: ../patches/p.yaml}]\n",
            "web/deployment.yaml": "kind: Deployment\n",
            "base/kustomization.yaml": "resources: [service.yaml]\nconfigMapGenerator: [{name: c, files: [x=../shared/app.conf]}]\n",
            "base/service.yaml": "kind: Service\n",
            "parts/tls/kustomization.yaml": "kind: Component\n",
            "patches/p.yaml": "kind: Deployment\n",
            "shared/app.conf": "a\n",
            "chart/Chart.yaml": "dependencies: [{name: lib, repository: 'file://../lib'}]\n",
            "lib/Chart.yaml": "name: lib\n",
            "values/prod.yaml": "a: 1\n",
            "docs/readme.md": "text\n",
            "jsonnet/main.jsonnet": "import '../lib/a.libsonnet'\n",
            "old/requirements.yaml": "dependencies: [{name: lib, repository: 'file://../lib'}]\n",
            "schema/kustomization.yaml": "openapi: {path: ../docs/schema.json}\n",
        },
    )
    git(tmp_path, "switch", "--create", "feature", "--quiet")
    return tmp_path


WEB = app("web", source("web"))


def read(candidate: Candidate, changed: Sequence[str], clone: Path) -> tuple[str, ...]:
    return candidate_files(candidate, changed, Git(clone), ("main", "feature"), REPO, "main").files


@pytest.mark.parametrize(
    ("file", "touched"),
    [
        ("web/deployment.yaml", True),
        ("web/sub/new.yaml", True),
        ("base/service.yaml", True),
        ("base/new.yaml", True),
        ("parts/tls/new.yaml", True),
        ("patches/p.yaml", True),
        ("shared/app.conf", True),
        ("shared/other.conf", False),
        ("webapp/deployment.yaml", False),
        ("chart/Chart.yaml", False),
        ("docs/readme.md", False),
    ],
)
def test_kustomize_reads_what_its_kustomizations_name(clone: Path, file: str, touched: bool) -> None:
    commit(clone, {file: "changed\n"})
    changed = changed_paths(clone)
    assert changed == [file]
    assert bool(read(Candidate(WEB, (1,)), changed, clone)) is touched


@pytest.mark.parametrize(
    ("one", "positions", "file", "touched"),
    [
        (app("c", source("chart")), (1,), "lib/Chart.yaml", True),
        (app("c", source("chart")), (1,), "values/prod.yaml", False),
        (app("c", source("chart", helm={"valueFiles": ["../values/prod.yaml"]})), (1,), "values/prod.yaml", True),
        (app("c", source("chart", helm={"valueFiles": ["/values/prod.yaml"]})), (1,), "values/prod.yaml", True),
        (
            app(
                "c",
                {"repoURL": "https://charts", "chart": "x", "helm": {"valueFiles": ["$v/values/prod.yaml"]}},
                source(ref="v"),
            ),
            (2,),
            "values/prod.yaml",
            True,
        ),
        (
            app(
                "c",
                {"repoURL": "https://charts", "chart": "x", "helm": {"valueFiles": ["$v/values/prod.yaml"]}},
                source(ref="v"),
            ),
            (2,),
            "values/dev.yaml",
            False,
        ),
        (
            app("c", source("chart", helm={"valueFiles": ["../values/$ARGOCD_ENV_STAGE.yaml"]})),
            (1,),
            "values/prod.yaml",
            True,
        ),
        (
            app("c", source("chart", helm={"valueFiles": ["${ARGOCD_APP_NAME}/a.yaml"]})),
            (1,),
            "values/prod.yaml",
            False,
        ),
        (app("c", source("chart"), source(ref="v")), (1,), "values/prod.yaml", False),
        (app("j", source("jsonnet")), (1,), "lib/a.libsonnet", True),
        (app("p", source("values", plugin={"name": "x"})), (1,), "docs/readme.md", True),
        (app("o", source("old")), (1,), "lib/Chart.yaml", True),
        (app("k", source("schema")), (1,), "docs/schema.json", True),
        (app("all", source(".")), (1,), "docs/readme.md", True),
        (app("up", source("../../etc")), (1,), "docs/readme.md", True),
    ],
)
def test_values_dependencies_and_the_whole_repository(
    clone: Path, one: App, positions: Sequence[int], file: str, touched: bool
) -> None:
    assert bool(read(Candidate(one, tuple(positions)), [file], clone)) is touched


@pytest.mark.parametrize(
    ("paths", "file", "touched"),
    [
        (".", "web/deployment.yaml", True),
        (".", "base/service.yaml", True),
        (".", "docs/readme.md", False),
        (".;../base", "base/service.yaml", True),
        ("/shared", "shared/app.conf", True),
        ("/shared", "web/deployment.yaml", True),
        ("/lib", "lib/Chart.yaml", True),
        ("/shared/*.conf", "shared/app.conf", True),
        ("/shared/*.conf", "docs/readme.md", False),
    ],
)
def test_manifest_generate_paths_adds_to_what_is_read_and_takes_nothing_away(
    clone: Path, paths: str, file: str, touched: bool
) -> None:
    one = app("web", source("web"), **{"argocd.argoproj.io/manifest-generate-paths": paths})
    assert bool(read(Candidate(one, (1,)), [file], clone)) is touched


def changed_paths(clone: Path) -> list[str]:
    return [change.path for change in Git(clone).changes("main", "feature")]


def named_in(clone: Path, revision: str, *files: str) -> list[str]:
    texts = (Git(clone).show(revision, file) for file in files)
    return [a["metadata"]["name"] for text in texts for a in declared(text or "").objects]


def test_changed_files_name_both_ends_of_a_rename_and_leave_out_what_base_did_meanwhile(clone: Path) -> None:
    git(clone, "mv", "docs/readme.md", "docs/guide.md")
    commit(clone, {})
    git(clone, "switch", "main", "--quiet")
    commit(clone, {"web/deployment.yaml": "kind: Job\n"})
    assert changed_paths(clone) == ["docs/guide.md", "docs/readme.md"]


def test_a_revision_that_is_not_there_says_what_to_fetch(clone: Path) -> None:
    with pytest.raises(UsageError, match="has no revision 'nowhere'") as caught:
        Git(clone).changes("main", "nowhere")
    assert "fetch-depth: 0" in caught.value.hint


def test_a_revision_cannot_be_an_option(clone: Path) -> None:
    with pytest.raises(UsageError, match="has no revision"):
        Git(clone).changes("main", "--output=stolen")
    assert not (clone / "stolen").exists()


def test_a_link_in_the_change_is_not_followed(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    outside.write_text("kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: stolen}\n")
    (clone / "apps.yaml").symlink_to(outside)
    commit(clone, {})
    assert named_in(clone, "feature", "apps.yaml") == []


def test_applications_are_read_at_a_revision_and_broken_files_hold_none(clone: Path) -> None:
    one = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n---\nkind: ConfigMap\n"
    commit(
        clone,
        {"apps/web.yaml": one, "apps/broken.yaml": "kind: Application\n  x: [", "apps/t.yaml": "{{ .Application }}\n"},
    )
    assert named_in(clone, "feature", "apps/web.yaml", "apps/broken.yaml", "apps/t.yaml") == ["web"]


LISTED = "kind: List\nitems: [null, {apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}}]\n"


def test_applications_in_a_list_and_behind_escapes_are_found() -> None:
    escaped = LISTED.replace("kind: Application", 'kind: "\\x41pplication"')
    assert [[a["metadata"]["name"] for a in declared(text).objects] for text in (LISTED, escaped)] == [["web"]] * 2


@pytest.mark.parametrize(
    ("text", "unreadable"),
    [
        (LISTED, False),
        (LISTED + "x: [\n", True),
        (LISTED + "x: 2026-99-99\n", False),
        (LISTED + "x: {{ .Values.x }\n", False),
        ("a: [\n", False),
    ],
)
def test_what_names_applications_and_cannot_be_read_is_told(text: str, unreadable: bool) -> None:
    assert bool(declared(text).unread) is unreadable


def test_links_at_and_above_a_folder_are_read_through(clone: Path) -> None:
    (clone / "web/linked").symlink_to("../docs")
    (clone / "env").symlink_to("values")
    (clone / "loop").symlink_to("loop")
    commit(clone, {})
    one, other = Candidate(app("w", source("web")), (1,)), Candidate(app("e", source("env")), (1,))
    for candidate, file, touched in (
        (one, "docs/readme.md", True),
        (one, "values/prod.yaml", False),
        (other, "values/prod.yaml", True),
        (other, "docs/readme.md", False),
    ):
        assert bool(read(candidate, [file], clone)) is touched


NEW_APP = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: new}\n"
NOT_RENDERED = "argocd/new: a new Application manifest, not rendered yet"
SET = NEW_APP.replace("Application", "ApplicationSet")


@pytest.mark.parametrize(
    ("files", "links", "notes"),
    [
        ({"new.yaml": NEW_APP}, {}, [NOT_RENDERED]),
        ({"new.YML": NEW_APP}, {}, [NOT_RENDERED]),
        ({"new.md": NEW_APP}, {}, []),
        ({"k/kustomization.yaml": "resources: [../new]\n", "new": NEW_APP}, {}, [NOT_RENDERED]),
        ({"new.md": NEW_APP}, {"new.yaml": "new.md"}, [NOT_RENDERED]),
        ({"docs/new.md": NEW_APP}, {"d": "docs", "new.yaml": "d/../docs/new.md"}, [NOT_RENDERED]),
        (
            {"docs/new.md": NEW_APP},
            {**{f"a{n}.yaml": "web" for n in range(250)}, "new.yaml": "docs/new.md"},
            [NOT_RENDERED],
        ),
        ({}, {"new.yaml": "new.yaml"}, []),
        ({}, {"new.yaml": "/etc/hostname"}, []),
        (
            {"set.yaml": SET},
            {},
            [
                "argocd/new: a new ApplicationSet; the Applications that it generates are not known before the merge",
            ],
        ),
        (
            {"project.yaml": NEW_APP.replace("Application", "AppProject")},
            {},
            [
                "argocd/new: a new AppProject; its Applications are held against the sources and destinations that it permits",
            ],
        ),
        ({"new.yaml": NEW_APP.replace("name: new", "generateName: new-")}, {}, ["Application without a metadata.name"]),
    ],
)
def test_what_a_change_brings_of_argo_cd_is_told_however_its_file_is_called(
    clone: Path, files: Mapping[str, str], links: Mapping[str, str], notes: Sequence[str]
) -> None:
    for name, target in links.items():
        (clone / name).symlink_to(target)
    commit(clone, files)
    change = GatedChange(REPO, "feature", "main", Git(clone))
    made = application_edits(written(change, "main"), fleet(WEB))
    told = [*made.notes, *(f.error for f in made.failures)]
    assert len(told) == len(notes)
    assert all(note in one for note, one in zip(notes, told, strict=True))


def test_what_a_known_link_leads_to_is_read_when_it_changes(clone: Path) -> None:
    (clone / "new.yaml").symlink_to("docs/new.txt")
    commit(clone, {})
    git(clone, "branch", "--force", "main")
    commit(clone, {"docs/new.txt": NEW_APP})
    made = application_edits(written(GatedChange(REPO, "feature", "main", Git(clone)), "main"), fleet(WEB))
    assert made.notes == (NOT_RENDERED,)


def test_manifests_that_are_not_in_the_repository_are_not_passed(clone: Path) -> None:
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},part")
    (clone / "new.yaml").symlink_to("part/new.yaml")
    (clone / "kept.yaml").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    git(clone, "add", "new.yaml", "kept.yaml")
    git(clone, "commit", "--message", "elsewhere")
    made = application_edits(written(GatedChange(REPO, "feature", "main", Git(clone)), "main"), fleet(WEB))
    assert [f.error.partition(", ")[0] for f in made.failures] == [
        "kept.yaml is kept in Git LFS",
        "new.yaml leads into a submodule",
        "part is another version of a submodule",
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_two_manifests_of_one_application_do_not_pass(clone: Path, order: int) -> None:
    one, other = NEW_APP.replace("new", "web"), NEW_APP.replace("name: new", "name: web, labels: {a: b}")
    commit(clone, {"web.yaml": "---\n".join((one, other)[::order])})
    made = application_edits(written(GatedChange(REPO, "feature", "main", Git(clone)), "main"), fleet(WEB))
    assert [f.error for f in made.failures] == [
        "Application argocd/web: the change holds several manifests of it that differ, and only one of them is judged"
    ]


def test_a_change_with_too_many_manifests_is_not_passed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "_MAX_CHARACTERS", 2 * len(NEW_APP))
    commit(clone, {f"apps/{n}.yaml": NEW_APP.replace("new", f"new{n}") for n in range(4)})
    made = application_edits(written(GatedChange(REPO, "feature", "main", Git(clone)), "main"), fleet(WEB))
    (failure,) = made.failures
    assert len(made.notes) == 1
    assert "apps/1.yaml and 2 more files were not read" in failure.error


def test_another_version_of_a_submodule_is_a_change_whatever_gitmodules_says(
    clone: Path, tmp_path_factory: Any
) -> None:
    part = tmp_path_factory.mktemp("part")
    git(part, "init", "--quiet")
    commit(part, {"web/deployment.yaml": "kind: Deployment\n"})
    git(clone, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "part")
    modules = clone / ".gitmodules"
    modules.write_text(modules.read_text() + "\tignore = all\n")
    commit(clone, {})
    git(clone, "branch", "--force", "main")
    commit(part, {"web/deployment.yaml": "kind: Job\n"})
    git(clone / "part", "-c", "protocol.file.allow=always", "pull", "--quiet")
    git(clone, "update-index", "--cacheinfo", f"160000,{git(part, 'rev-parse', 'HEAD').strip()},part")
    git(clone, "commit", "--message", "another version")
    modules.write_text(modules.read_text() + "\tupdate = !touch stolen\n")  # what git refuses to read
    assert changed_paths(clone) == ["part"]
    assert set(Git(clone).all_changed_lines("main", "feature")) == {"part"}
    below = Candidate(app("part", source("part/web")), (1,))
    assert read(below, changed_paths(clone), clone) == ("part",)
    made = application_edits(written(GatedChange(REPO, "feature", "main", Git(clone)), "main"), fleet(WEB))
    (failure,) = made.failures
    assert failure.error == (
        "part is another version of a submodule, whose files are not read, so Applications in it are not judged"
    )


def test_a_link_that_leads_elsewhere_changes_what_lies_behind_it(clone: Path) -> None:
    (clone / "current").symlink_to("base")
    commit(clone, {})
    git(clone, "branch", "--force", "main")
    (clone / "current").unlink()
    (clone / "current").symlink_to("web")
    commit(clone, {})
    below = Candidate(app("below", source("current/part")), (1,))
    assert read(below, changed_paths(clone), clone) == ("current",)


def test_a_folder_that_is_no_clone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no revision"):
        Git(tmp_path).changes("main", "feature")


def test_a_shared_warning_ends_only_when_one_of_its_two_parties_lets_the_object_go() -> None:
    message = "ConfigMap/settings is part of applications argocd/web and web-api"
    condition = {"type": "SharedResourceWarning", "message": message}
    web, api, we = app("web"), app("web-api"), app("we")
    web = web.with_raw({**web.raw, "status": {"conditions": [condition]}})

    def left(leaver: App, kind: str = "ConfigMap") -> int:
        after = without_ended_warnings(web, fleet(web, api, we), {(kind, "settings"): leaver.ref})
        return len(after.conditions)

    assert (left(web), left(api)) == (0, 0)
    assert (left(we), left(api, "Secret")) == (1, 1), "a name that is part of another's is no party"


def made_by(generator: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "envs", "namespace": "argocd"}, "spec": {"generators": [generator]}}


def test_application_sets_that_are_not_shown_are_said_with_their_applications() -> None:
    owned = WEB.with_raw(
        {
            **WEB.raw,
            "metadata": {**WEB.raw["metadata"], "ownerReferences": [{"kind": "ApplicationSet", "name": "envs"}]},
        }
    )
    (line,) = unseen_set_notes(fleet(owned), [owned, WEB])
    assert line.startswith("argocd/web: made by an ApplicationSet that the account does not see")
    assert not list(unseen_set_notes(replace(fleet(owned), application_sets=(made_by({}),)), [owned]))


@pytest.mark.parametrize(
    ("kind", "name", "before", "after", "why"),
    [
        ("ConfigMap", "argocd-cm", {"data": {"resource.exclusions": "a", "url": "b"}}, {"data": {"url": "c"}},
         "the change edits resource.exclusions in argocd-cm, and what that means for Applications is not known here"),
        ("ConfigMap", "argocd-cm", {"data": {"url": "b"}}, {"data": {"url": "c"}}, ""),
        ("ConfigMap", "argocd-cmd-params-cm", {}, {"data": {"application.namespaces": "*"}},
         "the change edits application.namespaces in argocd-cmd-params-cm, and what that means for Applications is not known here"),
        ("ConfigMap", "settings", {"data": {"resource.exclusions": "a"}}, {}, ""),
        ("Secret", "prod", {"metadata": {"labels": {"argocd.argoproj.io/secret-type": "cluster"}}}, {},
         "the change takes the Secret prod from Argo CD, and what becomes of Applications of the cluster of that Secret is not known here"),
        ("Secret", "prod", {"metadata": {"labels": {"a": "b"}}}, {}, ""),
    ],
)  # fmt: skip
def test_settings_that_count_for_all_applications_are_not_judged(
    kind: str, name: str, before: Any, after: Any, why: str
) -> None:
    key = ResourceKey(IN_CLUSTER, "", kind, "argocd", name)
    made = (
        Delta(removed={key: before})
        if not after
        else Delta(added={key: after})
        if not before
        else Delta(changed={key: Edited(before, after, ())})
    )
    touched = Touched("changed", WEB, WEB, made)
    assert [f.error for f in own_settings([touched], fleet(WEB))] == [why] * bool(why)
    elsewhere = replace(
        made,
        **{
            part: {key._replace(namespace="other"): v for k, v in getattr(made, part).items()}
            for part in ("added", "removed", "changed")
        },
    )
    assert not list(own_settings([replace(touched, delta=elsewhere)], fleet(WEB)))


@pytest.mark.parametrize(
    "other",
    [
        "https://git.example.com/team/%61pps.git",
        "https://git.example.com./team/x/../apps",
        "https://git.example.com/team//apps.git/",
        "git@ssh.git.example.com:team/apps.git",
        "https://git/team/apps",
    ],
)
def test_other_spellings_of_the_address_are_looked_at(other: str) -> None:
    found, _ = candidates(fleet(app("web", source("web", repo=other))), REPO, "main")
    assert [c.app.name for c in found] == ["web"]


def test_a_manifest_that_moved_is_paired_with_the_one_that_is_equal() -> None:
    """Two files held one name; the moved one is not the first of them, but the one with the same content."""
    first, second = ({"kind": "Application", "metadata": {"name": "web"}, "spec": {"project": p}} for p in ("a", "b"))
    found = manifests.paired([("a.yaml", first), ("b.yaml", second)], [("new.yaml", second)])
    assert [(pair.before, pair.after, pair.file) for pair in found] == [
        (second, second, "new.yaml"),
        (first, None, "a.yaml"),
    ]
