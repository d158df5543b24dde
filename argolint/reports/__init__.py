"""The report: the versioned document and its formats."""
