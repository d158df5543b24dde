"""Pod Security is played as Kubernetes' own code has it, and the edits end what it refuses."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
import pytest
import yaml

from argolint.plugins import load_rules
from argolint.values.pod_security import level_for, violations
from scripts.pod_security_cases import FILE, LEVELS

load_rules()  # gives the package of the rules its name
from argolint_rules.health.pod_security_refused import mending  # noqa: E402

CASES = {
    f"{number} {json.dumps(case['spec'])[:70]}": case for number, case in enumerate(yaml.safe_load(FILE.read_text()))
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_level_fails_the_checks_that_kubernetes_fails(case: dict[str, Any]) -> None:
    spec = case["spec"]
    assert [sorted({each.check for each in violations(spec, level)}) for level in LEVELS] == [
        sorted(case[level]) for level in LEVELS
    ]
    assert level_for(spec) == next((level for level in reversed(LEVELS) if not case[level]), "privileged")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_edit_ends_all_that_the_level_refuses(case: dict[str, Any]) -> None:
    for level in LEVELS:
        found = violations(case["spec"], level)
        steps = mending({"spec": case["spec"]}, "/spec", found)
        assert bool(steps) == (bool(found) and all(each.wants is not None for each in found))
        if steps:
            assert violations(jsonpatch.apply_patch({"spec": case["spec"]}, steps)["spec"], level) == ()
