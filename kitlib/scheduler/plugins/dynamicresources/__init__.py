"""DynamicResources: which devices a pod's claims get on which node.

Imported by the profile alone. Face: `plugin.DynamicResources`.
"""
