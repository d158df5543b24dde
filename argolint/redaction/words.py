"""Secrets that the words before them mark, in any text: `password=x`, `--token x`, `Authorization: Basic x`, a line of a file.

Other values stay: `invalid token: expired`, `password: $(cat file)`. As in `forms`, every regular expression takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from argolint.redaction import commands, random_words
from argolint.redaction.forms import Hide, by_form, decoded
from argolint.redaction.names import (
    is_reference,
    is_secret,
    looks_random,
    looks_typed,
    sort_of,
    without_marks,
    word_set,
)
from argolint.redaction.tables import in_table
from argolint.values.patterns import regex

_SCHEME = regex(
    r"(?i)(?<![\w-])((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)?\b(bearer|basic|digest|negotiate|apikey|token)(\\?[ ]+)([\w.~+/=:-]{4,})"
)
_NAME = r"[^\W\d][\w.~/\[\]\u00ad\u200b-\u200f\u2060\ufeff-]{0,120}"
_QUOTE = r"\\{0,3}[\"']"
_LOOKED_AT = 512
_PAIR = regex(
    rf"(?<![\w.~/-])(?P<dash>--?)?(?P<name>{_NAME})(?P<end>{_QUOTE}|`|\*\*)?\]?(?P<sep>[ \t\u00a0]{{0,8}}(?:=>|->|:=|\|\|=?|\?\?=?|\?=|\+=|==?|\+?::?:?|[：＝])[ \t\u00a0]{{0,8}})"
    rf"(?:[NbrfuL$](?=[\"']))?"  # of SQL, Python, C, the shell: `PASSWORD = N'x'`
    rf"(?P<value>(?P<open>\\{{0,3}}\")(?:[^\"\\\n]|\\(?!\")[^\n]|\\\"(?!\s*[,}}\]:]))*?(?P=open)|'[^'\n]*'|\\{{0,3}}[\"'][^\"'\\\n]+\Z|[-=]\"[^\"\n]{{1,400}}\"|(?![\"'{{\[])[^\s\"'&;<>]{{1,{_LOOKED_AT}}})"
)
_QUOTES = ("'", '"')
_QUOTED = regex(r"\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'")
_REST = regex(r"[^\s\"'&;<>]*")
"""The rest of a value that was matched only at its beginning."""
_IS = regex(
    r"(?i)((?<![A-Za-z])(?:password|passphrase|secret|token|key|passwort|kennwort|wachtwoord|mot de passe|contraseña|senha) (?:is|was|lautet|ist|est|es|é) [\"']?)([^\s\"',;]+)"
)
"""`the token is x`: only if it looks like a secret."""
_TWO_WORDS = regex(
    r"(?i)((?<![A-Za-z])(?:t?otp|mfa|licen[cs]e|unlock|unseal|seal|recovery|activation|product|access|api|signing|encryption|private|shared"
    r"|client|root|master|session|auth|refresh|bot|service)[ ](?:key|secret|token|code|seed|pin)s?(?:[ ]\d{1,2})?[ ]?[:=][ ]{0,4}[\"'`]?)"
    r"([^\s\"'`,;]{6,200})"
)
"""`unseal key 1: x`: a name of two words; only values that look like a secret and not like an object name."""
_ESCAPED_PAIR = regex(r"(?i)((?:pass(?:word|wd)?|token|secret|api_?key)%3D)([^\s&%\"'<>]{1,400})")
"""`password%3Dx` in a URL."""
_SAID = regex(
    r"(?i)(\b(?:[\w.-]{0,80}(?:pass(?:word|wd|phrase)?|pwd?|token|secret[-_. ]?key|(?<![A-Za-z])secret|psk|auth|(?:shared|sec|signing)_key|community)|api[-_ ]?key)(?:(?:\t|[ \u00a0]{1,40})[\"'`<\[(“„«‘]?|[(\[<]))(?!(?:password|secret|token)\b)([^\s\"'`,;|<>()\[\]“”«»‘’]{8,200})(?=[\s\"'`,;.:)>\]”»’]|$)"
)
"""`with password "x"`, `ssl.keystore.password x`: only values that look like a secret and not like an object name."""
_NEW_VALUE = regex(
    r"(?<![\w.-])(?P<start>(?P<name>[A-Za-z_][\w.-]{0,120})[\"']?[ \t]{0,8}[:=][ \t]{0,8}(?:\"[^\"\n]{0,400}\"|[^\s\"]{1,400})[ \t]{0,8}[=-]>[ \t]{0,8})"
    r"(?P<value>\"[^\"\n]{1,400}\"|[^\s\"]{1,400})"
)
"""`password = "x" -> "y"`: the second value; `_PAIR` finds the first."""
_SET_TO = regex(
    r"(?<![\w.-])(?P<name>(?=[\w.-]{0,120}?(?i:pass|token|secret|key|pwd|cred))[A-Za-z_][\w.-]{0,120})(?:[: ][ \w\"',]{0,40})?[ \t](?:from|to|value|got|credentials|literal)[ \t]{1,4}[\"'`<]?(?P<value>[^\s\"'`,;<>]{6,200})"
    r"(?:[\"'`]?[ \t]to[ \t][\"'`]?(?P<next>[^\s\"'`,;]{6,200}))?"
)
_VALUE_OF = regex(
    r"(\b(?:value|literal|login) [\"'`<]?)(?P<value>[^\s\"'`,;<>]{6,200})(?=[\"'`>]? (?:of|for|in) (?:the )?(?:environment variable |env(?:ironment)? |field |parameter |key )?[\"'`]?(?P<name>[A-Za-z_][\w.-]{0,120}))"
)
"""`value "x" of environment variable DB_PASSWORD`"""
_LISTED_PAIR = regex(
    r"((?P<q>\\{0,3}[\"'])(?P<name>-{0,2}[A-Za-z][\w.-]{0,120})(?P=q)\s{0,8}(?:,|\.(?=\s))\s{0,8}(?P<o>\\{0,3}[\"']))(?P<value>[^\"'\\\n]{1,400})(?=(?P=o))"
)
"""`["--password", "x"]`, `'password', 'x'`"""
_POINTED = regex(r"([\"'](?P<name>/[\w/.~-]{1,200})[\"']: ?[\"'])(?P<value>[^\"'\n]{1,400})(?=[\"'])")
"""`'/db/password': 'x' does not match`"""
_LOGGED_IN = regex(
    r"(?i)(\b(?:credentials?(?: are| is| were| used)?|log(?:ged )?in(?: with| as| failed for)?|auth\w{0,12}(?: failed)?(?: for| as)?)"
    r":? (?:user )?[\"'`(]?[\w.@-]{1,64} ?[:/] ?)([^\s\"'`,;:/()@]{6,200})"
)
"""`credentials admin:x rejected`, `login failed for admin:x@db`: only if it looks like a login."""
_CELL = regex(
    r"(^[ \t]*+\|[ \t]*+[*`]{0,2}(?P<name>[A-Za-z][\w .-]{0,60}?)[*`]{0,2}[ \t]*\|[ \t]*`?)(?P<value>[^\s|`]{4,200})(?=`?[ \t]*\|)",
    re.MULTILINE,
)
"""`| Password | x |` of a table."""
_BOLD = regex(r"(\*\*(?P<name>[A-Za-z][\w .-]{0,60}?):\*\*[ \t]{1,4}`?)(?P<value>[^\s`]{4,200})")
_ARRAY = regex(
    r"(?<![\w./-])(?P<name>[A-Za-z_][\w.-]{0,120})[\"']?\s{0,4}[=:]\s{0,4}\[(?P<body>(?:[^\[\]\"'{}]{0,200}(?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}')){1,50}[^\[\]\"'{}]{0,200})\]"
)
"""`tokens = ["x", "y"]`"""
_INSERT = regex(
    r"(?i)\binsert\s+into\s+[\w.`\"\[\]]{1,200}\s*\((?P<names>[^()]{1,2000})\)\s*values\s*(?P<rows>\((?:[^()'\"]|'[^']{0,2000}'|\"[^\"]{0,2000}\")*+\)(?:\s*,\s*\((?:[^()'\"]|'[^']{0,2000}'|\"[^\"]{0,2000}\")*+\))*+)"
)
_ROW = regex(r"\((?:[^()'\"]|'[^']{0,2000}'|\"[^\"]{0,2000}\")*+\)")
_FIELD = regex(r"'[^']{0,2000}'|\"[^\"]{0,2000}\"|[^,()'\"]++")
_CALLED = {
    **dict.fromkeys(("PDO", "mysqli_connect", "mysqli", "mysql_connect", "connect", "pg_sodium"), 3),
    **dict.fromkeys(("NetworkCredential", "auth", "changeUserPassword", "createAccount", "addUser"), 2),
    **dict.fromkeys(("pgp_sym_encrypt", "pgp_sym_decrypt", "AES_ENCRYPT", "AES_DECRYPT"), 2),
    "UsernamePasswordCredentialsImpl": 5,
    "fromString": 1,
}
"""Functions with a secret argument, and its position."""
_CALLS = regex(
    rf"(?:(?<=new )|(?<=DBI->)|(?<=Secret\.)|(?<=db\.)|(?<=Realm\.)|(?<=Net\.)|(?<![\w.>]))(?P<called>{'|'.join(_CALLED)})(?P<arguments>\((?:[^()'\"]|'[^'\n]{{0,400}}'|\"[^\"\n]{{0,400}}\")*+\))"
)
_SETTER = regex(
    r"(\b(?P<name>[A-Za-z_]\w{0,120})(?:\.set| by extra)\()(?P<value>\"[^\"\n]{1,400}\"|'[^'\n]{1,400}')(?=\))"
)
"""`password.set("x")`"""
_TYPED = regex(
    r"((?<![\w.-])(?P<name>[A-Za-z_]\w{0,120})(?::[ ]{0,4}&?[A-Za-z][\w<>\[\] |]{0,40}?| \{ get;(?: set;| init;)? \})[ ]{0,4}=[ ]{0,4})(?P<value>\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|`[^`\n]{1,400}`)"
)
"""`const apiKey: string = "x"`, `string Token { get; } = "x"`"""
_DELIMITED = regex(
    r"((?<![\w.-])(?P<name>[A-Za-z_]\w{0,120})[ ]{0,4}=[ ]{0,4}(?:`|\[\[|qw?[(\[{]))(?P<value>[^`\[\](){}\n]{1,400})(?=`|\]\]|[)\]}])"
)
"""`TOKEN = `x``, `password = [[x]]` (Lua), `q(x)` (Perl)."""
_BRACED = regex(
    r"((?:ENV|env|Env)(?:\[[\"']?|\{[\"']?|\.fetch\([\"'])(?P<name>[A-Za-z_]\w{0,120})[\"']?[\]})]\s{0,4}(?:(?:\|\||\?\?)?=|\|\||\?\?|\{)\s{0,4}[\"'])(?P<value>[^\"'\n]{1,400})(?=[\"'])"
)
"""`ENV['X_PASSWORD'] ||= 'x'`, `$ENV{API_TOKEN} = 'x'`, `ENV.fetch('X_TOKEN') { 'x' }`"""
_ELSE = regex(
    r"((?<!\w)(?i:get|lookup)?(?i:env|config)[\w.:]{0,30}[ (]{0,4}(?P<q>\\{0,3}[\"'])(?P<name>[A-Za-z_][\w.-]{0,120})(?P=q)"
    r"(?:\s{0,4},\s{0,4}(?:default|fallback)(?:_value|Value)?\s{0,4}[=:]|[ )]{0,4}(?:\|\s{0,4}default\b|\|\||\?\?|\?:|\bor\b|\.(?:unwrap_or|orElse|getOrElse)\()|[ ])\s{0,4}(?P<o>\\{0,3}[\"']))"
    r"(?P<value>[^\"'\\\n]{1,400})(?=(?P=o))"
)
"""`env("DB_PASSWORD", default="x")`, `getenv("DB_PASSWORD") ?: "x"`, `{{ env "DB_PASSWORD" | default "x" }}`, `{{ getenv "DB_PASSWORD" "x" }}`"""
_BINARY = regex(r"((?<!\w)(?P<name>[a-z]\w{0,120})\s{0,4},?\s{0,4}<<\")(?P<value>[^\"\n]{1,400})(?=\">>)")
"""`{default_pass, <<"x">>}` in Erlang."""
_REFUSED_AS = regex(
    r"(Invalid value: \")([^\"\\\n]{6,200})(?=\": [^\n:]{0,60}?\b(?i:password|token|secret|credential))"
)
"""`DB_PASSWORD has value x`, `password changed from x to y`, `token: expected "", got "x"`."""
_DIGESTED = regex(
    r"(?i)(\b(?:digest|aws4-hmac-sha256)\b[^\n]{0,1000}?\b(?:response|signature)=\\{0,3}\"?)([0-9A-Za-z+/=_-]{8,200})"
)
_PORT = regex(r"(\binvalid port \\{0,3}\":)([^\s\"\\]{1,400})")
"""Go's error for a password with a slash: `invalid port ":x" after host`."""
_QUOTED_PAIR = regex(
    r"(%(?:25)?22(?P<name>[\w.-]{1,120})%(?:25)?22%(?:25)?3A%(?:25)?22)(?P<value>(?:(?!%(?:25)?22)[^\s\"'<>]){1,4096})"
)
"""`%22password%22%3A%22x%22`: JSON in a URL."""
_FLAG = regex(r"(?<![^\s\"'(\[,=;|&])(--?[A-Za-z][\w.-]{1,80})[ \t]+(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'<>|&;-][^\s\"']*)")
_NAMED = regex(
    rf"(?i)(\b(?:name|key){_QUOTE}?\s{{0,8}}[:=]\s{{0,8}}(?P<q>{_QUOTE})?(?P<name>[\w.-]{{1,120}})(?(q)(?P=q))[,\s+-]{{1,60}}{_QUOTE}?(?:value|content){_QUOTE}?\s{{0,8}}[:=]\s{{0,8}})"
    rf"(?P<value>(?P<open>\\{{0,3}}\")(?:[^\"\\]|\\(?!\")[^\n])*?(?P=open)|'[^'\n]*'|\{{\{{[^{{}}\n]{{0,400}}\}}\}}|[^\s\"',;}}\]>]+)"
)
_VALUED = regex(
    rf"(?i)(\bvalue{_QUOTE}?\s{{0,8}}[:=]\s{{0,8}})(?P<value>(?P<open>\\{{0,3}}\")(?:[^\"\\]|\\(?!\")[^\n])*?(?P=open)|'[^'\n]*'|[^\s\"',;}}\]>]+)"
    rf"(?=[,\s+-]{{1,60}}{_QUOTE}?(?:name|key){_QUOTE}?\s{{0,8}}[:=]\s{{0,8}}{_QUOTE}?(?P<name>[\w.-]{{1,120}}))"
)
_CALL = regex(
    r"((?:\(\s{0,8}[\"'](?P<name>[\w.-]{1,120})[\"']|(?<![\w:]):(?P<symbol>\w{1,120}))\s{0,8},\s{0,40})"
    r"(?P<value>\"[^\"\n]{1,4096}\"|'[^'\n]{1,4096}')(?=\s{0,8}[,)\n]|$)"
)
"""`define('DB_PASSWORD', 'x')`, `setdefault("API_TOKEN", "x")`, `set :api_token, "x"`."""
_DEFAULT = regex(
    r"((?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,120}+)[\"'\]]{0,2}\s{0,4}(?:[:=]|=>)\s{0,4}[^\s\"'#;,][^\n\"'#;,]{0,80}\((?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'),\s{0,4})(?P<value>\"[^\"\n]{1,400}\"|'[^'\n]{1,400}')(?=\s{0,4}\))"
)
"""`SECRET_KEY = os.environ.get("X", "x")`"""
_ELEMENT = regex(
    r"(<(?P<name>[A-Za-z][\w.:-]{0,80})(?:\s[^<>]{0,400})?>(?:\s{0,80}<(?i:value|string|!\[CDATA\[)>?\s{0,80}+)?)(?P<value>[^<>\]]{1,4096})(?=</|\]\]>)"
)
_NAMED_ELEMENT = regex(
    r"(<(?:[\w-]{1,40}-)?(?:name|key)>\s{0,80}(?P<name>[\w.-]{1,120})\s{0,80}</(?:[\w-]{1,40}-)?(?:name|key)>\s{0,80}(?:<[\w-]{1,40}-type>[^<>]{0,200}</[\w-]{1,40}-type>\s{0,80})?<(?:[\w-]{1,40}-)?(?:value|string)>)(?P<value>[^<>]{1,4096})(?=</)"
)
"""`<name>db.password</name><value>x</value>` (Hadoop), `<key>password</key><string>x</string>` (property lists)."""
_KEYED_ELEMENT = regex(
    r"(<[A-Za-z][\w.:-]{0,80}\s[^<>]{0,400}?\b(?:key|name)=[\"'](?P<name>[\w.-]{1,120})[\"'][^<>]{0,400}>(?:\s{0,80}<(?:value|string)>\s{0,80})?)(?P<value>[^<>]{1,4096})(?=</)"
)
_HEADER = regex(
    r"(?i)(?<![\w.-])((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z0-9-]{0,60}(?:token|key|secret|auth|password)|private-token|job-token"
    r"|apikey|api-key)(\\{0,3}[\"']?\s{0,4}:\s{0,4}\[?\\{0,3}[\"']?)([^\s\"'\\<\[{][^\n\"'\\]*)"
)
_REFUSED = regex(
    r"((?:(?<![\w.\[\]/-])(?P<field>[\w.\[\]/-]{1,200}): )?Invalid value: )(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^'\n]*'|[^\s:]+)"
)
_GO_DATA = regex(
    r"((?:StringData|Data|stringData|data):map(?:\[string\](?:\[\]uint8|\[\]byte|string)\{|\[))([^{}\[\]]*(?:[{\[][^{}\[\]]*[}\]][^{}\[\]]*)*)(?=[}\]])"
)
"""The data of a Secret in Go's print format."""
_REFUSED_SECRET = regex(r"\bSecret \"[^\"]{1,260}\" is invalid\b")
_COMMENT = regex(r"^[ \t]*#[^\n]*$", re.MULTILINE)
_STEMS = regex(
    r"pass|secret|token|key|auth|cred|pwd|dsn|jwt|salt|pepper|bearer|basic|cookie|webhook|connection|htpasswd|netrc|keytab|mnemonic"
    r"|psk|hmac|otp|sas|_pat|_sk|_pin|pw[=: ]|[-_]pw|community|login|connect\(|pdo\(|crypt\(|securejson|users\]|admins\]|user ?="
    r"|licen[cs]e|serial|commun|seed|unseal|enrol|encrypt|activation|_hec|sak\b|signing|shared.?access|createaccount|pfx"
    r"|contrase|пароль|密码|密碼|口令|パスワード|暗証|비밀번호|סיסמ|<<<|wort|woord|unlock|recovery|access|senha|clave|geheim|heslo|haslo|jelszo|parol|sifre|losenord|adgangskode|salasana|slaptaz|lozink"
)
_JQ_LITERAL = regex(
    r"(\.(?:value|data|stringData|\w{0,60}(?i:password|passwd|secret|token|apikey))(?:\[[^\]\n]{0,80}\]|\.[\w-]{1,80})?\s*[!=]=\s*\")([^\"\\\n]{1,400})(?=\")"
)
"""`select(.value == "x")` in a jq program."""
_WORDS = regex(r"[A-Za-z]?[a-z'’-]+|\d{1,3}")
"""Words after `token:` in a sentence: `expired`, `Unauthorized`, `401`."""
_NO_VALUE = word_set(
    "is are was were must or and not flag flags option options argument arguments to for if when cannot can should requires required"
    " with in the has value needs instead of from on by as at be may a an"
)
"""Words after the name of a flag in a sentence."""


