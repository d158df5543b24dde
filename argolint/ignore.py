"""The former place of `argolint.comparison.ignore`, kept for one minor version: rules import from `argolint.comparison`."""

from argolint.comparison.ignore import *  # noqa: F403 - all of its names, as they were
