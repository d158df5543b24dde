"""This machine: its files and programs, within limits."""
