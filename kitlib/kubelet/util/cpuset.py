"""Lists of CPUs in the format of the kernel and the kubelet: `0-3,8` is the CPUs 0, 1, 2, 3 and 8.

Source: k8s.io/utils/cpuset (Parse, CPUSet.String).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CPUS = 65_536
"""A bound above the CPUs of any kernel: CONFIG_NR_CPUS is at most 8192 on x86."""


def parse_cpus(text: str) -> frozenset[int]:
    """Return the CPUs of a list; "" = none.

    Raises:
        ValueError: the list is invalid; the message is that of k8s.io/utils/cpuset.

    Source: cpuset.Parse.
    """
    if not text:
        return frozenset()
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = _number(first)
        end = _number(last) if dash else start
        if start > end:
            raise ValueError(f'invalid range "{part}" ({start} > {end})')
        if end >= MAX_CPUS:
            raise ValueError(f'invalid range "{part[:80]}": the largest CPU is {MAX_CPUS - 1}')
        found.update(range(start, end + 1))
    return frozenset(found)


def format_cpus(cpus: Iterable[int]) -> str:
    """Return the shortest list of these CPUs. Source: CPUSet.String."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)
