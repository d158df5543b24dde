"""Runs rules on what a transport reads, up to the outcome of a check."""
