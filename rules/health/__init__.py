"""Rules of family health."""
