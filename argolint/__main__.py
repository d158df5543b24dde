"""`python -m argolint`."""

from argolint.host.strangers import leave_out

leave_out()  # before anything else is imported: `-m` puts the working directory first

from argolint.cli import main  # noqa: E402

main()
