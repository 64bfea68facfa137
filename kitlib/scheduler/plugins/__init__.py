"""The in-tree plugins of kube-scheduler, one module each.

Imported by the profile, and by widgets and studies that show one plugin. Face: one class per module.
"""
