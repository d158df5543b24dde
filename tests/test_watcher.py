"""When `serve --watch` lists, looks and reconnects: a clock that the tests turn, and no I/O."""

from __future__ import annotations

import itertools

import pytest

from argolint.serve.times import Times
from argolint.serve.watcher import Everything, Some, Watcher

A, B = ("argocd", "a"), ("argocd", "b")


def started(size: int = 10_000) -> Watcher:
    """Connected at 0, and the first list done at 5."""
    watcher = Watcher(Times(), lambda: 1.0)
    watcher.begin(0)
    watcher.opened(0)
    action = watcher.next_action(0)
    assert action == Everything()
    watcher.done(5, action, size)
    return watcher


def acted(watcher: Watcher, until: float, took_s: float = 0.0) -> list[tuple[float, object]]:
    """What happens up to a moment, each action when it is due."""
    found: list[tuple[float, object]] = []
    while (moment := watcher.next_moment()) is not None and moment <= until:
        action = watcher.next_action(moment)
        assert action is not None, f"nothing to do at {moment}, though it said so"
        watcher.done(moment + took_s, action, 10_000)
        found.append((moment, action))
    return found


def test_a_quiet_fleet_is_listed_every_ten_minutes() -> None:
    assert [at for at, _ in acted(started(), 3600)] == [605, 1205, 1805, 2405, 3005]


def test_without_a_stream_the_first_list_does_not_wait_for_one() -> None:
    silent = Watcher(Times(), lambda: 1.0)
    silent.begin(0)
    assert silent.next_moment() == 20
    refused = Watcher(Times(), lambda: 1.0)
    refused.begin(0)
    assert refused.lost(1) == 2
    assert refused.next_action(1) == Everything()


def test_changes_are_looked_at_together_after_ten_seconds() -> None:
    watcher = started()
    watcher.changed(100, A, "shop")
    watcher.changed(104, B, "")
    watcher.changed(109, A, "other")
    assert watcher.next_action(109.9) is None
    assert acted(watcher, 500) == [(110, Some({A: "other"})), (120, Some({B: ""}))]


def test_one_application_is_looked_at_once_a_minute() -> None:
    watcher = started()
    looked = []
    for second in range(100, 400):
        watcher.changed(second, A, "")
        looked += [at for at, _ in acted(watcher, second)]
    assert looked == [110, 170, 230, 290, 350]


def test_of_many_changes_one_list_is_made() -> None:
    watcher = started(size=10_000)
    for number in range(500):
        watcher.changed(100, ("argocd", f"app-{number}"), "")
    assert isinstance(watcher.next_action(110), Some)
    watcher = started(size=10_000)
    for number in range(501):
        watcher.changed(100, ("argocd", f"app-{number}"), "")
    assert watcher.dirty == 0, "names are not kept where a list is due anyway"
    assert acted(watcher, 500) == [(110, Everything())]


def test_what_changes_while_a_list_is_read_is_looked_at_after_it() -> None:
    watcher = Watcher(Times(), lambda: 1.0)
    watcher.begin(0)
    watcher.opened(0)
    action = watcher.next_action(0)
    watcher.changed(3, A, "")
    assert action is not None
    watcher.done(30, action, 100)
    assert acted(watcher, 100) == [(60, Some({A: ""}))]


def test_however_often_the_stream_breaks_there_is_one_list_a_minute() -> None:
    watcher = started()
    lists = []
    for second in range(100, 700, 2):
        watcher.lost(second)
        watcher.opened(second + 1)
        lists += [at for at, _ in acted(watcher, second + 1)]
    assert all(b - a >= 60 for a, b in itertools.pairwise(lists))
    assert len(lists) == 10
    assert watcher.reconnects == 300


def test_the_waits_before_the_stream_is_opened_double_up_to_a_minute() -> None:
    watcher = started()
    waits = [watcher.lost(0) for _ in range(9)]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    watcher.opened(0)
    assert watcher.lost(0) == 1
    assert Watcher(Times(), lambda: 0.5).lost(0) == 0.5


def test_a_refused_token_is_not_tried_before_the_next_list() -> None:
    watcher = started()
    assert watcher.lost(100, refused=True) == 700
    assert watcher.refused
    action = watcher.next_action(605)
    assert action == Everything()
    watcher.failed(606, refused=True)
    assert (watcher.refused, watcher.next_moment()) == (True, 1206)
    action = watcher.next_action(1206)
    assert action is not None
    watcher.done(1207, action, 10)
    assert not watcher.refused


def test_after_a_failure_everything_is_looked_at_and_less_and_less_often() -> None:
    watcher = started()
    watcher.changed(100, A, "")
    assert isinstance(watcher.next_action(110), Some)
    moments = []
    now = 110.0
    for _ in range(8):
        watcher.failed(now)
        moment = watcher.next_moment()
        assert moment is not None
        moments.append(moment - now)
        now = moment
        assert watcher.next_action(now) == Everything()
    assert moments == [11, 12, 14, 18, 26, 42, 70, 70]


@pytest.mark.parametrize(("took_s", "looks"), [(0.0, 19), (30.0, 4)])
def test_a_fleet_that_never_rests_leaves_time_between_looks(took_s: float, looks: int) -> None:
    watcher = started()
    found: list[object] = []
    for second in range(100, 300):
        watcher.changed(second, ("argocd", f"app-{second}"), "")
        found += acted(watcher, second, took_s)
    assert len(found) == looks
