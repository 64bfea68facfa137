"""Nodes of a cluster: simulated, cgroups-only, hollow, and real ones in containers.

Imported by control planes, and by code that shows or forecasts a node. Face: `interfaces.KernelNode`, `plan.NodePlan`,
`origin.Origin`.
"""
