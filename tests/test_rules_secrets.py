"""The shared helpers of the secrets rules: operator versions, error texts, the migration from Kubernetes External Secrets."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from argolint_rules.secrets import _external_secret as external_secret
from argolint_rules.secrets import _stores as stores
from argolint_rules.secrets import _sync_error_texts as sync_error
from argolint_rules.secrets._kes import convert
from argolint_rules.secrets._provider import facts as provider_facts
from argolint_rules.shared.messages import catalogue

from argolint import Resource, ResourceId, testing
from argolint.application.app import App, app_from_list
from argolint.application.fleet import IN_CLUSTER, Fleet
from argolint.engine import run as engine
from argolint.engine.join import join
from argolint.engine.load import read_fleet
from argolint.engine.plan import ChosenRule, Plan
from argolint.plugins import load_rules
from argolint.relations.operator_version import OperatorVersion, operator_version, parse, text
from argolint.values.knowledge import load
from tests.fits import require_fit

ENTRIES = [entry for entry in catalogue().entries if entry.rule == "external-secret-sync-error"]
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MD5, SHA3 = "1-" + "a" * 32, "1-" + "b" * 56


def app(images: tuple[str, ...] = (), chart: str = "", revision: str = "", server: str = IN_CLUSTER) -> App:
    raw = {
        "metadata": {"name": "operator"},
        "spec": {"destination": {"server": server}, "source": {"chart": chart, "targetRevision": revision}},
        "status": {"summary": {"images": list(images)}},
    }
    return app_from_list(raw, server="https://a", cluster=server, control_plane="argocd", observed_at=NOW)


def fleet(*apps: App, served: tuple[str, ...] = ()) -> Fleet:
    return Fleet("https://a", "v3.5.1", {}, apps, clusters={IN_CLUSTER: {"info": {"apiVersions": list(served)}}})


def live(message: str = "", synced: str = "", **more: Any) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": "True", "message": message}], "syncedResourceVersion": synced}
    return {"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "status": status, **more}


@pytest.mark.parametrize(
    "image",
    [
        "oci.external-secrets.io/external-secrets/external-secrets:v0.14.3",
        "ghcr.io/external-secrets/external-secrets:v0.14.3-ubi",
        "registry.example.com/mirror/external-secrets/external-secrets:v0.14.3@sha256:00",
        "docker.io/bitnami/external-secrets:0.14.3-debian-12-r2",
    ],
)
def test_the_operators_image_tells_its_version(image: str) -> None:
    assert str(operator_version(fleet(app((image,))), IN_CLUSTER)) == "v0.14.3"


@pytest.mark.parametrize(
    "image", ["ghcr.io/external-secrets/kubernetes-external-secrets:8.5.5", "example.com/external-secrets:v0.14.3"]
)
def test_other_images_tell_nothing(image: str) -> None:
    assert operator_version(fleet(app((image,))), IN_CLUSTER) == OperatorVersion()


def test_the_chart_of_the_same_cluster_tells_the_version() -> None:
    here = app(chart="external-secrets", revision="2.1.0")
    elsewhere = app(chart="external-secrets", revision="0.9.1", server="https://edge")
    assert operator_version(fleet(here, elsewhere), IN_CLUSTER).exact == (2, 1, 0)


def test_a_floating_chart_revision_tells_nothing() -> None:
    assert operator_version(fleet(app(chart="external-secrets", revision="0.9.*")), IN_CLUSTER) == OperatorVersion()


def test_two_operators_give_a_range() -> None:
    two = fleet(app(chart="external-secrets", revision="0.9.1"), app(chart="external-secrets", revision="0.14.0"))
    found = operator_version(two, IN_CLUSTER)
    assert (found.low, found.below, found.at_least("v0.11.0")) == ((0, 9, 1), (0, 14, 1), None)


def test_labels_of_the_chart_tell_the_version() -> None:
    obj = {"kind": "Deployment", "metadata": {"labels": {"helm.sh/chart": "external-secrets-1.3.2"}}}
    assert operator_version(fleet(), IN_CLUSTER, [obj]).exact == (1, 3, 2)


@pytest.mark.parametrize(
    ("served", "low", "below"),
    [
        (("external-secrets.io/v1alpha1/ExternalSecret",), None, (0, 5, 0)),
        (
            ("external-secrets.io/v1alpha1/ExternalSecret", "external-secrets.io/v1beta1/ExternalSecret"),
            (0, 5, 0),
            (0, 16, 0),
        ),
        (
            (
                "external-secrets.io/v1beta1/ExternalSecret",
                "external-secrets.io/v1alpha1/ExternalSecret",
                "generators.external-secrets.io/v1alpha1/UUID",
            ),
            (0, 10, 3),
            (0, 16, 0),
        ),
        (("external-secrets.io/v1/ExternalSecret",), (0, 16, 0), None),
        (("apps/v1/Deployment",), None, None),
    ],
)
def test_served_kinds_bound_the_version(
    served: tuple[str, ...], low: tuple[int, ...] | None, below: tuple[int, ...] | None
) -> None:
    found = operator_version(fleet(served=served), IN_CLUSTER)
    assert (found.low, found.below) == (low, below)


@pytest.mark.parametrize(
    ("obj", "deciding"),
    [
        (live("Secret was synced", MD5), "older than v0.11.0"),
        (live("secret synced", MD5), "v0.11.0 or later, before v0.16.2"),
        (live("secret synced", SHA3), "v0.16.2 or later"),
        (live("Secret was synced", SHA3), "of unknown version"),
        (live(), "of unknown version"),
    ],
)
def test_status_format_and_wording_bound_the_version(obj: dict[str, Any], deciding: str) -> None:
    assert str(operator_version(fleet(), IN_CLUSTER, [obj])) == deciding


def crd(**data_fields: Any) -> dict[str, Any]:
    """The operator's CRD with these fields of remoteRef and otherwise what every version since v2.7.0 has."""
    remote = {"metadataPolicy": {}, "conversionStrategy": {}, "nullBytePolicy": {}, **data_fields}
    entry = {"sourceRef": {}, "remoteRef": {"properties": remote}}
    rewrite: dict[str, Any] = {"items": {"properties": {"transform": {}, "merge": {}}}}
    spec = {
        "data": {"items": {"properties": entry}},
        "dataFrom": {"items": {"properties": {"rewrite": rewrite}}},
        "refreshPolicy": {},
        "syncWindows": {},
        "target": {"properties": {"manifest": {}}},
    }
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": spec}}}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "externalsecrets.external-secrets.io"},
        "spec": {"versions": [{"name": "v1", "storage": True, "schema": schema}]},
    }