def in_text(text: str, hide: Hide, userinfo: Hide | None = None, *, code: bool = False, named: bool = False) -> str:
    """The text with all secrets masked; `userinfo` masks user and password of a URL, by default `hide` does.

    In `code` a word after `password =` is a variable, and only quoted or secret-looking words are secrets. With a name (`named`) of an
    identifier it may look random.
    """
    text = by_form(text, hide, userinfo)
    if may_name_secret(text):
        text = _named_hidden(text, hide, code=code)
    text = commands.in_text(text, hide)
    if '= "' in text or '="' in text:
        text = _JQ_LITERAL.sub(lambda found: found[1] + (hide(found[2]) if looks_secret(found[2]) else found[2]), text)
    if "ata:map[" in text and "Secret" in text:
        text = _GO_DATA.sub(lambda found: found[1] + (hide(found[2]) if found[2] else ""), text)
    if "invalid port" in text:
        text = _PORT.sub(lambda found: found[0] if found[2].isdigit() else found[1] + hide(found[2]), text)
    if "Invalid value: " in text:
        of_secret = _REFUSED_SECRET.search(text) is not None
        text = _REFUSED.sub(lambda found: _refused(found, hide, of_secret=of_secret), text)
    return text if named else random_words.in_text(text, hide)


def in_comments(text: str, hide: Hide) -> str:
    """The text with secrets in commented lines masked; comments may be sentences, too."""
    return _COMMENT.sub(lambda found: in_text(found[0], hide), text) if "#" in text else text


