"""The kubelet's loop, which reconciles cgroups, containers and statuses with the pods of its node.

Imported by nodes of both kernels. Face: `kubelet.Kubelet`; `interfaces` defines what a node implements for it.
"""
