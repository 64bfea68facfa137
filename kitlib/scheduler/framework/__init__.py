"""The scheduling framework: plugins, their results, the snapshot of nodes, preemption.

Imported by plugins, the scheduler and its decisions. Face: `framework.Framework`, `plugin.Plugin`,
`snapshot.Snapshot`.
"""
