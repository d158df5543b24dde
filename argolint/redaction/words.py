"""Secrets that the words before them tell, in any text: `password=x`, `--token x`, `Authorization: Basic x`, a line of a file.

What is no secret by its words stays: `invalid token: expired`, `password: $(cat file)`. As in `forms`, no regular expression here
takes more time than the text is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from argolint.redaction.forms import Hide, by_form, decoded
from argolint.redaction.names import is_secret, looks_drawn, sort_of, word_set

_SCHEME = re.compile(
    r"(?i)(?<![\w-])((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)?\b(bearer|basic|digest|negotiate|apikey|token)([ ]+)([\w.~+/=:-]{4,})"
)
_COMMAND = re.compile(
    r"(\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb(?:-\w{1,20})?)\b[^|;&\n]{0,400}?\s-p)([^\s\"';|&]+)"
    r"|(\b(?:curl|wget|httpie?|git)\b[^|;&\n]{0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:'\"]{0,200}:)([^\s\"']+)"
    r"|(\b(?:sshpass|(?:docker|podman|skopeo|crane|oras|helm registry|argocd|oc|az|ldap\w{1,10})\b[^|;&\n]{0,200}?\blogin|ldap\w{1,10})\b[^|;&\n]{0,400}?\s-[pw][ ]?[\"']?)(?![- ])([^\s\"']+)"
    r"|(\bredis-cli\b[^|;&\n]{0,400}?\s-a[ ]?[\"']?)([^\s\"']+)"
    r"|(\b(?:login|user(?:name)?|account)\s+(?!and\b|or\b)\S{1,200}\s+password\s+[\"']?)([^\s\"'()]+)"
    r"|(\becho\s+(?:-n\s+)?[\"']?)([^\s\"'|$]+)(?=[\"']?\s*\|[^\n|]{0,200}?(?:--password-stdin|\blogin\b))"
    r"|(\bhtpasswd\s+-(?:\w*n\w*|\w+\s+[^\s$\"'<>]{1,200})\s+[^\s$\"'<>]{1,200}\s+[\"']?)([^\s$\"'<>]+)"
    r"|((?i:\bwith password|\bset password|\bidentified by)\s+')([^'\n]{1,400})"
    r"|(\bvalue \\{0,3}\")([^\"\\\n]{1,400})(?=\\{0,3}\" for flag --?[\w-]{0,60}(?:pass|token|secret|key|auth))"
)

_NAME = r"[A-Za-z_][\w.~/\[\]-]{0,120}"
_QUOTE = r"\\{0,3}[\"']"
_PAIR = re.compile(
    rf"(?<![\w.~/-])(?P<dash>--?)?(?P<name>{_NAME})(?P<end>{_QUOTE})?\]?(?P<sep>[ \t]{{0,8}}(?:=>|:=|==?|:)[ \t]{{0,8}})"
    rf"(?P<value>(?P<open>\\{{0,3}}\")(?:[^\"\\]|\\(?!\")[^\n]|\\\"(?!\s*[,}}\]:]))*?(?P=open)|'[^'\n]*'|(?![\"'{{\[])[^\s\"'&;<>]+)"
)
_IS = re.compile(r"(?i)(\b(?:password|passphrase|secret|token|key) (?:is|was) [\"']?)([^\s\"',;]+)")
"""`the token is x`: only what looks like one."""
_FLAG = re.compile(r"(?<![^\s\"'(\[,=;|&])(--?[A-Za-z][\w.-]{1,80})[ \t]+(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'-][^\s\"']*)")
_NAMED = re.compile(
    rf"(?i)(\b(?:name|key){_QUOTE}?\s{{0,8}}[:=]\s{{0,8}}(?P<q>{_QUOTE})?(?P<name>[\w.-]{{1,120}})(?(q)(?P=q))[,\s]{{1,8}}{_QUOTE}?value{_QUOTE}?\s{{0,8}}[:=]\s{{0,8}})"
    rf"(?P<value>(?P<open>\\{{0,3}}\")(?:[^\"\\]|\\(?!\")[^\n])*?(?P=open)|'[^'\n]*'|[^\s\"',;}}\]>]+)"
)
_VALUED = re.compile(
    rf"(?i)(\bvalue{_QUOTE}?\s{{0,8}}[:=]\s{{0,8}})(?P<value>(?P<open>\\{{0,3}}\")(?:[^\"\\]|\\(?!\")[^\n])*?(?P=open)|'[^'\n]*'|[^\s\"',;}}\]>]+)"
    rf"(?=[,\s]{{1,8}}{_QUOTE}?(?:name|key){_QUOTE}?\s{{0,8}}[:=]\s{{0,8}}{_QUOTE}?(?P<name>[\w.-]{{1,120}}))"
)
_CALL = re.compile(
    r"(\(\s{0,8}[\"'](?P<name>[\w.-]{1,120})[\"']\s{0,8},\s{0,8})(?P<value>\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}')(?=\s{0,8}[,)])"
)
"""`define('DB_PASSWORD', 'x')`, `setdefault("API_TOKEN", "x")`."""
_ELEMENT = re.compile(r"(<(?P<name>[A-Za-z][\w.:-]{0,80})(?:\s[^<>]{0,400})?>)(?P<value>[^<>]{1,4096})(?=</)")
_KEYED_ELEMENT = re.compile(
    r"(<[A-Za-z][\w.:-]{0,80}\s[^<>]{0,400}?\b(?:key|name)=[\"'](?P<name>[\w.-]{1,120})[\"'][^<>]{0,400}>)(?P<value>[^<>]{1,4096})(?=</)"
)
_HEADER = re.compile(
    r"(?i)(?<![\w.-])((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9-]{0,60}(?:token|key|secret|auth|password)|private-token|job-token"
    r"|apikey|api-key)(\\{0,3}[\"']?\s{0,4}:\s{0,4}\\{0,3}[\"']?)([^\s\"'\\<\[{][^\n\"'\\]*)"
)
_REFUSED = re.compile(
    r"((?:(?<![\w.\[\]/-])(?P<field>[\w.\[\]/-]{1,200}): )?Invalid value: )(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^'\n]*'|[^\s:]+)"
)
_REFUSED_SECRET = re.compile(r"\bSecret \"[^\"]{1,260}\" is invalid\b")
_COMMENT = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<head>[ \t]*(?:export[ \t]+|-[ \t]+)?)(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w. /\[\]-]{0,120}?)(?P=quote)(?P<sep>[ \t]*[:=][ \t]*)"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s#\"'|>{\[][^\n]*?)(?P<rest>[ \t]*,?(?:[ \t]+#[^\n]*)?)$",
    re.MULTILINE,
)
_BLOCK = re.compile(
    r"(?P<indent>[ \t]*)(?:- )?[\"']?(?P<name>[A-Za-z_][\w.-]{0,120})[\"']?[ \t]*:[ \t]*(?:[|>][-+\d]{0,2}[ \t]*)?\r?"
)
_STEMS = (
    *(
        "pass",
        "secret",
        "token",
        "key",
        "auth",
        "cred",
        "pwd",
        "dsn",
        "jwt",
        "salt",
        "pepper",
        "bearer",
        "basic",
        "cookie",
        "webhook",
    ),
    *(
        "connection",
        "htpasswd",
        "netrc",
        "keytab",
        "mnemonic",
        "psk",
        "hmac",
        "otp",
        "sas",
        "_pat",
        "_sk",
        "_pin",
        "pw=",
        "pw:",
        "pw ",
        "-pw",
        "_pw",
    ),
)
_JQ_LITERAL = re.compile(
    r"(\.(?:value|data|stringData)(?:\[[^\]\n]{0,80}\]|\.[\w-]{1,80})?\s*[!=]=\s*\")([^\"\\\n]{1,400})(?=\")"
)
"""`select(.value == "x")` in a jq program."""
_WORDS = re.compile(r"[A-Za-z]?[a-z'’-]+|\d{1,3}")
"""What stands after `token:` in a sentence: `expired`, `Unauthorized`, `401`."""
_NO_VALUE = word_set(
    "is are was were must or and not flag flags option options argument arguments to for if when cannot can should requires required"
    " with in the has value needs instead of from on by as at be may a an"
)
"""Words that follow the name of a flag in a sentence."""


def in_text(text: str, hide: Hide, userinfo: Hide | None = None, *, code: bool = False) -> str:
    """The text with every secret in it hidden; `userinfo` makes what stands for user and password of a URL, if not `hide`.

    In `code` a word after `password =` is a variable, and only what is quoted or looks like a secret is one.
    """
    text = by_form(text, hide, userinfo)
    if may_tell(text):
        text = _told(text, hide, code=code)
    if any(word in text for word in (" -", "login", "password", "PASSWORD", "htpasswd", "dentified", "DENTIFIED")):
        text = _COMMAND.sub(lambda found: _after(found, hide), text)
    if '= "' in text or '="' in text:
        text = _JQ_LITERAL.sub(lambda found: found[1] + (hide(found[2]) if _looks_secret(found[2]) else found[2]), text)
    if "Invalid value: " in text:
        of_secret = _REFUSED_SECRET.search(text) is not None
        text = _REFUSED.sub(lambda found: _refused(found, hide, of_secret=of_secret), text)
    return text


def in_comments(text: str, hide: Hide) -> str:
    """The text with the secrets of lines that are commented out hidden; comments are sentences too."""
    return _COMMENT.sub(lambda found: in_text(found[0], hide), text) if "#" in text else text


def in_lines(text: str, hide: Hide, *, code: bool = False) -> str:
    """Lines of a file (`password: x`, `db.password = x`, `export DB_PASSWORD=x`, blocks below `password: |`) with their secrets hidden."""

    def line(found: re.Match[str]) -> str:
        name = found["name"].strip().rpartition(" ")[2] if found["sep"].strip() == "=" else found["name"]
        if " " in name:
            return found[0]
        value, quote = _unquoted(found["value"])
        if found["sep"] == ":" and (sort_of(name) not in ("password", "secret", "key") or "/" in value):
            return found[0]  # no YAML, and seldom settings: `web-secrets:apps/Deployment:web/web`
        if not is_secret(sort_of(name), value) or _of_shell(value) or (code and not _in_code(value, quote)):
            return found[0]
        return f"{found['head']}{found['quote']}{found['name']}{found['quote']}{found['sep']}{quote}{hide(value)}{quote}{found['rest']}"

    return _LINE.sub(line, "\n".join(_without_blocks(text.split("\n"), hide)))


def _without_blocks(lines: list[str], hide: Hide) -> Iterator[str]:
    """The lines, but of a secret that stands indented below its name a single one."""
    at = 0
    while at < len(lines):
        yield lines[at]
        found = _BLOCK.fullmatch(lines[at])
        at += 1
        if found is None or sort_of(found["name"]) in ("", "near"):
            continue
        end = at
        while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > len(found["indent"])):
            end += 1
        while end > at and not lines[end - 1].strip():
            end -= 1
        body = "\n".join(line.strip() for line in lines[at:end])
        if not _KEYED.match(body) and is_secret(sort_of(found["name"]), body):
            yield " " * _indent(lines[at]) + hide(body)
            at = end


_KEYED = re.compile(r"(?:- |\{\{|[\w.-]+:(?:\s|$))")
"""Below the name stands a map or a list, whose own keys tell."""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def may_tell(text: str) -> bool:
    """A cheap look: False for a text in which no word hints at a secret."""
    low = text.lower()
    for stem in _STEMS:  # noqa: SIM110  # no generator is as quick, and most texts hold none
        if stem in low:
            return True
    return False


def _told(text: str, hide: Hide, *, code: bool) -> str:
    """What words in the text call a secret."""
    text = _HEADER.sub(lambda found: _header(found, hide), text)
    text = _SCHEME.sub(lambda found: _scheme(found, hide), text)
    text = _NAMED.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    text = _VALUED.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    refers = "remoteRef" in text
    text = _each(_PAIR, text, lambda found: _pair(found, hide, code=code, refers=refers))
    text = _FLAG.sub(lambda found: _flag(found, hide), text)
    text = _IS.sub(lambda found: found[1] + _worded(found[2], hide), text)
    if "(" in text:
        text = _CALL.sub(lambda found: found[1] + _argument(found["value"], found["name"], hide), text)
    if "</" in text:
        text = _ELEMENT.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
        text = _KEYED_ELEMENT.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    return text


def _argument(value: str, name: str, hide: Hide) -> str:
    """`define('DB_PASSWORD', 'x')`; a list of names is none: `IN("erlang-cookie", "rabbitmq-password")`."""
    literal = _in_code(*_unquoted(value)) and sort_of(name) in ("password", "secret", "key")
    return _value(value, name, hide) if literal else value


def _each(pattern: re.Pattern[str], text: str, change: Callable[[re.Match[str]], str | None]) -> str:
    """The text with each match changed; where one stays (None), its value is looked at for matches of its own: `a=password=x`."""
    parts, at = [], 0
    while found := pattern.search(text, at):
        new = change(found)
        end = found.start("value") if new is None else found.end()
        parts += [text[at : found.start()], text[found.start() : end] if new is None else new]
        at = end
    return "".join([*parts, text[at:]])


def _unquoted(value: str) -> tuple[str, str]:
    """The value without its quotes, and the quotes: `\\"x\\"` as x and `\\"`."""
    found = re.match(r"\\{0,3}[\"']", value)
    if found and len(value) >= 2 * len(found[0]) and value.endswith(found[0]):
        return value[len(found[0]) : len(value) - len(found[0])], found[0]
    return value, ""


def _value(value: str, name: str, hide: Hide) -> str:
    inner, quote = _unquoted(value)
    return f"{quote}{hide(inner)}{quote}" if is_secret(sort_of(name), inner) else value


def _pair(found: re.Match[str], hide: Hide, *, code: bool, refers: bool) -> str | None:
    """`password=x`, `"password": "x"`, `Password:x`; in a sentence (`invalid token: expired`) only what looks like a value."""
    name, value, sep = found["name"], found["value"], found["sep"]
    sort = sort_of(_last(name))
    if sort in ("", "near", "named") or names_a_key(name) or (name == "secretKey" and refers):
        return None
    inner, quote = _unquoted(value)
    rest = ""
    if not quote:
        inner, rest = _to_its_end(inner, sep)
    if not is_secret(sort, inner) or _of_shell(inner) or (code and not _in_code(inner, quote)):
        return None
    if sort == "object" and sep != "=" and not found["end"]:
        return None  # `no such key in secret: "token"`
    bare = not quote and sep != "="
    if (
        bare
        and (sep != ":" or sort == "object")
        and (sort != "password" or _WORDS.fullmatch(inner))
        and not _looks_secret(inner)
    ):
        return None
    if bare and (sort in ("object", "several", "mode", "method", "cookie", "address") or "/" in inner):
        return None
    start = found[0][: found.start("value") - found.start()]
    return f"{start}{quote}{hide(inner)}{quote}{rest}"


def _of_shell(value: str) -> bool:
    """`$NAME`, `$(command)`, a command in backquotes."""
    return bool(re.match(r"\$[A-Z_][A-Z0-9_]*$|\$\(|`|\$\{", value))


def _in_code(value: str, quote: str) -> bool:
    """Whether a value in a program is a literal: not a variable, and not the name of one."""
    if quote:
        return not (re.fullmatch(r"[a-z][a-z0-9_.-]*", value) and sort_of(value))
    return _looks_secret(value) and not re.search(r"[()\[\]]", value)


def _to_its_end(value: str, sep: str) -> tuple[str, str]:
    """A value without quotes and what follows it: a closing bracket of Go's `map[password:x]`, a comma, a full stop."""
    end = len(value)
    while end and (
        value[end - 1] in ",.:" or (value[end - 1] in _CLOSING and not _balanced(value[:end], value[end - 1]))
    ):
        end -= 1
    if sep == ":" and "," in value[:end]:
        end = value.index(",")
    return value[:end], value[end:]


