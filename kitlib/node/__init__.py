"""Implementations of a node: the simulated kernel, the agent in a real container, and pods of a cluster that hold one.

Imported by cluster and what is above it; API server and scheduler do not know it.
Face: `simulated.kernel.Kernel`, `real.agent`, `real.engine`, `kubernetes.pods`.
"""
