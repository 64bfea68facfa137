"""Both orders of the OOM killer: by the actual scores of the processes, and by the scores that the kubelet wants.

A host that refuses low scores leaves a process with a higher oom_score_adj than the kubelet wants. Whether this
changes the victim depends on the memory of all processes: for a Guaranteed pod within its request it rarely does, for
a critical pod without requests it does once the pod is larger than the others. So both orders are computed and
compared.

Source: kernel mm/oom_kill.c oom_badness, select_bad_process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 6
"""Maximum number of names listed for an order."""


@dataclass(frozen=True)
class OomOrders:
    """Names of processes in the order in which they are killed.

    Attributes:
        here: names in the order of the actual scores.
        wanted: names in the order of the desired scores.
        refused: names of processes whose score the host refused; () = none, so the orders are equal.
    """

    here: tuple[str, ...]
    wanted: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def differ(self) -> bool:
        """Whether the host's refusal changes the order."""
        return self.here != self.wanted

    @property
    def sentence(self) -> str:
        """The effect of the refusal on the order, one sentence; "" = nothing was refused."""
        if not self.refused:
            return ""
        if not self.differ:
            return "With the scores that the kubelet wants the order would be the same."
        victims = (
            f"{self.here[0]} is still the first"
            if self.here[0] == self.wanted[0]
            else f"{self.wanted[0]} would be killed first, and here it is {self.here[0]}"
        )
        return (
            f"With the scores that the kubelet wants the order would be {_listed(self.wanted)}; here it is "
            f"{_listed(self.here)}: {victims}."
        )


def oom_orders(rows: Sequence[Any]) -> OomOrders:
    """Return both orders of processes.

    Args:
        rows: the result of `kitlib.cluster.nodes.metrics.oom_rows`.
    """
    here = sorted(rows, key=lambda row: -int(row["badness"]))
    wanted = sorted(rows, key=lambda row: -wanted_badness(row))
    refused = tuple(row["name"] for row in rows if "refused" in row)
    return OomOrders(tuple(row["name"] for row in here), tuple(row["name"] for row in wanted), refused)


def wanted_badness(row: Any) -> int:
    """Return the score of a process with the oom_score_adj that the kubelet wants for it."""
    return int(row.get("wanted_badness", row["badness"]))


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
