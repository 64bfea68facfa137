"""Dynamic resources on the node: the devices of claims and the containers that use them.

Imported by `cm` alone. Face: `manager.ClaimManager`.
"""