@pytest.mark.parametrize(
    ("obj", "deciding"),
    [
        (crd(), "v2.9.0 or later"),
        (crd(conversionStrategy={"default": "Default"}), "v2.7.0 or later, before v2.9.0"),
    ],
)
def test_fields_and_defaults_of_the_crd_bound_the_version(obj: dict[str, Any], deciding: str) -> None:
    assert str(operator_version(fleet(), IN_CLUSTER, [obj])) == deciding


def test_a_failing_secret_asks_for_the_crd_that_another_application_manages() -> None:
    obj = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "db", "namespace": "shop", "generation": 1},
        "spec": {"refreshInterval": "1h", "secretStoreRef": {"kind": "ClusterSecretStore", "name": "vault"}},
    }
    failed = {"type": "Ready", "status": "False", "message": "could not update secret"}
    status = {"conditions": [failed], "refreshTime": "2026-01-01T11:50:00Z", "syncedResourceVersion": "1-unknown"}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", **crd(conversionStrategy={"default": "Default"})}
    shop = {
        "name": "shop",
        "status": {"health": {"status": "Degraded"}},
        "resources": [{"desired": obj, "live": {**obj, "status": status}, "health": {"status": "Degraded"}}],
    }
    crds = {"name": "crds", "resources": [{"desired": definition, "live": definition}]}
    fixture = testing.Fixture(Path("crds.yaml"), {"about": "a CRD elsewhere", "apps": [shop, crds]})
    found = testing.check(fixture, [load_rules()["external-secret-sync-error"]]).findings
    assert [f.cause for f in found] == ["conflict"]
    assert [fix.caveat for fix in found[0].fixes if fix.target == "operator"] == []  # v2.7.0 or later needs no upgrade


