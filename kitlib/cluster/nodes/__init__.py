"""Nodes of a cluster: simulated, cgroups-only, hollow, and real ones in containers."""
