"""The memory for an answer of only tiny objects, as a multiple of its bytes: `python bench/hostile.py [MB]`.

One answer of a check after the other is replaced by one of MB megabytes, in the worst forms for its kind. The figure is the growth of the peak
against a check with recorded answers, with its outcome.
"""

from __future__ import annotations

import json
import subprocess
import sys

GOAL = 6
_THIN = '"' + 16 * "x" + '":0'
"""An unused field, so that the averages of an answer are those of a real one."""
SHAPES = {
    "thin": '{"items":[%s{' + _THIN + "}]}",
    "thin rows": '{"items":[{"metadata":{"name":"a"},"spec":{},"status":{"resources":[%s{"name":"abc",'
    + _THIN
    + "}]}}]}",
    "thin nodes": '{"nodes":[%s{"kind":"Pod","name":"abc",' + _THIN + ',"y' + _THIN[1:] + "}]}",
    "thin states": '{"items":[%s{"kind":"A","name":"b",' + _THIN + "}]}",
    "thin events": '{"items":[%s{"reason":"abcdef",' + _THIN + "}]}",
    "empty": '{"items":[%s{}]}',
    "lists": '{"items":[%s[]]}',
    "named": '{"items":[%s{"kind":"A","name":"b"}]}',
    "application": '{"items":[%s{"metadata":{"name":"a"},"status":{},"spec":{}}]}',
    "rows": '{"items":[{"metadata":{"name":"a"},"spec":{},"status":{"resources":[%s{}]}}]}',
    "nodes": '{"nodes":[%s{}]}',
    "fields": '{"a":[%s{"a":0}]}',
    "numbers": '{"a":[%s1.5]}',
}
ENDS = {
    "/api/v1/applications": ("empty", "lists", "application", "rows", "thin", "thin rows"),
    "/api/v1/clusters": ("empty", "lists", "fields", "numbers", "thin"),
    "/managed-resources": ("empty", "named", "lists", "thin states"),
    "/resource-tree": ("nodes", "named", "thin nodes"),
    "/events": ("empty", "named", "thin events"),
}
CHECK = r"""
import json, resource, sys
from argolint import testing
from argolint.engine import pipeline
from argolint.engine.plan import ChosenRule, Plan
from argolint.host.memory import expect_answers
from argolint.plugins import load_rules
from argolint.server.transport import Answer

end, shape, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
before, after = shape.split("%s")
one = "[]" if after.startswith("[") else after[: after.index("]}")]
state = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 2}}
app = {"name": "web", "status": {"health": {"status": "Degraded"}}, "resources": [{"desired": state, "live": {**state, "spec": {"replicas": 3}}, "health": {"status": "Degraded"}}]}
body = (before + (one + ",") * (size // (len(one) + 1)) + after).encode() if size else b""

class Hostile(testing.FixtureTransport):
    def get(self, path, query=(), *, anonymous=False):
        if body and path.endswith(end):
            self.asked = True
            return Answer(200, "application/json", body)
        return super().get(path, query, anonymous=anonymous)

expect_answers()
chosen = tuple(ChosenRule(rule, rule.default_options) for rule in load_rules().values())
t = Hostile({"apps": [app]})
try:
    part = pipeline.examine_shard(t, Plan(chosen, workers=1))
    said = [f.error for f in part.failures] + [f.error for r in part.results for f in r.failures]
except Exception as error:
    said = [str(error)]
asked = getattr(t, "asked", False)
print(json.dumps([resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(body), asked, said[:1]]))
"""


def main() -> None:
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 8_000_000
    plain = run("", "%s]}", 0)[0]
    for end, shapes in ENDS.items():
        for name in shapes:
            peak, length, asked, said = run(end, SHAPES[name], size)
            outcome = (said[0][:110] if said else "taken") if asked else "not asked for"
            print(f"{end:22} {name:12} {1024 * (peak - plain) / length:5.1f} x its bytes  {outcome}")
    print(f"(goal {GOAL}; the answer itself is 1)")


def run(end: str, shape: str, size: int) -> tuple[int, int, bool, list[str]]:
    """The peak in kB, the bytes of the answer, whether it was requested, and the first failure."""
    made = subprocess.run(
        [sys.executable, "-c", CHECK, end, shape, str(size)], capture_output=True, text=True, check=True
    )
    peak, length, asked, said = json.loads(made.stdout.splitlines()[-1])
    return peak, length, asked, said


if __name__ == "__main__":
    main()
