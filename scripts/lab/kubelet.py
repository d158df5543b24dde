"""Plays the kubelets of the lab: pods become Ready, or fail in a kubelet's own words. No container runs.

A pod fails where a kubelet would see it (a Secret or ConfigMap that is missing, an image whose name holds
`no-such`), or as its annotation `lab/fate` says: crash, oom, not-ready, fail.
"""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import requests

from scripts.lab.lab import Kubernetes

NODES = ("node-a", "node-b")
CLASS = "standard"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str) -> dict[str, Any]:
    zone = {"topology.kubernetes.io/zone": name[-1], "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": zone}}


def node_status(name: str) -> dict[str, Any]:
    size = {"cpu": "16", "memory": "64Gi", "pods": "250", "ephemeral-storage": "100Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
             "lastHeartbeatTime": now(), "lastTransitionTime": now()}  # fmt: skip
    return {"status": {"capacity": size, "allocatable": size, "conditions": [ready],
                       "addresses": [{"type": "Hostname", "address": name}],
                       "nodeInfo": {"kubeletVersion": "v1.36.3", "operatingSystem": "linux", "architecture": "amd64",
                                    "containerRuntimeVersion": "containerd://2.1.0", "kernelVersion": "6.12.0",
                                    "osImage": "lab", "bootID": "lab", "machineID": name, "systemUUID": name,
                                    "kubeProxyVersion": ""}}}  # fmt: skip


