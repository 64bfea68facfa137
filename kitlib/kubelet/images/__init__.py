"""Garbage collection of images and containers."""
