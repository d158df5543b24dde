"""What lets the pods of a workload run, by the reason why they do not."""

from __future__ import annotations

import re
from collections.abc import Mapping

from argolint import App, Fix, Fleet, Json, Object, ResourceId, ResourceKey, Want
from argolint.edits import handover
from argolint.edits.advice import Shell, advice
from argolint.redaction import excerpt
from argolint.relations.blocked import members
from argolint.relations.later import NO_KEY
from argolint.relations.makers import maker_of
from argolint.sequence.order import delete_policies
from argolint.values import enumerated, get, mapping, maps, text_at
from argolint.values.knowledge import dump, load
from argolint.values.kubernetes import containers, kubectl_name, pod_spec
from argolint.values.patterns import regex

from .messages import catalogue
from .operations import whole_sync_command
from .pod_edits import key_edits, lacking_keys, mounted_at, own_gates, own_scheduler, sysctl_edits, user_edits
from .pods import (
    ABSENT,
    INSUFFICIENT,
    POLICY,
    TAINT,
    Trouble,
    holders,
    is_pod_of,
    message_parts,
    scale_up_refusal,
    status_reason,
    trouble_pointer,
    unread_pull_secrets,
    volumes_named,
)
from .references import MountedKey, near_names, read_keys, rename_operations
from .unmade import gone_hook, hook_job, making_workload, policy_facts, silent_maker, vault_facts

_CONTROL_PLANE = "node-role.kubernetes.io/"
_KARPENTER_TAINT = regex(r"did not tolerate (?:taint \(taint=)?([^=:\s)]+)(?:=([^:\s)]*))?:\w+")
_NODE_STATE = regex(r"^(node\.kubernetes|node\.cloudprovider\.kubernetes|node\.cilium|karpenter)\.|ClusterAutoscaler$")
_PULLING = "the last Event is Pulling: "
_SECURITY = regex(r"violates PodSecurity|unable to validate against any security context constraint", re.IGNORECASE)


def fixes(app: App, fleet: Fleet, id_: ResourceId, obj: Object | None, trouble: Trouble) -> tuple[Fix, ...]:
    """Fixes that let the pods run, for the workload `id_` with manifest `obj` (None: unknown)."""
    absent, keyless = ABSENT.search(trouble.text), NO_KEY.search(trouble.text)
    topic, said = _topic(trouble)
    unknown = dict.fromkeys(("missing_kind", "missing_name", "missing_key", "bringer", "brought"), "")
    facts = {**_facts(app, id_, obj, trouble), **unknown, **said}
    pull_secrets = (
        unread_pull_secrets(app.events(trouble.node.id, trouble.node.uid) or ()) if topic == "image-auth" else ()
    )
    if (topic == "image-absent" or "does not exist" in trouble.text) and (
        moved := _moved_facts(obj, str(facts["pointer"]))
    ):
        topic, facts = "image-moved", {**facts, **moved}
    elif absent:
        facts |= {"missing_kind": absent[1].lower(), "missing_name": absent[2]}
        topic, more = _absent_facts(app, fleet, id_, obj, absent[1].lower(), absent[2])
        facts |= more
    elif keyless:
        topic = "missing-key"
        facts |= {"missing_kind": keyless[2].lower(), "missing_name": keyless[4], "missing_key": keyless[1]}
        facts |= {"bringer": _maker_text(app, fleet, id_, keyless[2].lower(), keyless[4])}
        facts |= {"brought": _brought(app, fleet, id_.namespace, keyless[4]) if facts["bringer"] else ""}
    elif pull_secrets:
        topic = "image-secret"
        maker = maker_of(app, fleet, id_.namespace, pull_secrets[0])
        facts |= {"missing_name": pull_secrets[0], "maker": str(maker.id) if maker else ""}
        facts |= {"command": Shell(kubectl_name(maker.id))} if maker else {}
        facts |= _near_facts(app, fleet, id_, obj, pull_secrets[0], "Secret")
        if maker is None and not facts["patch"] and (kept := _pull_facts(app, id_, obj, pull_secrets[0])):
            topic, facts, id_ = "image-secret-kept", {**facts, **kept[1]}, kept[0]
    elif topic == "scheduler":
        gated = status_reason(trouble.node) == "SchedulingGated"
        facts |= {"gated": gated, "gates": enumerated(own_gates(obj)), "scheduler": own_scheduler(obj)}
    elif topic == "non-root":
        facts["uid"], facts["patch"] = user_edits(obj, said["sort"], said.get("what", ""))
        images = (text_at(c, "image") for _, c in containers(obj) if text_at(c, "name") == said["sort"])
        facts["image"] = next(images, "IMAGE")
    elif topic == "sysctl":
        facts["patch"] = sysctl_edits(obj, said["what"])
    elif topic == "mount-kind":
        facts |= {"near": "", "has": "", "patch": [], "key": "", "file": "", "holder": ""}
        if (mount := mounted_at(app, id_, obj, said["what"])) is not None:
            facts |= _mount_facts(app, id_, obj, *mount)
    elif topic == "volume-parameter":
        facts["class"] = _provider_class(id_, obj, trouble)
    elif topic == "volume-class":
        spaces = _namespaces_with(fleet, app.cluster, _PROVIDER_CLASS, str(facts["what"]), id_.namespace)
        facts |= {"elsewhere": f" One of this name is in namespace {enumerated(spaces, limit=4)}." if spaces else ""}
    if lost := keyless[1] if keyless else said.get("what", "") if topic == "volume-key" else "":
        facts |= _key_facts(app, id_, obj, lost)
    return advice(__package__, f"pods/{topic}", facts, id_)


