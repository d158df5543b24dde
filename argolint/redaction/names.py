"""Which names stand for secrets, and which values below such a name are none; all other modules use these words.

A name is split into words (`dbPassword`, `DB_PASSWORD_1`, `oidc.client-secret`), and the last one decides what it names: `tokenTTL`,
`passwordPolicy` and `secretName` are no secrets.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from functools import lru_cache
from typing import Literal

from argolint.values.patterns import regex

Sort = Literal[
    "",
    "password",
    "secret",
    "several",
    "object",
    "named",
    "key",
    "mode",
    "method",
    "cookie",
    "address",
    "dsn",
    "login",
    "typed",
    "near",
]
"""The sort of value below a name.

""         no secret
password   a secret, even a number
secret     a secret text
several    secrets in a list or below their own keys; numbers are limits (`maxTokens`)
object     a secret, or the name of a Secret that looks like one (`secret: db-credentials`)
named      the name of a Secret, unless it cannot be one (`tlsSecret: web`)
key        a secret, or the name of the key that has it (`secretKey: password`)
mode       a secret, or one of the well-known ways to log in (`AUTH=basic`)
method     a secret, or how to log in (`auth: namespaced`)
cookie     a cookie with its value, or its name
address    an address whose path is the secret (`webhookUrl`)
dsn        an address with a login in it; masked as a whole if the login cannot be separated
login      a user and a password (`admin:x`), one or several; a user alone is no secret
typed      a secret if it has digits or signs among its letters (`LICENSE=x7`), else a name, a word, a number (`license: MIT`)
near       a secret if the value looks random: the name hints at secrets (`tokenSettings`)
"""


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_ACCOUNTS = word_set(
    "db database root admin user bind ldap smtp mail my mysql pg postgres redis mongo rabbit ftp sa sudo key store trust auth proxy"
)
_WORD = regex(r"[bB]64(?![0-9])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_JOINED = {
    **{
        word: (word,)
        for word in (
            *("passwords", "password", "passwd", "passphrase", "passcode", "secret", "tokens", "token", "credentials"),
            *("credential", "dockerconfigjson"),
        )
    },
    **{
        f"{word}key": (word, "key")
        for word in (
            *("api", "secret", "access", "private", "master", "signing", "encryption", "app", "auth", "account"),
            *("shared", "session", "storage", "license", "routing", "deploy", "psk", "preshared", "priv", "enc"),
        )
    },
    **{f"{word}{end}": (word, "password") for word in _ACCOUNTS for end in ("pass", "pw", "pwd")},
    "apikeys": ("api", "keys"),
    "authtok": ("auth", "tok"),
    "passwordsalt": ("pass", "salt"),
    "connectionstring": ("connection", "string"),
    "masterauth": ("auth", "password"),
    "primaryauth": ("auth", "password"),
}
"""Words at the end of a longer one without a separator: `PGPASSWORD`, `apikey`; Redis calls a password `masterauth`."""
_JOINED_ENDS = tuple(_JOINED)
_ENDS_IN_PASS = regex(r"(?!by|com|encom|sur|tres|under|over|multi|proxy|im|low|high|band|all|by)[a-z]{2,}pass")
"""`requirepass`, `smtppass`; not `bypass`, `compass`, `highpass`."""
_TAILS = word_set(
    "value val plain plaintext clear cleartext raw text string str literal base64 b64 encoded encrypted pem data"
    " prod production staging stage dev development test testing qa uat live local default main primary secondary backup"
    " b64 hs rs es base old new current previous prev next last first env environment override txt asc"
)
"""Words at the end that number or describe a value without changing what it is."""

_PASSWORDS = word_set(
    "password passwords passwd passphrase passphrases passcode passcodes passwort kennwort geheimnis contrasena contrasenya clave senha wachtwoord passe"
    " heslo haslo jelszo lozinka slaptazodis parole parola parool sifre losenord passord adgangskode salasana"
)
_FOREIGN = word_set("пароль 密码 密碼 口令 パスワード 暗証番号 비밀번호 סיסמה סיסמא رمز")
_LOOKALIKES = str.maketrans("аеіјкорсхуԁѕһԛԝαοερτκιν", "aeijkopcxydshqwaoeptkiv")
"""Letters of other alphabets that look like Latin ones: `pаssword`."""
_ABBREVIATED = word_set("pass pwd pw pword pwrd passw psw psswd")
"""Passwords at the end of a name: `DB_PASS`; `passThrough` is none."""
_PUBLIC = word_set(
    "file files path paths dir directory folder name names policy policies length size min max minimum maximum ttl timeout"
    " expiry expiration expires expire seconds minutes hours days age ref refs reference references selector url uri endpoint"
    " link enabled disabled enable disable required optional allowed allow type kind mode method algorithm algo encoding encoder"
    " format field fields key keys secret secrets user username users id ids uid count number rotation rotate reset strength"
    " complexity history validation validator regex pattern prompt label labels placeholder hint grant flow store manager provider"
    " generator source from template version revision generation annotation annotations mount volume host port header headers"
    " prefix suffix login auth authentication bool protected protection change changed update updated set args arg config settings"
    " setting options option rule rules check checker characters chars special retries attempts lockout interval cron schedule"
    " hashing rounds iterations cost page form screen namespace create created expose email audience issuer scope scopes role"
    " provider subject server realm service account title description status reason message class engine backend group kind"
    " lifetime alg mtime ctime time timestamp date at since until validity duration period leeway limit limits refresh request requests review usage via path in stdin"
)
"""Public properties of secrets: `passwordPolicy`, `PASSWORD_FILE`, `tokens: {issuer: …}`."""

_KEYS = word_set(
    "api app application account secret private priv access signing sign encryption enc encrypt sso service decryption crypto cipher fernet master session storage auth ssh"
    " license licence deploy hmac shared root admin jwt cookie rsa dsa ecdsa ed25519 aes consumer write ingest ingestion"
    " integration routing instrumentation subscription function security bot webhook unseal recovery seal wrapping sealing"
    " csrf xsrf preshared personal wireguard gpg pgp psk registration enrollment erlang salt vault transit kms gossip"
    " sas nextauth rails django flask laravel stripe sendgrid twilio mailgun datadog newrelic pagerduty opsgenie sentry openai anthropic"
)
"""`<word> key` that is a secret, in any spelling."""
_SHOUTED_KEYS = word_set(
    "account app application client server tls ssl ca host user data cluster project agent service"
)
"""`<word> key` that is a secret only in names of environment variables: `tls.key` may be a path, `userKey` a name."""

_SECRETS = word_set(
    "token jwt bearer salt pepper hmac passkey rocommunity rwcommunity rocommunity6 rwcommunity6 htpasswd dockerconfigjson dockercfg netrc npmrc pgpass keytab mnemonic psk"
)
_TYPED = word_set(
    "license licence serial community seed pin hec unseal signer signing enrollment enrolment encrypt sak pfx hotp activation"
)
"""Secrets only if they look like one; otherwise a number, a name, a word: `license: MIT`, `community: public`."""
_TYPED_PAIRS = frozenset(
    (
        *(
            ("activation", "code"),
            ("license", "code"),
            ("licence", "code"),
            ("registration", "code"),
            ("invite", "code"),
        ),
        *(("secret", "code"), ("secrete", "code"), ("secret", "word")),
        *(("serial", "number"), ("product", "key"), ("wifi", "key"), ("shared", "access"), ("secure", "cookie")),
    )
)
_SEVERAL = word_set("tokens jwts salts")
_SHOUTED_TAILS = word_set("json yaml xml")
"""Last words that mark a secret only in names of environment variables: `secret.yaml` is a file."""
_SHORT = word_set("pat sk pin otp totp hotp sas")
"""Secrets as names of environment variables (`GITHUB_PAT`); too common as words elsewhere."""

_OF_OBJECTS = word_set(
    "tls ssl cert certs certificate certificates ca target source create use from mount mounted volume image registry kubernetes"
    " k8s opaque extra password passwords credential credentials creds keystore truststore ingress push pull cluster generated"
    " managed copy store existing external sealed"
)
"""`<word> secret` that is the name of a Secret object."""
_SURE = word_set(
    "client shared app application consumer oauth oauth2 oidc jwt session cookie webhook signing signature hmac totp encryption api"
    " otp turn nextauth csrf access login bot hook github gitlab slack google azure aws stripe"
)
"""`<word> secret` that is the secret itself."""
_NEAR = word_set("token tokens secret secrets credential credentials password passwords auth jwt bearer")
_DIGEST = word_set("checksum checksums sha sha1 sha256 sha512 md5 digest hash fingerprint etag")
_DIGESTS = frozenset((word,) for word in _DIGEST)
_UNSAID = frozenset((word,) for word in ("key", "value", "data"))
"""Words for which the words before them decide: `secrets.example.com/key`."""


_AFTER_PASS = word_set("word words phrase phrases code codes")
"""`passPhrase`, `Pass_Word`."""


@lru_cache(maxsize=65536)
def parts(name: str) -> tuple[str, ...]:
    """`DB_PASSWORD_1` as db, password, 1; `PGPASSWORD` as pg, password; `clientSecret` as client, secret."""
    found: list[str] = []
    for match in _WORD.finditer(name):
        word = match.group().lower()
        tail = next((t for t in _JOINED if word.endswith(t)), None) if word.endswith(_JOINED_ENDS) else None
        if tail is None and _ENDS_IN_PASS.fullmatch(word):
            found += [word.removesuffix("pass"), "password"]
        elif tail is None and word in _AFTER_PASS and found[-1:] == ["pass"]:
            found[-1] = f"pass{word}"
        elif tail is None:
            found.append(word)
        else:
            found += [*filter(None, (word.removesuffix(tail),)), *_JOINED[tail]]
    return tuple(found)


_STROKES = str.maketrans("łŁøØđĐı", "lLoOdDi")


def without_marks(text: str) -> str:
    """The text without accents and strokes: `hasło` becomes haslo."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).translate(_STROKES)


