"""Access to this machine: files and programs, within limits."""
