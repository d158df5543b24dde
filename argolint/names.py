"""Names under which argolint is published. Made of release.toml by `python -m scripts.release.names`: change that."""

from __future__ import annotations

PUBLISHED = False
"""Whether the owner of these names has said that they are theirs. Until then none of them is a place to install from."""

REPOSITORY = "https://github.com/argolint/argolint"
DOCS = "https://github.com/argolint/argolint/blob/main/docs/"
"""Where the documentation is; pages of rules lie below `rules/`."""

ACTION = "argolint/argolint"
PACKAGE = "argolint"
IMAGE = "registry.example/argolint/argolint"
CHARTS = "registry.example/argolint/charts"