def test_a_version_is_compared_only_when_the_evidence_decides() -> None:
    old, new = OperatorVersion(below=(0, 11, 0)), OperatorVersion(low=(0, 16, 2))
    assert [old.at_least("v0.11.0"), old.at_least("v0.4.0")] == [False, None]
    assert [new.at_least("v0.11.0"), new.at_least("v2.0.0")] == [True, None]


def test_every_known_version_is_a_version() -> None:
    bounds = [*load("argolint.relations", "operator_versions.yaml")["served"]]
    bounds += [
        *load("argolint_rules.secrets", "version_bugs.yaml"),
        *load("argolint_rules.secrets", "api_defaults.yaml"),
    ]
    texts = [b[k] for b in bounds for k in ("since", "until", "from", "fix", "gone") if k in b]
    assert texts
    assert [t for t in texts if text(parse(t)) != t] == []


def test_every_cause_is_declared_and_every_declared_one_can_be_told() -> None:
    rule = load_rules()["external-secret-sync-error"]
    conditions = load("argolint_rules.secrets", "sync_texts.yaml")["conditions"]
    deciding = {e.cause for e in ENTRIES} | {c["cause"] for c in conditions if c.get("cause")}
    assert deciding | {"unknown", "store-kind-omitted"} == set(rule.causes)


def test_advice_is_for_causes_that_exist() -> None:
    rules = load_rules()
    named = {e.advice for e in ENTRIES if e.advice != e.cause}
    known = (
        set(rules["external-secret-sync-error"].causes)
        | {
            "unknown-store",
            "unknown-said",
            "unknown-moved",
            "provider-settings",
            "push",
            "not-reconciled",
            "not-found-version",
        }
        | named
    )
    advice = {
        topic
        for topic in load("argolint_rules.secrets", "advice.yaml")
        if not topic.startswith(("push-", "hint/", "kes/", "sealed-secret/", "undecrypted/"))
    }
    assert advice - known == set()
    assert named - advice == set()


def test_every_provider_says_all_that_advice_asks_for() -> None:
    table = load("argolint_rules.secrets", "provider_advice.yaml")
    needed = {"title", "signs", "renew", "grant", "compare", "property", "reach"}
    assert {
        name: left
        for name, entry in table.items()
        if (left := needed ^ (set(entry) - {"exists_since", "find", "write", "throttle", "retries"}))
    } == {}
    assert [name for name, entry in table.items() if "" not in entry["renew"]] == []


def test_every_field_of_a_store_has_a_version() -> None:
    table = load("argolint_rules.secrets", "store_fields.yaml")
    versions = [entry["since"] for entry in table["fields"].values()] + [e["until"] for e in table["ignored"]]
    assert [v for v in versions if text(parse(v)) != v] == []


@pytest.mark.parametrize(
    ("error", "provider"),
    [
        ("Doppler API Client Error: Invalid Auth token", "Doppler"),
        ("error finding 1Password Item: status 403: Authorization", "1Password Connect"),
        ("AADSTS7000215: Invalid client secret provided", "Azure Key Vault"),
        ("no Infisical project found for slug", "Infisical"),
        ("something else", "the provider"),
    ],
)
def test_an_error_tells_the_provider_of_a_store_that_nobody_shows(error: str, provider: str) -> None:
    assert provider_facts(None, OperatorVersion(), error)["provider"] == provider


