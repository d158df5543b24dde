"""The cases of other projects' test suites and the answers of Argo CD's own code (`../shared/peers`).

All of them with the profile `long`; else one in sixteen of those that a program made.
Where argolint answers otherwise stands in peers_disagreements.yaml, with the reason. A class there that shrinks is to be
shortened, so that what was mended stays so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from argolint.values.knowledge import parse
from tests.conftest import PROFILE
from tests.waiting import PATIENCE_S

HERE = Path(__file__).parent
PEERS = HERE.parent.parent / "shared" / "peers"
REASONS = parse((HERE / "peers_disagreements.yaml").read_text(encoding="utf-8"))
COLLECTIONS = {
    "comparison and rules": (
        *("a_gitops_diff", "b_quantity", "b_respect", "i_k8s_pairs", "i_k8s_types", "j_oracle", "j_oracle_cr"),
        *("c_e2e", "d_conditions", "e_options", "f_connection", "g_other_linters", "h_kes"),
    ),
    "ignoring": ("b_ignore", "b_ignore_oracle", "b_jq", "j_oracle_smd", "k_fixture_moments", "k_fixture_syncs"),
}


def answers(*collections: str) -> dict[str, dict[str, list[tuple[str, str]]]]:
    if not PEERS.exists() and os.environ.get("ARGOLINT_REQUIRE_RECORDINGS"):
        pytest.fail("the cases of other projects must be here and are not")
    if not PEERS.exists():
        pytest.skip("the cases of other projects are not beside this checkout")
    ran = subprocess.run(
        [sys.executable, HERE / "peers_answers.py", PEERS, "1" if PROFILE == "long" else "16", *collections],
        cwd=HERE.parent,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("group", COLLECTIONS)
def test_every_disagreement_has_its_reason(group: str) -> None:
    problems: list[str] = []
    for collection, found in answers(*COLLECTIONS[group]).items():
        assert found["cases"], f"{collection} holds no case"
        rest = dict(found["disagree"])
        for reason in (r for r in REASONS if r["in"] == collection):
            met = [name for name in rest if re.search(reason["match"], name)]
            if len(met) != reason["cases"]:
                problems.append(f"{collection}: {len(met)} of {reason['cases']} cases disagree by {reason['match']}")
            for name in met:
                del rest[name]
        problems += [f"{collection}: {name}: {said}" for name, said in rest.items()]
    assert problems == []


def test_every_reason_is_of_a_known_collection() -> None:
    known = {name for names in COLLECTIONS.values() for name in names}
    assert {reason["in"] for reason in REASONS} <= known
    assert {reason["who"] for reason in REASONS} == {"them", "nobody", "us"}
