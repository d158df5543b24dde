"""`python -m argolint`."""

from argolint.host.checkout_code import leave_out_checkout

leave_out_checkout()  # before anything else is imported: `-m` puts the working directory first

from argolint.cli import main  # noqa: E402  # see above

main()
