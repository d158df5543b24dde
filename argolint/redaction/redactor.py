"""Masks secrets in objects and texts: by name, by form, and by place.

A place is the data of a Secret, the item after `--password`, the value next to `name: DB_PASSWORD`. A text in an object that is JSON, YAML,
lines of settings or base64 is parsed (`documents`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from argolint.model import Json, Object
from argolint.redaction import commands, documents, forms, lines, random_words, tables, words
from argolint.redaction.forms import Hide
from argolint.redaction.names import (
    is_mask,
    is_public_name,
    is_secret,
    is_secret_number,
    looks_random,
    looks_typed,
    parts,
    sort_of,
    word_set,
)
from argolint.values import split_pointer
from argolint.values.patterns import regex

HIDDEN = "(masked)"
"""The mask in everything that is printed."""


_VALUES = word_set(
    "value values string array map Value content contents data default defaultValue stringValue secretValue val v literal"
    " expression plainText plaintext setting arg argument Val Content Data literalValue stringData textValue currentValue"
    " propertyValue settingValue paramValue parameterValue ParameterValue optionValue attributeValue headerValue envValue varValue"
    " property_value setting_value param_value parameter_value option_value attribute_value header_value env_value var_value"
)
"""Keys of values that a sibling names: an environment variable, a Helm parameter, a header, an option."""
_NAMES = (
    *(
        "name",
        "key",
        "Name",
        "parameter",
        "header",
        "variable",
        "id",
        "k",
        "var",
        "field",
        "option",
        "property",
        "setting",
        "title",
        "label",
    ),
    *("envName", "varName", "envVar", "fieldPath", "path", "type"),
    *("Key", "param", "attribute", "env", "propertyName", "settingName", "paramName", "parameterName", "ParameterKey"),
    *(
        "optionName",
        "attributeName",
        "headerName",
        "attr",
        "property_name",
        "setting_name",
        "param_name",
        "parameter_name",
    ),
    *("option_name", "attribute_name", "header_name", "env_name", "var_name"),
)
_WITHIN = word_set(
    "value plain plaintext text literal raw inline data string content default base64 list example enum stringVal stringValue val"
    " inline_string inlineString"
)
"""Keys of values that the parent map's key names (`password: {value: x}`)."""
_OPAQUE = word_set("managedFields fieldsV1 encryptedData")
"""Field names only, and data that only a controller can decrypt (SealedSecret)."""
_PROSE = word_set("message note reason description error title summary")
_SHELL = (".sh", ".bash", ".zsh", ".ksh", ".env")
_CODE = tuple(
    f".{end}" for end in ["py", "js", "mjs", "ts", "rb", "pl", "lua", "go", "groovy", "java", "php", "ps1", "awk"]
)
_NAME = regex(r"[A-Za-z_][\w.-]{1,80}")
_FLAG = regex(r"--?[A-Za-z][\w.-]*")
_MAY_HOLD = regex(r"[=:]|hooks?/|-[-paAuUw]|\A-\w|://|(?i:\b(?:bearer|basic|apikey|token|pass\w*|auth)[ (<\[])")
_SHORTEST = 20
"""A shorter text without such a character is no token, no URL and no command line."""
_LIKE_BASE64 = regex(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_LIKE_LINES = regex(r"\n|^\s*(?:- )?[\"']?[\w.-]+[\"']?\s*[:=]|^\s*[{\[]")


class Redactor:
    """Masks secrets; `hide` returns the mask of a value, `userinfo` that of user and password in a URL, by default `hide`.

    Equal values get equal masks if `hide` does so, and a second pass changes nothing. Without `remember` it caches no results, so that
    `hide` sees each secret.
    """

    def __init__(
        self, hide: Hide = lambda value: HIDDEN, userinfo: Hide | None = None, *, remember: bool = True
    ) -> None:
        self._hide = hide
        self._userinfo = userinfo
        if remember:  # in place of the methods below; an object that is made for each text must not hold itself
            kept = {"_short": lru_cache(16384)(self._short), "_long": lru_cache(64)(self._long)}
            self.__dict__.update(kept, _key=lru_cache(4096)(self._key))

    def value(self, node: Json, name: str = "", *, everything: bool = False) -> Json:
        """A decoded value with secrets masked, the same object if there are none; `everything`: the whole value is secret."""
        try:
            return self._node(node, name, everything)
        except RecursionError:
            return self._hide("nested too deeply")

    def arguments(self, items: list[Json], command: Sequence[Json]) -> Json:
        """The arguments of a command with secrets masked."""
        return self._list(items, "args", everything=False, before=command)

    def text(self, text: str, *, named: bool = False) -> str:
        """Any text with secrets masked; with a name (`named`) of an identifier it may look random."""
        return words.in_text(self._objects_in(text), self._hide, self._userinfo, named=named)

    def document(self, text: str) -> str:
        """A file's text (JSON, YAML, lines of settings) with secrets masked; its lines stay in place."""
        return self._inside(text, "")

    def _node(self, node: Json, name: str, everything: bool) -> Json:
        if isinstance(node, str):
            if type(node) is str:
                return self._leaf(node, name, everything)
            text = str(node)  # a scalar with its position in a text
            found = self._leaf(text, name, everything)
            return node if found == text else found
        if isinstance(node, dict):
            return self._map(node, name, everything)
        if isinstance(node, list):
            return self._list(node, name, everything)
        if isinstance(node, (int, float)) and not isinstance(node, bool):
            hidden = everything or (name and is_secret_number(sort_of(name), node))
            return self._hide(str(node)) if hidden else node
        return node

    def _map(self, node: dict[str, Json], name: str, everything: bool) -> Json:
        scope = Scope(node, name) if _is_special(node, name) else None
        made: dict[str, Json] | None = None
        secret_key = False
        for key, child in node.items():
            secret_key = secret_key or (len(key) >= _SHORTEST and self._key(key) != key)
            if child is None or child is True or child is False or key in _OPAQUE:
                continue
            called, all_of_it = (key, False) if scope is None else scope.of(key, child)
            if type(child) is str:
                found: Json = self._leaf(child, called, everything or all_of_it)
            elif key == "args" and isinstance(child, list) and isinstance(command := node.get("command"), list):
                found = self._list(child, called, everything or all_of_it, [i for i in command if isinstance(i, str)])
            else:
                found = self._node(child, called, everything or all_of_it)
            if found is not child:
                if made is None:
                    made = dict(node)
                made[key] = found
        if secret_key:
            return {self._key(key): child for key, child in (made or node).items()}
        return node if made is None else made

    def _key(self, key: str) -> str:
        """A key of a map, masked if it is a token or a URL with a login."""
        return forms.by_form(key, self._hide, self._userinfo)

    def _list(self, node: list[Json], name: str, everything: bool, before: Sequence[Json] = ()) -> Json:
        """A list, masked; for arguments, `before` is the command before them."""
        made: list[Json] | None = None
        named = _indexed(node)
        line: list[Json] = [*before, *node] if before else node
        for index, child in enumerate(node):
            if isinstance(child, str) and not everything:
                found: Json = self.item(line, index + len(before), child, name)
            elif named and isinstance(child, dict) and str(child.get("name")) in named:
                found = {**child, "value": self._node(child.get("value"), named[child["name"]], everything)}
                found = child if found == child else found
            else:
                found = self._node(child, name, everything)
            if found is not child:
                if made is None:
                    made = list(node)
                made[index] = found
        return node if made is None else made

    def item(self, items: list[Json], index: int, item: str, name: str) -> str:
        """An item of a list; on a command line, the item before it may announce a secret."""
        before = items[index - 1] if index else None
        if isinstance(before, str):
            if before.startswith("-") and follows_secret(before, item):
                return self._hide(item)
            of_pair = (
                len(items) == _PAIR and name != "required" and _NAME.fullmatch(before) and sort_of(before) in _SURE
            )
            if of_pair and is_secret(sort_of(before), item):
                return self._hide(item)  # `[DB_PASSWORD, x]`
            if len(items) == _PAIR and looks_typed(item) and sort_of(name) in _LOGGED_IN and is_secret("mode", item):
                return self._hide(item)  # `basicAuth: [admin, x]`
            earlier = [i for i in items[max(0, index - commands.ARGUMENTS) : index] if isinstance(i, str)]
            start = commands.start_of_secret(earlier, item)
            if start is not None:
                return item[:start] + self._hide(item[start:])
        found: str = self._node(item, name, everything=False)
        return found

    def _leaf(self, text: str, name: str, everything: bool) -> str:
        if everything:
            return text if is_mask(text) else self._hide(text)
        if name and (sort := sort_of(name)) and is_secret(sort, text):
            return self._hide(text)
        if (
            len(text) < _SHORTEST
            and not _MAY_HOLD.search(text)
            and "\n" not in text
            and not random_words.may_stand_in(text)
        ):
            return text
        manner = _manner(name, text)
        found = (self._short if len(text) < _REMEMBERED else self._long)(text, manner)
        return text if found == text else found  # the cached text may be a different object with equal content

    def _short(self, text: str, manner: str) -> str:
        return self._found_in(text, manner)

    def _long(self, text: str, manner: str) -> str:
        return self._found_in(text, manner)

    def _found_in(self, text: str, manner: str) -> str:
        found = self._inside(text, manner)
        return text if found == text else found

    def _inside(self, text: str, manner: str) -> str:
        """A text with its secrets masked: as JSON, as YAML or lines of a file, as base64, and by the forms and words of any text."""
        start = text.lstrip()[:1]
        if start in ("{", "["):
            found = documents.in_json(text, self._walked)
            if found is not None:
                return found
            if _CUT_SECRET.search(text):
                return self._hide(text)
        if _LIKE_BASE64.fullmatch(text) and lines.is_encoded_secret(text):
            return self._hide(text)
        if manner.isdigit():
            found = tables.in_list(text, manner, self._hide)
            text = text if found is None else found
        code = manner == "code"
        if manner != "prose" and words.may_name_secret(text) and _LIKE_LINES.search(text):
            found = None if code or manner == "shell" else documents.in_yaml(text, self._walked)
            if found is not None and "\n" in text and not _DIFF.search(text):
                return forms.by_form(words.in_comments(found, self._hide), self._hide, self._userinfo)
            text = text if found is None else found
            text = lines.in_lines(text, self._hide, code=code)
        return words.in_text(self._objects_in(text), self._hide, self._userinfo, code=code, named=manner == "named")

    def _objects_in(self, text: str) -> str:
        """The text with secrets masked in its JSON objects; if the text mentions a Secret, a patch in it counts as a patch of a Secret."""
        if '{"' not in text or len(text) > _LONGEST_SENTENCE:
            return text
        name = _LISTED if _OF_SECRET.search(text) else ""
        return documents.in_sentence(text, lambda document: self._node(document, name, everything=False))

    def _walked(self, document: Json) -> Json:
        return self._node(document, "", everything=False)


def _manner(name: str, text: str) -> str:
    """How to read a text: `prose`, `code`, `shell`, the numbers of lists (`tables`), `named` for a public name, or empty for all others."""
    if name in _PROSE:
        return "prose"
    if name.endswith(_SHELL) or _SHEBANG.match(text):
        return "shell"
    if name.endswith(_CODE) or text.startswith("#!"):
        return "code"
    open_ = (
        random_words.is_open(name)
        and not _SPACE.search(text)
        and not (random_words.is_place(name) and looks_random(text))
    )
    return "named" if open_ else tables.lists_of(name)


_SPACE = regex(r"\s")
_SHEBANG = regex(r"#![^\n]{0,100}?\b(?:ba|da|z|k|a)?sh\b")
_REMEMBERED = 2000
_LONGEST_SENTENCE = 1 << 16
_OF_SECRET = regex(r"\bKind=Secret\b|\bResource=secrets\b|\bSecret \"|\bsecrets? \"[^\"]{1,253}\" (?:is|in|not|cannot)")
"""How kubectl and the API server name the target of a patch."""
_DIFF = regex(r"^\+[ \t]", re.MULTILINE)
_PAIR = 2
_SURE, _LOGGED_IN = ("password", "secret"), ("login", "object", "method", "mode")
_CUT_SECRET = regex(r"\"kind\"\s*:\s*\"Secret(?:List)?\"")


_LISTED, _METADATA, _ANNOTATIONS, _TEMPLATE = "\0items", "\0metadata", "\0annotations", "\0template"
"""Places within Secrets; field names contain no NUL."""
_KEYED = {
    (word,)
    for word in word_set(
        "encrypt encryption sign signing jwt hmac license licence fernet cookie aes keys wifi wireless radius tacacs keyauth credentials psk"
    )
}
"""`encrypt: {key: x}`"""
_USERS = word_set("u user username login")
"""Next to these `p` is a password."""
_GENERATOR = "secretGenerator"
"""Kustomize generates Secrets from its `literals`"""
_COPIES = {(word,) for word in word_set("data content contents value values backup copy payload original raw")}
"""Suffixes of annotations in which tools copy a Secret's data."""


def _is_special(node: Object, name: str) -> bool:
    """A cheap test: False for a map in which each key alone names its child."""
    if _says_more(name) or _makes_secret(node, name):
        return True
    if _has_none(node, _TELLING):
        return False
    return (
        node.get("kind") in ("Secret", "SecretList", "secret", "secretlist")
        or "kty" in node
        or "secretKey" in node
        or "stringData" in node
        or not _has_none(node, _VALUES)
        or ("key" in node and parts(name)[-1:] in _KEYED)
        or ("p" in node and not _USERS.isdisjoint(node))
    )


def _makes_secret(node: Object, name: str) -> bool:
    """Whether this is the template of a Secret, as in External Secrets and Sealed Secrets; a pod template has a `spec`."""
    return name == "template" and isinstance(node.get("data"), dict) and "spec" not in node


def _has_none(node: Object, keys: frozenset[str]) -> bool:
    """Whether the map has none of these keys. The shorter one is walked: a change in a map of thousands calls it for each entry."""
    return node.keys().isdisjoint(keys) if len(node) > len(keys) else keys.isdisjoint(node)


_TELLING = _VALUES | {"kind", "kty", "secretKey", "stringData", "key", "p"}
"""Keys of a map that may name its children; most maps have none of them."""


@lru_cache(maxsize=16384)
def _says_more(name: str) -> bool:
    """Whether a map of this name says more about its children than their keys do."""
    return name != "" and (name[0] == "\0" or name == _GENERATOR or sort_of(name) not in ("", "near"))


def _indexed(items: list[Json]) -> dict[str, str]:
    """Names for Helm parameters that set list items: `env[0].value` is named by the value of `env[0].name`."""
    by_start = {
        name.removesuffix("name"): str(one.get("value"))
        for one in items
        if isinstance(one, dict) and isinstance(name := one.get("name"), str) and name.endswith("].name")
    }
    return {f"{start}value": name for start, name in by_start.items() if sort_of(name)} if by_start else by_start


class Scope:
    """What a map says about its children: their names, and whether they are secret regardless of name."""

    __slots__ = ("_all", "_annotations", "_heir", "_metadata", "_name", "_named", "_node")

    def __init__(self, node: dict[str, Json], name: str) -> None:
        self._node = node
        self._name = name
        self._heir = name if name and sort_of(name) not in ("", "near") else ""
        self._all = name == _LISTED or is_core_secret(node)
        self._metadata = name == _METADATA
        self._annotations = name == _ANNOTATIONS
        self._named = _sibling(node)

    def of(self, key: str, child: Json) -> tuple[str, bool]:
        """(name, whether all of it is secret) for the child at this key."""
        of_patch = key == "value" and str(self._node.get("path")).startswith("/stringData/")
        if key == "stringData" or (key == "literals" and self._name == _GENERATOR) or of_patch:
            return key, True  # of a Secret, or of its maker
        if self._all:
            if key in ("data", "binaryData"):
                return key, True
            if key == "metadata":
                return _METADATA, False
        if self._metadata and key == "annotations":
            return _ANNOTATIONS, False
        if self._annotations:
            return key, parts(key)[-1:] in _COPIES
        if self._name == _TEMPLATE:
            return key, isinstance(child, str) and "{{" not in child
        if key == "data" and _makes_secret(self._node, self._name):
            return _TEMPLATE, False
        if self._named and key in _VALUES:
            return self._named, False
        if self._heir and sort_of(key) == "":
            if key in _WITHIN:
                return self._heir, False
            if sort_of(self._heir) == "several" and not isinstance(child, dict) and not is_public_name(key):
                return self._heir, False
            if isinstance(child, str) and not is_public_name(key) and self._holds(child):
                return self._heir, False
            if key in _GROUPS and isinstance(child, dict) and parts(self._heir)[-1:] in _HOLDING:
                return self._heir, False
        if key == "key" and isinstance(child, str) and words.looks_secret(child) and parts(self._name)[-1:] in _KEYED:
            return "api-key", False
        if key in _JWK and "kty" in self._node:
            return key, True
        if key == "p" and isinstance(child, str) and not _USERS.isdisjoint(self._node):
            return "password", False
        if key == "secretKey" and ("remoteRef" in self._node or "sourceRef" in self._node):
            return "", False  # an ExternalSecret's field with the name of a key
        if key == "items" and self._node.get("kind") == "SecretList":
            return _LISTED, False
        return key, False

    def _holds(self, child: str) -> bool:
        """Whether a text below `secrets` or `secretEnv` is a secret itself and not the name of one."""
        if self._heir in _HOLDERS:
            return words.looks_secret(child)
        if sort_of(self._heir) in ("password", "secret", "login", "typed"):
            return looks_typed(child) and not re.search(r"[\s/:@]", child)
        return not _HOLDING.isdisjoint((word,) for word in parts(self._heir)) and looks_typed(child)


_HOLDING = {(word,) for word in word_set("secret secrets credentials creds env")}
_GROUPS = word_set("data env")
_JWK = word_set("d p q dp dq qi k oth")
"""The private members of a JSON Web Key (RFC 7518, 6)."""


def is_core_secret(node: Object) -> bool:
    """Whether it is a Secret of the core group, or looks like an item of a Secret list; other groups may have a kind of that name."""
    return node.get("kind") in ("Secret", "secret") and node.get("apiVersion") in (None, "", "v1")


_HOLDERS = word_set("secrets credentials creds")
"""Names of maps with secrets or names of Secrets: a value with digits among letters is a secret."""
_LESS_SURE = word_set("id k var field option property setting fieldPath path type title label attr attribute env param")


def _sibling(node: Object) -> str:
    """The name next to a value: of an environment variable, a parameter, a header, or a patch's field."""
    if _has_none(node, _VALUES):
        return ""
    if "op" in node and isinstance(path := node.get("path"), str):
        last = split_pointer(path)[-1] if path.startswith("/") else path
        return "" if words.names_a_key(path) else last
    if "operator" in node:
        return ""  # of a selector
    for key in _NAMES:
        if (
            isinstance(name := node.get(key), str)
            and (sort := sort_of(name))
            and (key not in _LESS_SURE or sort in _SURE)
        ):
            return name
    return ""


def follows_secret(flag: str, value: str) -> bool:
    """Whether the value after this flag on a command line is a secret: `--password`, `hunter2`."""
    if not _FLAG.fullmatch(flag) or value.startswith("-") or (len(flag) < 5 and not flag.startswith("--")):
        return False
    return is_secret(sort_of(flag.lstrip("-")), value)
