"""Admission webhooks: programs outside the API server that are asked about writes."""
