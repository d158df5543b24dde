"""What changes with which release of a product: one table of rows a product, for `argolint forecast upgrade`."""
