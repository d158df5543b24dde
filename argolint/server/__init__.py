"""A live Argo CD: its endpoints, and how to connect and log in."""