@pytest.mark.parametrize(
    ("error", "cause", "place"),
    [
        ("error processing spec.dataFrom[2].extract, err: Secret does not exist", "not-found", ("dataFrom", 2)),
        ("error retrieving secret at .data[1], key: a, err: Secret does not exist", "not-found", ("data", 1)),
        ("could not apply decoding strategy to spec.data[3]: illegal base64 data", "decode", ("data", 3)),
        ("key clientSecret does not exist in secret shop/api", "property-missing", ("", 0)),
        ("key http-401 does not exist in secret shop/api", "property-missing", ("", 0)),
        ("Doppler API Client Error: Could not find requested secret: DB", "not-found", ("", 0)),
        (
            "the desired secret base was not found. With creationPolicy=Merge the secret won't be created",
            "merge-target-missing",
            ("", 0),
        ),
        ("unable to access Secret from SecretManager Client: rpc error: code = NotFound", "not-found", ("", 0)),
        ('cannot get Kubernetes secret "k" from namespace "n": secrets "k" not found', "store-credential", ("", 0)),
        ("unable to get secret: context deadline exceeded", "network", ("", 0)),
        (
            "unable to log in to auth method: Put https://vault/v1/auth/kubernetes/login: dial tcp: lookup vault: no such host",
            "network",
            ("", 0),
        ),
        (
            "no EC2 IMDS role found, operation error ec2imds: GetMetadata, dial tcp 169.254.169.254:80: i/o timeout",
            "auth",
            ("", 0),
        ),
        (
            'failed calling webhook "x": Post https://x: dial tcp 10.0.0.1:443: connect: connection refused',
            "admission",
            ("", 0),
        ),
        ("invalid service account token, please make sure you provide a valid one", "auth", ("", 0)),
        ('error fetching templateFrom data: secrets "layout" not found', "template", ("", 0)),
        ("You can't perform this operation on the secret because it was marked for deletion.", "not-found", ("", 0)),
    ],
)
def test_texts_of_all_versions_and_providers(error: str, cause: str, place: tuple[str, int]) -> None:
    found = sync_error.classify(error)
    assert found is not None
    assert (found.cause, (found.entry, found.index)) == (cause, place)


@pytest.mark.parametrize(
    ("error", "cause", "topic"),
    [
        (
            "URL: GET https://v/v1/auth/token/lookup-self Code: 403. Errors: * invalid vault credentials: Code: 403",
            "auth",
            "",
        ),
        (
            "cannot read secret data from Vault: URL: GET https://v/v1/kv/data/app Code: 403.",
            "access-denied",
            "vault-policy",
        ),
        (
            "unable to log in to auth method: URL: PUT https://v/v1/auth/kubernetes/login Code: 403.",
            "auth",
            "vault-login",
        ),
        ("Request failed: InnerError={'code':'ForbiddenByFirewall'} Code=Forbidden", "network", "azure-firewall"),
        ("Code=Forbidden InnerError={'code':'ForbiddenByRbac'}", "access-denied", "azure-role"),
        ("oauth2/google: status code 404: Not found; Gaia id not found for email a@b", "auth", "gcp-account"),
        ("Error Code: NotAuthorizedOrNotFound. http status code: 404", "access-denied", "either"),
        (
            'cannot get Kubernetes secret "a" from namespace "b": secrets "a" is forbidden: User "u" cannot get',
            "store-credential",
            "credential-forbidden",
        ),
        ('secrets "a" is forbidden: User "u" cannot get resource "secrets" in API group ""', "access-denied", ""),
        ("error getting secret: unable to unmarshal secret: invalid character 'u'", "property-missing", "not-json"),
        ("can't find the specified secret value for staging label: AWSCURRENT", "not-found", "aws-no-value"),
    ],
)
def test_the_most_specific_statement_wins(error: str, cause: str, topic: str) -> None:
    found = sync_error.classify(error)
    assert found is not None
    assert (found.cause, found.topic) == (cause, topic)


def test_an_excerpt_holds_what_means_the_cause() -> None:
    text = "http call failed: AADSTS7000215: Invalid client secret provided. " + "Trace ID: 0 " * 30
    found = sync_error.classify(text)
    assert found is not None
    said = sync_error.finding_sentence("SecretStore kv", "its provider refuses it", "", found.text, found.deciding)
    assert "AADSTS7000215" in said
    assert len(said.split()) <= 25
    wrapped = "could not do it: " * 20 + "dial tcp: lookup vault: no such host"
    assert "lookup vault: no such host" in sync_error.finding_sentence("SecretStore kv", "it is away", "", wrapped)


def test_a_text_of_the_other_stage_is_no_answer() -> None:
    assert sync_error.classify("Secret does not exist", "update") is None


def test_the_requests_own_id_is_left_out() -> None:
    error = "https response error StatusCode: 400, RequestID: 0f3c2b9e-2f4f-4b60-9d5c-3b1a0a6e8c11, api error X"
    assert sync_error.cleaned_text(error) == "https response error StatusCode: 400, api error X"


