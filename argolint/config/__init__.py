"""argolint's own configuration."""
