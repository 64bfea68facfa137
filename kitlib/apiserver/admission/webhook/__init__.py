"""Admission webhooks: programs outside the API server that admit or change writes.

Imported by admission alone, once a webhook is configured. Face: `hooks`.
"""