def test_force_sync_is_offered_only_where_it_works() -> None:
    def obj(refreshed: bool, **spec: str) -> dict[str, Any]:
        return {"spec": spec, "status": {"refreshTime": "2026-01-01T00:00:00Z"} if refreshed else {}}

    works = external_secret.force_sync_works
    assert works(obj(True, refreshInterval="1h"))
    assert works(obj(True, refreshInterval="0", refreshPolicy="OnChange"))
    assert works(obj(False, refreshInterval="0"))
    assert not works(obj(True, refreshInterval="0"))
    assert not works(obj(True, refreshPolicy="CreatedOnce"))


def test_set_field_makes_the_maps_that_lack() -> None:
    made = external_secret.set_field({"spec": {}}, "/spec/target/template/metadata", {})
    assert made == [{"op": "add", "path": "/spec/target", "value": {"template": {"metadata": {}}}}]


def old(backend: str, **spec: Any) -> dict[str, Any]:
    metadata = {
        "name": "db",
        "namespace": "shop",
        "labels": {"team": "a"},
        "annotations": {"argocd.argoproj.io/tracking-id": "x", "kept": "yes"},
    }
    return {
        "apiVersion": "kubernetes-client.io/v1",
        "kind": "ExternalSecret",
        "metadata": metadata,
        "spec": {"backendType": backend, **spec},
    }


OLD = {
    "aws": old(
        "secretsManager",
        region="eu-west-1",
        roleArn="arn:aws:iam::111122223333:role/shop",
        data=[
            {"key": "shop/db", "name": "password", "property": "logins[0].password"},
            {"key": "shop/db", "name": "previous", "versionStage": "AWSPREVIOUS"},
            {"key": "shop/db", "name": "pinned", "versionId": "0f3c2b9e-2f4f-4b60-9d5c-3b1a0a6e8c11"},
            {"key": "shop/keystore", "name": "keystore", "isBinary": True},
        ],
        dataFrom=["shop/all"],
        dataFromWithOptions=[{"key": "shop/more", "versionStage": "AWSPREVIOUS", "isBinary": True}],
    ),
    "ssm": old("systemManager", region="eu-west-1", data=[{"path": "/shop/", "recursive": False}]),
    "vault": old(
        "vault",
        vaultRole="shop",
        vaultMountPoint="kubernetes-prod",
        data=[
            {"key": "secret/data/shop/db", "name": "all"},
            {"key": "secret/data/shop/db", "name": "password", "property": "password"},
            {"key": "other/data/token", "name": "token", "property": "t"},
        ],
    ),
    "vault-v1": old("vault", kvVersion=1, dataFrom=["kv/data/shop"]),
    "gcp": old("gcpSecretsManager", projectId="shop-1", data=[{"key": "db", "name": "password", "version": 3}]),
    "azure": old("azureKeyVault", keyVaultName="shop", data=[{"key": "db", "name": "password"}]),
    "ibm": old(
        "ibmcloudSecretsManager",
        keyByName=True,
        data=[{"key": "db", "name": "u", "secretType": "username_password", "property": "username"}],
    ),
    "akeyless": old("akeyless", data=[{"key": "/shop/db", "name": "password"}]),
    "template": old(
        "secretsManager",
        data=[{"key": "shop/db", "name": "password"}],
        template={
            "type": "kubernetes.io/basic-auth",
            "metadata": {"labels": {"app": "<%= data.password %>"}},
            "stringData": {"dsn": "postgres://<%= data['pass-word'] %>@db"},
            "data": {"host": "ZGIuZXhhbXBsZS5jb20="},
            "immutable": True,
        },
    ),
}


@cache
def schemas() -> dict[str, Any]:
    file = Path(__file__).parent / "schemas" / "external_secrets_v1.yaml"
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(OLD))
def test_generated_manifests_validate_against_the_operators_own_schema(name: str) -> None:
    made = convert(OLD[name], "db-eso")
    assert made is not None
    for manifest in made.manifests:
        require_fit(manifest, schemas()[manifest["kind"]])
    made_stores = {m["metadata"]["name"] for m in made.manifests[:-1]}
    assert made.external_secret["spec"]["secretStoreRef"]["name"] in made_stores


