"""What the rules on traffic do with odd input and with many objects, and what a report says first."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from argolint import testing
from argolint.engine.plan import ChosenRule
from argolint.plugins import load_rules
from argolint.reports.document import to_json
from argolint.reports.formats import Style
from argolint.reports.formats.text import render

RULES = load_rules()
TRAFFIC = ("selector-matches-nothing", "port-not-offered", "target-missing", "address-unknown", "client-shut-out")


def _pods(name: str, namespace: str = "shop", **more: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "example.org/c:1"}]},
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, **more},
    }


def _service(name: str, selector: Any, *ports: Any, namespace: str = "shop") -> dict[str, Any]:
    spec = {"selector": selector, "ports": list(ports)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _app(*objects: dict[str, Any], name: str = "shop", **more: Any) -> dict[str, Any]:
    resources = [{"desired": o, "live": copy.deepcopy(o)} for o in objects]
    return {"name": name, "spec": {"destination": {"namespace": "shop"}}, "resources": resources, **more}


def _check(*apps: dict[str, Any], rules: tuple[str, ...] = TRAFFIC) -> Any:
    fixture = testing.Fixture(Path("traffic"), {"about": "x", "apps": list(apps)})
    return testing.check(fixture, [RULES[rule] for rule in rules])


def test_fields_of_any_shape_are_no_crash_and_no_guess() -> None:
    long = "x" * 10_000
    odd: tuple[Any, ...] = (
        None,
        [],
        {},
        7,
        True,
        "app=web",
        {"app": None},
        {"app": 1},
        {"app": long},
        {long: "web"},
        {"app": ["web"]},
    )
    ports: tuple[Any, ...] = (
        None,
        {},
        [],
        "80",
        {"port": "80"},
        {"port": -1},
        {"port": 70000},
        {"port": True},
        {"port": 80, "targetPort": {}},
        {"port": 80, "targetPort": long},
    )
    objects = [_pods("web"), *(_service(f"s{i}", selector, {"port": 80}) for i, selector in enumerate(odd))]
    objects += [_service(f"p{i}", {"app": "web"}, port) for i, port in enumerate(ports)]
    for i, selector in enumerate(
        (*odd, {"matchLabels": []}, {"matchExpressions": [None, {"key": 1, "operator": "Like", "values": 3}]})
    ):
        objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": f"b{i}", "namespace": "shop"},
                "spec": {"selector": selector},
            }
        )
    for i, value in enumerate((None, 3, long, "http://" + "a." * 3000, ":::", "web:99999", "//", "@@@:1")):
        environment = [{"name": "WEB_URL", "value": value}, {"name": None, "value": "web:80"}, None]
        pods = _pods(f"e{i}")
        pods["spec"]["template"]["spec"]["containers"][0]["env"] = environment
        objects.append(pods)
    backends: tuple[Any, ...] = (
        None,
        [],
        {"service": []},
        {"service": {"name": 3}},
        {"service": {"name": long, "port": []}},
    )
    for i, backend in enumerate(backends):
        spec = {"defaultBackend": backend, "rules": [None, {"http": {"paths": [{"backend": backend}, None]}}]}
        objects.append(
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": {"name": f"i{i}", "namespace": "shop"},
                "spec": spec,
            }
        )
    found = _check(_app(*objects))
    assert [(f.stage, f.rule, f.error) for f in found.failures] == []
    assert [f.message for f in found.findings] == []


def _policy(name: str, spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": spec,
    }


def _client(name: str, address: str) -> dict[str, Any]:
    pods = _pods(name)
    pods["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "WEB_URL", "value": address}]
    return pods


def test_policies_of_any_shape_are_no_crash_and_shut_out_only_whom_they_shut_out() -> None:
    long = "x" * 10_000
    rules: tuple[Any, ...] = (None, 3, {}, [None], [{"from": 3}], [{"from": [{"ipBlock": None}]}], [{"ports": [None]}])
    specs: list[Any] = [None, [], {"podSelector": None}, {"podSelector": {"matchLabels": {long: long}}}]
    specs += [{"podSelector": {}, "policyTypes": types} for types in (3, [3], ["egress"], [long])]
    objects = [_pods("web"), _service("web", {"app": "web"}, {"port": 80}), _client("front", "http://web:80")]
    for spec in specs:
        found = _check(_app(*objects, _policy("p", spec)), rules=("client-shut-out",))
        assert (found.failures, found.findings) == ((), ()), spec
    for ingress in rules:
        odd = {"podSelector": {"matchLabels": {"app": "web"}}, "ingress": ingress}
        found = _check(_app(*objects, _policy("p", odd)), rules=("client-shut-out",))
        assert found.failures == (), ingress
    ports: tuple[Any, ...] = ("80", -1, 70_000, True, long, {}, None)
    for port in ports:
        shut = {"podSelector": {}, "ingress": [{"ports": [{"port": port}]}]}
        assert _check(_app(*objects, _policy("p", shut)), rules=("client-shut-out",)).failures == (), port


def test_policies_of_an_application_that_goes_or_of_another_cluster_shut_out_no_one() -> None:
    objects = [_pods("web"), _service("web", {"app": "web"}, {"port": 80}), _client("front", "http://web:80")]
    deny = _policy("deny", {"podSelector": {}})
    assert _check(_app(*objects, deny), rules=("client-shut-out",)).findings
    going = _app(*objects, deny, metadata={"deletionTimestamp": "2026-01-01T11:00:00Z"})
    assert _check(going, rules=("client-shut-out",)).findings == ()
    far = {
        **_app(deny, name="far"),
        "spec": {"destination": {"server": "https://two.example.com", "namespace": "shop"}},
    }
    assert _check(_app(*objects), far, rules=("client-shut-out",)).findings == ()


def test_references_do_not_cross_clusters_and_namespaces() -> None:
    other = {
        **_app(_pods("web"), name="far"),
        "spec": {"destination": {"server": "https://two.example.com", "namespace": "shop"}},
    }
    beside = _app(_pods("web", "elsewhere"), name="beside")
    assert _check(_app(_service("web", {"app": "web"}, {"port": 80})), other, beside).findings == ()


def test_a_thousand_services_are_looked_up_and_not_compared_each_with_each(monkeypatch: Any) -> None:
    from argolint_rules.shared import labels

    count = 0
    matches = labels.Selector.matches

    def counting(self: Any, found: Any) -> bool:
        nonlocal count
        count += 1
        return bool(matches(self, found))

    monkeypatch.setattr(labels.Selector, "matches", counting)
    objects = [o for i in range(400) for o in (_pods(f"w{i}"), _service(f"w{i}", {"app": f"w{i}"}, {"port": 80}))]
    assert _check(_app(*objects)).findings == ()
    assert count < 10 * 400


def test_a_thousand_clients_are_looked_up_and_not_compared_with_each_policy(monkeypatch: Any) -> None:
    from argolint_rules.shared import labels

    count = 0
    matches = labels.Selector.matches

    def counting(self: Any, found: Any) -> bool:
        nonlocal count
        count += 1
        return bool(matches(self, found))

    monkeypatch.setattr(labels.Selector, "matches", counting)
    objects: list[dict[str, Any]] = []
    for i in range(300):
        allowed = [{"from": [{"podSelector": {"matchLabels": {"app": f"c{i}"}}}]}]
        policy = _policy(f"p{i}", {"podSelector": {"matchLabels": {"app": f"w{i}"}}, "ingress": allowed})
        service = _service(f"w{i}", {"app": f"w{i}"}, *({"port": n} for n in (80, *range(2000, 2020))))
        objects += [_pods(f"w{i}"), service, _client(f"c{i}", f"http://w{i}:80"), policy]
    assert _check(_app(*objects), rules=("client-shut-out",)).findings == ()
    assert count < 10 * 300


def test_the_report_says_first_that_what_is_shown_is_old() -> None:
    old, new = "2026-01-01T02:00:00Z", "2026-01-01T11:59:00Z"
    far = {"destination": {"server": "https://two.example.com", "namespace": "shop"}}
    apps = [{"name": n, "status": {"reconciledAt": new}} for n in "abc"]
    apps += [{"name": f"x{n}", "spec": far, "status": {"reconciledAt": old}} for n in "abc"]
    found = _check(*apps, rules=("verdict-stale",))
    assert [(s.cause, s.fingerprint) for s in found.stale or ()] == [("cluster", found.findings[0].fingerprint)]
    assert render(found, Style()).startswith(
        "What is shown is old: Argo CD has compared no application of cluster https://two.example.com for"
    )
    assert json.loads(to_json(found))["stale"][0]["server"] == found.servers[0].url


def test_a_fleet_above_the_limit_is_read_for_traffic_only_with_deep() -> None:
    from argolint.engine.load import needs_states, read_fleet

    wrong = _app(_pods("web"), _service("web", {"app": "wep"}, {"port": 80}))
    for count, expected in ((2, True), (300, False)):
        data = {"about": "x", "apps": [wrong, *({"name": f"a{i}"} for i in range(count))]}
        fleet, _ = read_fleet(testing.FixtureTransport(data))
        app = next(a for a in fleet.apps if a.name == "shop")
        rules = [ChosenRule(RULES[rule], RULES[rule].default_options) for rule in TRAFFIC]
        assert needs_states(app, fleet, rules) is expected


def _selecting(kind: str, selector: Any) -> dict[str, Any]:
    api, at = {
        "Service": ("v1", "selector"),
        "PodDisruptionBudget": ("policy/v1", "selector"),
        "NetworkPolicy": ("networking.k8s.io/v1", "podSelector"),
        "PodMonitor": ("monitoring.coreos.com/v1", "selector"),
        "ServiceMonitor": ("monitoring.coreos.com/v1", "selector"),
    }[kind]
    spec = {at: selector, **({"ports": [{"port": 80}]} if kind == "Service" else {})}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def _expressions(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "app", "operator": operator, **({"values": [*values]} if values else {})}]}


def test_empty_selectors_match_all_or_none_by_kind_and_are_no_fault() -> None:
    for kind in ("Service", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor", "ServiceMonitor"):
        empties: tuple[Any, ...] = ({}, None)
        for empty in empties:
            found = _check(_app(_pods("web"), _selecting(kind, empty)))
            assert (kind, found.failures, [f.message for f in found.findings]) == (kind, (), [])


def test_expressions_select_as_the_api_server_reads_them() -> None:
    """NotIn and DoesNotExist match pods without the label, which matches no equality."""
    matching = (_expressions("In", "web", "x"), _expressions("NotIn", "api"), _expressions("Exists"))
    for kind in ("PodDisruptionBudget", "NetworkPolicy", "PodMonitor"):
        for selector in matching:
            assert _check(_app(_pods("web"), _selecting(kind, selector))).findings == (), (kind, selector)
        wrong = {"matchLabels": {"app": "wep"}, **_expressions("In", "web")}
        said = [f.message for f in _check(_app(_pods("web"), _selecting(kind, wrong))).findings]
        assert len(said) == 1
        assert "app=wep" in said[0]


def test_a_service_of_a_thousand_ports_is_one_finding_a_cause() -> None:
    pods = _pods("web")
    pods["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 8080}]
    ports = [{"name": f"p{n}", "port": 1000 + n, "targetPort": f"gone-{n}"} for n in range(500)]
    ports += [{"name": f"n{n}", "port": 2000 + n, "targetPort": 9000 + n} for n in range(500)]
    found = _check(_app(pods, _service("web", {"app": "web"}, *ports)), rules=("port-not-offered",))
    assert [f.cause for f in found.findings] == ["name", "number"]
    assert all(len(f.message) < 300 and len(f.evidence) < 10 for f in found.findings)


def test_ports_in_quotes_are_read_as_numbers_and_those_out_of_range_as_none() -> None:
    pods = _pods("web")
    pods["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": "8080"}]
    for target, expected in (("8080", 0), (8080, 0), (70_000, 0), ("70000", 0), (-1, 0), (8081, 1), ("8081", 1)):
        service = _service("web", {"app": "web"}, {"port": 80, "targetPort": target})
        found = _check(_app(pods, service), rules=("port-not-offered",))
        assert (target, len(found.findings)) == (target, expected)


def test_label_values_of_ten_kilobytes_are_cut_and_compared_with_nothing() -> None:
    long = "web" * 3_400
    for selector in ({"app": long}, {"app": "web", "tier": long}):
        found = _check(_app(_pods("web"), _service("web", selector, {"port": 80})))
        assert all(len(f.message) < 300 and all(len(e) < 2_000 for e in f.evidence) for f in found.findings)


def test_nothing_is_said_of_an_application_that_is_being_deleted() -> None:
    client = _pods("front")
    client["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "CHECKOUT_URL", "value": "http://chekout:80"}
    ]
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"defaultBackend": {"service": {"name": "chekout", "port": {"number": 80}}}},
    }
    wrong = _service("checkout", {"app": "chekout"}, {"port": 80})
    objects = (_pods("checkout"), wrong, client, ingress)
    assert len(_check(_app(*objects)).findings) >= 3
    going = _app(*objects, metadata={"deletionTimestamp": "2026-01-01T11:00:00Z"})
    assert _check(going).findings == ()
