"""Functions of several parts of the kubelet: lists of CPUs, the usage of cgroups.

Imported by the kubelet's packages and nodes. Face: `cpuset.parse_cpus`, `cpuset.format_cpus`.
"""
