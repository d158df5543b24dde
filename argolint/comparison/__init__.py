"""Argo CD's comparison in memory: what it calls different, and what a sync would leave."""
