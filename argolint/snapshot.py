"""The former place of `argolint.snapshots.reader`, kept for one minor version for programs that read snapshots with it."""

from argolint.snapshots.reader import SnapshotTransport

__all__ = ["SnapshotTransport"]