def spec_of(name: str) -> dict[str, Any]:
    made = convert(OLD[name], "db-eso")
    assert made is not None
    found: dict[str, Any] = made.external_secret["spec"]
    return found


def store_of(name: str, index: int = 0) -> dict[str, Any]:
    made = convert(OLD[name], "db-eso")
    assert made is not None
    found: dict[str, Any] = made.manifests[index]["spec"]["provider"]
    return found


def test_aws_keeps_stages_ids_and_binaries_that_the_official_converter_drops() -> None:
    assert spec_of("aws")["data"] == [
        {"secretKey": "password", "remoteRef": {"key": "shop/db", "property": "logins.0.password"}},
        {"secretKey": "previous", "remoteRef": {"key": "shop/db", "version": "AWSPREVIOUS"}},
        {
            "secretKey": "pinned",
            "remoteRef": {"key": "shop/db", "version": "uuid/0f3c2b9e-2f4f-4b60-9d5c-3b1a0a6e8c11"},
        },
        {"secretKey": "keystore", "remoteRef": {"key": "shop/keystore", "decodingStrategy": "Base64"}},
    ]
    assert spec_of("aws")["dataFrom"] == [
        {"extract": {"key": "shop/all"}},
        {"extract": {"key": "shop/more", "version": "AWSPREVIOUS"}},
    ]
    assert store_of("aws") == {
        "aws": {"service": "SecretsManager", "region": "eu-west-1", "role": "arn:aws:iam::111122223333:role/shop"}
    }


def test_a_path_becomes_a_find_whose_keys_lose_the_path() -> None:
    assert spec_of("ssm")["dataFrom"] == [
        {
            "find": {"path": "/shop/", "name": {"regexp": ".*"}},
            "rewrite": [{"regexp": {"source": ".*/(.*)", "target": "$1"}}],
        }
    ]
    assert store_of("ssm")["aws"]["service"] == "ParameterStore"


def test_vault_paths_lose_mount_and_data_and_properties_stay_as_they_were() -> None:
    other = {"sourceRef": {"storeRef": {"kind": "SecretStore", "name": "vault-other"}}}
    assert spec_of("vault")["data"] == [
        {"secretKey": "all", "remoteRef": {"key": "shop/db"}},
        {"secretKey": "password", "remoteRef": {"key": "shop/db", "property": "password"}},
        {"secretKey": "token", "remoteRef": {"key": "token", "property": "t"}, **other},
    ]
    assert store_of("vault")["vault"]["path"] == "secret"
    assert store_of("vault", 1)["vault"]["path"] == "other"
    assert store_of("vault")["vault"]["auth"] == {"kubernetes": {"mountPath": "kubernetes-prod", "role": "shop"}}


def test_vault_kv_1_keeps_a_data_folder() -> None:
    assert spec_of("vault-v1")["dataFrom"] == [{"extract": {"key": "data/shop"}}]
    assert store_of("vault-v1")["vault"]["version"] == "v1"


def test_a_template_is_merged_decoded_and_rewritten_to_go() -> None:
    assert spec_of("template")["target"]["template"] == {
        "engineVersion": "v2",
        "mergePolicy": "Merge",
        "type": "kubernetes.io/basic-auth",
        "metadata": {"labels": {"app": "{{ .password }}"}},
        "data": {"dsn": 'postgres://{{ index . "pass-word" }}@db', "host": "db.example.com"},
    }


