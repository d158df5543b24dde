"""Hides what could be a secret in an answer, so that a snapshot can be handed on.

What is hidden, and how:
- values of core Secrets (`data`, `stringData`), wherever the object stands: in states, manifests, live objects and
  last-applied annotations. Argo CD masks them itself, as plus signs whose number tells equal from unequal; those stay.
- values with the name of a secret: of an environment variable, a Helm parameter, a key of Helm values or of a ConfigMap
  (judged by the end of the name: password, passwd, passphrase, token, apikey, secretkey, privatekey, accesskey, ...).
- what has the form of a secret anywhere: JWTs, private keys, passwords in URLs and their queries, tokens of well-known issuers.
A hidden value is `masked-` and a keyed hash. The key lives as long as the masker: within one snapshot equal values stay
equal, across snapshots nothing can be compared, and nothing can be tried out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any

import msgspec

from argolint.decoding import json_value

_WORDS = r"password|passwd|passphrase|pwd|token|credentials?|(?:api|secret|private|access|signing|encryption|fernet)[-_.]?key"
_SECRET_NAME = re.compile(rf"^(?!existing).*(?:{_WORDS})$", re.IGNORECASE)  # existingSecretKey and the like hold names
_SECRET_FORM = re.compile(
    rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"  # JWT
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----BEGIN).){0,20000}?-----END [A-Z ]*PRIVATE KEY-----"
    rb"|(?<=://)[^\s/:@\"'\\$]*:[^\s/@\"'\\$]+(?=@)"  # user:password of a URL
    rb"|(?<=Bearer )[\w.~+/=-]{16,}"
    rb"|\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|xox[abposr]-[\w-]{10,}"
    rb"|AKIA[0-9A-Z]{16}|AIza[\w-]{35}|hvs\.[\w-]{20,}|sk_live_\w{16,}|npm_[A-Za-z0-9]{36})",
    re.DOTALL,
)
_ARGUMENT = re.compile(rf"(?<![\w-])(?=[\w-]*?-)([\w-]*(?:{_WORDS})=)([^\s\"'\\$]+)".encode(), re.IGNORECASE)
_PARAMETER = re.compile(
    rf"((?:[?&]|\\u0026)[\w.-]*(?:{_WORDS}|sig|signature)=)([^\s\"'\\&$]+)".encode(), re.IGNORECASE
)  # of a URL; Go writes & as \u0026
_YAML_LINE = re.compile(r"^([ \t]*(?:- )?[\"']?([\w.-]+)[\"']?:[ \t]+)([^\s#&*|>{\[].*)$", re.MULTILINE)
_YAML_PAIR = re.compile(r"(\bname:[ \t]+[\"']?([\w.-]+)[\"']?[ \t]*\n[ \t]*value:[ \t]+)([^\s#&*|>{\[].*)")
_PLAIN = frozenset({"", "true", "false", "yes", "no", "null", "none", "~", '""', "''"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NESTED = frozenset(
    {"targetState", "liveState", "normalizedLiveState", "predictedLiveState", "manifest", _LAST_APPLIED}
)


class Masker:
    """Masks the answers of one snapshot alike."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def __call__(self, body: bytes) -> bytes:
        """The body with what could be a secret hidden; the very bytes if there is none, or if it is no JSON."""
        body = _SECRET_FORM.sub(lambda found: self._hidden(found[0]), body)
        body = _ARGUMENT.sub(lambda found: found[1] + self._hidden(found[2]), body)
        body = _PARAMETER.sub(lambda found: found[1] + self._hidden(found[2]), body)
        try:
            document = json_value(body)
        except msgspec.MsgspecError:
            return body
        masked = self._value(document)
        return body if masked == document else msgspec.json.encode(masked)

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._named(item) if isinstance(item, dict) else self._value(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get("kind")
        masked = {key: self._member(key, item) for key, item in value.items()}
        if kind in ("Secret", "ConfigMap") and value.get("apiVersion") == "v1":
            for part in ("data", "stringData"):
                if isinstance(data := value.get(part), dict):
                    everything = kind == "Secret"
                    masked[part] = {
                        k: self._text(v) if everything or _SECRET_NAME.search(k) else masked[part][k]
                        for k, v in data.items()
                    }
        return masked

    def _member(self, key: str, item: Any) -> Any:
        if key in _NESTED and isinstance(item, str):
            return self._nested(item)
        if key == "manifests" and isinstance(item, list):
            return [self._nested(text) if isinstance(text, str) else text for text in item]
        if key == "helm" and isinstance(item, dict):
            return self._helm(item)
        return self._value(item)

    def _nested(self, text: str) -> str:
        """JSON inside a string."""
        try:
            document = json_value(text)
        except msgspec.MsgspecError:
            return text
        masked = self._value(document)
        return text if masked == document else msgspec.json.encode(masked).decode()

    def _helm(self, helm: dict[str, Any]) -> dict[str, Any]:
        masked: dict[str, Any] = self._value(helm)
        if isinstance(values := helm.get("values"), str):
            masked["values"] = _YAML_PAIR.sub(self._yaml_value, _YAML_LINE.sub(self._yaml_value, values))
        if isinstance(tree := helm.get("valuesObject"), dict):
            masked["valuesObject"] = self._leaves(tree)
        return masked

    def _yaml_value(self, found: re.Match[str]) -> str:
        return found[1] + str(self._text(found[3])) if _SECRET_NAME.search(found[2]) else found[0]

    def _leaves(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {k: self._leaves(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self._leaves(item, name) for item in value]
        return self._text(value) if isinstance(value, str) and _SECRET_NAME.search(name) else value

    def _named(self, item: dict[str, Any]) -> Any:
        """An element of a list: {name, value}, as environment variables and Helm parameters are, or anything else."""
        masked = self._value(item)
        name, value = item.get("name"), item.get("value")
        if isinstance(name, str) and isinstance(value, str) and _SECRET_NAME.search(name):
            masked["value"] = self._text(value)
        return masked

    def _text(self, value: Any) -> Any:
        """The mask of a value; what is empty, masked already or a reference to another variable tells nothing and stays."""
        if not isinstance(value, str) or value.lower() in _PLAIN or not value.strip("+"):
            return value
        if value.startswith(("masked-", "$")):
            return value
        return self._hidden(value.encode()).decode()

    def _hidden(self, value: bytes) -> bytes:
        return b"masked-" + hmac.new(self._key, value, hashlib.sha256).hexdigest()[:12].encode()
