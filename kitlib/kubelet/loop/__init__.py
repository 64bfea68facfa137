"""The kubelet that lives: the loop that brings cgroups, containers and statuses in line with the pods of its node.

Imported by nodes of both kernels. Face: `kubelet.Kubelet`; `interfaces` says what a node gives it.
"""
