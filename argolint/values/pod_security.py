"""The Pod Security levels `baseline` and `restricted`, played on a pod spec.

Source: k8s.io/pod-security-admission, policy (check_*.go, as of 1.33); tests/pod_security.yaml has what that code says of each form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from argolint.model import Json, Object
from argolint.values import dig, mapping, maps, text_at, texts


class Violation(NamedTuple):
    """The API server's name of the check, the pointer of the field in the pod spec, and the value that it demands; None where no single value is right."""

    check: str
    pointer: str
    wants: Json = None


LEVEL = "pod-security.kubernetes.io/enforce"
ROOT, ESCALATION = "runAsNonRoot != true", "allowPrivilegeEscalation != false"
_BASELINE_CAPABILITIES = frozenset(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split()
)
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS = frozenset(
    "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.ip_unprivileged_port_start net.ipv4.tcp_syncookies net.ipv4.ping_group_range"
    " net.ipv4.ip_local_reserved_ports net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes"
    " net.ipv4.tcp_rmem net.ipv4.tcp_wmem".split()
)
_RESTRICTED_VOLUMES = frozenset(
    "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret".split()
)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def violations(spec: Object, level: str) -> tuple[Violation, ...]:
    """What a level forbids in a pod spec; pointers begin at the spec."""
    checks = {"baseline": (*_BOTH, *_BASELINE), "restricted": (*_BOTH, *_RESTRICTED)}.get(level, ())
    return tuple(violation for check in checks for violation in check(spec))


def level_for(spec: Object) -> str:
    """The strictest level that admits the pod."""
    return next((level for level in ("restricted", "baseline") if not violations(spec, level)), "privileged")


def rights(found: tuple[Violation, ...]) -> tuple[str, ...]:
    """The checks that fail since the pods ask for rights of the node; the others just demand a field."""
    return tuple(
        dict.fromkeys(each.check for each in found if each.wants in (None, False) and each.check != ESCALATION)
    )


def _each(spec: Object) -> Iterator[tuple[str, Object]]:
    for field in _CONTAINERS:
        for number, container in enumerate(maps(spec, field)):
            yield f"/{field}/{number}", container


def _contexts(spec: Object) -> Iterator[tuple[str, Object]]:
    """The security contexts of the pod and of its containers, with their pointers."""
    yield "/securityContext", mapping(spec, "securityContext")
    for at, container in _each(spec):
        yield f"{at}/securityContext", mapping(container, "securityContext")


def _is_windows(spec: Object) -> bool:
    return text_at(spec, "os", "name") == "windows"


def _host_namespaces(spec: Object) -> Iterator[Violation]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field) is True:
            yield Violation("host namespaces", f"/{field}", False)


def _privileged(spec: Object) -> Iterator[Violation]:
    for at, container in _each(spec):
        if dig(container, "securityContext", "privileged") is True:
            yield Violation("privileged", f"{at}/securityContext/privileged", False)


def _added_capabilities(spec: Object) -> Iterator[Violation]:
    for at, container in _each(spec):
        if set(texts(container, "securityContext", "capabilities", "add")) - _BASELINE_CAPABILITIES:
            yield Violation("non-default capabilities", f"{at}/securityContext/capabilities/add")


def _host_paths(spec: Object) -> Iterator[Violation]:
    for number, volume in enumerate(maps(spec, "volumes")):
        if volume.get("hostPath") is not None:
            yield Violation("hostPath volumes", f"/volumes/{number}/hostPath")


def _host_ports(spec: Object) -> Iterator[Violation]:
    for at, container in _each(spec):
        for number, port in enumerate(maps(container, "ports")):
            if port.get("hostPort"):
                yield Violation("hostPort", f"{at}/ports/{number}/hostPort")


def _mount_types(spec: Object) -> Iterator[Violation]:
    for at, container in _each(spec):
        if dig(container, "securityContext", "procMount") not in (None, "", "Default"):
            yield Violation("procMount", f"{at}/securityContext/procMount", "Default")


