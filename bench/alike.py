"""One application in which many objects have the same fault: `python bench/alike.py [OBJECTS]`.

alike   a check of four times as many objects against four checks of the original number: 1.0 is linear, 4.0 quadratic

The faults come from the rules' own fixtures: an operator's defaults, an autoscaler's writes, a store's refusals.
Seconds are processor time.
"""

from __future__ import annotations

import copy
import sys
import time
from pathlib import Path
from typing import Any

from argolint.plugins import load_rules
from argolint.testing import Fixture, check, load_fixture

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "rules"
FAULTS = (
    "eso-default/bad-lists",
    "autoscaler-replicas/bad-fleet",
    "claim-template-type/bad-server-side-apply",
    "immutable-field/bad-ignored-but-sent",
    "external-secret-sync-error/bad-provider-causes",
)


def main() -> None:
    objects = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    rules = list(load_rules().values())
    for fault in FAULTS:
        fixture = load_fixture(FIXTURES / f"{fault}.yaml")
        check(fixture, rules)  # what is paid once
        few, many = (spent(Fixture(fixture.path, multiplied(fixture.data, n)), rules) for n in (objects, 4 * objects))
        print(
            f"alike    {few:.2f} s -> {many:.2f} s for {objects} and {4 * objects} times the objects of {fault}:"
            f" {many / few / 4:.1f}  (goal 1.5)"
        )


def spent(fixture: Fixture, rules: Any) -> float:
    start = time.process_time()
    check(fixture, rules)
    return time.process_time() - start


def multiplied(data: Any, times: int) -> Any:
    """The fixture with this many copies of each object, of its node in the tree and of its sync result."""
    made = copy.deepcopy(data)
    for app in made["apps"]:
        names = {name for r in app.get("resources") or () for side in r.values() if (name := _name(side))}
        names |= {node[key] for node in app.get("nodes") or () for key in ("name", "uid") if key in node}
        for holder, key in (
            (app, "resources"),
            (app, "nodes"),
            (((app.get("status") or {}).get("operationState") or {}).get("syncResult") or {}, "resources"),
        ):
            if holder.get(key):
                holder[key] = [_called(x, names, n) for n in range(times) for x in holder[key]]
    return made


def _name(side: Any) -> str:
    return str((side.get("metadata") or {}).get("name") or "") if isinstance(side, dict) else ""


def _called(node: Any, names: set[str], number: int) -> Any:
    """The value with every name of an object replaced by that of the copy."""
    if isinstance(node, str):
        return f"{node}-{number}" if node in names else node
    if isinstance(node, dict):
        return {key: _called(value, names, number) for key, value in node.items()}
    return [_called(item, names, number) for item in node] if isinstance(node, list) else node


if __name__ == "__main__":
    main()