def may_name_secret(text: str) -> bool:
    """A cheap test: False for a text without any word that hints at a secret."""
    lower = text.lower()
    if _STEMS.search(lower):
        return True
    return not lower.isascii() and _STEMS.search(without_marks(lower)) is not None


def _named_hidden(text: str, hide: Hide, *, code: bool) -> str:
    """The text with secrets masked that words in it name."""
    if "\n" in text:
        text = in_table(text, hide)
    if any(
        word in text for word in ("env", "ENV", "Env", "onfig")
    ):  # before `_PAIR`, which takes the call itself for the value
        text = _ELSE.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    text = _DIGESTED.sub(lambda found: found[1] + hide(found[2]), text)
    text = _HEADER.sub(lambda found: _header(found, hide), text)
    text = _SCHEME.sub(lambda found: _scheme(found, hide), text)
    if "->" in text or "=>" in text:
        text = _NEW_VALUE.sub(lambda found: found["start"] + _value(found["value"], found["name"], hide), text)
    text = _NAMED.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    text = _VALUED.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    refers = "remoteRef" in text
    text = _each(_PAIR, text, lambda found: _pair(found, hide, code=code, refers=refers))
    text = _FLAG.sub(lambda found: _flag(found, hide), text)
    text = _IS.sub(lambda found: found[1] + _worded(found[2], hide), text)
    text = _TWO_WORDS.sub(
        lambda found: found[1] + (found[2] if _may_be_name(found[2]) else _worded(found[2], hide)), text
    )
    if "%3" in text:
        text = _ESCAPED_PAIR.sub(lambda found: found[1] + hide(found[2]), text)
    text = _SAID.sub(lambda found: found[1] + (found[2] if _is_said_of(found) else _worded(found[2], hide)), text)
    text = _SET_TO.sub(lambda found: _set_to(found, hide), text)
    text = _VALUE_OF.sub(lambda found: found[1] + _surely(found["value"], found["name"], hide), text)
    text = _LOGGED_IN.sub(
        lambda found: found[1] + (found[2] if _may_be_name(found[2]) else _worded(found[2], hide)), text
    )
    text = _in_syntax(text, hide)
    if "22%" in text:
        text = _QUOTED_PAIR.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    if "(" in text or ":" in text:
        text = _CALL.sub(
            lambda found: found[1] + _argument(found["value"], found["name"] or found["symbol"], hide), text
        )
    if "(" in text:
        text = _DEFAULT.sub(lambda found: found[1] + _argument(found["value"], found["name"], hide), text)
    if "</" in text:
        text = _ELEMENT.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
        text = _NAMED_ELEMENT.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
        text = _KEYED_ELEMENT.sub(lambda found: found[1] + _value(found["value"], found["name"], hide), text)
    return text


