"""Secrets on command lines that no name marks: arguments of well-known programs, after a one-letter flag or by position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from argolint.redaction.forms import Hide
from argolint.redaction.names import is_secret
from argolint.values.patterns import regex


@dataclass(frozen=True)
class _Command:
    """A pattern with two groups: the text before a secret, and the secret; every match contains one of the words.

    `flagged`: includes a flag after a space.
    """

    expression: str
    words: tuple[str, ...]
    flagged: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.expression)


def _after(pattern: str, *words: str) -> _Command:
    return _Command(pattern, words, flagged=r"\s-" in pattern or r"\s(?:-" in pattern)


_COMMANDS = (
    _after(r"(\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb(?:-\w{1,20})?)\b[^|;&\n]{0,400}?[\s\"',\[]-p)([^\s\"';|&,\]]+)", "mysql", "mariadb"),
    _after(r"(\b(?:curl|wget|httpie?|git|smbclient)\b[^|;&\n]{0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:%'\"]{0,200}[:%])([^\s\"']+)", "curl", "wget", "http", "git", "smbclient"),
    _after(r"(\b(?:sshpass|mongo(?:sh|dump|restore|export|import)?|(?:docker|podman|skopeo|crane|oras|helm registry|argocd|oc|az|ldap\w{1,10})\b[^|;&\n]{0,200}?\blogin|ldap\w{1,10})\b[^|;&\n]{0,400}?\s-[pw][ ]?[\"']?)(?![- ])([^\s\"';|&]+)", "sshpass", "mongo", "docker", "podman", "skopeo", "crane", "oras", "helm", "argocd", "oc", "az", "ldap"),
    _after(r"(\b(?:sqlcmd|bcp|ipmitool|mosquitto_(?:pub|sub|rr))\b[^|;&\n]{0,400}?\s-P[ ]?[\"']?)([^\s\"'-][^\s\"']*)", "sqlcmd", "bcp", "ipmitool", "mosquitto_"),
    _after(r"(\bsnmp(?:walk|get|getnext|bulkget|bulkwalk|set|trap|inform|table|status|d?f)\b[^|;&\n]{0,400}?\s-[cAX][ ]?[\"']?)([^\s\"'-][^\s\"']*)", "snmp"),
    _after(r"(\b(?:cqlsh|twine|rabbitmqadmin)\b[^|;&\n]{0,400}?\s-p[ ]?[\"']?)([^\s\"'-][^\s\"']*)", "cqlsh", "twine", "rabbitmqadmin"),
    _after(r"(\b(?:l?ftp|ncftp\w{0,5})\b[^|;&\n]{0,200}?\s-u[ ]?[\"']?[\w.@-]{1,64},)([^\s\"']+)", "ftp"),
    _after(r"(\b(?:etcdctl|skopeo|buildah|podman|oras|http|xh)\b[^|;&\n]{0,400}?\s--?(?:user|auth|creds|src-creds|dest-creds)[= ][\"']?[\w.@-]{1,64}:)([^\s\"']+)", "etcdctl", "skopeo", "buildah", "podman", "oras", "http", "xh"),
    _after(r"(\brabbitmqctl\s+(?:-\S+\s+){0,10}(?:add_user|change_password|authenticate_user)\s+\S{1,100}\s+[\"']?)([^\s\"'-][^\s\"']*)", "rabbitmqctl"),
    _after(r"(\bsmbclient\s+\S{1,300}\s+[\"']?)(?!-)(?=[^\s\"']*[0-9!$%^])([^\s\"'-][^\s\"']*)", "smbclient"),
    _after(r"(\b(?:isql|SQLConnectInfo)\s+(?:-\w+\s+){0,9}\S{1,200}\s+\S{1,100}\s+[\"']?)(?=[^\s\"']*[0-9!$%^])([^\s\"'-][^\s\"']*)", "isql", "SQLConnectInfo"),
    _after(r"(\bx?freerdp\b[^|;&\n]{0,300}?\s/p:[\"']?)([^\s\"']+)", "freerdp"),
    _after(r"(\bnet use\b[^|;&\n]{0,300}?/user:\S{1,100}\s+[\"']?)([^\s\"'/][^\s\"']*)", "net use"),
    _after(r"(\bcurl\b[^|;&\n]{0,400}?\s(?:-b|--cookie)[= ]?[\"']?[\w.-]{1,64}=)([^\s\"';]+)", "curl"),
    _after(r"(\bssh-keygen\b[^|;&\n]{0,200}?\s-[NP][ ]?[\"']?)([^\s\"'-][^\s\"']*)", "ssh-keygen"),
    _after(r"((?i:pass|token|secret|key)[\w-]{0,40}[= ]<\(\s*(?:echo|printf)\s+(?:-\w+\s+){0,9}[\"']?)([^\s\"'$)]+)", "<("),
    _after(r"((?<![\w-])(?:-u|--user|--auth|--creds)[ =]?[\"']?[A-Za-z][\w.@-]{0,63}:)(?=[^\s\"':/]*[0-9!$%^])([^\s\"':/]{6,200})(?=[\s\"']|$)", "-u", "--user", "--auth", "--creds"),
    _after(r"(\bsend (?:-- )?\\{0,3}\")([^\s\"\\]{6,200})(?=\\{1,4}r)", "send "),
    _after(r"((?:(?i:login|token|pass|auth|secret|stdin)|\bread\s+(?:-\w+\s+){0,9}\w{0,60}(?i:key)|\b(?:sudo|cryptsetup|gpg|kinit|openssl)\b)[^|;&\n]{0,200}?<<<\s*[\"']?)([^\s\"'$]+)", "<<<"),
    _after(r"((?<![\w/:.])/(?i:pass(?:word|wd)?|pwd)[:=][\"']?)([^\s\"'/]+)", "/p", "/P"),
    _after(r"((?<![\w/:.])/(?i:token|secret|api-?key)[:=][\"']?)(?=[^\s\"'/]*[0-9])([^\s\"'/]+)", "/t", "/T", "/s", "/S", "/a", "/A"),
    _after(r"(\b(?:trap2?sink|informsink)\s+\S{1,100}\s+)(\S+)", "sink"),
    _after(r"(:\s(?:PSK|RSA|XAUTH|EAP|ECDSA|PIN)\s+(?:\S{1,200}\s+)?\")([^\"\n]{1,400})(?=\")", ": PSK", ": RSA", ": XAUTH", ": EAP", ": ECDSA", ": PIN"),
    _after(r"(\bmessage-digest-key \d{1,3} md5 (?:\d )?)(\S+)", "message-digest-key"),
    _after(r"(\B-setcookie\s+[\"']?)([^\s\"']+)", "-setcookie"),
    _after(r"(\brootpw\s+(?:--\w+\s+){1,5})([^\s\"'-][^\s\"']*)", "rootpw"),
    _after(r"(\bsnmp-server community\s+|\b(?:enable|username \S{1,64}) (?:secret|password) (?:\d )?)(?=[^\s]*[0-9$])([^\s]{4,})", "snmp-server", "enable", "username"),
    _after(r"(\bcreateUser\s+(?:-e \S{1,100} )?\S{1,64}\s+(?:MD5|SHA(?:-?\d+)?)\s+[\"']?)([^\s\"']+)", "createUser"),
    _after(r"(\bcreateUser\s+(?:-e \S{1,100} )?\S{1,64}\s+(?:MD5|SHA(?:-?\d+)?)\s+\S{1,200}\s+(?:DES|AES(?:-?\d+)?)\s+[\"']?)([^\s\"']+)", "createUser"),
    _after(r"(\bcom2sec6?\s+\S{1,100}\s+\S{1,100}\s+)(\S+)", "com2sec"),
    _after(r"(\b(?:conn(?:ect)?)\s+[\w$#]{1,64}/)([^\s\"'/@]+)(?=@)", "conn"),
    _after(r"(\buser_[\w-]{1,64}=\\{0,3}\")([^\"\\\n]{1,400})(?=\\{0,3}\"[^{}]{0,2000}(?:[;}]|\Z))", "user_"),
    _after(r"(\bredis-cli\b[^|;&\n]{0,400}?\s-a[ ]?[\"']?)([^\s\"']+)", "redis-cli"),
    _after(r"(\b(?:login|user(?:name)?|account)\s+(?!and\b|or\b)\S{1,200}\s+password\s+[\"']?)([^\s\"'()]+)", "password"),
    _after(r"(\becho\s+(?:-n\s+)?[\"']?)([^\s\"'|$]+)(?=[\"']?\s*\|[^\n|;&]{0,200}?(?:--password-stdin|\blogin\b))", "echo"),
    _after(r"(\bhtpasswd\s+-(?:(?=\w*n)\w++|\w+\s+[^\s$\"'<>]{1,200})\s+[^\s$\"'<>]{1,200}\s+[\"']?)([^\s$\"'<>]+)", "htpasswd"),
    _after(r"((?i:\bpassword(?: for [^\s=]{1,200} ?)?(?:\s{0,4}[=(]\s{0,4}|\s{1,4})|\bidentified(?: with \S{1,60})? by\s{1,4}|\bidentified by password\s{1,4})N?')(?![A-Za-z][\w-]{0,60}(?:\.[A-Za-z][\w-]{0,60}){1,8}' must not be empty\b)([^'\n]{1,400})", "assword", "ASSWORD", "dentified", "DENTIFIED"),
    _after(r"(\b(?:value|argument) \\{0,3}\")([^\"\\\n]{1,400})(?=\\{0,3}\" for (?:flag )?\\{0,3}\"?[-\w, ]{0,60}(?:pass|token|secret|key|auth))", "value", "argument"),
    _after(r"((?<![\w-])--from-literal[= ][\"']?[\w.-]{1,200}=)([^\s\"']+)", "--from-literal"),
    _after(r"(\becho\s+(?:-\w\s+)?[\"']?[\w.-]{1,64}:)([^\s\"'|]+)(?=[\"']?\s*\|\s*(?:sudo\s+)?chpasswd)", "chpasswd"),
    _after(r"(\becho\s+(?:-\w\s+)?[\"']?)([^\s\"'|$]+)(?=[\"']?\s*\|\s*(?:sudo\s+)?passwd\b)", "passwd"),
    _after(r"(\baws configure set [\w.]{0,80}(?:secret_access_key|session_token)\s+[\"']?)([^\s\"']+)", "aws configure"),
    _after(r"(\bvault login\s+(?:-\S+\s+){0,30}(?:token=)?[\"']?)(?![-\w]+=)([^\s\"'-][^\s\"']*)", "vault"),
    _after(r"(\bmc (?:alias|config host) (?:set|add)\s+\S{1,200}\s+\S{1,400}\s+\S{1,200}\s+[\"']?)([^\s\"']+)", "mc "),
    _after(r"((?:\b(?:sqlplus|sqlldr|expdp|impdp|rman)\s+(?:-\w+\s+){0,30}|\bjdbc:oracle:\w{1,10}:)[\w$#.-]{1,128}/)([^\s\"'/@]+)(?=@)", "sqlplus", "sqlldr", "expdp", "impdp", "rman", "jdbc:oracle"),
    _after(r"((?i:pass|token|secret|key)\w{0,80}=[\"']?(?:\$\(|`)\s*(?:echo|printf)\s+(?:-\w+\s+){0,30}[\"']?)([^\s\"'`)|$]+)", "echo", "printf"),
    _after(r"((?m:^)(?:PWD|Pwd)[ \t]{0,8}=[ \t]{0,8})([^\s/$\"'`][^\s/]{2,400})(?m:$)", "PWD", "Pwd"),
    _after(r"((?:^|;)\s*(?i:pwd)\s*=\s*)([^;\s\"']{1,400})(?=;|[\"']|$)", "wd", "WD"),
    _after(r"(\bsentinel auth-pass\s+\S{1,100}\s+)(\S+)", "sentinel"),
    _after(r"(^user \S{1,100} [^>\n]{0,400}?>)(\S+)", "user "),
    _after(r"(\bIDENTIFIED BY\s+\"?)(?=[^\s'\";]*[0-9])([^\s'\";]+)", "IDENTIFIED BY"),
    _after(r"(\bcrypt\(')([^'\n]{1,400})", "crypt("),
    _after(r"(\bgetConnection\(\s*(?:\"[^\"\n]{0,400}\"|[\w.]{1,80})\s*,\s*(?:\"[^\"\n]{0,200}\"|[\w.]{1,80})\s*,\s*\")([^\"\n]{1,400})", "getConnection"),
    _after(r"(\bConvertTo-SecureString\s+(?:-String\s+)?[\"'])([^\"'\n]{1,400})", "ConvertTo-SecureString"),
    _after(r"(\baws ssm put-parameter\b[^|;&\n]{0,400}?SecureString[^|;&\n]{0,400}?--value[= ][\"']?)([^\s\"']+)", "put-parameter"),
    _after(r"(\bvault (?:kv put|kv patch|write)\s+(?:-\S+\s+){0,30}\S{1,200}\s+[\w.-]{1,80}=)(?=[^\s@]*[0-9])([^\s\"'@]+)", "vault"),
    _after(r"(\binflux\b[^|;&\n]{0,200}?\s-t[ ]?)([^\s\"'-][^\s\"']*)", "influx"),
    _after(r"(\b(?:unzip|zip)\b[^|;&\n]{0,200}?\s-P[ ]?)([^\s\"'-][^\s\"']*)", "zip"),
    _after(r"(\b7za?\s[^|;&\n]{0,200}?\s-p)([^\s\"']+)", "7z"),
    _after(r"(\bopenssl\b[^|;&\n]{0,200}?\s-k[ ])([^\s\"'-][^\s\"']*)", "openssl"),
    _after(r"(\b(?:useradd|usermod)\b[^|;&\n]{0,200}?\s-p[ ][\"']?)([^\s\"'-][^\s\"']*)", "useradd", "usermod"),
    _after(r"(\bhttps?\s[^|;&\n]{0,200}?-a[ ]\S{0,100}?:)([^\s\"']+)", "http"),
    _after(r"(\b(?:echo|printf)\s+(?:-\w+\s+){0,30}(?:[\"']?%s(?:\\n)?[\"']?\s+)?[\"']?)([^\s\"'$|<>]+)(?=[\"']?\s*(?:\|\s*(?:kinit|sudo\s+-S)\b|(?:\|\s*tee\s+(?:-a\s+)?|>++\s*+)[^\s>]{0,200}?(?:pass|token|secret|cred|netrc|auth\b|key\b)))", "echo", "printf"),
    _after(r"(\bprintf\s+[\"']?%s(?:\\n)?[\"']?\s+[\"']?)([^\s\"'|$]+)(?=[\"']?\s*\|[^\n|;&]{0,200}?(?:--password-stdin|--with-token|\blogin\b))", "printf"),
    _after(r"(\bopenssl passwd\s+(?:-\w+\s+){0,9}[\"']?)([^\s\"'$-][^\s\"']*)", "openssl passwd"),
    _after(r"(\bnet (?:use\s+\S{1,100}\s+\S{1,300}|user\s+\S{1,100})\s+[\"']?)([^\s\"'/*][^\s\"']*)(?=[\"']?\s+/)", "net use", "net user"),
    _after(r"(\bwpa_passphrase\s+\S{1,100}\s+[\"']?)([^\s\"'<|]+)", "wpa_passphrase"),
    _after(r"(\b(?:ssh|scp|sftp)\s+(?:-\w+\s+){0,9}[\w.-]{1,64}:)([^\s\"'/:@]+)(?=@)", "ssh", "scp", "sftp"),
    _after(r"(\bAUTH (?:[A-Za-z]\w{0,20} )?)(?=[^\s:\"']*[0-9])([^\s:\"']{8,})", "AUTH "),
)  # fmt: skip
_NAMED: dict[str, list[int]] = {}
for _number, _command in enumerate(_COMMANDS):
    for _word in _command.words:
        _NAMED.setdefault(_word, []).append(_number)
ARGUMENTS = 30
"""How many earlier arguments are checked."""


def in_text(text: str, hide: Hide) -> str:
    """The text with secrets in its command lines masked."""
    for command in _named_in(text):
        text = command.pattern.sub(lambda found: _without(found, hide), text)
    return text


def start_of_secret(before: list[str], item: str) -> int | None:
    """The position in an argument at which a secret begins, by the command line before it: `-p`, `x` of mysql; None if there is none."""
    line = " ".join([*before[-ARGUMENTS:], item])
    start = len(line) - len(item)
    for command in _named_in(line):
        for found in command.pattern.finditer(line):
            is_plain_secret = is_secret("secret", found[2]) and not found[2].startswith("$")
            if found.start(2) >= start and is_plain_secret and not _NEXT_PROGRAM.search(found[0]):
                return found.start(2) - start
    return None


def _named_in(text: str) -> list[_Command]:
    """The commands that a text may contain, in order; usually none."""
    found = {number for word, numbers in _NAMED.items() if word in text for number in numbers}
    flag = bool(found) and " -" in text
    return [_COMMANDS[number] for number in sorted(found) if flag or not _COMMANDS[number].flagged]


_NEXT_PROGRAM = regex(r"(?:^|\s)(?:\|\|?|&&|;)(?:\s|$)")
"""The start of another program ends the arguments of the command: `htpasswd -niB | jq .`"""


def _without(found: re.Match[str], hide: Hide) -> str:
    """The match with the secret after a one-letter flag masked."""
    value = found[2]
    if _NEXT_PROGRAM.search(found[0]):
        return found[0]
    return found[1] + (hide(value) if is_secret("secret", value) and not value.startswith("$") else value)
