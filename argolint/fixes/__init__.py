"""Places fixes in Git."""
