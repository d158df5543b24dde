"""What the applications of an Argo CD server do wrong, and what to change."""
