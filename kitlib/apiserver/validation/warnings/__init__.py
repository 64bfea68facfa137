"""Warnings of the API server about objects that it accepts, by kind.

Imported by admission and the HTTP server. Face: `kinds`.
"""
