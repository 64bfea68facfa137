"""Questions about a cluster: why a pod is pending, what would help, who would be killed first."""
