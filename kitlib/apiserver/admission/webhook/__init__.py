"""Admission webhooks: programs outside the API server that are asked about writes.

Imported by admission alone, once a webhook is configured. Face: `hooks`.
"""
