"""Conversions between milli-CPU and the kernel's units: shares, quota, and the two formulas of cpu.weight.

A CPU request becomes `cpu.shares` (a relative weight, 1024 for one CPU), a CPU limit becomes a quota of microseconds
in each period. cgroup v2 has no shares, so they are converted to `cpu.weight` (1 to 10000). The kubelet uses a linear
formula for the cgroups that it writes itself (node, QoS class, pod). Container runtimes used the same formula until
runc 1.3.2 and crun 1.23 changed to a curve on which 1024 shares give the kernel's default weight, 100.

Sources: kubelet cm.MilliCPUToShares, cm.MilliCPUToQuota, cm.getCPUWeight, cm.sharesToMilliCPU, cm.quotaToMilliCPU;
opencontainers/cgroups ConvertCPUSharesToCgroupV2Value.
"""

from __future__ import annotations

import math
import struct

from kitlib.kubelet.cm.formula import Formula, Step

MIN_SHARES = 2
"""The kernel's minimum of cpu.shares; also the shares without a CPU request."""
MAX_SHARES = 262_144
SHARES_PER_CPU = 1024
MILLI_PER_CPU = 1000

QUOTA_PERIOD = 100_000
"""Microseconds: the default CFS period, 100 ms."""
MIN_QUOTA = 1000
"""Microseconds: the kernel rejects a quota below 1 ms, so the kubelet never writes less."""

MIN_WEIGHT = 1
MAX_WEIGHT = 10_000
DEFAULT_WEIGHT = 100
PER_SECOND = 1_000_000
"""Microseconds in a second."""
_PERCENT = PER_SECOND // 100

SHARES = Step("shares", f"min(max(floor(milli * {SHARES_PER_CPU} / {MILLI_PER_CPU}), {MIN_SHARES}), {MAX_SHARES})")
QUOTA = Step("quota", f"max(floor(milli * period / {MILLI_PER_CPU}), {MIN_QUOTA})")
WEIGHT = Step(
    "weight",
    f"min({MIN_WEIGHT} + floor((shares - {MIN_SHARES}) * {MAX_WEIGHT - MIN_WEIGHT} / {MAX_SHARES - MIN_SHARES}), "
    f"{MAX_WEIGHT})",
)
LOGARITHM = Step("l", "log2(shares)")
CURVE = Step("weight", f"min(ceil(10 ** ((l * l + 125 * l) / 612 - 7 / 34)), {MAX_WEIGHT})")
WHOLE_PERCENTS = Step("per_second", f"ceil(floor(quota * {PER_SECOND} / period) / {_PERCENT}) * {_PERCENT}")
"""CPU time a second that systemd stores for a quota: whole percents of a CPU, rounded up. Source: addCPUQuota."""
KEPT_QUOTA = Step("kept", f"floor(per_second * period / {PER_SECOND})")
MILLI_OF_SHARES = Step("milli", f"ceil(shares * {MILLI_PER_CPU} / {SHARES_PER_CPU})")
MILLI_OF_QUOTA = Step("milli", f"floor(quota * {MILLI_PER_CPU} / period)")
PERCENTAGE = Step("part", "floor(whole * percent / 100)")


def milli_cpu_to_shares(milli_cpu: int) -> int:
    """Return the `cpu.shares` of a request in milli-CPU. Source: kubelet cm.MilliCPUToShares."""
    return SHARES(milli_cpu)


def milli_cpu_to_quota(milli_cpu: int, period: int = QUOTA_PERIOD) -> int:
    """Return the quota in microseconds per period of a limit in milli-CPU; 0 (no limit) stays 0.

    Source: kubelet cm.MilliCPUToQuota.
    """
    return QUOTA(milli_cpu, period) if milli_cpu else 0


def shares_to_weight(shares: int) -> int:
    """Return the `cpu.weight` by the straight line that the kubelet uses for its own cgroups.

    1024 shares (one CPU) give 39, not the kernel's default of 100. Source: kubelet cm.getCPUWeight.
    """
    return WEIGHT(shares)


def shares_to_weight_by_runtime(shares: int) -> int:
    """Return the `cpu.weight` by the curve that runtimes use for containers; 0 (shares not set) stays 0.

    The curve goes through (2, 1), (1024, 100) and (262144, 10000).
    Source: opencontainers/cgroups ConvertCPUSharesToCgroupV2Value (since v0.0.5).
    """
    return CURVE(LOGARITHM(shares)) if shares else 0


def shares_to_milli_cpu(shares: int) -> int:
    """Return the milli-CPU of `cpu.shares`; 0 below 2 shares.

    Rounding is lost: 1m or less is 2 shares and comes back as 2m. Source: kubelet cm.sharesToMilliCPU.
    """
    return MILLI_OF_SHARES(shares) if shares >= MIN_SHARES else 0


def quota_to_milli_cpu(quota: int, period: int) -> int:
    """Return the milli-CPU of a quota, rounded towards zero; a quota of -1 (unlimited) is 0.

    Both are in microseconds. Source: kubelet cm.quotaToMilliCPU.
    """
    if quota == -1:
        return 0
    milli = MILLI_OF_QUOTA(abs(quota), period)
    return milli if quota >= 0 else -milli


def whole_percent_quota(quota: int, period: int) -> int:
    """Return the quota that systemd stores: whole percents of a CPU, rounded up. Source: systemd.addCPUQuota."""
    return KEPT_QUOTA(WHOLE_PERCENTS(quota, period), period)


def shares_formula(milli: int, version: int, *, curve: bool = False) -> Formula:
    """Return the arithmetic of a request's `cpu.shares`, on cgroup v2 that of `cpu.weight`.

    Args:
        milli: requested milli-CPU.
        version: cgroup version, 1 or 2.
        curve: map shares to a weight as runtimes do, instead of the kubelet's straight line.
    """
    if version == 1:
        return Formula({"milli": milli}, (SHARES,), "{shares}")
    return Formula({"milli": milli}, (SHARES, *((LOGARITHM, CURVE) if curve else (WEIGHT,))), "{weight}")


def quota_formula(milli: int, period: int, version: int, *, percent: bool = False) -> Formula:
    """Return the arithmetic of a limit's quota.

    Args:
        milli: milli-CPU of the limit.
        period: microseconds.
        version: cgroup version, 1 or 2; on v2 the period is part of the value.
        percent: round the quota as systemd does, to whole percents of a CPU.
    """
    steps = (QUOTA, WHOLE_PERCENTS, KEPT_QUOTA) if percent else (QUOTA,)
    template = f"{{{steps[-1].name}}}" + (" {period}" if version == 2 else "")
    return Formula({"milli": milli, "period": period}, steps, template)


def percent_as_float32(percent: float) -> float:
    """Return a percentage as a fraction with the kubelet's precision: the 32-bit float of a 32-bit float over 100.

    Source: kubelet eviction.parsePercentage.
    """
    # A quotient of two 32-bit floats that is computed in 64 bits and rounded to 32 bits equals the quotient in 32 bits,
    # so no library of 32-bit arithmetic is needed.
    return _float32(_float32(percent) / 100)


def _float32(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf
    return found
