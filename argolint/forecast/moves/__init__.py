"""Moves of an Application, one module per kind: its checks and its steps."""