_CLOSING = {")": "(", "]": "[", "}": "{"}


def _balanced(text: str, closing: str) -> bool:
    return text.count(closing) <= text.count(_CLOSING[closing])


def _looks_secret(value: str) -> bool:
    """Whether a word in a sentence may be a secret: digits among letters, or signs that words do not have."""
    if len(value) < 5 or _WORDS.fullmatch(value):
        return False
    return bool(re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value)) and not re.search(
        r"[/.:]", value.rstrip(".")
    )


def _worded(value: str, hide: Hide) -> str:
    inner, rest = _to_its_end(value, "")
    return hide(inner) + rest if _looks_secret(inner) and is_secret("secret", inner) else value


def _last(name: str) -> str:
    """The last part of a path: `/data/db-password` as db-password, `data[password]` as password; `checksum/secret` is one name."""
    if name.startswith("/"):
        return name.rpartition("/")[2]
    return name.replace("[", "/").replace("]", "")


def names_a_key(name: str) -> bool:
    """`/spec/data/0/secretKey` of an ExternalSecret is the name of a key (external-secrets.io, ExternalSecretData)."""
    return bool(re.search(r"/(?:data|match|dataFrom|refs?|rewrite|\d+)/(?:\d+/)?secretKey$", name))


def _flag(found: re.Match[str], hide: Hide) -> str:
    """`--password VALUE`."""
    name, value = found[1].lstrip("-"), found[2]
    inner, quote = _unquoted(value)
    if inner.lower() in _NO_VALUE or (len(found[1]) - len(name) == 1 and len(name) < 4):
        return found[0]
    sort = sort_of(name)
    if sort == "near" or not is_secret(sort, inner) or _of_shell(inner):
        return found[0]
    return found[0].removesuffix(value) + f"{quote}{hide(inner)}{quote}"


