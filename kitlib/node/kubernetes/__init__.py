"""Node containers as pods of a Kubernetes cluster in which the user has rights, for `Cluster.kubernetes`."""
