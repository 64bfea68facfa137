"""Custom objects: their fields, defaults and values as the definition of their kind has them."""
