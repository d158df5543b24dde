"""Findings that the user accepted: by annotation, by configuration, by baseline."""
