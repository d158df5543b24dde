"""Rules of family ownership."""