def _header(found: re.Match[str], hide: Hide) -> str:
    """A header's value, the scheme aside: `Authorization: Basic x`; of cookies the rest of the line."""
    value = found[3]
    scheme = re.match(r"(?i)(?:bearer|basic|digest|negotiate|token|apikey)\s+", value)
    start = scheme.end() if scheme else 0
    end = (
        len(value) if "cookie" in found[1].lower() and "=" in value else len((value[start:].split() or [""])[0]) + start
    )
    secret, rest = _to_its_end(value[start:end], "")
    if not is_secret("secret", secret) or _WORDS.fullmatch(secret) or (not scheme and secret.lower() in _SCHEMES):
        return found[0]
    return f"{found[1]}{found[2]}{value[:start]}{hide(secret)}{rest}{value[end:]}"


_SCHEMES = word_set("bearer basic digest negotiate token apikey `bearer `basic bearer` basic`")


def _scheme(found: re.Match[str], hide: Hide) -> str:
    """`Bearer x`, where x is no word of a sentence."""
    value = found[4]
    if _WORDS.fullmatch(value.rstrip(".:=")) or not is_secret("secret", value):
        return found[0]
    if not found[1] and (
        found[2].lower() in ("token", "apikey", "digest", "basic") and not looks_like_credentials(value)
    ):
        return found[0]
    return found[0].removesuffix(value) + hide(value)


