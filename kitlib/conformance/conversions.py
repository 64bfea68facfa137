"""Cases of pkg/kubelet/cm: milli-CPU, shares, quota and weights."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.cm import conversions as rules

FILE = "conversions"
RELEASE = "1.36"
INPUTS = frozenset({"kind", "period"})
_INPUT = {"milli": "milliCPU", "shares": "shares", "quotaToMilli": "quota"}


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Compute the results of one conversion; inputs are returned unchanged."""
    kind = case["kind"]
    if kind == "milli":
        milli = case["milliCPU"]
        shares = rules.milli_cpu_to_shares(milli)
        return {
            "milliCPU": milli,
            "shares": shares,
            "quota": {period: rules.milli_cpu_to_quota(milli, int(period)) for period in case["quota"]},
            "weightKubelet": rules.shares_to_weight(shares),
            "weightRuntime": rules.shares_to_weight_by_runtime(shares),
        }
    if kind == "shares":
        shares = case["shares"]
        found = {
            "shares": shares,
            "weightRuntime": rules.shares_to_weight_by_runtime(shares),
            "milliCPU": rules.shares_to_milli_cpu(shares),
        }
        if rules.MIN_SHARES <= shares <= rules.MAX_SHARES:
            found["weightKubelet"] = rules.shares_to_weight(shares)
        return found
    return {"quota": case["quota"], "milliCPU": rules.quota_to_milli_cpu(case["quota"], case["period"])}
