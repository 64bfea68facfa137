"""What several parts of the kubelet need: lists of CPUs, Go durations.

Imported by the kubelet's packages and nodes. Face: `cpuset.parse_cpus`, `cpuset.format_cpus`.
"""
