"""Custom objects: pruning, defaults and validation by the definitions of their kinds.

Imported by admission and http alone, once a custom kind is defined. Face: `objects`, `strategy`.
"""
