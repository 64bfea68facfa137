"""Dynamic resources on the node: what a claim's devices give to containers.

Imported by `cm` alone. Face: `manager.ClaimManager`.
"""
