"""Everything that a release holds, made from one commit: `make release VERSION=1.2.3`. Nothing is pushed anywhere."""
