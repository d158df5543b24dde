"""Intervals for following Argo CD's changes, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from argolint.engine.result_cache import LEAST_AGE_S, MAX_AGE_S


@dataclass(frozen=True)
class Times:
    """The seconds of each wait, and the bytes after which a stream is opened again.

    debounce_s     from the first hint of a change to the look at it
    per_app_s      between two looks at one application
    list_s         between two regular lists of all applications
    relist_s       at least between two lists, even if the stream restarts more often
    max_age_s      the most age of an application's states
    patience_s     to wait for the stream before the first list
    first_retry_s, last_retry_s    waits before the stream is opened again, doubling in between
    idle_s         without a byte after which the stream counts as dead; the server sends one every 15 s
    stream_s, stream_bytes         after which the stream is reopened in any case
    """

    debounce_s: float = 10.0
    per_app_s: float = LEAST_AGE_S
    list_s: float = 600.0
    relist_s: float = 60.0
    max_age_s: float = MAX_AGE_S
    patience_s: float = 20.0
    first_retry_s: float = 1.0
    last_retry_s: float = 60.0
    idle_s: float = 60.0
    stream_s: float = 6 * 3600.0
    stream_bytes: int = 1 << 30