def _moved_facts(obj: Object | None, pointer: str) -> Mapping[str, Json]:
    """Where the image of this field is today, and the edit that names it; empty if it did not move (moved_images.yaml)."""
    image = get(obj, pointer, None) if pointer.endswith("/image") else None
    if not isinstance(image, str) or not _REFERENCE.fullmatch(image):
        return {}
    host, path, rest = image.partition("/")
    whole = image if path and ("." in host or ":" in host) else f"docker.io/{image}" if rest else image
    for moved in load(__package__, "moved_images.yaml"):
        if whole.startswith(moved["from"]):
            new = moved["to"] + whole.removeprefix(moved["from"])
            return {"image": new, "what": moved["says"], "patch": [{"op": "replace", "path": pointer, "value": new}]}
    return {}


_REFERENCE = regex(r"[\w./:@-]{1,512}")


def _absent_facts(
    app: App, fleet: Fleet, id_: ResourceId, obj: Object | None, kind: str, name: str
) -> tuple[str, dict[str, Json]]:
    """The topic and the facts of a Secret, ConfigMap or other object that is not there: who makes it, or was to."""
    if kind == "secret" and (maker := maker_of(app, fleet, id_.namespace, name)):
        made: dict[str, Json] = {"maker": str(maker.id), "command": Shell(kubectl_name(maker.id))}
        made |= {"there": maker.live is not False, "auth": "", "login": False, "denied": ""}
        silent = silent_maker(app, fleet, id_.namespace, name)
        return "missing-made", {**made, **(vault_facts(app, silent) if silent is not None else {})}
    if (gone := gone_hook(app, fleet, id_.namespace, kind, name)) is not None:
        owner, made_hook = gone
        return "missing-hook", {
            "command": Shell(handover.sync(owner)),
            "app": str(owner),
            "made": str(made_hook),
            "makes": made_hook.kind.lower() != kind,
            "ends": any(
                m.id.key == made_hook.key and "HookSucceeded" in delete_policies(m.manifest)
                for m in app.derive(members)
            ),
        }
    awaited = app.operation.awaited if app.operation else None
    waits = awaited is not None and awaited.reason == "healthy state of"
    hook = hook_job(app, id_.namespace, kind, name)
    program = None if hook else making_workload(app, id_.namespace, kind, name)
    if program is not None and program.id != id_:
        ill = program.health.status not in ("", "Healthy")
        return "missing-program", {
            "maker": str(program.id),
            "command": Shell(kubectl_name(program.id)),
            "logs": f"{program.kind.lower()}/{program.name}",
            "cron": program.name if program.kind == "CronJob" else "",
            "ill": ill,
        }
    return "missing", {
        "unseen": not hook and waits and app.evidence.get(Want("manifests")) is None,
        **_asked_of(app, fleet, obj, kind, name),
        **policy_facts(app, fleet, kind, name),
        **_near_facts(app, fleet, id_, obj, name, {"secret": "Secret", "configmap": "ConfigMap"}.get(kind, "")),
        "hook": hook,
        "account": kind == "serviceaccount",
        "command": Shell(whole_sync_command(app)),
        "app": str(app.ref),
    }


