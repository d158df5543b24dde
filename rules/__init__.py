"""Rules that ship with argolint: one module per rule, in family folders."""
