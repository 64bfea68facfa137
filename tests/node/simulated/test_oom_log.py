"""What the kernel logs about an OOM kill: no process has more resident than its cgroup was charged."""

from __future__ import annotations

import re

import pytest

from kitlib.node.simulated.oom import OOMCandidate
from kitlib.node.simulated.oom_log import log_lines

MI = 2**20


def candidate(pid: int, memory: int) -> OOMCandidate:
    return OOMCandidate(pid, f"p{pid}", "/pod", 0, memory * MI, 0, 0)


@pytest.mark.parametrize(
    ("sizes", "limit", "usage", "expected"),
    [
        ([200], 100, 200, {1: 100}),  # asked for 200 MiB, charged up to the limit of 100
        ([30, 130], 100, 160, {1: 30, 2: 70}),
        ([60, 39], 100, 100, {1: 60, 2: 39}),
    ],
)
def test_resident_memory_ends_at_what_the_cgroup_was_charged(
    sizes: list[int], limit: int, usage: int, expected: dict[int, int]
) -> None:
    table = [candidate(number, size) for number, size in enumerate(sizes, start=1)]
    victim = max(table, key=lambda one: one.memory)
    lines = log_lines(5.0, victim, "/pod", invoker="p1", limit=limit * MI, usage=usage * MI, table=table)
    rows = re.findall(r"\[ +(\d+)\] +0 +\d+ +\d+ +(\d+) ", "\n".join(lines))
    assert {int(pid): int(pages) * 4096 // MI for pid, pages in rows} == expected
    assert f"anon-rss:{expected[victim.pid] * 1024}kB" in lines[-1]
    assert sum(expected.values()) <= limit
