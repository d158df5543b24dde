"""Snapshots answer what was recorded and what follows from it, and say plainly what they lack."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argolint.errors import NotRecorded, SnapshotError, UsageError
from argolint.snapshots import archive
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import recording
from tests.small import ANSWERS, OF_WEB, WEB, Query, Recorded, write_snapshot


@pytest.fixture
def small(tmp_path: Path) -> SnapshotTransport:
    return SnapshotTransport([write_snapshot(tmp_path / "small")])


def answered(transport: SnapshotTransport, path: str, query: Query = (), *, anonymous: bool = False) -> Any:
    answer = transport.get(path, query, anonymous=anonymous)
    assert answer.status == 200
    return json.loads(answer.body)


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"] or []]


def test_every_recorded_request_is_answered_as_recorded_whatever_the_order_of_its_parameters() -> None:
    folder = recording("harbourline/3-after-commits")
    transport = SnapshotTransport([folder])
    lines = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    statuses = [
        transport.get(r["path"], [(k, v) for k, v in reversed(r["query"])], anonymous=r["anonymous"]).status
        for r in lines
    ]
    assert statuses == [r["status"] for r in lines]
    assert transport.stats.requests == len(lines)


def test_now_and_server_are_those_of_the_snapshot(small: SnapshotTransport) -> None:
    assert small.now() == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert (small.server, small.offline) == ("https://cd.example.com", True)


def test_the_fields_projection_made_from_the_full_list_is_the_one_the_server_made() -> None:
    folder = recording("harbourline/3-after-commits")
    line = next(x for x in (folder / "requests.jsonl").read_text().splitlines() if '"fields"' in x)
    ((name, fields),) = json.loads(line)["query"]
    transport = SnapshotTransport([folder])
    recorded = answered(transport, "/api/v1/applications", [(name, fields)])
    reworded = answered(transport, "/api/v1/applications", [(name, fields + ",items.status.conditions")])
    assert reworded == recorded, "conditions cannot be had through fields, as on the real server"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ([("projects", "shop")], ["web"]),
        ([("projects", "shop"), ("projects", "ops")], ["web", "worker"]),
        ([("projects", "absent")], []),
        ([("appNamespace", "team-b")], ["worker"]),
        ([("name", "web")], ["web"]),
        ([("repo", "https://git.example.com/ops.git")], ["worker"]),
        ([("selector", "team=a")], ["web"]),
        ([("selector", "team in (a, b),tier")], ["web"]),
        ([("selector", "team notin (a)")], ["worker"]),
        ([("selector", "!tier")], ["worker"]),
        ([("selector", "team!=b,tier==front")], ["web"]),
    ],
)
def test_a_filtered_list_is_cut_out_of_the_full_one(
    small: SnapshotTransport, query: Query, expected: list[str]
) -> None:
    assert names(answered(small, "/api/v1/applications", query)) == expected


def test_an_empty_list_has_null_items_as_the_servers_has(small: SnapshotTransport) -> None:
    assert answered(small, "/api/v1/applications", [("name", "absent")])["items"] is None


def test_a_selector_that_cannot_be_read_is_named(small: SnapshotTransport) -> None:
    with pytest.raises(UsageError, match=r"`team in a` is no label requirement"):
        small.get("/api/v1/applications", [("selector", "team in a")])


def test_managed_resources_are_filtered_and_an_empty_filter_filters_nothing(small: SnapshotTransport) -> None:
    query = (*OF_WEB, ("group", ""), ("kind", "Service"), ("namespace", "web"), ("name", "web"))
    found = answered(small, f"{WEB}/managed-resources", query)
    assert [(i["kind"], i["name"]) for i in found["items"]] == [("Service", "web")]


def test_managed_resources_are_projected_and_excluded_by_fields(small: SnapshotTransport) -> None:
    only = answered(small, f"{WEB}/managed-resources", (*OF_WEB, ("fields", "items.kind,items.name")))
    assert only == {"items": [{"kind": "Deployment", "name": "web"}, {"kind": "Service", "name": "web"}]}
    without = answered(small, f"{WEB}/managed-resources", (*OF_WEB, ("fields", "-items.liveState,items.targetState")))
    assert without["items"][1] == {"kind": "Service", "namespace": "web", "name": "web"}


@pytest.mark.parametrize(
    ("path", "query", "status", "message"),
    [
        (WEB, [("project", "ops")], 404, 'applications.argoproj.io "web" not found'),
        ("/api/v1/applications/gone", [("project", "shop")], 404, 'applications.argoproj.io "gone" not found'),
        ("/api/v1/applications/gone", [], 403, "permission denied"),
        (f"{WEB}/managed-resources", [("appNamespace", "team-b"), ("project", "shop")], 404, '"web" not found'),
    ],
)
def test_an_application_that_is_not_there_is_refused_as_by_the_server(
    small: SnapshotTransport, path: str, query: Query, status: int, message: str
) -> None:
    answer = small.get(path, query)
    assert answer.status == status
    assert message in json.loads(answer.body)["message"]


def test_an_absent_app_namespace_means_the_control_plane_and_no_project_is_no_obstacle(
    small: SnapshotTransport,
) -> None:
    assert answered(small, WEB)["metadata"]["name"] == "web"
    assert answered(small, WEB, [("project", "shop")])["metadata"]["name"] == "web"


def test_two_renders_stay_two_and_the_first_goes_without_a_number_too(small: SnapshotTransport) -> None:
    def render(*turn: tuple[str, str]) -> Any:
        return answered(small, f"{WEB}/manifests", (*OF_WEB, ("noCache", "true"), *turn))["manifests"]

    assert render() == render(("render", "1")) == ['{"first":1}']
    assert render(("render", "2")) == ['{"second":2}']


def test_one_recorded_render_is_never_handed_out_as_two(tmp_path: Path) -> None:
    fresh = (*OF_WEB, ("noCache", "true"))
    once = [*ANSWERS[:-2], (f"{WEB}/manifests", fresh, False, 200, {"manifests": []})]
    transport = SnapshotTransport([write_snapshot(tmp_path / "once", once)])
    assert transport.get(f"{WEB}/manifests", (*fresh, ("render", "1"))).status == 200
    with pytest.raises(NotRecorded):
        transport.get(f"{WEB}/manifests", (*fresh, ("render", "2")))


def test_what_was_not_recorded_is_told_from_what_the_server_refused(small: SnapshotTransport) -> None:
    with pytest.raises(
        NotRecorded, match=r"lacks the answer to /api/v1/applications/web/events\?appNamespace=argocd"
    ) as e:
        small.get(f"{WEB}/events", OF_WEB)
    assert "--snapshot" in e.value.hint


def test_an_anonymous_request_is_never_answered_with_a_logged_in_answer(small: SnapshotTransport) -> None:
    assert answered(small, "/api/v1/settings", anonymous=True) == {"url": "https://cd.example.com"}
    with pytest.raises(NotRecorded):
        small.get(WEB, OF_WEB, anonymous=True)


def test_a_later_snapshot_fills_in_what_the_earlier_one_lacks_and_overrides_nothing(tmp_path: Path) -> None:
    events: Recorded = (f"{WEB}/events", OF_WEB, False, 200, {"items": []})
    other_version = ("/api/version", (), False, 200, {"Version": "v9"})
    base = write_snapshot(tmp_path / "base")
    layered = SnapshotTransport([base, write_snapshot(tmp_path / "more", [other_version, events])])
    assert answered(layered, f"{WEB}/events", OF_WEB) == {"items": []}
    assert answered(layered, "/api/version")["Version"] == "v3.1.0"


def _tar(folder: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder, arcname=folder.name)
    return target


def _zip(folder: Path, target: Path) -> Path:
    return Path(shutil.make_archive(str(target.with_suffix("")), "zip", folder))


@pytest.mark.parametrize(("pack", "name"), [(_tar, "s.tar.gz"), (_zip, "s.zip")])
def test_an_archive_answers_as_its_directory(tmp_path: Path, pack: Callable[[Path, Path], Path], name: str) -> None:
    folder = write_snapshot(tmp_path / "small")
    directory, packed = SnapshotTransport([folder]), SnapshotTransport([pack(folder, tmp_path / name)])
    for path, query, anonymous, _, _ in ANSWERS:
        assert packed.get(path, query, anonymous=anonymous) == directory.get(path, query, anonymous=anonymous)
    assert packed.now() == directory.now()


def _read_all(path: Path) -> None:
    transport = SnapshotTransport([path])
    for wanted, query, anonymous, _, _ in ANSWERS:
        transport.get(wanted, query, anonymous=anonymous)


def _cut_last_line(folder: Path) -> None:
    index = folder / "requests.jsonl"
    index.write_bytes(index.read_bytes()[:-40])


def _lose_a_body(folder: Path) -> None:
    (folder / "bodies" / "8.json").unlink()


def _cut_a_body(folder: Path) -> None:
    body = folder / "bodies" / "9.json.gz"
    body.write_bytes(body.read_bytes()[:-20])


def _lead_out(folder: Path) -> None:
    index = folder / "requests.jsonl"
    index.write_text(index.read_text().replace("bodies/8.json", "../secret.json"))
    (folder.parent / "secret.json").write_text("{}")


def _link_out(folder: Path) -> None:
    (folder.parent / "secret.json").write_text("{}")
    (folder / "bodies" / "8.json").unlink()
    (folder / "bodies" / "8.json").symlink_to(folder.parent / "secret.json")


def _other_format(folder: Path) -> None:
    (folder / "snapshot.json").write_text('{"format": 2, "taken_at": "2026-03-01T12:00:00Z", "server": "x"}')


def _no_time(folder: Path) -> None:
    (folder / "snapshot.json").write_text('{"format": 1, "server": "x"}')


def _no_index(folder: Path) -> None:
    (folder / "requests.jsonl").unlink()


def _no_header(folder: Path) -> None:
    (folder / "snapshot.json").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_cut_last_line, "line 12 of requests.jsonl is cut or damaged"),
        (_lose_a_body, "is incomplete: bodies/8.json is missing"),
        (_cut_a_body, "bodies/9.json.gz is truncated or damaged: it ends too early"),
        (_lead_out, "names a file outside of itself: ../secret.json"),
        (_link_out, "names a file outside of itself: bodies/8.json"),
        (_other_format, "has snapshot format 2, and this argolint reads 1"),
        (_no_time, "snapshot.json cannot be read: Object missing required field `taken_at`"),
        (_no_index, "is incomplete: it has no requests.jsonl"),
        (_no_header, "is not a snapshot: it has no snapshot.json"),
    ],
)
def test_a_damaged_snapshot_is_named_with_the_place(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    folder = write_snapshot(tmp_path / "small")
    damage(folder)
    with pytest.raises(SnapshotError) as caught:
        _read_all(folder)
    assert message in caught.value.message
    assert str(folder) in caught.value.message
    assert caught.value.hint


def test_a_directory_of_snapshots_tells_which_ones_it_holds(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "monday")
    write_snapshot(tmp_path / "tuesday")
    with pytest.raises(SnapshotError) as caught:
        SnapshotTransport([tmp_path])
    assert caught.value.hint == "it holds monday, tuesday; name one of them"


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a snapshot")
    cut = _tar(write_snapshot(tmp_path / "small"), tmp_path / "cut.tar.gz")
    cut.write_bytes(cut.read_bytes()[:200])
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 and no more")
    for path, message in (
        (tmp_path / "absent", "there is no snapshot at"),
        (text, "neither a directory nor a .tar.gz or .zip"),
        (cut, "is truncated or damaged"),
        (broken, "is truncated or damaged"),
    ):
        with pytest.raises(SnapshotError) as caught:
            SnapshotTransport([path])
        assert message in caught.value.message
        assert str(path) in caught.value.message
        assert caught.value.hint


def test_an_archive_member_that_leads_out_of_it_is_out_of_reach(tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "small")
    outside = tmp_path / "secret.json"
    outside.write_text('{"secret": true}')
    index = folder / "requests.jsonl"
    index.write_text(index.read_text().replace("bodies/8.json", "../secret.json"))
    packed = tmp_path / "s.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, Path("s", file.relative_to(folder)))
        archive.write(outside, "secret.json")
    with pytest.raises(SnapshotError, match="names a file outside of itself"):
        _read_all(packed)


def _deep(folder: Path) -> None:
    header = folder / "snapshot.json"
    header.write_text(header.read_text().rstrip().removesuffix("}") + f', "x": {"[" * 100_000}{"]" * 100_000}}}')


def _deep_line(folder: Path) -> None:
    index = folder / "requests.jsonl"
    index.write_text(f'{index.read_text()}{{"path": "/x", "zz": {"[" * 100_000}{"]" * 100_000}}}\n')


def _before_time(folder: Path) -> None:
    (folder / "snapshot.json").write_text('{"format": 1, "taken_at": "0001-01-01T00:00:00+14:00", "server": "x"}')


def _nul(folder: Path) -> None:
    index = folder / "requests.jsonl"
    index.write_text(index.read_text().replace("bodies/8.json", "bodies/\\u0000"))


def _pipe(folder: Path) -> None:
    (folder / "bodies" / "8.json").unlink()
    os.mkfifo(folder / "bodies" / "8.json")


def _pipe_for_an_index(folder: Path) -> None:
    (folder / "requests.jsonl").unlink()
    os.mkfifo(folder / "requests.jsonl")


def _swap_bodies(folder: Path) -> None:
    """Another answer in the place of one: every file is whole, and two of them are not what the index names."""
    index = folder / "requests.jsonl"
    lines = [json.loads(line) for line in index.read_text().splitlines()]
    for line in lines:
        data = (folder / line["body"]).read_bytes()
        line["crc32"] = zlib.crc32(gzip.decompress(data) if line["body"].endswith(".gz") else data)
    index.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "bodies" / "9.json.gz").write_bytes((folder / "bodies" / "1.json.gz").read_bytes())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_deep, "snapshot.json cannot be read: it is nested more than 128 levels deep"),
        (_deep_line, "line 13 of requests.jsonl is cut or damaged"),
        (_before_time, "snapshot.json cannot be read: 0001-01-01 00:00:00+14:00 is no time of UTC"),
        (_nul, "names a file outside of itself: bodies/\x00"),
        (_pipe, "is truncated or damaged: "),
        (_pipe_for_an_index, "is truncated or damaged: "),
        (_swap_bodies, "bodies/9.json.gz is truncated or damaged: it is not what the index names"),
    ],
)
def test_a_hostile_snapshot_is_refused_at_once(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    folder = write_snapshot(tmp_path / "small")
    damage(folder)
    with pytest.raises(SnapshotError) as caught:
        _read_all(folder)
    assert message in caught.value.message
    assert caught.value.hint


def test_a_pipe_is_no_snapshot(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SnapshotError, match="is no plain file"):
        SnapshotTransport([tmp_path / "pipe"])


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_a_broken_clock_keeps_no_rule_from_looking_back_or_ahead(tmp_path: Path, year: str) -> None:
    folder = write_snapshot(tmp_path / "small")
    (folder / "snapshot.json").write_text(f'{{"format": 1, "taken_at": "{year}-01-01T00:00:00Z", "server": "x"}}')
    now = SnapshotTransport([folder]).now()
    assert now - timedelta(days=36_500) < now < now + timedelta(days=36_500)


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bombs of a few megabytes in place of a few hundred."""
    monkeypatch.setattr(archive, "_ALWAYS_ALLOWED", 1 << 20)


