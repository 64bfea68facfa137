"""Probes of containers: their schedule, and their thresholds of success and failure.

Imported by the kubelet's loop and runtimes. Face: `worker.ProbeWorker`.
"""
