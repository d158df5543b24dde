"""A live Argo CD: its endpoints, how to reach it and who asks."""
