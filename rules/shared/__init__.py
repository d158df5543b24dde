"""Shared by several families: charts, pods, ages, advice and messages."""
