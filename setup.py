"""The packages: everything below argolint/, and everything below rules/ under the name argolint_rules; templates/ holds files alone.

A build also writes the knowledge files as JSON, which is read twenty times as fast: argolint/values/knowledge.py.
"""

import hashlib
import json
from pathlib import Path

import yaml
from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def compile_knowledge(folder: Path) -> None:
    """Write compiled.json of all YAML files in the packages: one line each, the digest of the file and its data."""
    lines = set()
    for file in (*HERE.glob("argolint/**/*.yaml"), *HERE.glob("rules/**/*.yaml")):
        text = file.read_bytes()
        digest = hashlib.blake2b(text, digest_size=16).hexdigest()
        data = yaml.load(text, LOADER)  # noqa: S506 - a safe loader
        made = json.dumps(data, ensure_ascii=False)
        if json.loads(made) == data:  # no key is a number
            lines.add(f'"{digest}":{made}')
    folder.joinpath("compiled.json").write_text("{" + ",\n".join(sorted(lines)) + "}\n", encoding="utf-8")


class Build(build_py):
    """In an editable installation the file is written next to the module."""

    def run(self) -> None:
        """Copy the packages, and write the file."""
        super().run()
        compile_knowledge((HERE if self.editable_mode else Path(self.build_lib)) / "argolint/values")


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": Build},
        packages=[
            *find_packages(include=["argolint", "argolint.*"]),
            "argolint_rules",
            *(f"argolint_rules.{package}" for package in find_packages("rules")),
            "argolint_templates",
        ],
    )
