"""The user's own settings, `$XDG_CONFIG_HOME/argolint/config.yaml`: which Argo CD to read when nothing else says so.

They are apart from `.argolint.yaml` on purpose. That file lies in a checkout, where a change may have written it, and
where a token goes is no matter of a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from argolint import strict_yaml
from argolint.checkouts.files import read_text, require_own
from argolint.decoding import converted
from argolint.errors import UsageError
from argolint.host.folder import FileError


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Named as Argo CD's CLI names them; empty means that the file does not say.

    server           HOST[:PORT] of the Argo CD
    argocd-context   a login of Argo CD's own login file
    servers          a servers file (`--servers`), for the commands that read several Argo CDs; a path starts at this file's folder
    """

    server: str = ""
    argocd_context: str = ""
    servers: str = ""


def settings_file(environ: Mapping[str, str], home: Path) -> Path:
    """Where the file is, whether it exists or not."""
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "argolint", "config.yaml")


def read_settings(environ: Mapping[str, str], home: Path) -> Settings:
    """The user's settings, empty when there is no file. Raises UsageError for one that cannot be used."""
    file = settings_file(environ, home)
    try:
        if file.exists():
            require_own(file)
        text = read_text(file, strict_yaml.MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except (OSError, FileError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        raise UsageError(f"cannot read your settings {file}: {reason}", "repair the file, or remove it") from None
    document = strict_yaml.parse(text, str(file))
    names = [field.encode_name for field in msgspec.structs.fields(Settings)]
    try:
        return converted(document.data or {}, Settings)
    except msgspec.ValidationError as error:
        data = document.data if isinstance(document.data, dict) else {}
        wrong = next((key for key, value in data.items() if key not in names or not isinstance(value, str)), "")
        raise UsageError(
            f"{file}:{document.line((wrong,) if wrong else ())}: {str(error).partition(' - at ')[0]}",
            f"it may hold {', '.join(names[:-1])} and {names[-1]}, each a text; everything else belongs into .argolint.yaml",
        ) from None
