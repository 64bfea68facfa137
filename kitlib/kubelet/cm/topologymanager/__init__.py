"""The topology manager: hints, policies and scopes.

Imported by `cm` and the kubelet's loop. Face: `manager.TopologyManager`, `hints.TopologyHint`.
"""
