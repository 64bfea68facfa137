"""Node-pressure eviction: thresholds and the order in which pods are evicted.

Imported by the kubelet's loop and nodes. Face: `thresholds.Threshold`, `ranking`.
"""
