"""The memory manager's static policy."""
