"""TaintToleration: untolerated NoSchedule and NoExecute taints reject a node, PreferNoSchedule lowers its score.

Source: plugins/tainttoleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kitlib.api.core import Node, Pod, Taint, Toleration
from kitlib.api.release import Release
from kitlib.api.selectors import repels_scheduling, tolerates_all, untolerated_taint
from kitlib.scheduler.framework.events import NODE, UNSCHEDULED_POD, ActionType, ClusterEvent, Registered, is_itself
from kitlib.scheduler.framework.plugin import Affected, Context, Plugin, Reads, Scores, default_normalize
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts


class TaintToleration(Plugin):
    """The plugin that judges each distinct list of taints once, for all nodes that have it."""

    name = "TaintToleration"
    reads = Reads.ALL_BUT_AMOUNTS
    depends_on = "node"
    missing_score_state = 'failed to read "PreScoreTaintToleration" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT), partial(_taint_gone, context.release)),
            (ClusterEvent(UNSCHEDULED_POD, ActionType.UPDATE_POD_TOLERATION), is_itself),
        ]

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        codes, lists = context.snapshot.taint_groups()
        mine = codes[rows]
        for number, taints in enumerate(lists):
            repelling = untolerated_taint(taints, info.pod.spec.tolerations, repels_scheduling, context.release)
            if repelling is not None:
                reason = context.release.text("untolerated_taint").format(key=repelling.key, value=repelling.value)
                found.reject(mine == number, Code.UnschedulableAndUnresolvable, reason)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        return [t for t in info.pod.spec.tolerations if t.effect in ("", "PreferNoSchedule")]

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        codes, lists = context.snapshot.taint_groups()
        counts = np.array([_unwelcome(taints, state, context.release) for taints in lists], np.int64)
        return counts[codes[rows]]

    def normalize(self, state: Any, scores: Scores) -> Scores:
        return default_normalize(scores, reverse=True)


def _unwelcome(taints: tuple[Taint, ...], tolerations: list[Toleration], release: Release) -> int:
    """Return the number of untolerated PreferNoSchedule taints. Source: countIntolerableTaintsPreferNoSchedule."""
    return sum(
        taint.effect == "PreferNoSchedule" and not tolerates_all(tolerations, taint, release) for taint in taints
    )


def _taint_gone(release: Release, pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the pod tolerates the node's taints, and the node is new or had others before.

    Source: tainttoleration isSchedulableAfterNodeChange.
    """

    def repelled(node: Node) -> bool:
        return untolerated_taint(node.spec.taints, pod.spec.tolerations, repels_scheduling, release) is not None

    return not repelled(new) and (old is None or repelled(old))