@pytest.mark.usefixtures("small_bounds")
def test_a_file_that_inflates_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * (8 << 20))
    assert len(bomb) * 250 < 8 << 20
    folder = write_snapshot(tmp_path / "small")
    (folder / "bodies" / "9.json.gz").write_bytes(bomb)
    (tmp_path / "bomb.tar.gz").write_bytes(bomb)
    packed = tmp_path / "s.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for file in (f for f in folder.rglob("*") if f.is_file() and f.name != "8.json"):
            made.write(file, file.relative_to(folder))
        made.writestr("bodies/8.json", b" " * (8 << 20))
    for path, message in (
        (folder, "larger than 1 MB"),
        (tmp_path / "bomb.tar.gz", "inflates to more than 1 MB"),
        (packed, "larger than 1 MB"),
    ):
        with pytest.raises(SnapshotError, match=message):
            _read_all(path)


def _zip_field(data: bytes, offset: int, value: bytes) -> bytes:
    """The archive with a field of its directory's first entry overwritten."""
    at = data.index(b"PK\1\2") + offset
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (6, b"\x63\x00"),
        (8, b"\x01\x00"),
        (8, b"\x00\x08"),
        (10, b"\x63\x00"),
        (16, b"\1\2\3\4"),
        (42, b"\xff\xff\xff\x7f"),
    ],
    ids=["version 9.9", "encrypted", "name in UTF-8", "method 99", "CRC", "offset"],
)
def test_an_odd_zip_is_an_error_in_words(tmp_path: Path, offset: int, value: bytes) -> None:
    packed = tmp_path / "s.zip"
    with zipfile.ZipFile(packed, "w") as made:
        made.write(write_snapshot(tmp_path / "small") / "snapshot.json", "snapshot.json")
    data = _zip_field(packed.read_bytes(), offset, value)
    packed.write_bytes(data.replace(b"snapshot.json", b"\xff\xfeapshot.json") if value == b"\x00\x08" else data)
    with pytest.raises(SnapshotError):
        SnapshotTransport([packed])


