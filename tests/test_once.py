"""What is made once for all threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from argolint.values.memo import Once


def test_all_threads_get_what_the_first_one_makes() -> None:
    once, made, start = Once(), list[int](), threading.Barrier(8)

    def ask(number: int) -> int:
        def make() -> int:
            made.append(number)
            return number

        start.wait(60)
        return once.of("key", make)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    assert found == set(made)
    assert len(made) == 1


def test_an_error_is_not_kept() -> None:
    once = Once()
    with pytest.raises(ZeroDivisionError):
        once.of("key", lambda: 1 // 0)
    assert [once.of("key", lambda: 3), once.of("key", lambda: 4)] == [3, 3]
