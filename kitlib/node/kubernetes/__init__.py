"""Node containers as pods of a Kubernetes cluster in which the user has rights, for `Cluster.kubernetes`.

Imported by the cluster of such nodes, and by the workshop for its policy. Face: `pods`, `manifest.Machines`.
"""
