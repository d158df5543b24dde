"""What sync and health rules know: cron schedules, sync windows, messages, and the data files beside them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from argolint_rules.health import pdb_blocks
from argolint_rules.shared import pods as _pods
from argolint_rules.shared.fields import field_fixes
from argolint_rules.sync import (
    _comparison,
    _cron,
    _failures,
    _removed,
    schema_field_unknown,
    unknown_option,
)
from argolint_rules.sync.invalid_spec import classify as classify_spec
from hypothesis import given, settings
from hypothesis import strategies as st

from argolint import messages, testing
from argolint.application.operation import Operation
from argolint.model import EditKind, Effect, FixTarget, ResourceId
from argolint.plugins import load_rules
from argolint.redaction import excerpt
from argolint.values.knowledge import parse
from tests.fits import require_fit

RULES = Path(__file__).resolve().parents[1] / "rules"

REGEX = {"type": "string", "minLength": 1}
WORDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 2}, {"const": []}]}
ADVICE = {
    "type": "object",
    "additionalProperties": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["title", "target", "where", "kind", "content"],
            "additionalProperties": False,
            "properties": {
                "title": REGEX,
                "when": WORDS,
                "unless": WORDS,
                "holds": {"type": "string", "minLength": 1},
                "target": {"enum": list(get_args(FixTarget))},
                "where": REGEX,
                "kind": {"enum": list(get_args(EditKind))},
                "content": {"type": ["string", "array"], "minLength": 1, "minItems": 1},
                "caveat": REGEX,
                "safe": {"type": "boolean"},
                "effects": {"type": "array", "items": {"enum": list(get_args(Effect))}},
                "of_object": {"type": "boolean"},
                "needs": {
                    "type": "object",
                    "properties": {"external-secrets": {"type": "string", "pattern": "^v[0-9]+\\.[0-9]+\\.[0-9]+$"}},
                    "propertyNames": {"enum": ["argocd", "kubernetes", "external-secrets"]},
                    "patternProperties": {"^(argocd|kubernetes)$": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+$"}},
                },
            },
        },
    },
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "ownership/advice.yaml": ADVICE,
    "secrets/advice.yaml": ADVICE,
    "shared/advice.yaml": ADVICE,
    "sync/advice.yaml": ADVICE,
    "health/advice.yaml": ADVICE,
    "health/api_resources.yaml": {
        "type": "object",
        "additionalProperties": {"type": "array", "minItems": 1, "items": REGEX, "uniqueItems": True},
    },
    "health/ingress_controllers.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["match", "workload", "name", "setting"],
            "additionalProperties": False,
            "properties": {
                **dict.fromkeys(("match", "annotation", "name", "setting"), REGEX),
                "workload": {"type": "array", "items": {"type": "string"}},
                "words": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^[a-z_-]+$"}},
            },
        },
    },
    "health/ondelete.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["labels"],
            "additionalProperties": False,
            "properties": {
                "labels": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
                "by": {"type": "string"},
                "needs": {"type": "string"},
            },
        },
    },
    "shared/image_users.yaml": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
    "shared/moved_images.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["from", "to", "says"],
            "additionalProperties": False,
            "properties": {"from": {"type": "string"}, "to": {"type": "string"}, "says": {"type": "string"}},
        },
    },
    "shared/removed_apis.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["product", "versions"],
            "properties": {
                "image": {"type": "string", "minLength": 1},
                "versions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["group", "version", "removed_in", "replacement"],
                        "additionalProperties": False,
                        "properties": {
                            "group": {"type": "string"},
                            "version": {"type": "string", "pattern": "^v\\d"},
                            "kinds": {"type": "array", "items": {"type": "string"}},
                            "same_fields": {"type": "array", "items": {"type": "string"}},
                            "since": {"type": "string", "pattern": r"^1\.\d+$"},
                            "wrapped": {
                                "type": "array",
                                "items": {"type": "object", "required": ["kind", "at", "having", "into"]},
                            },
                            "removed_in": {"type": "string"},
                            "replacement": {"type": "string"},
                            "bridge": {"type": "string"},
                        },
                    },
                },
            },
        },
    },
    "sync/finalizers.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["match", "who", "waits", "by_hand"],
            "additionalProperties": False,
            "properties": {
                "match": REGEX,
                "who": {"type": "string"},
                "waits": {"type": "string"},
                "by_hand": {"type": "boolean"},
                "left": {"const": True},
                "kind": {"type": "string"},
                "look": {"type": "string"},
                "then": {"type": "string"},
            },
        },
    },
    "sync/immutable.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["group", "kind", "fix", "fields"],
            "additionalProperties": False,
            "properties": {
                "group": {"type": "string"},
                "kind": {"type": "string"},
                "fix": {"enum": ["hook", "orphan", "replace", "rename"]},
                "loses": {"type": "string"},
                "reconciled": {"const": True},
                "fields": {"type": "array", "items": {"type": "string", "pattern": "^/"}},
                "complete": {"type": "array", "items": {"type": "string", "pattern": "^/"}},
            },
        },
    },
    "sync/sidecars.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["product", "match", "place", "key", "value"],
            "additionalProperties": False,
            "properties": {
                **dict.fromkeys(("product", "match", "key", "value"), REGEX),
                "place": {"enum": ["label", "annotation"]},
            },
        },
    },
    "sync/fields.yaml": {
        "type": "object",
        "properties": {
            "since": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["field", "kinds", "release", "source"],
                    "additionalProperties": False,
                    "properties": {
                        "field": {"type": "string"},
                        "kinds": {"type": "array", "items": {"type": "string"}},
                        "release": {"type": "string", "pattern": r"^1\.\d+$"},
                        "source": {"type": "string", "pattern": r"^[A-Za-z0-9]+ \(beta in 1\.\d+\)$"},
                    },
                },
            },
            "argocd": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["kind", "path", "since"],
                    "additionalProperties": False,
                    "properties": {
                        "kind": {"enum": ["Application", "AppProject"]},
                        "path": {"type": "string"},
                        "since": {"type": "string", "pattern": r"^[23]\.\d+$"},
                    },
                },
            },
        },
        "additionalProperties": {"type": "array", "items": {"type": "string"}},
    },
    "../argolint/relations/makers.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["by", "at"],
            "additionalProperties": False,
            "properties": {
                "by": {"type": "array", "items": {"pattern": "^[a-z0-9.-]+/[A-Za-z]+$"}},
                "at": {"pattern": "^/"},
                "default": {"pattern": "^/"},
                "with": {"type": "array", "items": {"type": "string"}},
                "only": {"type": "object", "additionalProperties": {"type": "array"}},
            },
        },
    },
    "../argolint/relations/health_scripts.yaml": {
        "type": "object",
        "propertyNames": {"pattern": r"^[a-z0-9.*-]+/[A-Za-z*]+$"},
        "additionalProperties": {
            "type": "object",
            "propertyNames": {"pattern": r"^\d+\.\d+\.\d+$"},
            "additionalProperties": {"type": "integer", "minimum": 1},
        },
    },
    "sync/derived_kinds.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["group", "product", "kind", "plural"],
            "additionalProperties": False,
            "properties": {key: {"type": "string"} for key in ("group", "product", "kind", "plural")},
        },
    },
    "sync/tool_kinds.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["group", "product"],
            "additionalProperties": False,
            "properties": {key: {"type": "string"} for key in ("group", "product", "generator")},
        },
    },
    "shared/makers.yaml": {
        "type": "object",
        "required": ["anchors", "fillers", "makers"],
        "properties": {
            "anchors": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"pattern": "^[A-Z][A-Za-z]+$"}},
            },
        },
        "additionalProperties": {"type": "array", "items": {"type": "object", "required": ["tool", "source"]}},
    },
    "sync/aggregated_apis.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["group", "product", "server"],
            "additionalProperties": False,
            "properties": {key: {"type": "string"} for key in ("group", "product", "server", "instead", "caveat")},
        },
    },
    "sync/git_files.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["match"],
            "additionalProperties": False,
            "properties": {key: {"type": "string"} for key in ("match", "host")},
        },
    },
    "sync/validation.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["at"],
            "anyOf": [{"required": ["of"]}, {"required": ["in"]}],
            "additionalProperties": False,
            "properties": {
                "of": {"type": "array", "items": {"pattern": "^[A-Z]"}},
                "group": {"type": "string"},
                "in": {"enum": ["pod", "container", "init"]},
                "at": {"type": "array", "items": {"pattern": "^(/[^/]+)+$"}},
                "when": {"type": "object", "additionalProperties": {"type": "array"}},
                "required": {"const": True},
                "labels": {"const": True},
                "least": {"type": "integer"},
                "is": {"type": "integer"},
                "between": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                **{name: {"type": "array", "items": {"type": "string"}} for name in ("one_of", "one_way")},
                **{name: {"type": "string"} for name in ("forbidden", "form", "says")},
            },
        },
    },
    "sync/options.yaml": {
        "type": "object",
        "patternProperties": {
            "-since$": {"type": "object", "additionalProperties": {"pattern": "^[0-9]+[.][0-9]+$"}},
            "^(?!.*-since$)": {"type": "array", "items": {"type": "string", "pattern": "^[A-Za-z./=-]+$"}},
        },
    },
    "health/suspended.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["group", "kind", "pointer", "word"],
            "additionalProperties": False,
            "properties": {
                "group": {"type": "string"},
                "kind": {"type": "string"},
                "pointer": {"pattern": "^/"},
                "word": {},
                "halts": {"const": True},
                "is": {},
                "resume": {},
            },
        },
    },
    "health/unseen.yaml": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["by", "types", "status"],
            "additionalProperties": False,
            "properties": {
                "by": {"type": "string", "pattern": "^[a-z0-9.-]+/([A-Z][A-Za-z]+|[*])$"},
                "types": {"type": "array", "items": {"type": "string", "pattern": "^[A-Z][A-Za-z]+$"}},
                "status": {"enum": ["True", "False"]},
            },
        },
    },
}


def test_every_knowledge_file_of_the_two_families_has_a_schema() -> None:
    files = {f"{p.parent.name}/{p.name}" for f in ("sync", "health", "shared") for p in (RULES / f).glob("*.yaml")}
    assert files - {"shared/charts.yaml", "health/traffic.yaml"} == set(SCHEMAS) - {
        "../argolint/relations/health_scripts.yaml",
        "../argolint/relations/makers.yaml",
        "ownership/advice.yaml",
        "secrets/advice.yaml",
    }  # the charts have tests of their own


@pytest.mark.parametrize("name", SCHEMAS)
def test_knowledge_files_have_their_shape(name: str) -> None:
    require_fit(parse((RULES / name).read_text(encoding="utf-8")), SCHEMAS[name])


@pytest.mark.parametrize("name", ["sync/finalizers.yaml"])
def test_patterns_compile(name: str) -> None:
    for entry in parse((RULES / name).read_text(encoding="utf-8")):
        patterns = entry["match"] if isinstance(entry["match"], list) else [entry["match"]]
        assert all(re.compile(pattern) for pattern in patterns)


@pytest.mark.parametrize(
    ("schedule", "after", "wanted"),
    [
        ("0 0 * * *", "2026-01-01T12:00", "2026-01-02T00:00"),
        ("*/15 * * * *", "2026-01-01T11:50", "2026-01-01T12:00"),
        ("30 22 * * mon-fri", "2026-01-02T23:00", "2026-01-05T22:30"),  # a Friday night
        ("0 9 1 * 1", "2026-01-02T00:00", "2026-01-05T09:00"),  # either day field is enough
        ("0 9 */2 * 1", "2026-01-02T00:00", "2026-01-03T09:00"),  # a star with a step is no star
        ("0 9 */1 * 1", "2026-01-02T00:00", "2026-01-05T09:00"),  # a star makes the other one decide
        ("0 0 1,,15 jan,JUL ?", "2026-01-02T00:00", "2026-01-15T00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00"),
        ("5/20 3 * * *", "2026-01-01T03:05", "2026-01-01T03:25"),
    ],
)
def test_cron_finds_the_next_time(schedule: str, after: str, wanted: str) -> None:
    cron = _cron.parse(schedule)
    assert cron is not None
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert cron.after(moment, UTC) == datetime.fromisoformat(wanted).replace(tzinfo=UTC)


_FIELDS = [
    st.sampled_from(["*", "5", "*/20", "1-3,50", "59"]),
    st.sampled_from(["*", "0", "*/7", "22-23"]),
    st.sampled_from(["*", "1", "31", "*/10", "?"]),
    st.sampled_from(["*", "2", "jan-mar", "*/5"]),
    st.sampled_from(["*", "0", "mon-fri", "*/2"]),
]


@given(st.tuples(*_FIELDS).map(" ".join), st.integers(0, 4 * 365 * 24 * 60))
@settings(max_examples=50, deadline=None)
def test_cron_finds_what_walking_minute_by_minute_finds(schedule: str, minutes: int) -> None:
    cron = _cron.parse(schedule)
    assert cron is not None
    moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    walked = next(
        (
            at
            for n in range(1, 3 * 24 * 60)
            if cron.on((at := moment + timedelta(minutes=n)).date())
            and at.hour in cron.hours
            and at.minute in cron.minutes
        ),
        None,
    )
    found = cron.after(moment, UTC)
    assert found == walked if walked else found is None or found - moment > timedelta(days=2)


@given(st.text("0123456789*/,-? janMONsun\t", max_size=30))
def test_any_text_is_a_schedule_or_none(text: str) -> None:
    cron = _cron.parse(text)
    assert cron is None or cron.after(datetime(2026, 1, 1, tzinfo=UTC), UTC) is None or len(text.split()) == 5


def test_cron_counts_in_its_own_zone() -> None:
    cron = _cron.parse("0 22 * * *")
    assert cron is not None
    found = cron.after(datetime(2026, 7, 1, 12, tzinfo=UTC), ZoneInfo("Europe/Berlin"))
    assert found is not None
    assert found.astimezone(UTC) == datetime(2026, 7, 1, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "* * * *",
        "61 * * * *",
        "a b c d e",
        "0 0 * * 9",
        "@reboot",
        "@daily",
        "*/0 * * * *",
        "5-2 * * * *",
        "1_0 * * * *",
        "-1 * * * *",
        "* * * * * " * 100,
        "9" * 300 + " * * * *",
    ],
)
def test_cron_refuses_what_is_no_schedule(schedule: str) -> None:
    assert _cron.parse(schedule) is None


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("0/3 nodes are available: 3 Insufficient cpu.", "resources"),
        # of each node the first filter that refused it is told: the one node passed the filter that stopped the three
        ("0/4 nodes are available: 1 Too many pods, 3 node(s) didn't match Pod's node affinity/selector.", "resources"),
        (
            "0/4 nodes are available: 1 Insufficient memory, 3 node(s) had taint {a: b}, that the pod didn't tolerate.",
            "resources",
        ),
        (
            "0/4 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 3 node(s) had untolerated taint(s).",
            "resources",
        ),
        (
            "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match Pod's node affinity/selector.",
            "selector",
        ),
        (
            "0/5 nodes are available: 2 node(s) had untolerated taint {a: b}, 3 node(s) had untolerated taint "
            "{node-role.kubernetes.io/control-plane: }.",
            "taint",
        ),
        (
            "0/6 nodes are available: 2 node(s) didn't match pod anti-affinity rules, 4 node(s) had untolerated taint(s).",
            "selector",
        ),
        ("0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.", "volume"),
        ('incompatible with nodepool "gpu", did not tolerate nvidia.com/gpu=true:NoSchedule', "taint"),
        ("0/2 nodes are available: 2 node(s) had volume node affinity conflict.", "volume"),
        ("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.", "volume"),
        ('persistentvolumeclaim "data" not found', "volume"),
        ("0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints.", "selector"),
        ("0/5 nodes are available: 5 node(s) didn't satisfy existing pods anti-affinity rules.", "selector"),
        ("0/5 nodes are available: 5 node(s) didn't match the requested node name.", "selector"),
        (
            "0/5 nodes are available: 5 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).",
            "volume",
        ),
        ('running PreBind plugin "VolumeBinding": binding volumes: timed out waiting for the condition', "volume"),
        ("0/5 nodes are available: 5 node(s) did not have enough free storage.", "volume"),
        ('incompatible with nodepool "a", no instance type satisfied resources {"cpu":"200"}', "resources"),
        ('incompatible with nodepool "a", incompatible requirements, label "team" has no known values', "selector"),
        ("something the scheduler has never said", "unknown"),
    ],
)
def test_the_scheduler_is_understood(message: str, cause: str) -> None:
    assert _pods.scheduling_cause(message)[0] == cause


@pytest.mark.parametrize(
    ("workload", "cause"),
    [
        (
            {
                "kind": "Deployment",
                "spec": {"template": {"spec": {"containers": [], "nodeSelector": {"dedicated": "batch"}}}},
            },
            "taint",
        ),
        (
            {"kind": "Deployment", "spec": {"template": {"spec": {"containers": [], "nodeSelector": {"disk": "ssd"}}}}},
            "selector",
        ),
        (
            {"kind": "DaemonSet", "spec": {"template": {"spec": {}}}},
            "taint",
        ),  # bound to one node, refused by the others
    ],
)
def test_what_the_pods_ask_for_decides_between_taint_and_selector(workload: dict[str, object], cause: str) -> None:
    message = (
        "0/4 nodes are available: 1 node(s) had untolerated taint {dedicated: batch}, "
        "3 node(s) didn't match Pod's node affinity/selector."
    )
    assert _pods.scheduling_cause(message, workload)[0] == cause


@pytest.mark.parametrize(
    ("message", "rule", "cause"),
    [
        (
            'Service "web" is invalid: spec.clusterIP: Invalid value: "10.0.0.1": field is immutable',
            "immutable-field",
            "",
        ),
        (
            'StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than '
            "'replicas', 'template' are forbidden",
            "immutable-field",
            "",
        ),
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged', "sync-failed", "admission"),
        ('Internal error occurred: failed calling webhook "w": no endpoints available', "sync-failed", "admission"),
        (
            'deployments.apps is forbidden: User "system:serviceaccount:a:b" cannot create resource',
            "sync-failed",
            "forbidden",
        ),
        ("the moon is full", "sync-failed", "unknown"),
    ],
)
def test_failures_are_sorted(message: str, rule: str, cause: str) -> None:
    assert _failures.classify(message) == (rule, cause)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("rpc error: code = Unknown desc = failed to list refs: authentication required", "auth"),
        ("error testing repository connectivity: ssh: handshake failed: knownhosts: key mismatch", "auth"),
        ('failed to resolve revision "1.2.*": no version for constraint', "revision"),
        ("`helm dependency build` failed exit status 1: Error: failed to authorize: 401 Unauthorized", "auth"),
        (
            "failed to execute helm template command: error: open /tmp/x/values-prod.yaml: no such file or directory",
            "helm",
        ),
        ("kustomize build failed: no such file or directory", "kustomize"),
        ("dial tcp: lookup git.example.com: no such host", "network"),
    ],
)
def test_comparison_errors_are_sorted(message: str, cause: str) -> None:
    assert _comparison.classify(f"Failed to load target state: {message}").cause == cause


TARGET = "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = "
DIFF = "Failed to compare desired state to live state: failed to calculate diff: error calculating "
DRY_RUN = DIFF + "server side diff: serverSideDiff error: error running server side apply in dryrun mode for resource "
BUILD = TARGET + "`kustomize build /tmp/x` failed exit status 1: Error: "
TEMPLATE = (
    TARGET + "Manifest generation error (cached): `helm template . --name-template a` failed exit status 1: Error: "
)
PULL = TARGET + "failed to fetch chart: `helm pull oci://registry.example.com/charts/web` failed exit status 1: Error: "
FETCH = TARGET + "failed to initialize repository resources: `git fetch origin --tags` failed exit status 128: "


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (
            DIFF
            + "structured merge diff: error while running updater.Apply: converting (v1.CronJob) to (v1beta1.CronJob): unknown conversion",
            "conversion-fields",
        ),
        (
            DIFF
            + "server side diff: serverSideDiff error: error converting json string to unstructured for resource Job/a: unmarshal error",
            "ssd-decode",
        ),
        (
            DIFF
            + 'structured merge diff: error building typed value from config resource: .spec.ports: duplicate entries for key [port=53,protocol="TCP"]',
            "list-duplicate",
        ),
        (
            DIFF
            + "structured merge diff: unable to resolve parseableType for GroupVersionKind: example.com/v1, Kind=Widget",
            "no-schema",
        ),
        (
            DIFF
            + 'structured merge diff: error building typed value from live resource: .spec.ports: element 0: associative list with keys has an element that omits key field "protocol" (and doesn\'t have default value)',
            "list-key",
        ),
        (
            DIFF
            + "structured merge diff: error building typed value from config resource: .metadata.annotations.a: expected string, got &value.valueUnstructured{Value:true}",
            "value-type",
        ),
        (
            DRY_RUN
            + 'Deployment/web: Deployment.apps "web" is invalid: spec.selector: Invalid value: field is immutable',
            "refused",
        ),
        (
            DRY_RUN
            + 'Secret/a: secrets "a" is forbidden: User "system:serviceaccount:argocd:x" cannot patch resource "secrets" in API group "" in the namespace "a"',
            "refused",
        ),
        (
            DRY_RUN
            + 'Ingress/a: Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://w.w.svc:443/": dial tcp 10.0.0.1:8443: connect: connection refused',
            "refused",
        ),
        (DRY_RUN + 'Pod/a: admission webhook "validate.kyverno.svc-fail" denied the request', "refused"),
        (
            DRY_RUN
            + 'Widget/a: conversion webhook for example.com/v1, Kind=Widget failed: Post "https://w.w.svc:443/convert": service "w" not found',
            "conversion",
        ),
        (
            'Failed to load live state: failed to get cluster info: failed to load initial state of resource Secret: secrets is forbidden: User "x" cannot list resource "secrets" in API group "" at the cluster scope',
            "cluster-rbac",
        ),
        (
            'Failed to load live state: failed to get cluster info for "https://a": the server has asked for the client to provide credentials',
            "cluster-credentials",
        ),
        (
            "Failed to load live state: failed to sync cluster https://a: failed to load initial state of resource Event: The provided continue parameter is too old to display a consistent list result",
            "cluster-list",
        ),
        (
            "Failed to load live state: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: the server is currently unable to handle the request",
            "cluster-discovery",
        ),
        (
            'Failed to load live state: failed to get cluster info: Get "https://10.0.0.1:443/version": dial tcp 10.0.0.1:443: i/o timeout',
            "cluster-network",
        ),
        (
            'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 10.96.1.2:8081: connect: connection refused"',
            "repo-server",
        ),
        (
            "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (115343360 vs. 104857600)",
            "message-size",
        ),
        (TARGET + "dial tcp 10.96.3.4:6379: connect: connection refused", "redis"),
        (FETCH + "fatal: write error: No space left on device", "disk"),
        (FETCH + "fatal: Unable to create '/tmp/_argocd-repo/1/.git/index.lock': File exists.", "git-lock"),
        (TARGET + "failed to list refs: ssh: handshake failed: knownhosts: key is unknown", "known-hosts"),
        (
            FETCH
            + "ssh: connect to host git.example.com port 22: Connection timed out\nfatal: Could not read from remote repository.",
            "network",
        ),
        (
            FETCH
            + "git@git.example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            "credentials",
        ),
        (TARGET + "failed to list refs: ssh: no key found", "ssh-key"),
        (
            TARGET
            + 'Get "https://git.example.com/a.git/info/refs": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
            "network",
        ),
        (
            TARGET
            + "`git checkout --force main` failed exit status 128: Error downloading object: Smudge error: external filter 'git-lfs filter-process' failed",
            "lfs",
        ),
        (
            TARGET
            + "`git submodule update --init --recursive` failed exit status 1: fatal: clone of 'git@x' into submodule path failed",
            "submodule",
        ),
        (
            TARGET
            + 'error fetching chart: chart "web" version "1.2" not found in https://charts.example.com repository: index.go:366: skipping loading invalid entry for chart "web" "1.2" from https://charts.example.com: validation: chart.metadata.version "1.2.x" is invalid',
            "helm-index",
        ),
        (PULL + "could not load config with mediatype application/vnd.cncf.helm.config.v1+json", "oci-type"),
        (PULL + "registry.example.com/charts/web:1.2.3: not found", "revision"),
        (
            TARGET + "`helm dependency build` failed exit status 1: Error: could not find protocol handler for: s3",
            "helm-protocol",
        ),
        (
            TARGET
            + "`helm dependency build` failed exit status 1: Error: the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update the dependencies",
            "helm-lock",
        ),
        (
            TARGET
            + "`helm dependency build` failed exit status 1: Error: can't get a valid version for repositories common. Try changing the version constraint in Chart.yaml",
            "helm-dependency-version",
        ),
        (
            TARGET
            + "`helm dependency build` failed exit status 1: Error: no repository definition for https://charts.example.com/. Please add the missing repos via 'helm repo add'",
            "helm-dependency-unknown",
        ),
        (
            TEMPLATE + "chart requires kubeVersion: >=1.30.0-0 which is incompatible with Kubernetes v1.28.3",
            "helm-kube-version",
        ),
        (TEMPLATE + 'parse error at (web/templates/a.yaml:3): function "mustToToml" not defined', "helm-function"),
        (
            TEMPLATE
            + 'template: web/templates/a.yaml:3:4: executing "web/templates/a.yaml" at <.Values.image.tag>: nil pointer evaluating interface {}.tag',
            "helm-undefined-value",
        ),
        (TEMPLATE + "execution error at (web/templates/a.yaml:3:4): a password is required", "helm-refuses"),
        (
            TEMPLATE
            + "YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: line 7: did not find expected key",
            "helm-yaml",
        ),
        (TEMPLATE + 'failed parsing --set data: key "b" has no value', "helm-parameter"),
        (
            TEMPLATE
            + "failed to parse /tmp/x/values.yaml: error converting YAML to JSON: yaml: line 3: mapping values are not allowed in this context",
            "helm-values-invalid",
        ),
        (
            BUILD
            + "accumulating resources: accumulation err='accumulating resources from 'web.yaml': evalsymlink failure on '/tmp/x/web.yaml' : lstat /tmp/x/web.yaml: no such file or directory'",
            "kustomize-file",
        ),
        (
            BUILD
            + "accumulating resources: accumulation err='merging resources from 'web.yaml': may not add resource with an already registered id: Service.v1.[noGrp]/web.[noNs]': must build at directory",
            "kustomize-duplicate",
        ),
        (
            BUILD
            + 'no resource matches strategic merge patch "Deployment.v1.apps/web.[noNs]": no matches for Id Deployment.v1.apps/web.[noNs]; failed to find unique target for patch Deployment.v1.apps/web.[noNs]',
            "kustomize-target-bare",
        ),
        (
            BUILD + "trouble configuring builtin HelmChartInflationGenerator with config: must specify --enable-helm",
            "kustomize-helm",
        ),
        (
            BUILD
            + "loading KV pairs: file sources: [../a.env]: security; file '/tmp/a.env' is not in or below '/tmp/x'",
            "kustomize-restrictor",
        ),
        (BUILD + 'invalid Kustomization: json: unknown field "labelz"', "kustomize-field"),
        (
            BUILD
            + "accumulating resources: accumulation err='accumulating resources from 'https://git.example.com/base?ref=v1': git cmd = '/usr/bin/git fetch': fatal: could not read Username for 'https://git.example.com': terminal prompts disabled'",
            "kustomize-remote-auth",
        ),
        (
            TARGET + 'could not find cmp-server plugin with name "cdk8s" supporting the given repository',
            "plugin-absent",
        ),
        (
            TARGET
            + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error generating manifests: `sh -c ./render` failed timeout after 1m30s",
            "plugin-timeout",
        ),
        (
            TARGET
            + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error generating manifests: `sh -c ./render` failed signal: killed",
            "plugin-killed",
        ),
        (
            TARGET
            + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error generating manifests: `sh -c ./render` failed exit status 2: kaput",
            "plugin-command",
        ),
        (
            TARGET
            + 'Failed to unmarshal "web.yaml": failed to unmarshal manifest: error converting YAML to JSON: yaml: line 12: did not find expected key',
            "manifest",
        ),
        (
            BUILD
            + "invalid Kustomization: json: cannot unmarshal string into Go struct field Kustomization.patches of type types.Patch",
            "kustomize-field-type",
        ),
        (
            TARGET
            + 'Failed to unmarshal "web.yaml": json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
            "manifest-type",
        ),
        (TARGET + "Object 'Kind' is missing in '{\"replicas\":1}'", "not-a-manifest"),
        (
            "rpc error: code = Unknown desc = `kustomize build /tmp/x` failed exit status 1: Error: invalid Kustomization: json: cannot unmarshal object into Go struct field Kustomization.components of type string",
            "kustomize-field-text",
        ),
        (BUILD + 'invalid Kustomization: json: unknown field "patchez"', "kustomize-field"),
        (
            BUILD
            + "Error: could not find protocol handler for: : unable to run: 'helm pull --untar --repo registry.example.com/charts podinfo' with env=[] (is 'helm' installed?): exit status 1",
            "kustomize-helm-protocol",
        ),
        (
            TARGET
            + 'looks like "oci://registry.example.com/x" is not a valid chart repository or cannot be reached: object required',
            "helm-protocol",
        ),
        (
            BUILD + "failure in plugin configured via /tmp/kust-plugin-config-1; exit status 2: exit status 2",
            "kustomize-plugin-failed",
        ),
        (
            BUILD
            + "unable to make loader at '.'; not a valid directory: abs path error on '.' : getwd: permission denied",
            "repo-directory",
        ),
        (
            TARGET
            + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error generating manifests: `helmfile template` failed exit status 1: Error: no cached repository for helm-manager-1 found. (try 'helm repo update')",
            "plugin-helm-dependency",
        ),
        (
            TARGET
            + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error generating manifests: `sh -c tk show` failed exit status 1: `git clone https://git.example.com/lib` fatal: could not read Username for 'https://git.example.com': terminal prompts disabled",
            "plugin-git",
        ),
        (
            TARGET
            + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error generating manifests: `sh -c kbld -f .` failed exit status 127: sh: 1: kbld: not found",
            "plugin-program",
        ),
        (TEMPLATE + "error unpacking postgresql-12.1.0.tgz in shop: gzip: invalid header", "helm-archive"),
        (TARGET + "lstat /tmp/helm12345/podinfo: no such file or directory", "helm-chart-folder"),
        (
            TARGET + "`helm pull` failed: manifest does not contain a layer with mediatype application/tar+gzip",
            "oci-media-type",
        ),
        (
            TEMPLATE
            + "execution error at (shop/templates/a.yaml:3:4): ConfigMap shop-settings not found in namespace shop",
            "helm-asks-cluster",
        ),
        (
            TEMPLATE
            + "execution error at (shop/templates/a.yaml:3:4): Please install the Prometheus CRDs before this chart",
            "helm-asks-cluster",
        ),
        (
            TEMPLATE + "execution error at (shop/templates/a.yaml:3:4): a secret name is missing in the values",
            "helm-refuses",
        ),
        (
            TEMPLATE
            + "execution error at (shop/templates/a.yaml:3:4): auth.existingSecret or auth.password must be set",
            "helm-refuses",
        ),
        (
            TARGET
            + "`git submodule update --init --recursive` failed exit status 128: fatal: No url found for submodule path 'lib/x' in .gitmodules",
            "submodule-entry",
        ),
        (
            "Failed to load target state: failed to compare revisions for source 1 of 2: rpc error: code = Unimplemented desc = unknown method ListPlugins for service repository.RepoServerService",
            "version-skew",
        ),
        (
            'Failed to load live state: failed to get cluster info for "https://a.example.com": error getting cluster: controller is configured to ignore cluster https://a.example.com',
            "cluster-shard",
        ),
        ('Namespace "shop" for ConfigMap "settings" is not managed', "not-managed"),
        (
            'failed to sync cluster https://a.example.com: failed to load initial state of resource Widget.example.com: conversion webhook for example.com/v1alpha1, Kind=Widget failed: Post "https://w.w.svc:443/convert": x509: certificate signed by unknown authority',
            "conversion-tls",
        ),
        (
            "failed to sync cluster https://a.example.com: failed to load initial state of resource Widget.example.com: stream error: stream ID 3; INTERNAL_ERROR",
            "cluster-resource",
        ),
        (
            "Failed to load live state: failed to get cluster info: error synchronizing cache state : failed to load open api schema while syncing cluster cache: error getting openapi resources: EOF",
            "cluster-schema",
        ),
        (
            'Failed to load live state: failed to get cluster info: failed to get server version: Get "https://a.example.com/version": dial tcp: lookup a.example.com on 10.0.0.10:53: no such host',
            "cluster-network",
        ),
        ("Failed to load live state: dial tcp 10.0.0.7:6379: connect: connection refused", "redis"),
        (DRY_RUN + 'Certificate/a: admission webhook "audit.example.com" does not support dry run', "ssd-no-dry-run"),
        (
            "<string>:4: attempt to index a non-table object(nil) with key 'phase' stack traceback: <string>:4: in main chunk",
            "health-check",
        ),
        (
            TARGET + 'rpc error: code = FailedPrecondition desc = Failed to unmarshal "shop/my-values.yaml": <nil>',
            "not-a-manifest",
        ),
        (TARGET + 'Failed to unmarshal "shop/deployment.yaml": <nil>', "manifest"),
        (
            TARGET
            + "`helm chart pull registry.example.com/web:1.2.3` failed exit status 1: Error: web:1.2.3: not found",
            "revision",
        ),
    ],
)
def test_what_says_most_decides_why_nothing_is_compared(message: str, name: str) -> None:
    assert _comparison.classify(message).name == name


def test_the_innermost_message_is_what_a_person_must_read() -> None:
    message = (
        "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = "
        "Manifest generation error (cached): failed to execute helm template command: failed running helm: `helm template .` "
        "failed exit status 1: Error: image.tag must be set"
    )
    assert messages.unwrap(message).innermost == "image.tag must be set"


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ('object is being deleted: persistentvolumeclaims "a" already exists', "being-deleted"),
        ("etcdserver: request is too large", "too-large"),
        (
            'Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again',
            "conflict",
        ),
        (
            'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated',
            "port-taken",
        ),
        (
            'admission webhook "v" denied the request: host "a.example.com" and path "/" is already defined in ingress b/c',
            "host-taken",
        ),
        (
            "failed to create typed patch object (a/b; apps/v1, Kind=Deployment): .spec.ports: duplicate entries for key [port=53]",
            "list-duplicate",
        ),
        (
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ConfigMap.data of type string',
            "quote",
        ),
        (
            'CustomResourceDefinition.apiextensions.k8s.io "a" is invalid: status.storedVersions[0]: Invalid value: "v1alpha1": must appear in spec.versions',
            "stored-versions",
        ),
        (
            'persistentvolumeclaims "a" is forbidden: only dynamically provisioned pvc can be resized and the storageclass must support resize',
            "resize",
        ),
        ('namespaces "b" not found', "other-namespace"),
        ('Apply failed with 2 conflicts: conflict with "helm" using v1: .data.a', "ssa-conflict"),
        (
            'Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://w.w.svc:443/": x509: certificate signed by unknown authority',
            "webhook-ca",
        ),
    ],
)
def test_refusals_have_advice_of_their_own(message: str, topic: str) -> None:
    found = _failures.refusal_match(message)
    assert found is not None
    assert found.entry.advice == topic


def test_fields_of_client_side_validation_have_their_whole_path() -> None:
    message = (
        'error validating data: [ValidationError(Ingress.spec.rules[0].http): unknown field "servce" in io.k8s.api]'
    )
    assert schema_field_unknown._paths(message) == (".spec.rules[0].http.servce",)


def test_more_attempts_are_advised_only_where_they_can_help() -> None:
    fixture = testing.load_fixture(RULES.parent / "tests/rules/retry-exhausted/bad-no-attempt-helps.yaml")
    found = testing.check(fixture, list(load_rules().values())).findings
    told = {f.app.name: [fix.title for fix in f.fixes] for f in found if f.app and f.rule == "retry-exhausted"}
    more = "Allow more attempts, if the failure passes by itself"
    assert [more in titles for titles in (told["a-wrong-field"], told["b-slow-server"])] == [False, True]


def test_the_pod_template_gets_the_labels_that_its_selector_asks_for() -> None:
    message = "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`"
    rollout = {
        "spec": {
            "selector": {"matchLabels": {"app": "a", "tier": "b"}},
            "template": {"metadata": {"labels": {"app": "x"}}},
        }
    }
    (fix,) = field_fixes(ResourceId("argoproj.io", "Rollout", "shop", "cart"), rollout, message)
    assert fix.edit.content == [
        {"op": "replace", "path": "/spec/template/metadata/labels/app", "value": "a"},
        {"op": "add", "path": "/spec/template/metadata/labels/tier", "value": "b"},
    ]


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (
            'Deployment.apps "a" is invalid: [spec.replicas: Required value, spec.template.spec.containers[0].ports[1].name: '
            'Invalid value: "much-too-long-a-name": must be no more than 15 characters] (retried 3 times).',
            [
                ("/spec/replicas", "Required value", ""),
                (
                    "/spec/template/spec/containers/0/ports/1/name",
                    "Invalid value",
                    "must be no more than 15 characters",
                ),
            ],
        ),
        (
            'Ingress.networking.k8s.io "a" is invalid: spec.rules[0].http.paths[0].pathType: Unsupported value: "prefix": '
            'supported values: "Exact", "Prefix"',
            [("/spec/rules/0/http/paths/0/pathType", "Unsupported value", 'supported values: "Exact", "Prefix"')],
        ),
        ("dial tcp: lookup git.example.com: no such host", []),
        (
            'Ingress.extensions "a" is invalid: annotations.kubernetes.io/ingress.class: Invalid value: "nginx": can not be set when the class field is also set',
            [
                (
                    "/metadata/annotations/kubernetes.io~1ingress.class",
                    "Invalid value",
                    "can not be set when the class field is also set",
                )
            ],
        ),
        (
            'Deployment.apps "a" is invalid: spec.template.metadata.labels.app.example.org/part: Too long: may not be more than 63 bytes',
            [("/spec/template/metadata/labels/app.example.org~1part", "Too long", "may not be more than 63 bytes")],
        ),
        (
            'Kit.example.org "a" is invalid: spec.labels: Required value',
            [("/spec/labels", "Required value", "")],
        ),
        (
            'error validating data: [ValidationError(Pier.spec): missing required field "depth" in org.example.v1.Pier.spec, '
            'ValidationError(Pier.spec.berths[0]): missing required field "name" in org.example.v1.Pier.spec.berths]',
            [
                ("/spec/depth", "Required value", "its schema asks for it"),
                ("/spec/berths/0/name", "Required value", "its schema asks for it"),
            ],
        ),
        ('FailedCreate: Internal error occurred: failed calling webhook "w.example.com": EOF', []),
    ],
)
def test_the_fields_of_a_refusal_are_read(message: str, fields: list[tuple[str, str, str]]) -> None:
    assert [(e.pointer, e.sort, e.detail) for e in messages.field_errors(message)] == fields


def test_a_long_message_keeps_its_end() -> None:
    message = "Failed to load target state: " + "a wrapper that says nothing: " * 30 + "the password has expired"
    assert messages.quoted(message).endswith("the password has expired")
    assert len(messages.quoted(message)) <= 240


def test_a_cluster_of_two_names_is_the_specs_fault() -> None:
    assert classify_spec("there are 2 clusters with the same name: [https://a https://b]") == "cluster"


def test_push_secrets_keep_their_version() -> None:
    assert _removed.removal_of("external-secrets.io", "v1alpha1", "PushSecret") is None
    assert _removed.removal_of("external-secrets.io", "v1alpha1", "ExternalSecret") is not None


def test_an_excerpt_holds_no_credentials() -> None:
    text = 'Job "a" is invalid: spec: Invalid value: {"Env":[{"Value":"hunter2"}]}: field is immutable; https://u:p@git.example.com/x'
    assert (
        excerpt(text)
        == 'Job "a" is invalid: spec: Invalid value: (left out): field is immutable; https://git.example.com/x'
    )


def test_an_excerpt_leaves_out_values_in_go_syntax() -> None:
    """API servers before 1.32 print the refused value so."""
    value = 'core.PodTemplateSpec{Spec:core.PodSpec{Containers:[]core.Container{{Env:"hunter2"}}}}'
    assert (
        excerpt(f'Job.batch "a" is invalid: spec.template: Invalid value: {value}: field is immutable')
        == 'Job.batch "a" is invalid: spec.template: Invalid value: (left out): field is immutable'
    )


def operation(message: str, phase: str = "Running", finished: datetime | None = None) -> Operation:
    """A bare operation."""
    return Operation(phase, message, None, finished, 0, {})


def test_an_operation_tells_what_it_awaits() -> None:
    awaited = operation("waiting for healthy state of apps/Deployment/web and 3 more resources").awaited
    assert awaited is not None
    assert (awaited.reason, awaited.group, awaited.kind, awaited.name, awaited.others) == (
        "healthy state of",
        "apps",
        "Deployment",
        "web",
        3,
    )
    core = operation("waiting for completion of hook /Pod/check").awaited
    assert core is not None
    assert (core.group, core.kind, core.name, core.others) == ("", "Pod", "check", 0)


def test_an_operation_that_waits_to_retry_has_failed_and_awaits_nothing() -> None:
    waiting = operation("waiting for healthy state of apps/Deployment/web", finished=datetime(2026, 1, 1, tzinfo=UTC))
    assert waiting.failed
    assert waiting.awaited is None


@pytest.mark.parametrize(
    ("demanded", "expected", "enough"),
    [
        (1, 1, 2),
        (3, 2, 4),  # one more than there are would still be what the budget demands
        ("90%", 4, 10),
        ("100%", 5, 0),
        (None, 3, 0),  # maxUnavailable: 0
    ],
)
def test_replicas_that_satisfy_a_budget(demanded: object, expected: int, enough: int) -> None:
    assert pdb_blocks._enough_pods(demanded, expected) == enough


def test_credentials_of_urls_are_in_no_excerpt() -> None:
    assert (
        excerpt("GET https://ci:hunter2@git.example.com/a?ref=1&access_token=hunter3&b=2: 403")
        == "GET https://git.example.com/a?ref=1&access_token=(masked)&b=2: 403"
    )


def test_of_words_without_end_the_first_hundred_are_looked_at() -> None:
    many = ",".join([*["Y"] * 5000, *(f"X{number}" for number in range(300))])
    assert unknown_option._words(many) == ["Y", *(f"X{number}" for number in range(99))]
