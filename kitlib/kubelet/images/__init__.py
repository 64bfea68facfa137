"""Garbage collection of images and containers.

Imported by the kubelet's loop and runtimes. Face: `image_gc`, `container_gc`.
"""
