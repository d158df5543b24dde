"""`argolint owners` on a fleet written here: owners, claimants, phantoms, what a deletion deletes, and pictures that stay small."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from argolint.model import ResourceKey
from argolint.reports import document as r
from argolint.reports import formats
from argolint.reports.formats import Style
from argolint.reports.ownership import diagrams, graph, svg
from tests.conftest import Ran
from tests.here import run_here
from tests.small import ANSWERS, Recorded, application, write_snapshot
from tests.test_prometheus import SERVER, _finding, _report

CLUSTER = "https://kubernetes.default.svc"
FINALIZER = "resources-finalizer.argocd.argoproj.io"


def _app(name: str, *objects: str, warns: Sequence[str] = (), cascades: bool = False) -> dict[str, Any]:
    """An Application that lists `Kind/name` in namespace `prod`, and warns of `Kind/name owner`."""
    made = application(name, "argocd", "shop", "https://git.example.com/a.git")
    made["metadata"]["finalizers"] = [FINALIZER] if cascades else []
    made["status"]["resources"] = [
        {"kind": kind, "namespace": "prod", "name": name, "version": "v1", "status": "Synced"}
        for kind, name in (text.split("/") for text in objects)
    ]
    made["status"]["conditions"] = [
        {
            "type": "SharedResourceWarning",
            "message": f"{what} is part of applications argocd/{name} and {owner}",
        }
        for what, owner in (text.split() for text in warns)
    ]
    return made


FLEET = [
    _app("api", "ConfigMap/settings", "Service/api", warns=["ConfigMap/settings web"]),
    _app("batch", "ConfigMap/old", warns=["ConfigMap/old batch-helm"]),
    _app("cache", "Secret/token"),
    _app("db", "Secret/token"),
    _app("web", "ConfigMap/settings", "Service/web", cascades=True),
]


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    listed = ("/api/v1/applications", (), False, 200, {"metadata": {}, "items": FLEET})
    projects = [{"metadata": {"name": name}} for name in sorted({app["spec"]["project"] for app in FLEET})]
    more: list[Recorded] = [("/api/v1/projects", (), False, 200, {"items": projects})]
    more += [(f"/api/v1/{kind}", (), False, 200, {"items": []}) for kind in ("repositories", "applicationsets")]
    return write_snapshot(tmp_path / "snapshot", [a for a in ANSWERS if a[0] != listed[0]] + [listed, *more])


def _run(snapshot: Path, *args: str) -> Ran:
    return run_here("owners", *args, "--snapshot", snapshot, cwd=snapshot.parent)


def test_conflicts_are_told_with_owner_claimants_and_what_a_deletion_deletes(snapshot: Path) -> None:
    ran = _run(snapshot)
    assert (ran.code, ran.err) == (0, "")
    assert (
        ran.out
        == f"""\
ConfigMap prod/old  ({CLUSTER})
  phantom   batch-helm: named by tracking data, and no Application here
  claimant  argocd/batch (project shop): deleting this Application leaves the object
ConfigMap prod/settings  ({CLUSTER})
  owner     argocd/web (project shop): deleting this Application deletes the object, unless it says Delete=false
  claimant  argocd/api (project shop): deleting this Application leaves the object
Secret prod/token  ({CLUSTER})
  claimant  argocd/cache (project shop)
  claimant  argocd/db (project shop)
  the list does not show the owner of the live object: `argolint check` does