def looks_like_credentials(value: str) -> bool:
    """Whether a word after `Basic` or `token` may be one: random, or base64 of `user:password`."""
    return looks_drawn(value) or ":" in (decoded(value) or "") or _looks_secret(value)


def _after(found: re.Match[str], hide: Hide) -> str:
    """What a well-known command takes after a flag of one letter."""
    at = next(i for i in range(1, len(found.groups()) + 1, 2) if found[i] is not None)
    value = found[at + 1]
    return found[at] + (hide(value) if is_secret("secret", value) and not value.startswith("$") else value)


def _refused(found: re.Match[str], hide: Hide, *, of_secret: bool) -> str:
    """A value that the API server refuses and repeats: of a field with the name of a secret, or anything of a Secret."""
    inner, quote = _unquoted(found["value"])
    last = re.split(r"[.\[\]/]", (found["field"] or "").rstrip("]"))[-1]
    if not (is_secret(sort_of(last), inner) or (of_secret and is_secret("secret", inner))):
        return found[0]
    return f"{found[1]}{quote}{hide(inner)}{quote}"


def is_encoded_secret(text: str) -> bool:
    """Whether a text is the base64 of a private key, a token, or a text that holds a secret."""
    inner = decoded(text)
    if inner is None:
        return False
    found: list[str] = []

    def note(value: str) -> str:
        found.append(value)
        return ""

    in_text(in_lines(inner, note), note)
    return bool(found)
