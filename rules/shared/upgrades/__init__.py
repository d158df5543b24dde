"""The changes in each release of a product: one table of rows for each product, for `argolint forecast upgrade`."""
