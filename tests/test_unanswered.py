"""What could not be read changes no finding's identity: it is the one that a whole read makes, or it is not there."""

from __future__ import annotations

import json

import pytest

from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import load_fleet
from argolint.engine.plan import Plan
from argolint.model.fingerprint import identity
from argolint.server.transport import Answer, Query
from argolint.snapshots.reader import SnapshotTransport
from tests.conftest import recording
from tests.recorded import in_depth, rules

PHASE = "harbourline-3.6/3-after-commits"


class Silent(SnapshotTransport):
    """A recording whose server does not answer what ends with these words."""

    def __init__(self, *ends: str) -> None:
        super().__init__([recording(PHASE)])
        self._ends = ends

    def get(self, path: str, query: Query = (), *, anonymous: bool = False) -> Answer:
        if path.endswith(self._ends):
            return Answer(500, "application/json", json.dumps({"message": "context deadline exceeded"}).encode())
        return super().get(path, query, anonymous=anonymous)


@pytest.mark.parametrize(
    ("ends", "least"), [("/managed-resources", 25), ("/resource-tree", 90), ("/events", 100)], ids=str
)
def test_what_could_not_be_read_makes_no_finding_that_looks_new(ends: str, least: int) -> None:
    t = Silent(ends)
    fleet, _ = load_fleet(t)
    outcome = join(engine.run(t, fleet, Plan(rules(), workers=1)), rules())
    known = {identity(f) for f in in_depth(PHASE)[1]}
    assert [f.message for f in outcome.findings if identity(f) not in known] == []
    assert len(outcome.findings) >= least
    assert any(f.stage == ends.removeprefix("/") for f in outcome.failures)
