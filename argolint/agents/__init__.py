"""Answers for agents: small, bounded, and texts of clusters as quoted data."""
