"""Rules of family secrets."""
