"""A container has no permission to write a path

What it finds: a container that ends again and again with "permission denied" or "read-only file system" on a path. The manifest shows the cause:
`read-only-root` (securityContext.readOnlyRootFilesystem, and no volume at that path), `read-only-mount` (the mount or its volume is read-only),
`host-path` (a directory of the node, whose owner fsGroup does not change), `owner` (the volume has no fsGroup that gives it to the container's
user), `mode` (this user has no access to a file of a ConfigMap or Secret, or of the image).

Why it hurts: the container is restarted forever, and neither Argo CD nor the Events say more than "Back-off restarting failed container".

How to fix: an emptyDir at the path; readOnly: false; an fsGroup; the owner of the directory on the node.

Example: `readOnlyRootFilesystem: true` on an nginx that writes its cache under /var/cache/nginx.

Sources: core/v1 (SecurityContext, VolumeMount, terminationMessagePolicy), kubernetes.io, Configure a Security Context (fsGroup is not applied to
hostPath). `not-executable` is a program on a volume that cannot be executed. The text is the last message of the container
(terminationMessagePolicy FallbackToLogsOnError writes its last lines there) or an Event. Without a text there is no finding, except for an
fsGroup that a hostPath ignores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argolint import (
    App,
    Edit,
    Finding,
    Fix,
    Fleet,
    Location,
    Node,
    Object,
    Rank,
    Related,
    Resource,
    Rule,
    Symptom,
    Want,
)
from argolint.edits import manifest_text, manifest_yaml
from argolint.redaction import excerpt
from argolint.values import dig, items, mapping, maps, text_at
from argolint.values.kubernetes import containers, pod_spec
from argolint.values.patterns import regex

from ..shared.pods import container_ends
from ._running import is_crash_looping, is_unwell, live_pod, live_pod_wants, pod_warnings, workloads

_DENIED = regex(
    r"read-?only ?file ?system|permission denied|operation not permitted|EACCES|EROFS|is not writable", re.I
)
_READ_ONLY = regex(r"read-?only ?file ?system|EROFS", re.I)
_NOT_RUN = regex(r'exec: "(?P<what>/[^"]{1,253})": permission denied')
_PATH = regex(r"(?<![\w.:/-])(/[\w.@+-]{1,100}(?:/[\w.@+-]{1,100}){0,20}/?)(?![\w/]*:\d)")
_READ = 4_000
"""Most characters of a container's last output that are read."""
_WHERE = 300
"""Most characters between the path and the refusal."""


@dataclass(frozen=True, slots=True)
class _Denial:
    """A denied access of a container: its place in the manifest, the path, and the words of the error."""

    at: str
    container: Object
    path: str
    error_text: str
    read_only: bool
    is_execution: bool = False


def wants(app: App, fleet: Fleet, options: object) -> Iterator[Want]:
    """The state of a restarting pod, and its Events."""
    for _, nodes in workloads(app):
        if any(is_crash_looping(n) for n in nodes[:1]):
            yield from live_pod_wants(nodes)
            yield from (Want("events", node.id, node.uid) for node in nodes[:1])


def check(app: App, fleet: Fleet, options: object) -> Iterator[Finding]:
    """One finding for each workload."""
    for resource, nodes in workloads(app):
        if not any(is_crash_looping(n) for n in nodes[:1]):
            continue
        obj = resource.live or resource.any
        _, spec = pod_spec(obj)
        denial = next(_denials(app, obj, nodes), None)
        if denial is not None:
            yield _finding(app, resource, nodes, denial, spec)
        elif (found := _host_path_group(obj, spec)) is not None and is_unwell(resource, nodes):
            yield _host_path_finding(app, resource, nodes, *found)


def _denials(app: App, obj: Object, nodes: Sequence[Node]) -> Iterator[_Denial]:
    named = {text_at(c, "name"): (at, c) for at, c in containers(obj)}
    found = live_pod(app, nodes)
    for name, end in container_ends(found[1]) if found else ():
        if name in named:
            yield from _denials_in_text(*named[name], text_at(end, "message"))
    for _, event in pod_warnings(app, nodes):
        started = _NOT_RUN.search(event.message)
        for at, container in named.values():
            if started is not None:
                if (
                    started["what"] in items(container, "command")[:1]
                    and _mount(container, started["what"]) is not None
                ):
                    yield _Denial(at, container, started["what"], event.message, read_only=False, is_execution=True)
            elif len(named) == 1:
                yield from _denials_in_text(at, container, event.message)


