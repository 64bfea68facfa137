"""The device manager.

Imported by `cm` and nodes alone. Face: `manager.DeviceManager`.
"""
