"""The answer of a PostFilter plugin: whether room can be made, on which node, and which pods have to leave.

Source: kube-scheduler framework interface.go (PostFilterResult, NominatingInfo), framework/preemption Candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code

MAX_INT32 = 2**31 - 1
_NOW = datetime(9999, 1, 1, tzinfo=UTC)
OVERRIDE, NOOP = "override", "noop"
"""The modes of a nomination: replace the pod's `nominatedNodeName`, or leave it. Source: NominatingMode."""


@dataclass(frozen=True)
class Candidate:
    """A node on which preemption helps.

    Attributes:
        row: the node's row.
        node: the node's name.
        victims: the pods that have to leave, the most important first.
        violations: the number of victims whose disruption budget would be violated.
    """

    row: int
    node: str
    victims: tuple[PodInfo, ...]
    violations: int

    @cached_property
    def cost(self) -> tuple[float, ...]:
        """The criteria of the choice in their order; the smallest tuple wins. Source: pickOneNodeForPreemption."""
        victims = self.victims
        return (
            self.violations,
            # the first victim has the highest priority, except in releases that put violated budgets first
            victims[0].priority,
            # MaxInt32+1 makes every summand positive: otherwise more pods of negative priority would be cheaper
            sum(victim.priority + MAX_INT32 + 1 for victim in victims),
            len(victims),
            # negated, since the latest start wins
            -_earliest_start(victims).timestamp(),
        )


@dataclass
class PostFilterResult:
    """One plugin's answer, or the combined answer of all plugins.

    Attributes:
        code: Success = room can be made.
        message: the reason why no room can be made.
        candidates: node name -> candidate.
        best: the names of the equally good nodes, of which the first is taken.
        nominating_mode: OVERRIDE or NOOP.
        effect: plain data that the plugin's `commit_post_filter` carries out; None = nothing.
        effects: plugin -> its effect, in the combined answer.
    """

    code: Code
    message: str = ""
    candidates: dict[str, Candidate] = field(default_factory=dict)
    best: Sequence[str] = ()
    nominating_mode: str = OVERRIDE
    effect: Any = None
    effects: Mapping[str, Any] = field(default_factory=dict)

    @property
    def nominated(self) -> str:
        """The node that the pod is nominated to; "" = none."""
        return self.best[0] if self.best else ""

    @property
    def victims(self) -> tuple[PodInfo, ...]:
        """The pods that have to leave the nominated node."""
        return self.candidates[self.nominated].victims if self.best else ()


def _earliest_start(victims: Sequence[PodInfo]) -> datetime:
    """Return the earliest start among the victims of the highest priority. Source: util.GetEarliestPodStartTime."""
    highest = max(v.priority for v in victims)
    return min(v.pod.status.start_time or _NOW for v in victims if v.priority == highest)
