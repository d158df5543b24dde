"""Names in the commands and variables of a pod spec: Jobs that it waits for, Services that it calls, Secrets that it writes.

Nothing is run and no shell syntax is parsed: words are compared. The results are likely, never certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from argolint.model import Object
from argolint.values import items, maps, text_at, texts
from argolint.values.kubernetes import pod_spec
from argolint.values.patterns import regex

_LONGEST = 8000
_WORD = regex(r"[^\s=,;|&'\"()]{1,300}")
_JOB = regex(r"(?:jobs?|job\.batch|jobs\.batch)/([a-z0-9][a-z0-9.-]{0,252})\Z")
_NAME = regex(r"[a-z0-9][a-z0-9.-]{0,252}\Z")
_CALLED = regex(r"(?:HOST|HOSTNAME|ADDR|ADDRESS|ENDPOINT|SERVER|SERVICE|DSN|URI|URL)S?\Z")
_ADDRESS = regex(
    r"(?:[a-z][a-z0-9+.-]{0,20}://)?(?:[^\s@/]{1,200}@)?([a-z0-9][a-z0-9-]{0,62})(\.[a-z0-9.-]{1,200})?(?::\d{1,5})?(?:[/?].{0,500})?\Z"
)
_AWAITED = ("job", "jobs", "job-wr", "job-we")
"""The words before a Job's name: kubectl's, and those of the image k8s-wait-for."""
_WRITTEN = ("--secret-name", "--secret")


def _words(container: Object) -> list[str]:
    text = "\n".join((*texts(container, "command"), *texts(container, "args")))[:_LONGEST]
    return _WORD.findall(text)


def named_jobs(manifest: Object) -> Iterator[tuple[str, str]]:
    """Jobs in an init container's command, as `job/NAME` or after the word `job`, with the container's pointer."""
    base, spec = pod_spec(manifest)
    for index, container in enumerate(items(spec, "initContainers")):
        words = _words(container) if isinstance(container, dict) else []
        for before, word in zip(("", *words), words, strict=False):
            found = _JOB.match(word)
            if found:
                yield f"{base}/initContainers/{index}", found.group(1)
            elif before in _AWAITED and _NAME.match(word):
                yield f"{base}/initContainers/{index}", word


def hosts(manifest: Object, namespace: str) -> Iterator[tuple[str, str]]:
    """Host names within this namespace in the containers' variables, with the variable's pointer."""
    base, spec = pod_spec(manifest)
    for field in ("initContainers", "containers"):
        for index, container in enumerate(items(spec, field)):
            for number, variable in enumerate(maps(container, "env") if isinstance(container, dict) else ()):
                found = _ADDRESS.match(text_at(variable, "value"))
                if found and _CALLED.search(text_at(variable, "name")) and _is_in_namespace(found.group(2), namespace):
                    yield f"{base}/{field}/{index}/env/{number}/value", found.group(1)


def _is_in_namespace(rest: str | None, namespace: str) -> bool:
    """True for `web`, `web.shop`, `web.shop.svc` and `web.shop.svc.cluster.local` in namespace shop."""
    return rest is None or rest.rstrip(".") in (f".{namespace}", f".{namespace}.svc", f".{namespace}.svc.cluster.local")


def written_secrets(manifest: Object, scripts: Iterable[str] = ()) -> Iterator[str]:
    """Secrets and ConfigMaps that a container, or a script that it mounts, creates: `create secret generic NAME`, `create configmap NAME`, `--secret-name=NAME`."""
    _, spec = pod_spec(manifest)
    for container in maps(spec, "containers"):
        yield from _created(_words(container))
    for script in scripts:
        yield from _created(_WORD.findall(script[:_LONGEST]))


def _created(words: Sequence[str]) -> Iterator[str]:
    first = next((index for index, word in enumerate(words) if word == "create"), len(words))
    for index, word in enumerate(words):
        if word in _WRITTEN and index + 1 < len(words) and index > first:
            yield words[index + 1]
        elif word == "create" and words[index + 1 : index + 2] in (["secret"], ["configmap"], ["cm"]):
            kind, *rest = words[index + 1 : index + 8]
            names = rest[1:] if kind == "secret" else rest  # after generic, tls or docker-registry
            name = next((w for w in names if not w.startswith("-")), "")
            if _NAME.match(name):
                yield name
