"""Reads, writes, masks and replays a recorded Argo CD."""