def _in_syntax(text: str, hide: Hide) -> str:
    """The text with secrets masked that the syntax of programs, queries and tables names, other than `name = value`."""

    def valued(found: re.Match[str]) -> str:
        return str(found[1]) + _value(found["value"], found["name"], hide)

    if "': '" in text or '": "' in text:
        text = _POINTED.sub(valued, text)
    if "," in text or " . " in text:
        text = _LISTED_PAIR.sub(lambda found: found[1] + _listed(found["value"], found["name"], hide), text)
    if "|" in text:
        text = _CELL.sub(lambda found: found[1] + _surely(found["value"], found["name"], hide), text)
    if ":**" in text:
        text = _BOLD.sub(valued, text)
    if "[" in text or "(" in text or "{" in text or "`" in text:
        text = _DELIMITED.sub(valued, text)
        text = _ARRAY.sub(lambda found: _array(found, hide), text)
        text = _SETTER.sub(lambda found: found[1] + _argument(found["value"], found["name"], hide), text)
        text = _CALLS.sub(lambda found: _called_with(found, hide), text)
        text = _BRACED.sub(valued, text)
    if "<<" in text:
        text = _BINARY.sub(valued, text)
    if "=" in text:
        text = _TYPED.sub(lambda found: found[1] + _argument(found["value"], found["name"], hide), text)
    if "nvalid value: " in text:
        text = _REFUSED_AS.sub(lambda found: found[1] + _worded(found[2], hide), text)
    return _INSERT.sub(lambda found: _inserted(found, hide), text)


