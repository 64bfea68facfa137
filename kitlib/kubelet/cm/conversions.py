"""From milli-CPU to the kernel's numbers and back: shares, quota, and the two formulas of cpu.weight.

A CPU request becomes `cpu.shares` (a relative weight, 1024 for one CPU), a CPU limit becomes a quota of microseconds
in each period. On cgroup v2 shares do not exist, so they are mapped to `cpu.weight` (1 to 10000). The kubelet maps
the cgroups that it writes itself (node, QoS class, pod) with a straight line; container runtimes used that line too,
until runc 1.3.2 and crun 1.23 changed to a curve on which 1024 shares give the kernel's default weight, 100.

Sources: kubelet cm.MilliCPUToShares, cm.MilliCPUToQuota, cm.getCPUWeight, cm.sharesToMilliCPU, cm.quotaToMilliCPU;
opencontainers/cgroups ConvertCPUSharesToCgroupV2Value.
"""

from __future__ import annotations

import math
import struct

MIN_SHARES = 2
"""The kernel's least cpu.shares; also what "no CPU requested" means."""
MAX_SHARES = 262_144
SHARES_PER_CPU = 1024
MILLI_PER_CPU = 1000

QUOTA_PERIOD = 100_000
"""Microseconds: the default CFS period, 100 ms."""
MIN_QUOTA = 1000
"""Microseconds: the kernel refuses a quota below 1 ms, so the kubelet never asks for less."""

MIN_WEIGHT = 1
MAX_WEIGHT = 10_000
DEFAULT_WEIGHT = 100


def milli_cpu_to_shares(milli_cpu: int) -> int:
    """shares = milli_cpu × 1024 / 1000, rounded down, within 2 and 262144.

    Args:
        milli_cpu: requested CPU in thousandths of a CPU; 0 means that nothing was requested.

    Returns:
        The value of `cpu.shares`.

    Source: kubelet cm.MilliCPUToShares.
    """
    if milli_cpu == 0:
        return MIN_SHARES
    return min(max(milli_cpu * SHARES_PER_CPU // MILLI_PER_CPU, MIN_SHARES), MAX_SHARES)


def milli_cpu_to_quota(milli_cpu: int, period: int = QUOTA_PERIOD) -> int:
    """quota = milli_cpu × period / 1000, rounded down, at least 1 ms; 0 where there is no limit.

    Args:
        milli_cpu: CPU limit in thousandths of a CPU; 0 means no limit.
        period: the CFS period in microseconds.

    Returns:
        Microseconds of CPU time per period; 0 = not limited, nothing is written.

    Source: kubelet cm.MilliCPUToQuota.
    """
    if milli_cpu == 0:
        return 0
    return max(milli_cpu * period // MILLI_PER_CPU, MIN_QUOTA)


def shares_to_weight(shares: int) -> int:
    """weight = 1 + (shares − 2) × 9999 / 262142: the straight line that the kubelet uses for its own cgroups.

    Args:
        shares: `cpu.shares`, 2 or more.

    Returns:
        The value of `cpu.weight`, 1 to 10000. 1024 shares (one CPU) give 39, not the kernel's default of 100.

    Source: kubelet cm.getCPUWeight.
    """
    if shares >= MAX_SHARES:
        return MAX_WEIGHT
    return MIN_WEIGHT + (shares - MIN_SHARES) * (MAX_WEIGHT - MIN_WEIGHT) // (MAX_SHARES - MIN_SHARES)


def shares_to_weight_by_runtime(shares: int) -> int:
    """weight = ⌈10^((l² + 125·l)/612 − 7/34)⌉ with l = log2(shares): the curve that runtimes use for containers.

    The curve goes through (2, 1), (1024, 100) and (262144, 10000).

    Args:
        shares: `cpu.shares`; 0 means "not set".

    Returns:
        The value of `cpu.weight`, 1 to 10000; 0 where shares are not set.

    Source: opencontainers/cgroups ConvertCPUSharesToCgroupV2Value (since v0.0.5).
    """
    if shares == 0:
        return 0
    if shares <= MIN_SHARES:
        return MIN_WEIGHT
    if shares >= MAX_SHARES:
        return MAX_WEIGHT
    l = math.log2(shares)
    weight: float = 10.0 ** ((l * l + 125 * l) / 612.0 - 7.0 / 34.0)
    return math.ceil(weight)


def shares_to_milli_cpu(shares: int) -> int:
    """milli_cpu = ⌈shares × 1000 / 1024⌉; 0 below 2 shares.

    The way back loses what rounding took: 100m is 102 shares and comes back as 100m, 3m is 3 shares and stays 3m, but
    everything of 1m or less is 2 shares and comes back as 2m.

    Source: kubelet cm.sharesToMilliCPU.
    """
    if shares < MIN_SHARES:
        return 0
    return -(-shares * MILLI_PER_CPU // SHARES_PER_CPU)


def quota_to_milli_cpu(quota: int, period: int) -> int:
    """milli_cpu = quota × 1000 / period, towards zero; a quota of -1 (unlimited) is 0.

    Args:
        quota: microseconds per period, -1 for "unlimited".
        period: microseconds, above 0.

    Source: kubelet cm.quotaToMilliCPU.
    """
    if quota == -1:
        return 0
    milli = abs(quota) * MILLI_PER_CPU // period
    return milli if quota >= 0 else -milli


def percent_as_float32(percent: float) -> float:
    """A percentage as the kubelet keeps it: a 32-bit float of a 32-bit float divided by 100.

    A division in 64 bits that is rounded to 32 is exact, so no library of 32-bit arithmetic is needed.

    Source: kubelet eviction.parsePercentage.
    """
    return _float32(_float32(percent) / 100)


def _float32(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf
    return found