def _key_facts(app: App, id_: ResourceId, obj: Object | None, key: str) -> dict[str, Json]:
    """The keys of the object that lacks this one, and the edit that reads the nearest."""
    near, patch = key_edits(app, id_, obj, key)
    keys = sorted({each for _, have in lacking_keys(app, id_, obj, key) for each in have})
    found: dict[str, Json] = {"near": near, "patch": patch, "has": enumerated(keys, limit=8)}
    return {**found, "bringer": ""} if keys else found


def _pull_facts(app: App, id_: ResourceId, obj: Object | None, name: str) -> tuple[ResourceId, dict[str, Json]] | None:
    """The object that names a pull Secret which is not there, and the edit that names the only one of its namespace in the application."""
    secrets = [r for r in app.of_kind("Secret", "") if r.namespace == id_.namespace]
    kept = [r.name for r in secrets if text_at(r.any, "type") == "kubernetes.io/dockerconfigjson"]
    account = app.find(
        "", "ServiceAccount", id_.namespace, text_at(pod_spec(obj)[1], "serviceAccountName") or "default"
    )
    holders = ((id_, obj), *(((account.id, account.desired),) if account else ()))
    for holder, manifest in holders if len(kept) == 1 else ():
        if patch := rename_operations(manifest, "Secret", name, kept[0]):
            by_account = holder != id_ and id_.kind in ("Deployment", "StatefulSet", "DaemonSet")
            return holder, {
                "holder": str(holder),
                "near": kept[0],
                "patch": patch,
                "restart": f"{id_.kind.lower()}/{id_.name}" if by_account else "",
            }
    return None


def _mount_facts(app: App, id_: ResourceId, obj: Object | None, mount: MountedKey, there: bool) -> dict[str, Json]:
    """The facts of a file that is mounted over a directory, or of a key that is missing, in place of which the kubelet mounts a directory."""
    read = mount.read
    found: dict[str, Json] = {"holder": f"{read.kind} {read.name}", "container": mount.container}
    if not there:
        return {**found, "key": read.key, **_key_facts(app, id_, obj, read.key)}
    path = f"{mount.path.rstrip('/')}/{read.key}"
    at = f"{read.pointer.rpartition('/')[0]}/mountPath"
    return {**found, "file": path, "patch": [{"op": "replace", "path": at, "value": path}]}


def _provider_class(id_: ResourceId, obj: Object | None, trouble: Trouble) -> str:
    """The SecretProviderClass of the volume that is not mounted, as far as the manifest names it."""
    asked = {
        text_at(volume, "name"): text_at(volume, "csi", "volumeAttributes", "secretProviderClass")
        for volume in maps(pod_spec(obj)[1], "volumes")
    }
    name = next((asked[v] for v in volumes_named(trouble.whole or trouble.text) if v in asked), "")
    return f"SecretProviderClass {id_.namespace}/{name}" if name else "the SecretProviderClass of the volume"


_PROVIDER_CLASS = ("secrets-store.csi.x-k8s.io", "SecretProviderClass")


