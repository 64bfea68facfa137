"""The kubelet: which cgroups, processors, memory and devices a pod gets, how it is started, probed, evicted and killed.

Imported by packages above it: node, cluster and their users; the scheduler and the API server use its rules of QoS
and conditions only.
Face: `cm.desired.desired_tree`, `loop.kubelet.Kubelet`, `config`.
"""
