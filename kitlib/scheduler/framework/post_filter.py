"""What a PostFilter plugin answers: whether room can be made, where, and who has to go.

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
"""Modes of a nomination: the answer replaces the pod's `nominatedNodeName`, or leaves it. Source: NominatingMode."""


@dataclass(frozen=True)
class Candidate:
    """A node that preemption could use.

    Attributes:
        row, node: which.
        victims: who would have to go, the most important first.
        violations: victims whose disruption budget would be violated.
    """

    row: int
    node: str
    victims: tuple[PodInfo, ...]
    violations: int

    @cached_property
    def cost(self) -> tuple[float, ...]:
        """What it would cost, by weight; the candidate with the smallest wins. Source: pickOneNodeForPreemption."""
        victims = self.victims
        return (
            self.violations,
            victims[0].priority,
            sum(victim.priority + MAX_INT32 + 1 for victim in victims),
            len(victims),
            -_earliest_start(victims).timestamp(),
        )


@dataclass
class PostFilterResult:
    """One plugin's answer, or that of all of them.

    Attributes:
        code: Success = room can be made.
        message: why not.
        candidates: node -> candidate.
        best: the nodes of equal merit, of which the first is taken.
        nominating_mode: whether the answer replaces an older nomination.
        effect: what `commit_post_filter` of the plugin carries out; None = nothing. Plain data.
        effects: plugin -> its effect, in the answer of all of them.
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
        """Who has to go there."""
        return self.candidates[self.nominated].victims if self.best else ()


def _earliest_start(victims: Sequence[PodInfo]) -> datetime:
    """The earliest start among the most important of them. Source: util.GetEarliestPodStartTime."""
    highest = max(v.priority for v in victims)
    return min(v.pod.status.start_time or _NOW for v in victims if v.priority == highest)