def _namespaces_with(fleet: Fleet, cluster: str, kind: tuple[str, str], name: str, but: str) -> list[str]:
    """The other namespaces in which applications have an object of this kind and name."""
    found = (key.namespace for key in fleet.of_kind(cluster, *kind) if key.name == name and fleet.owners(key))
    return sorted({namespace for namespace in found if namespace != but})


_KEY = regex(r"[\w.-]{1,253}")
_OF_CERTIFICATE = {"tls.crt", "tls.key"}


def _asked_of(app: App, fleet: Fleet, obj: Object | None, kind: str, name: str) -> dict[str, Json]:
    """The keys that the pods read of the missing Secret or ConfigMap, and whether cert-manager could make it."""
    read = [r.key for r in read_keys(obj) if (r.kind.lower(), r.name) == (kind, name) and _KEY.fullmatch(r.key)]
    issuers = (("cert-manager.io", each) for each in ("ClusterIssuer", "Issuer", "Certificate"))
    issued = kind == "secret" and set(read) >= _OF_CERTIFICATE
    return {
        "keys": enumerated(list(dict.fromkeys(read)), limit=8),
        "certificate": issued and any(fleet.of_kind(app.cluster, *each) for each in issuers),
    }


def _near_facts(app: App, fleet: Fleet, id_: ResourceId, obj: Object | None, name: str, kind: str) -> dict[str, Json]:
    """An object of the kind whose name is nearly the one that is missing, and the edit that names it; what Kustomize made of the name."""
    near, hashed = near_names(app, fleet, kind, id_.namespace, name) if kind else ("", "")
    patch = rename_operations(obj, kind, name, near) if near else []
    return {"near": near if patch else "", "patch": patch, "hashed": hashed}


def _maker_text(app: App, fleet: Fleet, id_: ResourceId, kind: str, name: str) -> str:
    """The object that makes the Secret or ConfigMap, or the application that manages it; empty if unknown."""
    if kind == "secret" and (maker := maker_of(app, fleet, id_.namespace, name)):
        return str(maker.id)
    key = ResourceKey(app.cluster, "", "Secret" if kind == "secret" else "ConfigMap", id_.namespace, name)
    owner = next(iter(fleet.owners(key)), None)
    return f"application {owner}" if owner else ""


def _brought(app: App, fleet: Fleet, namespace: str, secret: str) -> str:
    """How an ExternalSecret of this application names the keys that it fetches together; empty for every other maker."""
    maker = maker_of(app, fleet, namespace, secret)
    made = app.resource(maker.id.key) if maker is not None else None
    for number, entry in enumerate(maps(made.any if made else {}, "spec", "dataFrom")):
        place = f"spec.dataFrom[{number}]"
        if (rewrites := maps(entry, "rewrite")) and (regexp := mapping(rewrites[-1], "regexp")):
            source, target = excerpt(text_at(regexp, "source"), 200), excerpt(text_at(regexp, "target"), 200)
            return f"{place} renames each key that it fetches: {source} becomes {target}, and two that become one lose a value."
        if mapping(entry, "find"):
            return f"{place}.find writes one key for each secret that it finds, with the secret's name: single values of a secret come by `extract`, or by spec.data with `property`."
    return ""