def _converted(backend: str, **spec: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    made = convert(old(backend, **spec), "x")
    assert made is not None
    return made.external_secret["spec"], made.notes


def test_what_lodash_left_alone_stays_text_for_go() -> None:
    text = "{{ $value }} of ${data.host} <%= data['api-key'] %>"
    spec, notes = _converted("secretsManager", template={"stringData": {"alert": text}})
    assert spec["target"]["template"]["data"] == {
        "alert": '{{ "{{" }} $value }} of {{ .host }} {{ index . "api-key" }}'
    }
    assert [note for note in notes if "lodash" in note] == []


def test_fields_that_the_old_controller_did_not_heed_are_not_carried_over() -> None:
    spec, _ = _converted(
        "secretsManager",
        data=[{"key": "k", "name": "n"}],
        properties=[{"key": "unread", "name": "o"}],
        dataFromWithOptions=[{"key": "all", "isBinary": True}],
    )
    assert spec["data"] == [{"secretKey": "n", "remoteRef": {"key": "k"}}]
    assert spec["dataFrom"] == [{"extract": {"key": "all"}}]


def test_the_oldest_manifests_have_no_spec() -> None:
    manifest = old("secretsManager", properties=[{"key": "k", "name": "n"}])
    manifest["secretDescriptor"] = manifest.pop("spec")
    made = convert(manifest, "x")
    assert made is not None
    assert made.external_secret["spec"]["data"] == [{"secretKey": "n", "remoteRef": {"key": "k"}}]


def test_ibm_secrets_are_read_as_external_secrets_reads_them() -> None:
    entries = [
        {"key": "a", "name": "a", "secretType": "kv", "property": "payload.user"},
        {"key": "b", "name": "b", "secretType": "username_password"},
    ]
    spec, notes = _converted("ibmcloudSecretsManager", data=entries, keyByName=True)
    assert [e["remoteRef"] for e in spec["data"]] == [
        {"key": "kv/a", "property": "user"},
        {"key": "username_password/b"},
    ]
    assert (
        '"username_password/b": a secret of type username_password is read by a property (username or password): name it'
        in notes
    )
    assert "keyByName: write the keys as `<secret group>/<type>/<name>`, with the group that holds them" in notes


def test_a_key_of_vault_without_data_is_noted_for_version_2_only() -> None:
    def noted(version: int) -> bool:
        return any(
            '"kv/app" has no "/data/"' in n
            for n in _converted("vault", kvVersion=version, data=[{"key": "kv/app", "name": "a"}])[1]
        )

    assert (noted(1), noted(2)) == (False, True)


def test_what_cannot_be_carried_over_is_noted() -> None:
    notes = {name: made.notes for name, obj in OLD.items() if (made := convert(obj, "db-eso"))}
    assert any(note.startswith("keyByName: ") for note in notes["ibm"])
    assert "immutable: set spec.target.immutable" in notes["template"]
    assert any("CHANGE-ME" in note for note in notes["azure"])


def test_metadata_is_kept_without_argo_cds_own() -> None:
    made = convert(OLD["gcp"], "db-eso")
    assert made is not None
    assert made.external_secret["metadata"] == {
        "name": "db",
        "namespace": "shop",
        "labels": {"team": "a"},
        "annotations": {"kept": "yes"},
    }


def test_a_backend_without_successor_is_not_converted() -> None:
    assert convert(old("alicloudSecretsManager", data=[{"key": "a", "name": "a"}]), "db-eso") is None


@pytest.mark.parametrize(
    ("conditions", "admitted"),
    [
        ([], True),
        ([{"namespaces": ["web"]}, {"namespaces": ["shop"]}], True),
        ([{"namespaces": ["web"]}], False),
        ([{"namespaceRegexes": ["^shop$|^web-.*"]}], True),
        ([{"namespaceRegexes": ["^web-.*"]}], False),
        ([{"namespaceRegexes": ["^(a+)+$"]}], None),
        ([{"namespaceRegexes": ["a*b*c*d*e*"]}], None),
        ([{"namespaceSelector": {"matchLabels": {"team": "a"}}}], None),
    ],
)
def test_a_cluster_store_admits_namespaces_by_its_conditions(conditions: list[Any], admitted: bool | None) -> None:
    obj = {"spec": {"conditions": conditions}}
    resource = Resource(
        ResourceId("external-secrets.io", "ClusterSecretStore", "", "vault"), live_state=obj, live_known=True
    )
    ref = external_secret.StoreRef("ClusterSecretStore", "vault", "/spec/secretStoreRef")
    assert stores.Store(ref, None, resource).admits("shop") is admitted


def test_a_finding_about_another_applications_secret_names_no_source_of_its_own() -> None:
    fixture = testing.load_fixture(Path(__file__).parent / "rules" / "external-secret-target-in-git" / "bad-both.yaml")
    found = testing.check(fixture, [load_rules()["external-secret-target-in-git"]]).findings
    assert {f.app.name: f.source.path if f.source else None for f in found} == {"base": None, "shop": "shop"}


BROKEN = {
    "apiVersion": "external-secrets.io/v1",
    "kind": "ExternalSecret",
    "metadata": {"name": "db", "namespace": "shop", "labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {
        "refreshInterval": "1m",
        "secretStoreRef": {"kind": "SecretStore", "name": "vault"},
        "target": {
            "name": "db",
            "creationPolicy": "Owner",
            "deletionPolicy": "Merge",
            "template": {"data": {"a": "b"}},
        },
        "data": [
            {"secretKey": "a", "remoteRef": {"key": "k", "property": "p"}, "sourceRef": {"storeRef": {"name": "x"}}}
        ],
        "dataFrom": [
            {"sourceRef": {"generatorRef": {"kind": "Password", "name": "pw"}}},
            {"find": {"name": {"regexp": ".*"}}},
        ],
    },
}


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [each for key, child in pairs for each in ((*path, key), *_places(child, (*path, key)))]


@pytest.mark.parametrize("junk", [None, "x", 3, [], {}, ["x"], [None]], ids=repr)
def test_no_manifest_however_broken_stops_a_rule(junk: Any) -> None:
    rules = [r for r in load_rules().values() if r.family == "secrets"]
    apps = []
    for number, path in enumerate(p for p in _places(BROKEN) if p[0] != "kind" and p[:2] != ("metadata", "name")):
        obj = copy.deepcopy(BROKEN)
        place: Any = obj
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = junk
        if path[0] == "spec" or path[:2] in (("metadata", "labels"), ("metadata", "annotations")):
            apps.append(
                {"name": f"app-{number}", "status": {"health": {"status": "Degraded"}}, "resources": [{"desired": obj}]}
            )
    found = testing.check(testing.Fixture(Path("broken.yaml"), {"about": "broken", "apps": apps}), rules)
    assert found.findings
    assert [f.error for f in found.failures] == []


def test_six_hundred_healthy_external_secrets_cost_no_request_beyond_the_states() -> None:
    apps = 6
    t = testing.FixtureTransport({"apps": [_healthy(f"shop-{n}", 600 // apps) for n in range(apps)]})
    rules = [r for r in load_rules().values() if r.family == "secrets"]
    fleet, _ = read_fleet(t)
    before = t.stats.requests
    plan = Plan(tuple(ChosenRule(r, r.default_options) for r in rules), workers=1)
    results = list(engine.run(t, fleet, plan))
    assert sum(r.resources for r in results) == 600
    assert [f.message for f in join(results, plan.rules).findings] == []
    assert t.stats.requests - before == 2 * apps  # managed-resources and resource-tree


def _healthy(name: str, count: int) -> dict[str, Any]:
    resources, nodes = [], []
    for number in range(count):
        es = f"{name}-{number}"
        spec = {
            "refreshInterval": "1h0m0s",
            "secretStoreRef": {"kind": "ClusterSecretStore", "name": "vault"},
            "data": [{"secretKey": "password", "remoteRef": {"key": es}}],
        }
        obj = {
            "apiVersion": "external-secrets.io/v1",
            "kind": "ExternalSecret",
            "metadata": {"name": es, "namespace": name, "uid": f"u-{es}"},
            "spec": spec,
        }
        status = {
            "refreshTime": "2026-01-01T11:30:00Z",
            "conditions": [{"type": "Ready", "status": "True", "reason": "SecretSynced", "message": "secret synced"}],
        }
        resources.append({"desired": obj, "live": {**obj, "status": status}, "health": {"status": "Healthy"}})
        parent = {
            "group": "external-secrets.io",
            "kind": "ExternalSecret",
            "namespace": name,
            "name": es,
            "uid": f"u-{es}",
        }
        nodes.append(
            {"version": "v1", "kind": "Secret", "namespace": name, "name": es, "uid": f"s-{es}", "parentRefs": [parent]}
        )
    return {"name": name, "spec": {"destination": {"namespace": name}}, "resources": resources, "nodes": nodes}
