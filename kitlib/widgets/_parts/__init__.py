"""The parts of the widgets: their base, fields, pictures, and the scripts and styles that run in the page.

Imported by widgets alone. Face: `base.KitWidget`.
"""
