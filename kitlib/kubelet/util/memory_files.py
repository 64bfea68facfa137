"""The names of the memory controller's files on cgroup v1 and v2.

Source: Linux Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst.
"""

from __future__ import annotations

MEMORY_LIMIT = {1: "memory.limit_in_bytes", 2: "memory.max"}
"""cgroup version -> the file of the hard limit, bytes."""
MEMORY_USAGE = {1: "memory.usage_in_bytes", 2: "memory.current"}
"""cgroup version -> the file of the usage, bytes."""
