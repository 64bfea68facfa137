"""Selection of the lines in a host's kernel log that belong to one node."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.node.common.kernel_log import RECORD


def lines_of_node(lines: Sequence[str], marks: Sequence[str]) -> list[str]:
    """Return the OOM killer's reports about one node; the host's log has those of other nodes, too.

    Args:
        lines: the lines of the log.
        marks: the id of the node's container and the UIDs of its pods, which occur in the cgroups' paths.
    """
    reports: list[list[str]] = []
    after_gap = False
    for line in lines:
        gap = RECORD in line
        if not reports or "invoked oom-killer" in line or gap or after_gap:
            reports.append([])
        reports[-1].append(line)
        # Lines behind a gap may belong to a report whose beginning is lost, so they form a report of their own.
        after_gap = gap
    kept: list[str] = []
    for report in reports:
        paths = [line for line in report if "task_memcg=" in line]
        if not paths or any(mark and mark in line for mark in marks for line in paths):
            kept += report
    return kept