def _surely(value: str, name: str, hide: Hide) -> str:
    looks = looks_secret(value) and not _may_be_name(value)
    sure = looks and not sort_of(value) and sort_of(name) in ("password", "secret", "key")
    return _value(value, name, hide) if sure else value


def _listed(value: str, name: str, hide: Hide) -> str:
    """The value after a name in a list: after a flag masked always, after a name only if it looks like a secret."""
    if name.startswith("--"):
        return hide(value) if is_secret(sort_of(name[2:]), value) and not value.startswith("-") else value
    return _surely(value, name, hide)


def _array(found: re.Match[str], hide: Hide) -> str:
    if sort_of(found["name"]) not in ("several", "password", "secret", "login"):
        return str(found[0])
    body = _FIELD.sub(
        lambda item: _value(item[0], found["name"], hide) if item[0][0] in _QUOTES else item[0], found["body"]
    )
    start = found.start("body") - found.start()
    return f"{found[0][:start]}{body}]"


def _called_with(found: re.Match[str], hide: Hide) -> str:
    """A call with the function's secret argument masked."""
    wanted, place = _CALLED[found["called"]], 0

    def argument(one: re.Match[str]) -> str:
        nonlocal place
        if not one[0].strip():
            return one[0]
        place += 1
        inner, quote = unquoted(one[0])
        return f"{quote}{hide(inner)}{quote}" if place == wanted and quote and is_secret("secret", inner) else one[0]

    return str(found["called"]) + _FIELD.sub(argument, found["arguments"])


