"""The scheduling framework: plugins, their results, the snapshot of nodes, preemption."""
