"""Readable forms of values in cgroup files: 134217728 is 128Mi, a quota of 50000 in 100000 is half a CPU.

Source: Linux Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1, Cgroup

_BYTES = ("limit_in_bytes", "memory.max", "memory.high", "memory.low", "memory.min", "memory.swap.max")


def size(value: int) -> str:
    """Return bytes with a unit: `134217728` is `128Mi`; inexact values are rounded to one digit, with `~`."""
    for unit, factor in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if value >= factor:
            whole, rest = divmod(value, factor)
            return f"{whole}{unit}" if not rest else f"~{value / factor:.1f}{unit}"
    return f"{value} bytes"


def meaning(cgroup: Cgroup, file: str) -> str:
    """Return the value of a file in words; "" if the value is clear by itself.

    Args:
        cgroup: the file's cgroup, since a quota is read together with its period.
        file: the file's name.
    """
    shown = cgroup[file].shown
    if file.endswith(_BYTES) or file.startswith("hugetlb."):
        return _memory(shown)
    if file == "cpu.cfs_quota_us":
        period = cgroup["cpu.cfs_period_us"].shown if "cpu.cfs_period_us" in cgroup else "100000"
        return _quota(shown, period)
    if file == "cpu.max":
        quota, _, period = shown.partition(" ")
        return _quota(quota, period)
    if file in ("cpu.shares", "cpu.weight"):
        return "the minimum" if shown == ("2" if file == "cpu.shares" else "1") else ""
    if file == "cpu.cfs_period_us" and shown.isdigit():
        return f"{int(shown) / 1000:g} ms"
    if file == "pids.max":
        return "no limit" if shown == "max" else f"{shown} processes and threads"
    return ""


def _memory(shown: str) -> str:
    if shown in ("max", str(UNLIMITED_V1), "-1"):
        return "no limit"
    return size(int(shown)) if shown.isdigit() else ""


def _quota(quota: str, period: str) -> str:
    if quota in ("-1", "max"):
        return "no limit"
    if quota.isdigit() and period.isdigit() and int(period):
        return f"{int(quota) / int(period):g} CPU"
    return ""