@pytest.mark.parametrize(
    "headers", [{"GNU.sparse.map": "x,y"}, {"size": "abc"}, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}]
)
def test_odd_headers_of_a_tar_are_an_error_in_words_or_of_no_matter(tmp_path: Path, headers: dict[str, str]) -> None:
    folder = write_snapshot(tmp_path / "small")
    packed = tmp_path / "s.tar.gz"
    with tarfile.open(packed, "w:gz", format=tarfile.PAX_FORMAT) as made:
        made.add(folder, arcname=".")
        odd = tarfile.TarInfo("bodies/odd")
        odd.size, odd.pax_headers = 3, headers
        made.addfile(odd, io.BytesIO(b"abc"))
    with contextlib.suppress(SnapshotError):
        _read_all(packed)


def test_many_gzip_files_in_one_and_many_members_end_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_snapshot(tmp_path / "small")
    (folder / "bodies" / "9.json.gz").write_bytes(gzip.compress(b"") * 100_000)
    with pytest.raises(SnapshotError, match="more than 100 gzip files"):
        _read_all(folder)
    monkeypatch.setattr(archive, "_MAX_MEMBERS", 5)
    with pytest.raises(SnapshotError, match="holds more than 5 files"):
        SnapshotTransport([_tar(write_snapshot(tmp_path / "other"), tmp_path / "s.tar.gz")])