def _denials_in_text(at: str, container: Object, text: str) -> Iterator[_Denial]:
    """The refusal and the path in one text; Go, C and Java write the path before the refusal, shells after a quote."""
    text = text[-_READ:]
    for refused in _DENIED.finditer(text):
        line = text[text.rfind("\n", 0, refused.start()) + 1 :].partition("\n")[0]
        paths = _PATH.findall(text[max(0, refused.start() - _WHERE) : refused.start()].rpartition("\n")[2])
        paths = paths or _PATH.findall(line)
        read_only = _READ_ONLY.search(refused.group()) is not None
        rooted = dig(container, "securityContext", "readOnlyRootFilesystem") is True
        if not paths and read_only and rooted:
            yield _Denial(at, container, "", line, read_only=True)
        if paths:
            yield _Denial(at, container, paths[-1], line, read_only)


def _mount(container: Object, path: str) -> Object | None:
    """The mount that contains the path: the longest one."""
    under = [
        m
        for m in maps(container, "volumeMounts")
        if f"{path.rstrip('/')}/".startswith(f"{text_at(m, 'mountPath').rstrip('/')}/")
    ]
    return max(under, key=lambda m: len(text_at(m, "mountPath")), default=None)


def _volume(spec: Object, name: str) -> Object:
    return next((v for v in maps(spec, "volumes") if v.get("name") == name), {})


def _user_id(container: Object, spec: Object) -> str:
    found = dig(container, "securityContext", "runAsUser")
    found = dig(spec, "securityContext", "runAsUser") if found is None else found
    return "" if found is None else str(found)


def _cause(denial: _Denial, spec: Object) -> str:
    if denial.is_execution:
        return "not-executable"
    mount = _mount(denial.container, denial.path) if denial.path else None
    if mount is None:
        root = dig(denial.container, "securityContext", "readOnlyRootFilesystem") is True
        return "read-only-root" if root and denial.read_only else "mode"
    volume = _volume(spec, text_at(mount, "name"))
    fixed = any(volume.get(kind) for kind in ("configMap", "secret", "projected", "downwardAPI"))
    claim = dig(volume, "persistentVolumeClaim", "readOnly") is True
    if denial.read_only:
        return "read-only-mount" if mount.get("readOnly") is True or claim or fixed else "mode"
    if fixed:
        return "mode"
    if volume.get("hostPath"):
        return "host-path"
    return "mode" if dig(spec, "securityContext", "fsGroup") is not None else "owner"


def _finding(app: App, resource: Resource, nodes: Sequence[Node], denial: _Denial, spec: Object) -> Finding:
    cause = _cause(denial, spec)
    path = excerpt(denial.path, 120)
    name = text_at(denial.container, "name")
    user = _user_id(denial.container, spec)
    who = f"user {user}" if user else "its user"
    why = {
        "read-only-root": f"may not write {path or 'where it does'}, since its root file system is read-only",
        "read-only-mount": f"may not write {path}, which is mounted read-only",
        "host-path": f"may not use {path} of the node, which {who} does not own",
        "owner": f"may not write {path}, since {who} does not own that volume",
        "not-executable": f"may not run {path}, which lies on a volume",
        "mode": f"may not use {path} as {who}",
    }[cause]
    shown = is_unwell(resource, nodes)
    return Finding(
        message=f"Container {name} of {resource.id} {why}, so it ends again and again.",
        at=Location(app.ref, resource.id, _faulty_pointer(denial, cause)),
        cause=cause,
        severity="error" if shown else "warning",
        confidence="likely" if cause in ("read-only-root", "read-only-mount") else "possible",
        evidence=(f"{nodes[0].id}, container {name}: {excerpt(denial.error_text, 400)}",),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=tuple(_fixes(resource, denial, cause, spec)),
        explains=(Symptom.health(resource.id), *(Symptom.health(n.id) for n in app.descendants(resource.uid)))
        if shown
        else (),
    )


