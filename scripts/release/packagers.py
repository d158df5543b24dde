"""Texts of a release for others: release notes, and files for package managers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scripts.release.names import Names, Refused

_NOTES = """\
{section}
## Install

    pipx install {package}=={version}
    uvx {package}@{version} demo
    helm install argolint oci://{charts}/argolint --version {version}

The image is `{image}:{version}`; the GitHub Action is `{action}@{commit}`.

## Verify

All of this release was made of commit `{commit}` by `make release VERSION={version}`. With the files of the release in one folder,

    ./verify

checks every one of them and installs and runs each.
"""


def notes(section: str, version: str, commit: str, names: Names) -> str:
    """The release's page: the changes, the installation, the verification."""
    linked = section.replace("](docs/", f"]({names.docs}")
    return _NOTES.format(
        section=re.sub(r"\]\(([\w-]+\.md)", rf"]({names.repository}/blob/v{version}/\1", linked),
        version=version,
        commit=commit,
        package=names.package,
        charts=names.charts,
        image=names.image,
        action=names.action,
    )


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with `@name@` replaced; Refused for a name without a value."""
    missing = sorted(set(re.findall(r"@([a-z0-9_]+)@", template)) - values.keys())
    if missing:
        raise Refused(f"a template of contrib/ asks for {', '.join(missing)}")
    return re.sub(r"@([a-z0-9_]+)@", lambda found: values[found[1]], template)


def resources(lock: str) -> str:
    """The pinned requirements of a lock file, one a line, for a formula's installation."""
    return "\n".join(re.findall(r"^([A-Za-z0-9_.-]+==[^ ;\\]+)", lock, re.MULTILINE))


def without_paths(bom: Mapping[str, Any]) -> dict[str, Any]:
    """The bill of materials without the builder's paths of the packages."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(below) for key, below in value.items()}
        if isinstance(value, list):
            kept = (v for v in value if not (isinstance(v, dict) and str(v.get("url", "")).startswith("file:")))
            return [clean(below) for below in kept]
        return value

    made: dict[str, Any] = clean(dict(bom))
    return made
