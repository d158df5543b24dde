"""Secrets on command lines, where no name tells of them: what a well-known program takes after a flag of one letter, or by its place."""

from __future__ import annotations

import re
from functools import lru_cache

from argolint.redaction.forms import Hide
from argolint.redaction.names import is_secret

_COMMAND = re.compile(
    r"(\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb(?:-\w{1,20})?)\b[^|;&\n]{0,400}?[\s\"',\[]-p)([^\s\"';|&,\]]+)"
    r"|(\b(?:curl|wget|httpie?|git|smbclient)\b[^|;&\n]{0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:%'\"]{0,200}[:%])([^\s\"']+)"
    r"|(\b(?:sshpass|mongo(?:sh|dump|restore|export|import)?|(?:docker|podman|skopeo|crane|oras|helm registry|argocd|oc|az|ldap\w{1,10})\b[^|;&\n]{0,200}?\blogin|ldap\w{1,10})\b[^|;&\n]{0,400}?\s-[pw][ ]?[\"']?)(?![- ])([^\s\"';|&]+)"
    r"|(\b(?:sqlcmd|bcp|ipmitool|mosquitto_(?:pub|sub|rr))\b[^|;&\n]{0,400}?\s-P[ ]?[\"']?)([^\s\"'-][^\s\"']*)"
    r"|(\bsnmp(?:walk|get|getnext|bulkget|bulkwalk|set|trap|inform|table|status|d?f)\b[^|;&\n]{0,400}?\s-[cAX][ ]?[\"']?)([^\s\"'-][^\s\"']*)"
    r"|(\b(?:cqlsh|twine|rabbitmqadmin)\b[^|;&\n]{0,400}?\s-p[ ]?[\"']?)([^\s\"'-][^\s\"']*)"
    r"|(\b(?:l?ftp|ncftp\w{0,5})\b[^|;&\n]{0,200}?\s-u[ ]?[\"']?[\w.@-]{1,64},)([^\s\"']+)"
    r"|(\b(?:etcdctl|skopeo|buildah|podman|oras|http|xh)\b[^|;&\n]{0,400}?\s--?(?:user|auth|creds|src-creds|dest-creds)[= ][\"']?[\w.@-]{1,64}:)([^\s\"']+)"
    r"|(\brabbitmqctl\s+(?:-\S+\s+){0,10}(?:add_user|change_password|authenticate_user)\s+\S{1,100}\s+[\"']?)([^\s\"'-][^\s\"']*)"
    r"|(\bsmbclient\s+\S{1,300}\s+[\"']?)(?!-)(?=[^\s\"']*[0-9!$%^])([^\s\"'-][^\s\"']*)"
    r"|(\b(?:isql|SQLConnectInfo)\s+(?:-\w+\s+){0,9}\S{1,200}\s+\S{1,100}\s+[\"']?)(?=[^\s\"']*[0-9!$%^])([^\s\"'-][^\s\"']*)"
    r"|(\bx?freerdp\b[^|;&\n]{0,300}?\s/p:[\"']?)([^\s\"']+)"
    r"|(\bnet use\b[^|;&\n]{0,300}?/user:\S{1,100}\s+[\"']?)([^\s\"'/][^\s\"']*)"
    r"|(\bcurl\b[^|;&\n]{0,400}?\s(?:-b|--cookie)[= ]?[\"']?[\w.-]{1,64}=)([^\s\"';]+)"
    r"|(\bchpasswd\b[^|;&\n]{0,60}?<<<\s*[\"']?[\w.-]{1,64}:)([^\s\"']+)"
    r"|(\b(?:passwd|sudo)\b[^|;&\n]{0,100}?\s(?:--stdin|-S)\b[^|;&\n]{0,100}?<<<\s*[\"']?)([^\s\"'$]+)"
    r"|(\bread\s+(?:-\w+\s+){0,9}\w{0,60}(?i:pass\w{0,20}|token|secret|key)\s*<<<\s*[\"']?)([^\s\"'$]+)"
    r"|(\B-setcookie\s+[\"']?)([^\s\"']+)"
    r"|(\brootpw\s+(?:--\w+\s+){1,5})([^\s\"'-][^\s\"']*)"
    r"|(\bsnmp-server community\s+|\b(?:enable|username \S{1,64}) (?:secret|password) (?:\d )?)(?=[^\s]*[0-9$])([^\s]{4,})"
    r"|(\bcreateUser\s+(?:-e \S{1,100} )?\S{1,64}\s+(?:MD5|SHA(?:-?\d+)?)\s+[\"']?)([^\s\"']+)"
    r"|(\bcreateUser\s+(?:-e \S{1,100} )?\S{1,64}\s+(?:MD5|SHA(?:-?\d+)?)\s+\S{1,200}\s+(?:DES|AES(?:-?\d+)?)\s+[\"']?)([^\s\"']+)"
    r"|(\bcom2sec6?\s+\S{1,100}\s+\S{1,100}\s+)(\S+)"
    r"|(\b(?:conn(?:ect)?)\s+[\w$#]{1,64}/)([^\s\"'/@]+)(?=@)"
    r"|(\buser_[\w-]{1,64}=\\{0,3}\")([^\"\\\n]{1,400})(?=\\{0,3}\"[^{}]{0,2000}(?:[;}]|\Z))"
    r"|(\b(?:login)=[\w.@-]{1,64}:)(?=[^\s]*[0-9!$%^])(\S{4,})"
    r"|(\bredis-cli\b[^|;&\n]{0,400}?\s-a[ ]?[\"']?)([^\s\"']+)"
    r"|(\b(?:login|user(?:name)?|account)\s+(?!and\b|or\b)\S{1,200}\s+password\s+[\"']?)([^\s\"'()]+)"
    r"|(\becho\s+(?:-n\s+)?[\"']?)([^\s\"'|$]+)(?=[\"']?\s*\|[^\n|;&]{0,200}?(?:--password-stdin|\blogin\b))"
    r"|(\bhtpasswd\s+-(?:(?=\w*n)\w++|\w+\s+[^\s$\"'<>]{1,200})\s+[^\s$\"'<>]{1,200}\s+[\"']?)([^\s$\"'<>]+)"
    r"|((?i:\bpassword(?: for [^\s=]{1,200} ?)?(?:\s{0,4}[=(]\s{0,4}|\s{1,4})|\bidentified(?: with \S{1,60})? by\s{1,4}|\bidentified by password\s{1,4})N?')([^'\n]{1,400})"
    r"|((?i:\bpassword\s{1,4}\$\$))([^$\n]{1,400})(?=\$\$)"
    r"|(\b(?:value|argument) \\{0,3}\")([^\"\\\n]{1,400})(?=\\{0,3}\" for (?:flag )?\\{0,3}\"?[-\w, ]{0,60}(?:pass|token|secret|key|auth))"
    r"|((?<![\w-])--from-literal[= ][\"']?[\w.-]{1,200}=)([^\s\"']+)"
    r"|(\becho\s+(?:-\w\s+)?[\"']?[\w.-]{1,64}:)([^\s\"'|]+)(?=[\"']?\s*\|\s*(?:sudo\s+)?chpasswd)"
    r"|(\becho\s+(?:-\w\s+)?[\"']?)([^\s\"'|$]+)(?=[\"']?\s*\|\s*(?:sudo\s+)?passwd\b)"
    r"|(\baws configure set [\w.]{0,80}(?:secret_access_key|session_token)\s+[\"']?)([^\s\"']+)"
    r"|(\bvault login\s+(?:-\S+\s+){0,30}(?:token=)?[\"']?)(?![-\w]+=)([^\s\"'-][^\s\"']*)"
    r"|(\bmc (?:alias|config host) (?:set|add)\s+\S{1,200}\s+\S{1,400}\s+\S{1,200}\s+[\"']?)([^\s\"']+)"
    r"|((?:\b(?:sqlplus|sqlldr|expdp|impdp|rman)\s+(?:-\w+\s+){0,30}|\bjdbc:oracle:\w{1,10}:)[\w$#.-]{1,128}/)([^\s\"'/@]+)(?=@)"
    r"|((?i:pass|token|secret|key)\w{0,80}=[\"']?(?:\$\(|`)\s*(?:echo|printf)\s+(?:-\w+\s+){0,30}[\"']?)([^\s\"'`)|$]+)"
    r"|((?m:^)(?:PWD|Pwd)[ \t]{0,8}=[ \t]{0,8})([^\s/$\"'`][^\s/]{2,400})(?m:$)"
    r"|((?:^|;)\s*(?i:pwd)\s*=\s*)([^;\s\"']{1,400})(?=;|[\"']|$)"
    r"|(\bstats auth\s+[^\s:]{1,64}:)(\S+)"
    r"|(\bsentinel auth-pass\s+\S{1,100}\s+)(\S+)"
    r"|(^user \S{1,100} [^>\n]{0,400}?>)(\S+)"
    r"|(\bIDENTIFIED BY\s+\"?)(?=[^\s'\";]*[0-9])([^\s'\";]+)"
    r"|(\bcrypt\(')([^'\n]{1,400})"
    r"|(\bgetConnection\(\s*(?:\"[^\"\n]{0,400}\"|[\w.]{1,80})\s*,\s*(?:\"[^\"\n]{0,200}\"|[\w.]{1,80})\s*,\s*\")([^\"\n]{1,400})"
    r"|(\bConvertTo-SecureString\s+(?:-String\s+)?[\"'])([^\"'\n]{1,400})"
    r"|(\baws ssm put-parameter\b[^|;&\n]{0,400}?SecureString[^|;&\n]{0,400}?--value[= ][\"']?)([^\s\"']+)"
    r"|(\bvault (?:kv put|kv patch|write)\s+(?:-\S+\s+){0,30}\S{1,200}\s+[\w.-]{1,80}=)(?=[^\s@]*[0-9])([^\s\"'@]+)"
    r"|(\binflux\b[^|;&\n]{0,200}?\s-t[ ]?)([^\s\"'-][^\s\"']*)"
    r"|(\b(?:unzip|zip)\b[^|;&\n]{0,200}?\s-P[ ]?)([^\s\"'-][^\s\"']*)"
    r"|(\b7za?\s[^|;&\n]{0,200}?\s-p)([^\s\"']+)"
    r"|(\bopenssl\b[^|;&\n]{0,200}?\s-k[ ])([^\s\"'-][^\s\"']*)"
    r"|(\b(?:useradd|usermod)\b[^|;&\n]{0,200}?\s-p[ ])([^\s\"'-][^\s\"']*)"
    r"|(\bhttps?\s[^|;&\n]{0,200}?-a[ ]\S{0,100}?:)([^\s\"']+)"
    r"|(\b(?:echo|printf)\s+(?:-\w+\s+){0,30}(?:[\"']?%s(?:\\n)?[\"']?\s+)?[\"']?)([^\s\"'$|<>]+)(?=[\"']?\s*(?:\|\s*(?:kinit|sudo\s+-S)\b|(?:\|\s*tee\s+(?:-a\s+)?|>++\s*+)[^\s>]{0,200}?(?:pass|token|secret|cred|netrc)))"
    r"|(\bAUTH (?:[A-Za-z]\w{0,20} )?)(?=[^\s:\"']*[0-9])([^\s:\"']{8,})"
)
_COMMANDS = re.compile(
    r"login|assw|ASSW|dentified|DENTIFIED|echo|printf|literal|argument|\" for |jdbc:oracle|sql|SQL|vault|aws |mc |PWD|[pP]wd|AUTH |auth"
    r"|user[ _]|createUser|crypt\(|getConnection|SecureString|setcookie|freerdp|<<<|rootpw|snmp|enable |com2sec|conn|ctl |smbclient|net use"
)
"""One of these stands in every text that `_COMMAND` finds something in, or one of `_PROGRAMS` with a flag."""
_PROGRAMS = re.compile(
    r"mariadb|curl|wget|http|git|sshpass|mongo|ldap|redis-cli|influx|zip|7z|openssl|useradd|usermod|expdp|impdp|rman|bcp|ipmitool|mosquitto"
    r"|cqlsh|twine|rabbitmq|ftp|etcdctl|skopeo|buildah|podman|oras|xh"
)
_ARGUMENTS = 30
"""How many arguments before one are looked at."""


