"""Probes of containers: when one is due, and from how many answers on it counts.

Imported by the kubelet's loop and runtimes. Face: `worker.ProbeWorker`.
"""
