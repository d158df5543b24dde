"""`python -m argolint`."""

from argolint.cli import main

main()