def in_text(text: str, hide: Hide) -> str:
    """The text with the secrets of the command lines in it hidden."""
    if not _may_hold(text) or not (_holds(text) if len(text) < _REPEATED else True):
        return text
    return _COMMAND.sub(lambda found: _after(found, hide), text)


_REPEATED = 4000
"""Characters: one command stands in the report of many objects, and a script in many states."""


@lru_cache(maxsize=4096)
def _holds(text: str) -> bool:
    return _COMMAND.search(text) is not None


def _may_hold(text: str) -> bool:
    """A cheap look: False for a text with no command that takes a secret."""
    return _COMMANDS.search(text) is not None or (" -" in text and _PROGRAMS.search(text) is not None)


def start_of_secret(before: list[str], item: str) -> int | None:
    """Where in an argument a secret begins that the command line before it asks for: `-p`, `x` of mysql; None when there is none."""
    line = " ".join([*before[-_ARGUMENTS:], item])
    if not _may_hold(line):
        return None
    start = len(line) - len(item)
    for found in _COMMAND.finditer(line):
        at = next(i for i in range(2, len(found.groups()) + 1, 2) if found[i] is not None)
        if found.start(at) >= start and is_secret("secret", found[at]) and not found[at].startswith("$"):
            return found.start(at) - start
    return None


def _after(found: re.Match[str], hide: Hide) -> str:
    """What a well-known command takes after a flag of one letter."""
    at = next(i for i in range(1, len(found.groups()) + 1, 2) if found[i] is not None)
    value = found[at + 1]
    return found[at] + (hide(value) if is_secret("secret", value) and not value.startswith("$") else value)