def _faulty_pointer(denial: _Denial, cause: str) -> str:
    if cause == "read-only-root":
        return f"{denial.at}/securityContext/readOnlyRootFilesystem"
    mount = _mount(denial.container, denial.path)
    mounts = list(maps(denial.container, "volumeMounts"))
    return f"{denial.at}/volumeMounts/{mounts.index(mount)}" if mount is not None else denial.at


def _fixes(resource: Resource, denial: _Denial, cause: str, spec: Object) -> Iterator[Fix]:
    where = str(resource.id)
    above = denial.path.rstrip("/").rpartition("/")[0] or denial.path
    user = _user_id(denial.container, spec)
    match cause:
        case "read-only-root":
            text = f"volumeMounts:\n- name: scratch\n  mountPath: {excerpt(above, 120) or 'FOLDER_THAT_IT_WRITES'}\n---\nvolumes:\n- name: scratch\n  emptyDir: {{}}\n"
            yield manifest_yaml(
                where, "Mount an emptyDir where it writes", text, "its pods restart; more paths may follow"
            )
        case "read-only-mount":
            text = f"{_faulty_pointer(denial, cause)}: readOnly: false, or an emptyDir for what is written; files of a ConfigMap or Secret stay read-only\n"
            yield manifest_text(where, "Make the mount writable, or write elsewhere", text, "its pods restart")
        case "owner":
            text = f"securityContext:          # of the pod\n  fsGroup: {user or '<group of the container>'}\n  fsGroupChangePolicy: OnRootMismatch\n"
            title = "Give the volume to the container's group with fsGroup"
            yield manifest_yaml(where, title, text, "its pods restart; NFS and some drivers ignore fsGroup")
        case "not-executable":
            text = "What copies it there keeps its mode and runs as a user that the container shares (cp -p, chmod 0755); a node that mounts the volumes of pods with noexec runs nothing from them.\n"
            yield manifest_text(where, "Make the copied program executable, on a volume that allows it", text)
        case "host-path":
            text = f"chown -R {user or '<uid>'} PATH_ON_THE_NODE   # or an init container that does so as root\n"
            title = "Give the directory on the node to the container's user"
            yield Fix(title, "live", "the nodes", Edit("text", text), "fsGroup does not apply to hostPath")
        case _:
            text = "runAsUser, fsGroup and the mode of the file (defaultMode of a ConfigMap or Secret, chmod in the image) decide.\n"
            yield manifest_text(where, "Run as a user that may use the file, or change its mode", text)


def _host_path_group(obj: Object, spec: Object) -> tuple[str, str, str] | None:
    """(pointer, path, fsGroup) of a directory of the node that a container mounts under an fsGroup."""
    group = dig(spec, "securityContext", "fsGroup")
    if group is None:
        return None
    for at, container in containers(obj):
        for index, mount in enumerate(maps(container, "volumeMounts")):
            volume = _volume(spec, text_at(mount, "name"))
            user = _user_id(container, spec)
            if volume.get("hostPath") and mount.get("readOnly") is not True and user not in ("", "0"):
                return f"{at}/volumeMounts/{index}", text_at(mapping(volume, "hostPath"), "path"), str(group)
    return None


def _host_path_finding(
    app: App, resource: Resource, nodes: Sequence[Node], pointer: str, path: str, group: str
) -> Finding:
    where = excerpt(path, 120)
    text = f"chgrp -R {group} {where} && chmod -R g+rwX {where}   # on each node, or in an init container that runs as root\n"
    return Finding(
        message=f"{resource.id} fails, and its fsGroup {group} does not apply to the hostPath {where}, so it may not write there.",
        at=Location(app.ref, resource.id, pointer),
        cause="host-path",
        severity="warning",
        confidence="possible",
        evidence=("fsGroup changes the owner of volumes that Kubernetes makes, not of directories of a node",),
        related=tuple(Related(app.ref, n.id, role="symptom") for n in nodes),
        fixes=(Fix("Give the directory on the node to that group", "live", "the nodes", Edit("text", text)),),
    )


RULE = Rule(
    **Rule.page(__name__),
    severity="error",
    check=check,
    wants=wants,
    causes=("read-only-root", "read-only-mount", "host-path", "owner", "not-executable", "mode"),
    rank=Rank.CAUSE,
)
