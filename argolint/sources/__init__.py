"""Reads Git, and manifests as Argo CD would render them, made here or read from a folder."""
