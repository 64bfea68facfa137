"""The kubelet that lives: the loop that brings cgroups, containers and statuses in line with the pods of its node."""