def _inserted(found: re.Match[str], hide: Hide) -> str:
    """The rows of `INSERT INTO … (name, password) VALUES …` with secret columns masked."""
    names = [name.strip(' `"[]\n\t') for name in found["names"].split(",")]
    if not any(sort_of(name) for name in names):
        return str(found[0])

    def row(one: re.Match[str]) -> str:
        place = -1

        def cell(field: re.Match[str]) -> str:
            nonlocal place
            if not field[0].strip():
                return field[0]
            place += 1
            return _value(field[0], names[place], hide) if place < len(names) and field[0][0] in _QUOTES else field[0]

        return _FIELD.sub(cell, one[0])

    start = found.start("rows") - found.start()
    return found[0][:start] + _ROW.sub(row, found["rows"])


def _argument(value: str, name: str, hide: Hide) -> str:
    """`define('DB_PASSWORD', 'x')`; a list of names has no secret: `IN("erlang-cookie", "rabbitmq-password")`."""
    literal = in_code(*unquoted(value)) and sort_of(name) in ("password", "secret", "key")
    return _value(value, name, hide) if literal else value


def _each(pattern: re.Pattern[str], text: str, change: Callable[[re.Match[str]], str | None]) -> str:
    """The text with each match changed; if a match stays (None), its value is searched again: `a=password=x`."""
    parts, at = [], 0
    while found := pattern.search(text, at):
        new = change(found)
        end = found.start("value") if new is None else found.end()
        if new is not None and len(found["value"]) == _LOOKED_AT and (rest := _REST.match(text, end)):
            end = rest.end()
        while new is not None and text[end - 1 : end] in _QUOTES and (more := _QUOTED.match(text, end)):
            end = more.end()  # in the shell, `"a"'b'` is one word
        parts += [text[at : found.start()], text[found.start() : end] if new is None else new]
        at = end
    return "".join([*parts, text[at:]])


