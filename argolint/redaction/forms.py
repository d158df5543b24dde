"""Secrets that are recognized by form alone: keys, tokens, password hashes, logins in URLs, and base64 of such.

Every regular expression here takes time linear in the text's length: the texts are foreign.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from urllib.parse import unquote

from argolint.redaction.names import is_login, is_secret, looks_random, looks_typed, sort_of
from argolint.values.patterns import regex

Hide = Callable[[str], str]

PRIVATE_KEY = regex(
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d) ?-{4,5}"
    r"[^-]*(?:-(?!-{3,4} ?END [A-Z0-9 ]{0,40}PRIVATE KEY|-{3,4} ?END OpenVPN)[^-]*)*"
    r"(?:-{4,5} ?END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V\d) ?-{4,5})?"
)
"""A block without an end mark extends to the end of the text."""
_BARE_LOGIN = regex(
    r"(?<![\w.%+/-])([\w.%+-]{1,64}:)([^\s:@/\"'<>,]{3,200})(?=@[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}(?::\d{2,5}(?!\w)|/|:[\w~./-]{1,200}\.git\b|:\s))"
)
"""`user:password@host:port`, without a scheme."""
_PEM_BASE64 = regex(r"LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{12,}={0,2}")
_BARE_KEY = regex(
    r"(?<![A-Za-z0-9+/])M[A-Za-z0-9+/]{2,9}(?:IBAAKC|IBADANBgkqhkiG9w0BAQEFAASC|CAQAwBQYDK2V[uw]|CAQEE|AgEAMBMGByqGSM49)[A-Za-z0-9+/]{8}"
    r"(?:[A-Za-z0-9+/]|\\?[\r\n]|\\[nr])*+={0,2}"
)
"""The body of a private key (RSA, EC or Ed25519) without its header: the beginning of DER (RFC 8017, 5208, 5915) as base64."""
_PUTTY = regex(r"(Private-Lines: \d{1,4}\r?\n)((?:[A-Za-z0-9+/=]{1,100}(?:\r?\n|\Z)){1,400})")
_JWT = regex(
    r"\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]{4,}){2,4}(?:\.(?![\w-]))?|\beyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{4,}\.?"
)
_TOKEN = regex(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"  # GitHub
    r"|gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct|rtr)-[\w.-]{16,}"  # GitLab
    r"|xox[abcdeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|xoxe\.[\w.-]{10,}"  # Slack
    r"|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"  # AWS, Google
    r"|hv[sbr]\.[\w-]{20,}|[sbr]\.[A-Za-z0-9]{24}(?![A-Za-z0-9])"  # Vault
    r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}"  # Doppler
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|rubygems_[0-9a-f]{40,}|dckr_(?:pat|oat)_[\w-]{20,}"  # registries
    r"|(?:sk|rk|pk)_(?:live|test)_\w{16,}|whsec_[\w+/=]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|key-[0-9a-f]{32}(?![0-9a-f])"  # Stripe, SendGrid, Mailgun
    r"|sk-(?:proj-|ant-|svcacct-|or-)?[\w-]{32,}|hf_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}"  # OpenAI and its like
    r"|do[opr]_v1_[0-9a-f]{40,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{30,}|sq0(?:atp|csp)-[\w-]{20,}|dapi[0-9a-f]{32}"
    r"|ATATT3[\w=-]{20,}|lin_api_[A-Za-z0-9]{30,}|(?:secret|ntn)_[A-Za-z0-9]{40,}|gl(?:sa|c)_[\w+/=]{20,}|NR(?:AK|JS|II|AL)-[\w-]{20,}"
    r"|sntry[su]_[\w+/=-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}|pul-[0-9a-f]{40}|PMAK-[\w-]{40,}|pscale_(?:tkn|pw|oauth)_[\w.-]{20,}"
    r"|tskey-[\w-]{20,}|ops_eyJ[\w-]{40,}|HRKU-[\w-]{30,}|bkua_[0-9a-f]{40}|CCIPAT_[\w-]{20,}|FlyV1 fm\d_[\w+/=-]{20,}|EZ[AT]K[A-Za-z0-9]{40,}"
    r"|AQ[A-Za-z0-9+/]{36}==(?![=\w])"  # Ceph
    r"|AGE-SECRET-KEY-1[0-9A-Za-z]{20,}|A3-[A-Z0-9]{6}-[A-Z0-9-]{20,}|\d{8,10}:AA[\w-]{32,}(?![\w-])"
    r")"
)
"""Tokens of well-known issuers, recognized by their prefixes."""
_ENCODED = regex(
    r"(?<![\w+/=-])(?=[A-Za-z+/]{0,40}[0-9a-z])(?=[a-z0-9+/]{0,40}[A-Z])(?:[A-Za-z0-9+/]{4}){4,40}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?(?![\w+/=-])"
)
"""Possible base64 of `user:password`."""
_ORACLE = regex(
    r"((?<![\w./:@-])[A-Za-z_][\w$#]{0,63}/)([^\s\"'/@:]{1,200})(?=@(?:[\w.-]{1,253}:\d{2,5}|//[\w.-]{1,253})(?![\w@]))"
)
"""`scott/x@db:1521`"""
_OWN_DSN = regex(r"(?<![\w.%+/-])([\w.%+-]{1,64}:)([^\s:@/\"'<>,]{3,200})(?=@/[A-Za-z])")
"""`user:x@/database`"""
_LONG_WORD = regex(r"[\w-]{16}")
_HOOK = regex(
    r"(https://(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|(?:\w+\.)?discord(?:app)?\.com/api/webhooks/"
    r"|[\w-]+\.webhook\.office\.com/webhookb2/|outlook\.office(?:365)?\.com/webhook/|hooks\.zapier\.com/hooks/catch/"
    r"|api\.telegram\.org/bot|events\.pagerduty\.com/integration/|hc-ping\.com/|[\w.-]+/hooks/(?=[\w/-]{20})|[\w.-]+\.logic\.azure\.com[:\d]*/workflows/))([^\s\"'\\<>]{8,})"
)
_POSTS = regex(
    r"(https?://(?![\w-]{1,63}(?:\.[\w-]{1,63})?\.svc[:/.])[^\s/\"'<>]{1,253}/(?:[\w.-]{1,100}/){0,8}?(?:(?:incoming)?(?:web)?hooks?(?:b2)?|with/key|alert|(?:web)?hook/send\?key=|send\?key=)/?)((?<=[/=])[^\s\"'\\<>?]{8,1000})"
)
"""URLs that anyone who knows them may post to, on any host."""


def _is_posted(rest: str) -> bool:
    return any(looks_typed(part) for part in rest.split("/"))


def _is_called(rest: str) -> bool:
    """Whether a part of a path is a long word with digits, as in a key: not `v1beta1`, no object name."""
    return any(len(part) >= _LONG_PART and looks_typed(part) for part in rest.split("/"))


_LONG_PART, _BEFORE_PASSWORD = 12, 3
_SHARED_ACCESS = regex(r"((?<![\w])sig=)([\w%+/=-]{8,400})(?=(?:&\w{1,4}=[^&\s]{0,400}){1,12})")
_HOOK_PATH = regex(
    r"((?<![\w/.:-])/(?:[\w.-]{1,100}/){0,8}?(?:(?:incoming)?(?:web)?hooks?(?:b2)?)/)(?=[\w/-]*?[A-Za-z0-9]{12})([\w/-]{12,400})"
)
"""Only the path of such a URL, as in an Ingress."""
_PGPASS = regex(r"(?m)^([ \t]*[\w.*-]{1,253}:(?:\d{2,5}|\*):[\w*$-]{1,64}:[\w.*$@-]{1,64}:)([^\s:]{4,200})$")
"""A line of .pgpass: host, port, database, user, password."""
_CRYPT = regex(
    r"\$(?:apr1|1|2[abxy]?|5|6|7|y|gy|argon2(?:id|i|d)|pbkdf2(?:-\w+)?|scrypt|bcrypt-sha256)\$[\w./+=,$-]{8,}"
    r"|\{(?:PLAIN|CRAM-MD5|DIGEST-MD5|SSHA(?:\d+)?|SHA(?:\d+)?|CRYPT|PBKDF2\w*)\}[\w./+=$-]{8,}"
)
_URL = regex(r"([A-Za-z][A-Za-z0-9+.-]{0,40}://)([^\s\"'<>\\`]{1,4096})")
_PATH_OF_URL = regex(r"(?<!\w)((?:https?|ssh|git):/)([^\s\"'<>\\`/][^\s\"'<>\\`]{1,4095})")
"""A URL that was normalized as a path: `https:/user:password@host`."""
_QUOTED_URL = regex(
    r"(?i)(%(?:25)?3A%(?:25)?2F%(?:25)?2F)((?:(?!%(?:25)?40|%(?:25)?2F)[\w.~%!*()+-]){1,1024})(?=%(?:25)?40)"
)
"""A percent-encoded URL in a query, encoded once or twice."""
_GO_DSN = regex(r"(?<![\w.%+-])([\w.%+-]{1,100}:)([^\s:@/\"']{1,200})(?=@(?:tcp|udp|unix|cloudsql\w*)?\()")


_WHOLE_LOGIN = regex(
    r"([A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s/:@]{0,200}:)(\S{1,1000})(?=@[\w.-]{1,253}(?::\d{1,5})?(?:[/?]\S{0,2000})?\Z)"
)
"""A text that is only a URL: its password may contain quotes."""


_IN_POINTER = regex(r"(?<=/)[^\s/\"'`]*~1[^\s/\"'`]*")
"""A key of a map with a slash, as a JSON pointer escapes it (RFC 6901)."""


def by_form(text: str, hide: Hide, userinfo: Hide | None = None) -> str:
    """The text without secrets that their form shows, whatever the surrounding words."""
    if "~1" in text:
        text = _IN_POINTER.sub(lambda found: _pointed(found[0], hide, userinfo), text)
    return _by_form(text, hide, userinfo)


def _pointed(token: str, hide: Hide, userinfo: Hide | None) -> str:
    key = token.replace("~1", "/").replace("~0", "~")
    found = _by_form(key, hide, userinfo)
    return token if found == key else found.replace("~", "~0").replace("/", "~1")


def _by_form(text: str, hide: Hide, userinfo: Hide | None) -> str:
    if "-BEGIN" in text or "- BEGIN" in text:
        text = PRIVATE_KEY.sub(lambda found: hide(found[0]), text)
    if "LS0tLS1" in text:
        text = _PEM_BASE64.sub(lambda found: hide(found[0]) if _encodes_key(found[0]) else found[0], text)
    if "Private-Lines" in text:
        text = _PUTTY.sub(lambda found: found[1] + hide(found[2]), text)
    if "IBA" in text or "CAQ" in text or "AgEAMBM" in text:
        text = _BARE_KEY.sub(lambda found: hide(found[0]), text)
    if "eyJ" in text:
        text = _JWT.sub(lambda found: hide(found[0]), text)
    if "://" in text:
        if (whole := _WHOLE_LOGIN.match(text)) and re.search(r"['\"`<>\\]", whole[2]):
            text = whole[1] + hide(whole[2]) + text[whole.end() :]
        text = _HOOK.sub(lambda found: found[1] + hide(found[2]), text)
        text = _POSTS.sub(lambda found: found[1] + (hide(found[2]) if _is_posted(found[2]) else found[2]), text)
        text = _URL.sub(lambda found: found[1] + _address(found[1], found[2], hide, userinfo), text)
    if "hook" in text.lower():
        text = _HOOK_PATH.sub(lambda found: found[1] + (hide(found[2]) if _is_called(found[2]) else found[2]), text)
    if text.count(":") > _BEFORE_PASSWORD:
        text = _PGPASS.sub(lambda found: found[1] + (hide(found[2]) if looks_typed(found[2]) else found[2]), text)
    if "sig=" in text:
        text = _SHARED_ACCESS.sub(lambda found: found[1] + hide(found[2]), text)
    if "2F%" in text or "2f%" in text:
        text = _QUOTED_URL.sub(lambda found: found[1] + hide(found[2]), text)
    if "@" in text:
        text = _PATH_OF_URL.sub(lambda found: found[1] + _address(found[1], found[2], hide, userinfo), text)
        text = _GO_DSN.sub(lambda found: found[1] + hide(found[2]), text) if "(" in text else text
        text = _BARE_LOGIN.sub(
            lambda found: found[1] + (hide(found[2]) if is_secret("secret", found[2]) else found[2]), text
        )
        text = _ORACLE.sub(lambda found: found[1] + hide(found[2]), text)
        text = _OWN_DSN.sub(lambda found: found[1] + hide(found[2]), text) if "@/" in text else text
    if "$" in text or "{" in text:
        text = _CRYPT.sub(lambda found: hide(found[0]), text)
    if _LONG_WORD.search(text):
        text = _ENCODED.sub(lambda found: hide(found[0]) if is_login(decoded(found[0]) or "") else found[0], text)
    return _TOKEN.sub(lambda found: hide(found[0]), text) if _LONG_WORD.search(text) else text


_HOST = regex(r"[\w.-]+\.[A-Za-z]{2,}(?=[:/?#,]|$)|(?:localhost|[\w-]+)(?=[:/?#,]|$)|\[[0-9a-fA-F:.]+\]")


def _address(scheme: str, rest: str, hide: Hide, userinfo: Hide | None) -> str:
    """The text after `scheme://`, without user, password and secrets of its query."""
    user, host = _parted(rest)
    if user and _is_login(scheme, user):
        kept = _login(scheme, user, hide) if userinfo is None else userinfo(user)
        rest = f"{kept}@{host}" if kept else host
    if "?" in rest or "&" in rest or "#" in rest or ";" in rest:
        rest = _QUERY.sub(lambda found: _parameter(found, hide), rest)
    return rest


def _login(scheme: str, user: str, hide: Hide) -> str:
    """User and password with the password masked; for web URLs the user, too, which may be a token: `https://TOKEN:x@host`."""
    name, colon, password = user.partition(":")
    if (
        colon
        and not scheme.startswith("http")
        and re.fullmatch(r"[A-Za-z_][\w.-]{0,31}", name)
        and not looks_random(name)
    ):
        return f"{name}:{hide(password)}"
    return hide(user)


def _parted(rest: str) -> tuple[str, str]:
    """User (with a password) and the text after the @; a password may contain unescaped / and @."""
    first = rest.find("@")
    if first < 0:
        return "", rest
    slash = rest.find("/")
    if 0 <= slash < first:
        start = rest[:slash]
        if ":" not in start or re.fullmatch(r"[^:]*:\d*|\[[^\]]*\](?::\d*)?", start):
            return "", rest  # a host, perhaps with a port: the @ is part of the path
        return rest[: rest.rfind("@")], rest[rest.rfind("@") + 1 :]
    cut = first
    for later in (m.start() for m in re.finditer("@", rest)):
        if later > cut and _later_host(rest[cut + 1 : later]) and _HOST.match(rest, later + 1):
            cut = later
    return rest[:cut], rest[cut + 1 :]


def _later_host(between: str) -> bool:
    """Whether the text between two @ is part of the password: a host would have a dot, or a port, before its path."""
    host = between.partition("/")[0]
    return "." not in host and not re.fullmatch(r"[\w-]+:\d+", host)


def _is_login(scheme: str, user: str) -> bool:
    """Whether it is more than a user name: a password, or a token as user."""
    name, _, password = user.partition(":")
    if password:
        return is_secret("secret", password)
    return is_secret("secret", name) and (
        "http" in scheme or scheme.startswith("nats") or looks_random(name) or len(name) > _LONG_USER
    )


_LONG_USER = 32
_QUERY = regex(r"([?&;#](?:amp;)?)([\w.%-]{1,80})=([^&;#\s]+)")
_SIGNED = frozenset(
    ("sig", "signature", "x-amz-signature", "x-amz-credential", "x-goog-signature", "x-goog-credential", "code", "key")
)


def _parameter(found: re.Match[str], hide: Hide) -> str:
    name, value = unquote(found[2]), found[3]
    secret = is_secret(sort_of(name), value) if sort_of(name) != "near" else False
    if name.lower() in _SIGNED:
        secret = is_secret("secret", value) and (name.lower() not in ("code", "key") or looks_random(value))
    return f"{found[1]}{found[2]}={hide(value)}" if secret else found[0]


_BASE64 = regex(r"[A-Za-z0-9+/_-]{16,}={0,2}")


def _encodes_key(text: str) -> bool:
    return PRIVATE_KEY.search(decoded(text) or "") is not None


def decoded(text: str) -> str | None:
    """The text whose base64 this is; None if it is none, as for words, names and digests."""
    if not _BASE64.fullmatch(text) or len(text) > 1 << 20:
        return None
    padded = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        head = base64.b64decode(padded[:64] + "=" * (-len(padded[:64]) % 4))
        if not all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in head[:40]):
            return None
        return base64.b64decode(padded + "=" * (-len(padded) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