3 objects, 5 Applications
"""
    )


def test_objects_are_found_by_kind_namespace_and_name_with_globs(snapshot: Path) -> None:
    def names(wanted: str) -> list[str]:
        return re.findall(r"^(\w.*)  \(", _run(snapshot, wanted).out, re.MULTILINE)

    assert names("service") == ["Service prod/api", "Service prod/web"]
    assert names("Service/web") == names("*/prod/we*") == ["Service prod/web"]
    ran = _run(snapshot, "service/other/web")
    assert (ran.code, ran.out) == (2, "")
    assert "no Application of https://cd.example.com lists service/other/web" in ran.err
    assert _run(snapshot, "a/b/c/d").code == 2


def test_data_and_text_say_the_same(snapshot: Path) -> None:
    data = json.loads(_run(snapshot, "-o", "json").out)
    assert data["server"] == "https://cd.example.com"
    assert [(o["kind"], o["name"], o["owner"], [c["role"] for c in o["claims"]]) for o in data["objects"]] == [
        ("ConfigMap", "old", None, ["phantom", "claimant"]),
        ("ConfigMap", "settings", "argocd/web", ["owner", "claimant"]),
        ("Secret", "token", None, ["claimant", "claimant"]),
    ]
    assert [c["deletes"] for o in data["objects"] for c in o["claims"]] == [None, False, True, False, None, None]


def _nodes(root: ET.Element) -> list[str]:
    """The titles of the boxes."""
    svg = "{http://www.w3.org/2000/svg}"
    groups = [g for g in root.iter(f"{svg}g") if g.find(f"{svg}rect") is not None]
    return [title.text or "" for g in groups if (title := g.find(f"{svg}title")) is not None]


def test_pictures_hold_a_node_for_each_application_and_object(snapshot: Path) -> None:
    ran = _run(snapshot, "-o", "svg=owners.svg")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    root = ET.parse(snapshot.parent / "owners.svg").getroot()
    assert sorted(_nodes(root)) == [
        "ConfigMap prod/old",
        "ConfigMap prod/settings",
        "Secret prod/token",
        "argocd/api",
        "argocd/batch",
        "argocd/cache",
        "argocd/db",
        "argocd/web",
        "batch-helm",
    ]
    mermaid = _run(snapshot, "-o", "mermaid").out
    assert mermaid.startswith(
        'flowchart LR\n  a0_0["argocd/batch"]\n  a0_1["batch-helm"]\n  o0_0("ConfigMap prod/old")\n'
    )
    assert '  a1_1["argocd/web"]' in mermaid
    assert "  a1_1 ==>|owns| o1_0" in mermaid
    assert "a1_1 -> o1_0 [style=solid];" in _run(snapshot, "-o", "dot").out


def _held(name: str, *apps: str, namespace: str = "prod", project: str = "shop") -> graph.Held:
    claims = tuple(graph.Claim(app, "claimant", project) for app in apps)
    return graph.Held(ResourceKey(CLUSTER, "", "ConfigMap", namespace, name), claims)


def test_what_is_too_large_is_folded_and_what_still_does_not_fit_is_counted() -> None:
    by_kind = graph.picture([_held(f"c{n}", "argocd/a", "argocd/b") for n in range(500)], 40)
    assert (by_kind.apps, by_kind.objects, by_kind.left_out) == (
        ("argocd/a", "argocd/b"),
        ("500 ConfigMap in prod",),
        0,
    )
    spread = graph.picture([_held("c", "argocd/a", namespace=f"n{n}") for n in range(100)], 40)
    assert spread.objects == ("100 objects",)
    many = graph.picture([_held("c", *(f"argocd/a{n}" for n in range(100)))], 40)
    assert (many.apps, many.objects) == (("100 Applications of project shop",), ("ConfigMap prod/c",))
    apart = [graph.Claim(f"argocd/a{n}", "claimant", f"p{n}") for n in range(100)]
    wide = graph.picture([graph.Held(_held("c").key, tuple(apart))], 40)
    assert (len(wide.apps), wide.objects, wide.left_out) == (39, ("ConfigMap prod/c",), 61)


def test_parts_hang_together_by_their_applications() -> None:
    held = [_held("one", "a", "b"), _held("two", "b", "c"), _held("three", "d", "e")]
    assert [[one.key.name for one in part] for part in graph.parts(held)] == [["one", "two"], ["three"]]


HOSTILE = '"]; evil --> x</text><script>alert(1)</script>\n\u202e&#35;'


def test_hostile_names_stay_names_in_every_picture() -> None:
    picture = graph.picture([_held(HOSTILE, HOSTILE, "b")], 15)
    root = ET.fromstring(svg.svg([picture]))
    assert {e.tag.rpartition("}")[2] for e in root.iter()} == {"svg", "title", "style", "g", "rect", "text", "path"}
    assert HOSTILE.replace("\n", " ").replace("\u202e", "\\u202e") in _nodes(root)
    assert [len(made.splitlines()) for made in (diagrams.mermaid([picture]), diagrams.dot([picture]))] == [6, 9]
    assert not re.search(r"[<>;&]", re.sub(r"#\d+;|==>|-\.->|-\.-", "", diagrams.mermaid([picture])))


def test_the_html_report_shows_who_shares_what() -> None:
    at = r.ReportedResource("", "v1", "ConfigMap", "prod", "settings", CLUSTER)
    related = r.ReportedRelated(r.ReportedApp(SERVER, "argocd", "api", "shop"), "owner", at)
    page = formats.render(_report(_finding("web", resource=at, related=(related,))), "html", Style())
    (picture,) = re.findall(r"<figure>(<svg.*?</svg>)", page, re.DOTALL)
    edges = {e.text or "" for e in ET.fromstring(picture).iter() if (e.text or "").count(" is ") == 1}
    assert sorted(edges) == [
        "argocd/api is owner of ConfigMap prod/settings",
        "argocd/web is claimant of ConfigMap prod/settings",
    ]


def test_a_wrong_format_and_an_unwritable_file_are_refused(snapshot: Path) -> None:
    ran = _run(snapshot, "-o", "png")
    assert (ran.code, "formats: text, json, mermaid, dot, svg" in ran.err) == (2, True)
    ran = _run(snapshot, "-o", "svg=no/such/folder/a.svg")
    assert (ran.code, "no/such/folder" in ran.err) == (2, True)
