"""The device manager."""
