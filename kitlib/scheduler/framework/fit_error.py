"""The message about a pod that fits no node.

Source: kube-scheduler framework types.go FitError.Error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kitlib.api.release import Release
from kitlib.scheduler.framework.filter_outcome import FilterOutcome


def fit_error(nodes: int, reasons: Mapping[str, int], release: Release, pre_filter: str = "") -> str:
    """Return `0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable.` Source: FitError.Error.

    Args:
        nodes: the number of nodes.
        reasons: reason -> number of nodes that are rejected for it.
        release: the release whose message is used.
        pre_filter: PreFilter's message, if it rejected the pod; "" = it did not.
    """
    if pre_filter:
        return release.text("pre_filter_error").format(nodes=nodes, reason=pre_filter)
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    if not listed:
        return release.text("no_reasons").format(nodes=nodes)
    return f"0/{nodes} nodes are available: {', '.join(listed)}."


def count_reasons(outcome: FilterOutcome, size: int, release: Release) -> Counter[str]:
    """Return reason -> number of nodes that are rejected for it."""
    counts: Counter[str] = Counter()
    for _, reasons, count in outcome.rejections():
        for reason in reasons:
            counts[reason] += count
    absent = outcome.absent
    if absent is not None and absent.reasons and len(outcome.rows) < size:
        counts[absent.reasons[0]] += size - len(outcome.rows)
    return counts
