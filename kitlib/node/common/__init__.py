"""What both kernels share: workload language, probes of containers, kernel log, output of containers, errors.

Imported by `real`, `simulated`, nodes and labs. Face: `workload.Workload`, `errors.CgroupError`.
"""