def _references(container: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    for each in container.get("envFrom", ()):
        for kind, field in (("secret", "secretRef"), ("configmap", "configMapRef")):
            if field in each and not each[field].get("optional"):
                yield kind, each[field]["name"], None
    for each in container.get("env", ()):
        source = each.get("valueFrom") or {}
        for kind, field in (("secret", "secretKeyRef"), ("configmap", "configMapKeyRef")):
            if field in source and not source[field].get("optional"):
                yield kind, source[field]["name"], source[field]["key"]


class Kubelet:
    def __init__(self, kubernetes: Kubernetes) -> None:
        self.kubernetes = kubernetes
        self.seen: dict[str, float] = {}
        self.said: set[tuple[str, str]] = set()

    def data(self, namespace: str, kind: str, name: str) -> Mapping[str, Any] | None:
        try:
            found = self.kubernetes.send("GET", f"/api/v1/namespaces/{namespace}/{kind}s/{name}")
        except requests.HTTPError:
            return None
        return {**(found.get("data") or {}), **(found.get("binaryData") or {})}

    def event(self, pod: Mapping[str, Any], reason: str, message: str) -> None:
        uid = pod["metadata"]["uid"]
        if (uid, message) in self.said:
            return
        self.said.add((uid, message))
        space = pod["metadata"]["namespace"]
        self.kubernetes.send("POST", f"/api/v1/namespaces/{space}/events", {
            "metadata": {"generateName": f"{pod['metadata']['name']}.", "namespace": space},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": space, "uid": uid,
                               "name": pod["metadata"]["name"]},
            "reason": reason, "message": message, "type": "Warning", "count": 4, "source": {"component": "kubelet"},
            "firstTimestamp": now(), "lastTimestamp": now()})  # fmt: skip

    def missing_volume(self, pod: Mapping[str, Any]) -> bool:
        space = pod["metadata"]["namespace"]
        for volume in pod["spec"].get("volumes", ()):
            for kind, field, key in (("secret", "secret", "secretName"), ("configmap", "configMap", "name")):
                source = volume.get(field)
                if not source or source.get("optional"):
                    continue
                data = self.data(space, kind, source[key])
                if data is None:
                    self.event(pod, "FailedMount", f'MountVolume.SetUp failed for volume "{volume["name"]}" : '
                               f'{kind} "{source[key]}" not found')  # fmt: skip
                    return True
                for item in source.get("items", ()):
                    if item["key"] not in data:
                        self.event(pod, "FailedMount", f'MountVolume.SetUp failed for volume "{volume["name"]}" : '
                                   f"references non-existent {'secret' if kind == 'secret' else 'config'} key: {item['key']}")  # fmt: skip
                        return True
        return False

    def container(self, pod: Mapping[str, Any], spec: Mapping[str, Any], fate: str) -> dict[str, Any]:
        space = pod["metadata"]["namespace"]
        base = {"name": spec["name"], "image": spec["image"], "imageID": "", "restartCount": 0, "ready": False,
                "started": False}  # fmt: skip

        def waiting(reason: str, message: str, **more: Any) -> dict[str, Any]:
            return {**base, "state": {"waiting": {"reason": reason, "message": message}}, **more}

        for kind, name, key in _references(spec):
            data = self.data(space, kind, name)
            problem = ""
            if data is None:
                problem = f'{kind} "{name}" not found'
            elif key is not None and key not in data:
                word = "Secret" if kind == "secret" else "ConfigMap"
                problem = f"couldn't find key {key} in {word} {space}/{name}"
            if problem:
                self.event(pod, "Failed", f"Error: {problem}")
                return waiting("CreateContainerConfigError", problem)
        if "no-such" in spec["image"]:
            full = spec["image"] if "/" in spec["image"] else f"docker.io/library/{spec['image']}"
            self.event(pod, "Failed", f'Failed to pull image "{spec["image"]}": rpc error: code = NotFound desc = '
                       f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": {full}: not found')  # fmt: skip
            return waiting("ImagePullBackOff", f'Back-off pulling image "{spec["image"]}": ErrImagePull: rpc error: '
                           f'code = NotFound desc = failed to pull and unpack image "{full}": failed to resolve '
                           f'reference "{full}": {full}: not found')  # fmt: skip
        if fate in ("crash", "oom"):
            code, reason = (137, "OOMKilled") if fate == "oom" else (1, "Error")
            ended = {"terminated": {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now(),
                                    "containerID": "containerd://lab"}}  # fmt: skip
            name = pod["metadata"]["name"]
            message = (f"back-off 5m0s restarting failed container={spec['name']} pod={name}_{space}"
                       f"({pod['metadata']['uid']})")  # fmt: skip
            return waiting("CrashLoopBackOff", message, lastState=ended, restartCount=6)
        running = {"running": {"startedAt": now()}}
        return {**base, "state": running, "started": True, "ready": fate != "not-ready", "imageID": "lab",
                "containerID": "containerd://lab"}  # fmt: skip

    def status(self, pod: Mapping[str, Any]) -> dict[str, Any] | None:
        """The status that a kubelet would write now; None to leave the pod as it is."""
        meta, spec = pod["metadata"], pod["spec"]
        fate = meta.get("annotations", {}).get("lab/fate", "")
        one_off = spec.get("restartPolicy", "Always") != "Always"
        base = {"hostIP": "10.1.0.1", "podIP": "10.2.0.1", "podIPs": [{"ip": "10.2.0.1"}],
                "startTime": meta["creationTimestamp"]}  # fmt: skip
        if self.missing_volume(pod):
            states = [
                {"name": each["name"], "image": each["image"], "imageID": "", "restartCount": 0, "ready": False,
                 "started": False, "state": {"waiting": {"reason": "ContainerCreating"}}}
                for each in spec["containers"]
            ]  # fmt: skip
            return {**base, "phase": "Pending", "containerStatuses": states, "conditions": self._conditions(False)}
        states = [self.container(pod, each, fate) for each in spec["containers"]]
        first = [self.container(pod, each, "") for each in spec.get("initContainers", ())]
        bad_first = next((each for each in first if "waiting" in each["state"]), None)
        done = {"exitCode": 0, "reason": "Completed", "startedAt": now(), "finishedAt": now()}
        if bad_first:
            states = [{**each, "state": {"waiting": {"reason": "PodInitializing"}}, "ready": False} for each in states]
            return {**base, "phase": "Pending", "initContainerStatuses": first, "containerStatuses": states,
                    "conditions": self._conditions(False, initialized=False)}  # fmt: skip
        first = [{**each, "state": {"terminated": done}, "ready": True, "started": False} for each in first]
        waits = any("waiting" in each["state"] and each["restartCount"] == 0 for each in states)
        phase = "Pending" if waits else "Running"
        if one_off and not any("waiting" in each["state"] for each in states):
            failed = fate == "fail"
            end = {**done, "exitCode": 1, "reason": "Error"} if failed else done
            states = [{**each, "state": {"terminated": end}, "ready": False} for each in states]
            phase = "Failed" if failed else "Succeeded"
        ready = phase == "Running" and all(each["ready"] for each in states)
        found = {**base, "phase": phase, "containerStatuses": states, "conditions": self._conditions(ready, phase)}
        return {**found, "initContainerStatuses": first} if first else found

    @staticmethod
    def _conditions(ready: bool, phase: str = "", *, initialized: bool = True) -> list[dict[str, str]]:
        def one(kind: str, true: bool, reason: str) -> dict[str, str]:
            more = {} if true else {"reason": reason}
            return {"type": kind, "status": "True" if true else "False", "lastTransitionTime": now(), **more}

        reason = "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"
        return [one("PodScheduled", True, ""), one("Initialized", initialized, "ContainersNotInitialized"), one("Ready", ready, reason),
                one("ContainersReady", ready, reason)]  # fmt: skip

    def pods(self) -> None:
        for pod in self.kubernetes.send("GET", "/api/v1/pods?resourceVersion=0")["items"]:
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            if not pod["spec"].get("nodeName"):
                continue
            if meta.get("deletionTimestamp"):
                self._quiet("DELETE", path, {"gracePeriodSeconds": 0})
                continue
            first = self.seen.setdefault(meta["uid"], time.monotonic())
            phase = pod.get("status", {}).get("phase")
            if phase in ("Succeeded", "Failed") or time.monotonic() - first < 1:
                continue
            if phase == "Running" and not pod["metadata"].get("annotations", {}).get("lab/fate"):
                continue
            status = self.status(pod)
            if status and not _same(pod.get("status", {}), status):
                self._quiet("PATCH", f"{path}/status", {"status": status})

    def claims(self) -> None:
        for claim in self.kubernetes.send("GET", "/api/v1/persistentvolumeclaims?resourceVersion=0")["items"]:
            spec, meta = claim["spec"], claim["metadata"]
            if claim["status"].get("phase") != "Pending" or spec.get("storageClassName") != CLASS:
                continue
            volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pvc-{meta['uid']}"},
                      "spec": {"capacity": spec["resources"]["requests"], "accessModes": spec["accessModes"],
                               "storageClassName": CLASS, "persistentVolumeReclaimPolicy": "Delete",
                               "hostPath": {"path": "/lab"},
                               "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": meta["uid"],
                                            "name": meta["name"], "namespace": meta["namespace"]}}}  # fmt: skip
            self._quiet("POST", "/api/v1/persistentvolumes", volume)

    def _quiet(self, method: str, path: str, body: Any) -> None:
        content = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        try:
            self.kubernetes.send(method, path, body, content)
        except requests.RequestException as error:
            print(error, flush=True)

    def run(self) -> None:
        for name in NODES:
            self.kubernetes.apply(node(name))
            self._quiet("PATCH", f"/api/v1/nodes/{name}/status", node_status(name))
            # A new node has the taint not-ready, and the controller that takes it away needs a node's leases.
            self._quiet("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
        self.kubernetes.apply({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "lab/provisioner",
            "metadata": {"name": CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        })  # fmt: skip
        while True:
            try:
                self.pods()
                self.claims()
            except requests.RequestException as error:
                print(error, flush=True)
            time.sleep(1)


def _same(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    def brief(status: Mapping[str, Any]) -> list[Any]:
        return [status.get("phase")] + [
            (
                each["name"],
                sorted(each["state"]),
                each.get("ready"),
                (each["state"].get("waiting") or {}).get("message"),
            )
            for each in status.get("containerStatuses") or ()
        ]

    return brief(old) == brief(new)


if __name__ == "__main__":
    Kubelet(Kubernetes()).run()
