"""The sentence about a pod that fits nowhere.

Source: kube-scheduler framework types.go FitError.Error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kitlib.api.release import Release
from kitlib.scheduler.framework.filter_outcome import FilterOutcome


def fit_error(nodes: int, reasons: Mapping[str, int], release: Release, pre_filter: str = "") -> str:
    """`0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable.` Source: FitError.Error.

    Args:
        nodes: how many there are.
        reasons: reason -> nodes that have it.
        release: whose wording.
        pre_filter: what PreFilter said, where it rejected the pod.
    """
    if pre_filter:
        return release.text("pre_filter_error").format(nodes=nodes, reason=pre_filter)
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    if not listed:
        return release.text("no_reasons").format(nodes=nodes)
    return f"0/{nodes} nodes are available: {', '.join(listed)}."


def count_reasons(outcome: FilterOutcome, size: int, release: Release) -> Counter[str]:
    """Reason -> how many nodes have it."""
    counts: Counter[str] = Counter()
    for _, reasons, count in outcome.rejections():
        for reason in reasons:
            counts[reason] += count
    absent = outcome.absent
    if absent is not None and absent.reasons and len(outcome.rows) < size:
        counts[absent.reasons[0]] += size - len(outcome.rows)
    return counts
