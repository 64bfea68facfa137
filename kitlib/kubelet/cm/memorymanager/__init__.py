"""The memory manager's static policy.

Imported by `cm` alone. Face: `policy_static.MemoryManager`.
"""
