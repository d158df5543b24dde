"""Fixes placed in Git."""
