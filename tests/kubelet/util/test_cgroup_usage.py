"""CPU time and working set are read alike on both versions of cgroups."""

from __future__ import annotations

import pytest

from kitlib.kubelet.util.cgroup_usage import MemoryUse, cpu_seconds, memory_use

V1 = {
    "memory.usage_in_bytes": "5000",
    "memory.stat": "cache 10\ntotal_inactive_file 2000\ntotal_rss 700\ninactive_file 1",
    "cpuacct.usage": "1500000000",
}
V2 = {"memory.current": "5000", "memory.stat": "anon 700\ninactive_file 2000", "cpu.stat": "usage_usec 1500000"}


@pytest.mark.parametrize(("version", "files"), [(1, V1), (2, V2)])
def test_what_a_cgroup_has_used(version: int, files: dict[str, str]) -> None:
    assert memory_use(files.__getitem__, version) == MemoryUse(3000, 700, 5000)
    assert cpu_seconds(files.__getitem__, version) == 1.5


@pytest.mark.parametrize(("version", "line"), [(1, "total_inactive_file 9000"), (2, "inactive_file 9000")])
def test_a_working_set_is_never_below_nothing(version: int, line: str) -> None:
    files = {**(V1 if version == 1 else V2), "memory.stat": line}
    assert memory_use(files.__getitem__, version) == MemoryUse(0, 0, 5000)
