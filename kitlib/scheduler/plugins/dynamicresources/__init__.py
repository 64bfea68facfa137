"""DynamicResources: the devices for a pod's claims on each node.

Imported by the profile alone. Face: `plugin.DynamicResources`.
"""
