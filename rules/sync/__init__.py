"""Rules of family sync."""
