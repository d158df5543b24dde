"""Rules of family nondeterminism."""
