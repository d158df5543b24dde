"""Verifies fixes by replay in memory: patch, sync, compare and check again."""