def unquoted(value: str) -> tuple[str, str]:
    """The value without its quotes, and the quotes: `\\"x\\"` as x and `\\"`."""
    found = re.match(r"\\{0,3}[\"']", value)
    if found and len(value) >= 2 * len(found[0]) and value.endswith(found[0]):
        return value[len(found[0]) : len(value) - len(found[0])], found[0]
    return value, ""


def _value(value: str, name: str, hide: Hide) -> str:
    inner, quote = unquoted(value)
    return f"{quote}{hide(inner)}{quote}" if is_secret(sort_of(name), inner) else value


def _pair(found: re.Match[str], hide: Hide, *, code: bool, refers: bool) -> str | None:
    """`password=x`, `"password": "x"`, `Password:x`; in a sentence (`invalid token: expired`) only values that look like a secret."""
    name, value, sep = found["name"], found["value"], found["sep"]
    if found["dash"] == "-" and name[:1] == "D":
        name = name[1:]  # `-Dpw=x` of Java
    sort = "typed" if name == "key" and sep.strip() == "=" else sort_of(_last(name))
    if sort in ("", "near", "named") or names_a_key(name) or (name == "secretKey" and refers):
        return None
    if _NO_DEFAULT.match(value) and found.string.endswith("${", 0, found.start()):
        return None  # of the shell
    inner, quote = unquoted(value)
    rest = ""
    if not quote and value[:1] in "\"'\\":
        return f"{found[0].removesuffix(value)}{hide(value)}" if is_secret(sort, value) else None  # the text is cut
    if sep.strip() != "=" and re.fullmatch(r"`[^`]+`", value) and looks_secret(value.strip("`")):
        inner, quote = value.strip("`"), "`"
    if not quote:
        inner, rest = _to_its_end(inner, sep)
    if not is_secret(sort, inner) or of_shell(inner) or (code and not in_code(inner, quote)):
        return None
    if name == "key" and not looks_secret(inner):
        return None
    if sort == "object" and sep.strip() != "=" and not found["end"]:
        return None  # `no such key in secret: "token"`
    bare = not quote and sep != "="
    if (
        bare
        and (sep != ":" or sort == "object")
        and (sort != "password" or _WORDS.fullmatch(inner))
        and not looks_secret(inner)
    ):
        return None
    unsure = sort in ("object", "several", "mode", "method", "cookie", "address") and not (
        sep.strip() == "=" and looks_typed(inner)
    )
    if bare and (unsure or "/" in inner):
        return None
    start = found[0][: found.start("value") - found.start()]
    return f"{start}{quote}{hide(inner)}{quote}{rest}"


_NO_DEFAULT = regex(r"[?+]|[-=]?[\"']?[$}]")
"""Texts after `${NAME:` that are no default: a message, another variable, nothing."""


def of_shell(value: str) -> bool:
    """`$NAME`, `$(command)`, a command in backquotes; `${NAME:-x}` only if x is no value."""
    whole = re.match(r"\$\{[^{}]*\}", value)
    return is_reference(whole[0]) if whole else bool(re.match(r"\$[A-Z_][A-Z0-9_]*(?:/[\w./$-]*)?$|\$\(|`|\$\{", value))


def in_code(value: str, quote: str) -> bool:
    """Whether a value in a program is a literal: not a variable or the name of one."""
    if quote:
        return not (re.fullmatch(r"[a-z][a-z0-9_.-]*", value) and sort_of(value))
    return looks_secret(value) and not re.search(r"[()\[\]]", value)


def _to_its_end(value: str, sep: str) -> tuple[str, str]:
    """A value without quotes, and the text after it: a closing bracket of Go's `map[password:x]`, a comma, a full stop."""
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


