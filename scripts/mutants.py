"""Changes a rule in one place at a time and lists each change that its fixtures do not notice: `scripts/mutants.py RULE...`.

A comparison is reversed, `and` becomes `or`, a condition is negated, a filter of a comprehension is removed, a number grows, a boolean flips.
Some changes have no visible effect; every other one that survives needs a fixture.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from pathlib import Path

from argolint import Rule, testing
from argolint.plugins import load_rules

ROOT = Path(__file__).resolve().parents[1]
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def changed(node: ast.AST) -> bool:
    """Change the node; False for one that stays unchanged."""
    match node:
        case ast.Compare():
            node.ops[0] = _TURNED[type(node.ops[0])]()
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.If() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.comprehension(ifs=[_, *others]):
            node.ifs = others
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int(number)) if number:
            node.value = number + 1
        case _:
            return False
    return True


def mutants(source: str) -> Iterator[tuple[int, ast.Module]]:
    """(line, module) for each single change."""
    for number, _ in enumerate(ast.walk(ast.parse(source))):
        module = ast.parse(source)
        place = next(n for i, n in enumerate(ast.walk(module)) if i == number)
        if changed(place):
            yield (
                next((n.lineno for n in ast.walk(place) if hasattr(n, "lineno")), 0),
                ast.fix_missing_locations(module),
            )


def is_noticed(rule: Rule, others: list[Rule], folder: Path) -> bool:
    """Whether a fixture of the folder fails with this rule, or the rule itself fails."""
    rules = [*others, rule]
    try:
        for path in sorted(folder.glob("bad-*.yaml")):
            fixture = testing.load_fixture(path)
            if testing.mismatches(testing.check(fixture, rules), rule.id, fixture.expected):
                return True
            if testing.near_mismatches(fixture, rule):
                return True
        for path in sorted(folder.glob("good-*.yaml")):
            fixture = testing.load_fixture(path)
            report = testing.check(fixture, rules)
            if testing.near_mismatches(fixture, rule):
                return True
            if report.failures or any(f.severity != "info" and not f.suppressed for f in report.findings):
                return True
    except Exception:  # any exception of a changed rule is noticed
        return True
    return False


def main(ids: list[str]) -> int:
    rules = load_rules()
    every = noticed = 0
    for id_ in ids:
        (path,) = (ROOT / "rules").glob(f"*/{id_.replace('-', '_')}.py")
        source = path.read_text(encoding="utf-8")
        others = [rule for rule in rules.values() if rule.id != id_]
        for line, tree in mutants(source):
            module = types.ModuleType(f"argolint_rules.{path.parent.name}.{path.stem}")
            module.__package__ = f"argolint_rules.{path.parent.name}"
            exec(compile(tree, str(path), "exec"), module.__dict__)
            every += 1
            if is_noticed(module.RULE, others, ROOT / "tests" / "rules" / id_):
                noticed += 1
            else:
                print(f"{path.relative_to(ROOT)}:{line}: {source.splitlines()[line - 1].strip()}", flush=True)
    print(f"{noticed} of {every} changes noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
