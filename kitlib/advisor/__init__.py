"""Answers to questions about a cluster: why a pod is pending, what would help, which pod is killed first.

Imported by views, charts, widgets, lab and commands.
Face: one module a question; `live_cluster` reads a cluster that runs elsewhere.
"""
