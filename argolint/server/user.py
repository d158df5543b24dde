"""The user's own settings, `$XDG_CONFIG_HOME/argolint/config.yaml`: which Argo CD to read if nothing else names one.

They are separate from `.argolint.yaml` on purpose: that file is in a checkout, where a change may have written it, and a change must not
decide where a token goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from argolint.errors import UsageError
from argolint.host.folder import readable
from argolint.server.limits import NONE, Limits, parse_rate
from argolint.sources.files import read_text, require_own
from argolint.values import strict_yaml
from argolint.values.decoding import converted


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The names are those of Argo CD's CLI; empty means not set.

    server           HOST[:PORT] of the Argo CD
    argocd-context   a login of Argo CD's own login file
    servers          a servers file (`--servers`) with the Argo CDs to read; the path is relative to this file's folder
    knowledge        a knowledge pack (`--knowledge`); the path is relative to this file's folder
    limits           limits of requests to each Argo CD, which options cannot exceed
    """

    server: str = ""
    argocd_context: str = ""
    servers: str = ""
    knowledge: str = ""
    limits: Limits = NONE


def settings_file(environ: Mapping[str, str], home: Path) -> Path:
    """The path of the file, whether it exists or not."""
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "argolint", "config.yaml")


def read_settings(environ: Mapping[str, str], home: Path) -> Settings:
    """The user's settings, empty if there is no file. Raises UsageError for an invalid one."""
    file = settings_file(environ, home)
    with readable(f"your settings {file}", "repair the file, or remove it"):
        if not file.exists():
            return Settings()
        require_own(file)
        text = read_text(file, strict_yaml.MAX_BYTES)
    document = strict_yaml.parse(text, str(file))
    names = [field.encode_name for field in msgspec.structs.fields(Settings)]
    try:
        settings = converted(document.data or {}, Settings)
        if settings.limits.rate:
            parse_rate(settings.limits.rate)
    except msgspec.ValidationError as error:
        refusal = strict_yaml.misfit(error, document, Settings).refused(str(file), "")
        raise UsageError(
            refusal.message,
            f"it may hold {', '.join(names[:-1])}, each a text, and limits (workers, per-cluster, rate); "
            "everything else belongs into .argolint.yaml",
        ) from None
    except ValueError as error:
        line = document.line(("limits", "rate"))
        raise UsageError(f"{file}:{line}: {error}", "`limits: {rate: 5/s}`") from None
    return settings
