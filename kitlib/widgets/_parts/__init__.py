"""What the widgets are made of: their base, fields, pictures, and the scripts and styles that run in the page.

Imported by widgets alone. Face: `base.KitWidget`.
"""
