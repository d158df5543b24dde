"""Write the names of release.toml into all files with them: `python -m scripts.release.names`; --check only lists the differences."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_MADE = Path("argolint/__init__.py")
_KEYS = ("docs", "repository", "image", "charts", "action")
# A name as it is written in a file. The action alone is too common a text: the following text distinguishes it from a folder's name.
_AFTER = {"action": "@", "image": r"(?![\w/-])", "repository": r"(?![\w-])"}


class Refused(Exception):
    """An impossible request, with an alternative; printed without a traceback."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message + (f"\n  → {hint}" if hint else ""))


@dataclass(frozen=True)
class Names:
    """release.toml."""

    published: bool
    repository: str
    docs: str
    action: str
    package: str
    image: str
    charts: str
    author: str
    email: str
    suite: str
    stamped: tuple[str, ...]


def read(root: Path = ROOT) -> Names:
    """release.toml of a tree; Refused if a name is missing or invalid."""
    file = root / "release.toml"
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"cannot read {file.name}: {error}", "it names where argolint is published") from None
    wanted = set(Names.__dataclass_fields__)
    if wanted != set(given):
        odd = ", ".join(sorted(wanted ^ set(given)))
        raise Refused(f"{file.name}: missing or unknown: {odd}", f"it holds {', '.join(sorted(wanted))}, and no more")
    names = Names(**{**given, "stamped": tuple(given["stamped"])})
    if not names.docs.startswith("https://") or not names.docs.endswith("/"):
        raise Refused(f"{file.name}: docs is {names.docs!r}", "it is an https address that ends with a slash")
    if not re.fullmatch(r"https://[\w.-]+/[\w./-]+[\w-]", names.repository):
        raise Refused(f"{file.name}: repository is {names.repository!r}", "it is an https address without .git")
    for key in ("image", "charts"):
        if not re.fullmatch(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+", getattr(names, key)):
            raise Refused(
                f"{file.name}: {key} is {getattr(names, key)!r}", "it is HOST/PATH in lower case, without a tag"
            )
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", names.action):
        raise Refused(f"{file.name}: action is {names.action!r}", "it is OWNER/REPOSITORY")
    return names


def written(root: Path = ROOT) -> Mapping[str, str]:
    """The present names in the tree, independent of release.toml."""
    text = (root / _MADE).read_text(encoding="utf-8")
    return {key.lower(): value for key, value in re.findall(r'^([A-Z]+) = "([^"]+)"$', text, re.MULTILINE)}


def pattern(names: Mapping[str, str]) -> re.Pattern[str]:
    """Any of the names in a text, longer ones first; the matching group identifies it."""
    ordered = sorted(_KEYS, key=lambda key: -len(names[key]))
    return re.compile("|".join(rf"(?P<{key}>{re.escape(names[key])}){_lookahead(key)}" for key in ordered))


def _lookahead(key: str) -> str:
    after = _AFTER.get(key, "")
    return after if after.startswith("(") or not after else f"(?={after})"


def renamed(text: str, old: Mapping[str, str], new: Names) -> str:
    """The text with every old name in its new form."""
    return pattern(old).sub(lambda found: str(getattr(new, str(found.lastgroup))), text)


def texts(root: Path = ROOT) -> Iterator[tuple[str, str, str]]:
    """File, its present text, and its text with the names of release.toml, for each file with a name."""
    old, new = written(root), read(root)
    for name in new.stamped:
        file = root / name
        if not file.is_file():
            raise Refused(f"release.toml: stamped names {name}, and there is no such file")
        now = file.read_text(encoding="utf-8")
        then = renamed(now, old, new)
        if name == _MADE.as_posix():
            for key in ("repository", "docs", "action", "package", "image", "charts"):
                then = re.sub(
                    rf"^{key.upper()} = .*$", f'{key.upper()} = "{getattr(new, key)}"', then, flags=re.MULTILINE
                )
            then = re.sub(r"^PUBLISHED = .*$", f"PUBLISHED = {new.published}", then, flags=re.MULTILINE)
        if name == "pyproject.toml":
            then = re.sub(r'^name = "[^"]+"$', f'name = "{new.package}"', then, count=1, flags=re.MULTILINE)
        yield name, now, then


def strays(root: Path = ROOT, allowed: Mapping[str, str] | None = None) -> list[str]:
    """Files of the tree with a name that are neither stamped nor excepted."""
    known = {*read(root).stamped, "release.toml", *(allowed or {})}
    wanted = pattern(written(root))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    found = []
    for name in sorted(filter(None, listed.decode().split("\0"))):
        file = root / name
        if name in known or file.is_symlink() or not file.is_file() or file.stat().st_size > 2_000_000:
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name}: {hit.group()}" for hit in [wanted.search(text)] if hit]
    return found


def main() -> int:
    try:
        stale = [(name, then) for name, now, then in texts() if now != then]
    except Refused as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for name, then in stale:
        if "--check" in sys.argv:
            sys.stderr.write(f"{name} does not hold the names of release.toml: run `python -m scripts.release.names`\n")
        else:
            (ROOT / name).write_text(then, encoding="utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