def looks_secret(value: str) -> bool:
    """Whether a word in a sentence may be a secret: digits among letters, or characters that words do not have."""
    if len(value) < 5 or _WORDS.fullmatch(value):
        return False
    return bool(re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value)) and not re.search(
        r"[/.:]", value.rstrip(".")
    )


def _worded(value: str, hide: Hide) -> str:
    inner, rest = _to_its_end(value, "")
    return hide(inner) + rest if looks_secret(inner) and is_secret("secret", inner) else value


def _is_said_of(found: re.Match[str]) -> bool:
    """Whether the word is the name of an object, perhaps with a full stop: `Secret db2-auth.`, `secret "postgres16" not found`."""
    name, _ = _to_its_end(found[2], "")
    quoted = found[1].lower().endswith('secret "') and re.fullmatch(r"[a-z0-9]+", name)
    return _may_be_name(name) or bool(quoted and _MISSED.match(found.string, found.end()))


_MISSED = regex(r'" (?:not found|already exists|is (?:forbidden|invalid))\b')
"""What Kubernetes says of an object by its name."""


def _set_to(found: re.Match[str], hide: Hide) -> str:
    text: str = found[0]
    if sort_of(found["name"]) not in ("password", "secret"):
        return text
    for group in ("next", "value"):
        value = found[group]
        if value and looks_secret(value) and not _may_be_name(value) and is_secret("secret", value):
            start = found.start(group) - found.start()
            text = text[:start] + hide(value) + text[start + len(value) :]
    return text


def _may_be_name(value: str) -> bool:
    """Whether this may be the name of an object: `default-token-x7k2p`."""
    return re.fullmatch(r"[a-z0-9]+(?:[-._][a-z0-9]+)+", value) is not None


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
    inner, quote = unquoted(value)
    if inner.lower() in _NO_VALUE or (len(found[1]) - len(name) == 1 and len(name) < 4):
        return found[0]
    sort = sort_of(name)
    if sort == "near" or not is_secret(sort, inner) or of_shell(inner):
        return found[0]
    return found[0].removesuffix(value) + f"{quote}{hide(inner)}{quote}"


def _header(found: re.Match[str], hide: Hide) -> str:
    """A header's value without the scheme: `Authorization: Basic x`; for cookies the rest of the line."""
    value = found[3]
    scheme = _KNOWN_SCHEME.match(value)
    start = scheme.end() if scheme else 0
    end = (
        len(value) if "cookie" in found[1].lower() and "=" in value else len((value[start:].split() or [""])[0]) + start
    )
    secret, rest = _to_its_end(value[start:end], "")
    if not is_secret("secret", secret) or _WORDS.fullmatch(secret) or (not scheme and secret.lower() in _SCHEMES):
        return found[0]
    return f"{found[1]}{found[2]}{value[:start]}{hide(secret)}{rest}{value[end:]}"


_KNOWN_SCHEME = regex(
    r"(?i)(?:bearer|basic|digest|negotiate|token|apikey)\s+|[a-z][a-z-]{2,30}\s+(?=[^\s=,]*[0-9]|\(masked\))"
)
"""`Bearer x`, and vendors' own schemes (`GenieKey x1`): a word, then one with digits."""
_SCHEMES = word_set("bearer basic digest negotiate token apikey `bearer `basic bearer` basic`")


def _scheme(found: re.Match[str], hide: Hide) -> str:
    """`Bearer x`, if x is no word of a sentence."""
    value = found[4]
    if _WORDS.fullmatch(value.rstrip(".:=")) or not is_secret("secret", value):
        return found[0]
    if not found[1] and (
        found[2].lower() in ("token", "apikey", "digest", "basic") and not looks_like_credentials(value)
    ):
        return found[0]
    return found[0].removesuffix(value) + hide(value)


def looks_like_credentials(value: str) -> bool:
    """Whether a word after `Basic` or `token` may be a credential: random, or base64 of `user:password`."""
    return looks_random(value) or ":" in (decoded(value) or "") or looks_secret(value)


_VARIABLE = regex(r"\benv\[\d+\]\.value$")
"""The value of an environment variable, whose name the API server does not report."""


def _refused(found: re.Match[str], hide: Hide, *, of_secret: bool) -> str:
    """A value that the API server refuses and repeats: of a field with the name of a secret, or any value of a Secret."""
    inner, quote = unquoted(found["value"])
    field = found["field"] or ""
    last = re.split(r"[.\[\]/]", field.rstrip("]"))[-1]
    of_variable = _VARIABLE.search(field) and looks_secret(inner)
    if not (of_variable or is_secret(sort_of(last), inner) or (of_secret and is_secret("secret", inner))):
        return found[0]
    return f"{found[1]}{quote}{hide(inner)}{quote}"
