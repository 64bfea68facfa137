"""Answers to questions about a cluster: why a pod is pending, what would help, which pod is killed first.

Imported by views, charts, widgets, lab and commands.
Face: one module per question; `live_cluster` reads a running cluster.
"""