@lru_cache(maxsize=65536)
def sort_of(name: str) -> Sort:
    """The sort of value below this name: of a field, an environment variable, a parameter, a flag, a header."""
    prefix, _, name = name[-_LONGEST:].replace("~1", "/").rpartition("/")  # `checksum/secret`, `example.com/token`
    if not name.isascii():
        if not _FOREIGN.isdisjoint(name.lower().split()):
            return "password"
        name = _IGNORED.sub("", without_marks(name).translate(_LOOKALIKES))
    found = parts(name)
    if len(found) * 2 >= len(name) > _ODD:
        found = parts(name.lower())  # `PaSsWoRd`
    if (
        not found
        or (found[0] in _DIGEST and found[-1] != "salt")
        or "existing" in found
        or found[:2] == ("resource", "customizations")  # a script for a kind, such as OnePasswordItem's
        or parts(prefix)[:1] in _DIGESTS
    ):
        return ""
    if name == "PWD":
        return ""  # the shell's working directory
    if (sort := _password(found)) is not None:
        return sort
    pairs = set(itertools.pairwise(found))
    if pairs & {("connection", "string"), ("connection", "strings")}:
        return "dsn"
    if found[-2:] in _PAIRS or found[-3:] == ("application", "credential", "secret"):
        return "secret"
    if found[-2:] in _LISTS or found[-3:] == ("secure", "json", "data"):
        return "several"
    kept = found
    tails = _TAILS | _SHOUTED_TAILS if name.isupper() else _TAILS
    while len(kept) > 1 and (kept[-1] in tails or kept[-1].isdigit()):
        kept = kept[:-1]
    if kept[-2:] in _TYPED_PAIRS or (found in _UNSAID and not _NEAR.isdisjoint(parts(prefix))):
        return "typed"
    if sort := _by_head(kept, shouted=name.isupper()):
        return sort
    if kept[-1] in _TYPED or (kept[-1] in ("key", "keys") and name.isupper() and name != "KEY"):
        return "typed"
    if found[-1] == "keyfile" or found[-2:] in (("cert", "key"), ("user", "key")):
        return "near"
    return "near" if _NEAR & set(found[:-1]) and found[-1] not in _PUBLIC | _DIGEST else ""


