"""Definitions that cost little at a start: `records` (frozen dataclasses) and `patterns` (regular expressions)."""
