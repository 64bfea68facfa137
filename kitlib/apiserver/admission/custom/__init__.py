"""Custom objects: their fields, defaults and values as the definition of their kind has them.

Imported by admission and http alone, once a custom kind is defined. Face: `objects`, `strategy`.
"""
