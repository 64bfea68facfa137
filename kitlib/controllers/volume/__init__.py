"""The controllers of volumes and claims. Source: pkg/controller/volume.

Imported by the table of controllers alone. Face: one module per controller.
"""