def _topic(trouble: Trouble) -> tuple[str, Mapping[str, str]]:
    """The topic of advice and its facts: by the cause, and by the message of the kubelet or of the scheduler's deciding filter."""
    if trouble.cause in ("image", "volume"):
        match = catalogue().match(trouble.whole or trouble.text, trouble.cause)
        return (
            (match.entry.advice, {k: excerpt(v, 253) for k, v in match.facts.items()}) if match else (trouble.cause, {})
        )
    if trouble.cause == "quota":
        said = catalogue().match(trouble.whole or trouble.text, "pod")
        return said.entry.advice if said is not None and said.entry.cause == "quota" else "quota", {}
    if trouble.cause in ("selector", "resources", "taint"):
        parts = (
            catalogue().match(part, "scheduling")
            for part in message_parts(trouble.text.rpartition("nodes are available:")[2])
        )
        found = [part for part in parts if part and part.entry.cause == trouble.cause]
        if not found:
            return trouble.cause, {}
        decides = max(found, key=lambda part: part.entry.place)
        return decides.entry.advice, {k: excerpt(v, 253) for k, v in decides.facts.items()}
    if trouble.cause == "scheduler":
        return trouble.cause, {}
    match = catalogue().match(trouble.whole or trouble.text, "pod")
    if match is not None and match.entry.knows == "cause":
        return match.entry.advice, {k: excerpt(v, 253) for k, v in match.facts.items()}
    return _unknown_topic(trouble.text), {}


def _unknown_topic(text: str) -> str:
    if text.startswith(POLICY):
        return "policy"
    if _CONSTRAINT.search(text):
        return "constraint"
    if _SECURITY.search(text):
        return "security"
    if _LONG_LABEL.search(text):
        return "long-name"
    if _REFUSED_POD.search(text):
        return "refused"
    if _NO_PROGRAM.search(text):
        return "no-program"
    return "pulling" if _PULLING in text else "unknown"


_LONG_LABEL = regex(r"metadata\.labels: Invalid value: .{0,400}?must be no more than 63 (?:characters|bytes)")
_CONSTRAINT = regex(
    r"security context constraint|(?<!\w)\.(?:spec\.)?(?:\w{1,20}\[\d{1,3}\]\.)?securityContext\.\S{1,60}: (?:Forbidden|Invalid value)|seccomp may not be set|not usable by user or serviceaccount|: must be in the ranges: \["
)
"""What OpenShift's constraints say; the head of their long sentence may be cut."""
_NO_PROGRAM = regex(r"exec: .{1,300}?: (?:executable file not found|no such file or directory)")
_REFUSED_POD = regex(r'\bPod "[^"]{1,253}" is invalid: ')


def _facts(app: App, id_: ResourceId, obj: Object | None, trouble: Trouble) -> dict[str, Json]:
    pointer = trouble_pointer(obj, trouble)
    selector = get(obj, pointer, None) if pointer.endswith("nodeSelector") else None
    tolerations, away = _taint_tolerations(trouble.text)
    others = [name for name in holders(trouble.text) if not is_pod_of(id_, name)]
    return {
        "object": str(id_),
        "rolls": id_.kind == "Deployment" and not others,
        "others": enumerated(others),
        "namespace": id_.namespace or "default",
        "cluster": app.cluster,
        "pointer": pointer,
        "node": trouble.node.id.name,
        "node_kind": trouble.node.id.kind.lower(),
        "full": "max node group size reached" in scale_up_refusal(app, trouble.node),
        "short": ", ".join(sorted(set(INSUFFICIENT.findall(trouble.text)))) or "resources",
        "labels": [f"{k}={v}" for k, v in sorted(selector.items())] if isinstance(selector, dict) else [],
        "tolerations": dump([{"tolerations": tolerations}]).rstrip() if tolerations else "",
        "away": away,
        "what": "",
        "elsewhere": "",
        "class": "",
        "image": "",
    }


def _taint_tolerations(text: str) -> tuple[list[Json], bool]:
    """Tolerations of the taints that the scheduler names, and whether nodes are unavailable: cordoned, or not ready."""
    named = (*TAINT.findall(text), *_KARPENTER_TAINT.findall(text))
    taints = [t for t in named if not _NODE_STATE.search(t[0])]
    taints = [t for t in taints if not t[0].startswith(_CONTROL_PLANE)] or taints
    tolerations = [
        {"key": key.strip(), "operator": "Equal", "value": value.strip()}
        if value.strip()
        else {"key": key.strip(), "operator": "Exists"}
        for key, value in taints
    ]
    return tolerations, len(taints) < len(named) or "unschedulable" in text or "not ready" in text
