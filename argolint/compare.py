"""The former place of `argolint.comparison.compare`, kept for one minor version: rules import from `argolint.comparison`."""

from argolint.comparison.compare import *  # noqa: F403 - all of its names, as they were
