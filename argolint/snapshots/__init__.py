"""A recorded Argo CD: read, written, masked and replayed."""