def _profiles(spec: Object) -> Iterator[Violation]:
    for at, context in _contexts(spec):
        options = mapping(context, "seLinuxOptions")
        odd = text_at(options, "type") not in _SELINUX_TYPES or options.get("user") or options.get("role")
        if odd:
            yield Violation("seLinuxOptions", f"{at}/seLinuxOptions")
        if dig(context, "appArmorProfile", "type") == "Unconfined":
            yield Violation("forbidden AppArmor profile", f"{at}/appArmorProfile/type", "RuntimeDefault")
        if dig(context, "windowsOptions", "hostProcess") is True:
            yield Violation("hostProcess", f"{at}/windowsOptions/hostProcess")


def _unconfined(spec: Object) -> Iterator[Violation]:
    for at, context in _contexts(spec):
        if dig(context, "seccompProfile", "type") == "Unconfined":
            yield Violation("seccompProfile", f"{at}/seccompProfile/type", "RuntimeDefault")


def _sysctls(spec: Object) -> Iterator[Violation]:
    for number, one in enumerate(maps(spec, "securityContext", "sysctls")):
        if text_at(one, "name") not in _SYSCTLS:
            yield Violation("forbidden sysctls", f"/securityContext/sysctls/{number}")


def _volume_types(spec: Object) -> Iterator[Violation]:
    for number, volume in enumerate(maps(spec, "volumes")):
        odd = [key for key in volume if key != "name" and key not in _RESTRICTED_VOLUMES]
        if odd:
            yield Violation("restricted volume types", f"/volumes/{number}/{odd[0]}")


def _escalation(spec: Object) -> Iterator[Violation]:
    for at, container in () if _is_windows(spec) else _each(spec):
        if dig(container, "securityContext", "allowPrivilegeEscalation") is not False:
            yield Violation(ESCALATION, f"{at}/securityContext/allowPrivilegeEscalation", False)


def _kept_capabilities(spec: Object) -> Iterator[Violation]:
    for at, container in () if _is_windows(spec) else _each(spec):
        capabilities = mapping(container, "securityContext", "capabilities")
        if "ALL" not in texts(capabilities, "drop"):
            yield Violation("unrestricted capabilities", f"{at}/securityContext/capabilities/drop", ["ALL"])
        if set(texts(capabilities, "add")) - {"NET_BIND_SERVICE"}:
            yield Violation("unrestricted capabilities", f"{at}/securityContext/capabilities/add")


def _root(spec: Object) -> Iterator[Violation]:
    by_pod = dig(spec, "securityContext", "runAsNonRoot")
    own = [(at, dig(container, "securityContext", "runAsNonRoot")) for at, container in _each(spec)]
    refused = [at for at, value in own if value is False]
    unset = [at for at, value in own if value is None] if by_pod is not True else []
    if by_pod is False or unset:
        yield Violation(ROOT, "/securityContext/runAsNonRoot", True)
    for at in refused:
        yield Violation(ROOT, f"{at}/securityContext/runAsNonRoot", True)
    for at, context in _contexts(spec):
        if context.get("runAsUser") == 0:
            yield Violation("runAsUser=0", f"{at}/runAsUser")


def _seccomp(spec: Object) -> Iterator[Violation]:
    if _is_windows(spec):
        return
    yield from _unconfined(spec)
    own = (dig(container, "securityContext", "seccompProfile", "type") for _, container in _each(spec))
    if dig(spec, "securityContext", "seccompProfile", "type") is None and None in own:
        yield Violation("seccompProfile", "/securityContext/seccompProfile/type", "RuntimeDefault")


_Check = Callable[[Object], Iterator[Violation]]
_BOTH: tuple[_Check, ...] = (_host_namespaces, _privileged, _host_ports, _mount_types, _profiles, _sysctls)
_BASELINE: tuple[_Check, ...] = (_added_capabilities, _host_paths, _unconfined)
_RESTRICTED: tuple[_Check, ...] = (_volume_types, _escalation, _kept_capabilities, _root, _seccomp)