ODD: list[Any] = [None, 5, "x", [], {}, [None], {"items": None}, True, 1e300, [[]], {"a": {}}]
NARROWED: list[tuple[str, Query]] = [
    *(("/api/v1/applications", (pair,)) for pair in (("projects", "shop"), ("selector", "team=a"), ("name", "web"))),
    *(
        ("/api/v1/applications", (pair,))
        for pair in (("repo", "x"), ("fields", "items.spec"), ("fields", "-items.spec"))
    ),
    *((f"{WEB}/managed-resources", (*OF_WEB, pair)) for pair in (("kind", "Service"), ("fields", "items.kind"))),
    ("/api/v1/applications/gone", ()),
    ("/api/v1/settings", ()),
]


def _places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from _places(child, (*at, key))


def _with(node: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    changed = dict(node) if isinstance(node, dict) else list(node)
    changed[at[0]] = _with(node[at[0]], at[1:], value)
    return changed


@given(st.data())
def test_answers_of_odd_shapes_are_narrowed_or_refused_in_words(data: st.DataObject) -> None:
    answers = []
    for path, query, anonymous, status, answer in ANSWERS:
        at = data.draw(st.sampled_from(list(_places(answer))))
        odd = _with(answer, at, data.draw(st.sampled_from(ODD))) if data.draw(st.booleans()) else answer
        answers.append((path, query, anonymous, status, odd))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(SnapshotError):
        transport = SnapshotTransport([write_snapshot(Path(folder, "s"), answers)])
        for path, query in NARROWED:
            with contextlib.suppress(SnapshotError):
                transport.get(path, query)