_LONGEST, _ODD = 200, 5
_IGNORED = regex("[\u0300-\u036f\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
"""Accents, and invisible characters: `contraseña`, `pass\u200bword`."""
_PAIRS = frozenset(
    (
        *(("key", "data"), ("secret", "id"), ("seed", "phrase"), ("totp", "seed"), ("snmp", "community")),
        *(
            ("auth", "tok"),
            ("node", "cookie"),
            ("props", "key"),
            ("sym", "key"),
            ("symm", "key"),
            ("keystore", "key"),
            ("sec", "key"),
            ("sonar", "login"),
        ),
        *(("super", "digest"), ("pass", "salt"), ("hash", "salt"), ("de", "passe")),
    )
)
_LISTS = frozenset(
    (
        ("recovery", "codes"),
        ("backup", "codes"),
        ("scratch", "codes"),
        ("auth", "users"),
        ("github", "oauth"),
        ("gitlab", "oauth"),
    )
)
_FORGES = word_set("github gitlab gitea bitbucket azure ado devops git")


def is_public_name(name: str) -> bool:
    """Whether a key next to secrets is a public property of them: `tokens: {issuer: …, ci: hunter2}`."""
    found = parts(name)
    return not found or found[-1] in _PUBLIC


def _password(found: tuple[str, ...]) -> Sort | None:
    """The sort for a password word anywhere in the name, unless later words change it; None if undecided."""
    for at in range(len(found) - 1, -1, -1):
        word, after = found[at], found[at + 1 :]
        if word in _PASSWORDS:
            if "for" in after:
                return "password"
            if after and after[-1] in _PUBLIC:
                return None if after[-1] == "key" and after[-2:-1] and after[-2] in _KEYS - {"secret"} else ""
            if any(later in _PUBLIC for later in after):
                return None
            return "several" if word.endswith("s") else "password"
        if word in _ABBREVIATED and all(later in _TAILS or later.isdigit() or later == "hash" for later in after):
            before = found[at - 1] if at else ""
            of_proxy = word == "pass" and before in ("proxy", "fastcgi", "uwsgi", "grpc", "scgi", "memcached", "by")
            return "" if of_proxy else "password"
    return None


def _by_head(found: tuple[str, ...], *, shouted: bool) -> Sort:
    head, before = found[-1], found[-2] if len(found) > 1 else ""
    if head in _SECRETS:
        return "secret"
    if head in _SEVERAL:
        return "several"
    if head == "dsn":
        return "dsn"
    if head in _LOGINS or (head, before) in (("auth", "basic"), ("auth", "cloud"), ("basic", "http")):
        return "login"
    if head in ("auth", "authentication", "authorization"):
        return "mode" if shouted else "method"
    if head == "cookie":
        return "secret" if before in ("erlang", "magic", "shared") else "cookie"
    if head in ("credential", "credentials", "cred", "creds"):
        return "object"
    if head in ("secret", "secrets"):
        if before in _OF_OBJECTS:
            return "named"
        return "secret" if before in _SURE or (shouted and head == "secret") else "object"
    if head in ("key", "keys") and (before in _KEYS or (shouted and before in _SHOUTED_KEYS)):
        return "several" if head == "keys" else "secret" if shouted else "key"
    if (head in _SHORT and before and shouted) or (head == "pat" and before in _FORGES):
        return "secret"
    if head == "webhook" or (head in ("url", "uri", "urls") and before == "webhook"):
        return "address"
    return ""


_LOGINS = word_set("user users login logins admins ident userpass basicauth")
"""Names of values with a login: a user, sometimes with a password."""
_NOTHING = regex(
    r"(?i)(?:true|false|yes|no|on|off|null|none|nil|~|enabled|disabled|required|optional|auto|v?\d+(?:\.\d+)+|)"
)
_REFERENCE = regex(
    r"\$\([\w.-]+\)|\$\{(?:env|file|sys|secret|vault|ssm|aws|gcp|az|akv|op|sops|k8s|config|directory)[\w-]*:[^{}]*\}"
    r"|\$\{(?![A-Za-z_][\w.]*(?::?[-=]|:(?![-=?+]))[\"']?[^$<\s{}\"'][^{}]*\})[^{}]*\}|\{\{(?!.*\bdefault\s+\\?[\"'`][^\"'`\\]).*\}\}"
    r"|<(?![^<>]*,\s*[\"'][^\"'<>]+[\"'])[^<>]*>|[^<>\d]*<[\w+-]+(?: [\w+-]+)*>[^<>\d]*|%\(?\w*\)?s"  # of another variable, a template, a blank
    r"|[+*•…]+|[xX]{3,}|\.{3}|masked-[0-9a-f]{12}(?:-[a-z]{3})?|\(masked\)|\(left out\)|(?i:\[?redacted\]?)"  # masked already
    r"|(?i:ref\+\w+|vault|secretsmanager|aws-?sm|ssm|gcp-?sm|akv|keyvault|sops|doppler|op|bao|env|file|secretref):\S+"  # stored elsewhere
    r"|ENC\[.*\]|arn:aws[\w-]*:(?:secretsmanager|ssm|kms):\S+|projects/[\w-]+/secrets/\S+",
    re.DOTALL,
)
_PATH = regex(
    r"/(?:run|var|etc|mnt|vault|secrets?|tmp|opt|home|usr|tls|certs?|app|config|root|srv|workspace|kaniko|bitnami)(?:/[\w.@-]+)+/?"
    r"|\.\.?(?:/[\w.@-]+)*/[\w@-]+\.(?:txt|pem|key|crt|json|ya?ml|env|cfg|conf)"
)
_OBJECT_NAME = regex(
    r"(?:[a-z0-9][a-z0-9.-]*/)?(?:[a-z][a-z0-9]*[.-])*[a-z]*(?:secrets?|creds?|credentials?|tls|certs?|keys?|tokens?|auth|config|ca|cm|env|login)|[a-z]{2,}(?:-[a-z]{2,})+"
)
_DNS_NAME = regex(r"(?:[a-z0-9-]{1,63}/)?[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_KEY_NAME = regex(r"[a-z]+(?:[._-][a-z]+)*|[a-z]+(?:[A-Z][a-z]+)+|[A-Z]+(?:_[A-Z]+)+")
_SENTENCE = regex(r"\S+(?:\s+\S+){2,}")
_MODE = regex(
    r"(?i)none|basic|bearer|oauth2?|oidc|ldaps?|saml|token|kerberos|iam|password|md5|scram(?:-sha-(?:1|256|512))?|m?tls|cert|certificate"
    r"|trust|anonymous|service-?account|native|internal|local|external|proxy|login|plain|sasl|sasl_ssl|ssl|jwt|rbac|webhook|include"
    r"|omit|same-origin|kubernetes|default|node|digest|ntlm|approle|userpass|aws|gcp|azure|github|google|dex|header|database|simple"
)


def is_reference(value: str) -> bool:
    """Whether a value refers to a secret instead of being one: `$(NAME)`, `${NAME}` without a default, a template, a mask."""
    return _REFERENCE.fullmatch(value) is not None


def is_secret(sort: Sort, value: str) -> bool:
    """Whether this text is a secret, given the sort of its name: not a blank, a reference, a mask, or an object name."""
    if not sort or len(value) > _LARGE:
        return bool(sort) and sort != "near"
    text = value.strip()
    if _NOTHING.fullmatch(text) or is_reference(text) or _PATH.fullmatch(text):
        return False
    if sort != "password" and text.isdigit() and len(text) < _SHORT_NUMBER:
        return False  # a limit, a count, a port: `used: secrets=5`
    match sort:
        case "several":
            return not text.isdigit()
        case "object":
            return not (_OBJECT_NAME.fullmatch(text) or _SENTENCE.fullmatch(text))
        case "named":
            return " " not in text and (not _DNS_NAME.fullmatch(text) or looks_random(text))
        case "key":
            return not (_KEY_NAME.fullmatch(text) and (sort_of(text.replace(".", "-")) or text == "key"))
        case "mode":
            return not _MODE.fullmatch(text)
        case "method":
            return not (_MODE.fullmatch(text) or _SENTENCE.fullmatch(text) or re.fullmatch(r"[a-z]+(?:-[a-z]+)*", text))
        case "cookie":
            return "=" in text
        case "address":
            return _is_foreign(text)
        case "dsn":
            return not _LOGIN.search(text)
        case "login":
            return is_login(text)
        case "typed":
            return _SPDX.match(text) is None and (is_login(text) or looks_random(text) or looks_typed(text))
        case "near":
            return looks_random(text)
    return True


def is_login(text: str) -> bool:
    """Whether this is `user:password`, or a list of such: not `1000:1000`, `system:node`, or a service account name."""
    return any(looks_typed(found[1]) for one in text.split(",") if (found := _NAME_AND_PASSWORD.fullmatch(one.strip())))


_NAME_AND_PASSWORD = regex(r"[\"']?[\w.@+-]{1,64}:([^\s:/]{5,200})")


def looks_typed(word: str) -> bool:
    """Whether a word has digits among letters, or characters that names do not have."""
    return bool(re.search(r"[A-Za-z]", word) and re.search(r"[0-9!$%&?#*^=]", word)) and not re.fullmatch(
        r"v?\d[\w.-]*|[a-z0-9]+(?:[-.][a-z0-9]+)+", word
    )


_SPDX = regex(r"(?i)(?:apache|[al]?gpl|mpl|bsd|cc|epl|eupl|mit|isc|public|private)\b|.*[\s/:@]|[a-z]+\d?\Z")
"""Well-known licenses and communities, sentences, and words with a number."""
_LOGIN = regex(r"(?i)://|@\w*\(|\b(?:password|pwd|accountkey|sharedaccesskey|sharedaccesssignature)\s*=")
_LARGE = 1 << 16


def is_secret_number(sort: Sort, value: float) -> bool:
    """Whether this number is a secret: any number of a password, and long numbers of other secrets."""
    return sort == "password" or (sort in ("secret", "key") and abs(value) >= _LONG_NUMBER)


_LONG_NUMBER, _SHORT_NUMBER = 100_000, 5


def is_mask(value: str) -> bool:
    """Whether there is nothing to mask: an empty value, Argo CD's plus signs, a mask of ours."""
    return _MASK.fullmatch(value) is not None


_MASK = regex(r"\+*|masked-[0-9a-f]{12}(?:-[a-z]{3})?|\(masked\)")


def looks_random(text: str) -> bool:
    """Whether it is a long word of random letters and digits, as in keys and tokens; not a sentence, path, name, version or digest."""
    if not re.fullmatch(r"[A-Za-z0-9+/_=.~!@#$%^&*-]{20,512}", text):
        return False
    small, large, digits = (len(re.findall(c, text)) for c in ("[a-z]", "[A-Z]", "[0-9]"))
    if small and large and digits:
        return digits >= 2 and not re.search(r"[a-z]{8}|[./-].*[./-].*[./-]", text)
    return (
        bool(re.fullmatch(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64,}|[a-z0-9]{24,}", text)) and digits >= 4
    )


def _is_foreign(url: str) -> bool:
    """Whether it is a URL with a path outside of the cluster: anyone who knows it may post there."""
    found = re.match(r"https?://(?:[^/@\s]*@)?([^/:?#\s]+)(?::\d+)?(/[^\s]+)", url)
    return found is not None and "." in found[1] and not re.search(r"\.svc(?:\.|$)|\.local$", found[1])
