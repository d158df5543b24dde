"""Moves of an Application, one module a way: each says what refuses it, and what its steps are."""
