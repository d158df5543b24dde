"""Makes all parts of a release from one commit: `make release VERSION=1.2.3`. It pushes nothing."""
