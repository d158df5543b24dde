"""Rules of family drift."""
