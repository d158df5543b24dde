"""The packages: everything below argolint/, and everything below rules/ under the name argolint_rules; templates/ holds files alone."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["argolint", "argolint.*"]),
        "argolint_rules",
        *(f"argolint_rules.{package}" for package in find_packages("rules")),
        "argolint_templates",
    ]
)
