"""The base of plugins that are written for one node at a time; the framework asks them about every node.

Source: kube-scheduler framework interface.go (FilterPlugin, ScorePlugin, PostFilterPlugin).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, Context, FailedCycle, Plugin, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import Candidate, PostFilterResult
from kitlib.scheduler.framework.preemption import importance, pick_one_node_for_preemption
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import Code, Rows, Verdicts


class NodePlugin(Plugin):
    """A plugin that is written for one node at a time.

    Override `filter_node`, `score_node` or `victims_on_node`; the other extension points are those of `Plugin`.

    class OnlySSD(NodePlugin):
        name = "OnlySSD"
        def filter_node(self, pod, node, pods):
            return None if node.metadata.labels.get("disk") == "ssd" else "node(s) without ssd"
    """

    def filter_node(self, pod: Pod, node: Node, pods: list[Pod]) -> str | None:
        """Return why the pod cannot run on the node; None = it can."""
        return None

    def score_node(self, pod: Pod, node: Node, pods: list[Pod]) -> int:
        """Return the node's score, 0 to 100."""
        return 0

    def victims_on_node(self, pod: Pod, node: Node, pods: list[Pod]) -> list[Pod] | None:
        """Return the pods that have to leave the node so that the pod fits; None = preemption does not help there."""
        return None

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        candidates: dict[str, Candidate] = {}
        outcome = cycle.filters
        for row in outcome.rows[outcome.codes[outcome.rows] == Code.Unschedulable].tolist():
            node, pods = _node(context.snapshot, row)
            leaving = self.victims_on_node(info.pod, node, pods)
            if leaving:
                wanted = {id(pod) for pod in leaving}
                victims = tuple(one for one in context.snapshot.pods[row].values() if id(one.pod) in wanted)
                candidates[node.name] = Candidate(row, node.name, tuple(sorted(victims, key=importance)), 0)
        if not candidates:
            return PostFilterResult(Code.Unschedulable)
        return PostFilterResult(Code.Success, "", candidates, pick_one_node_for_preemption(list(candidates.values())))

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            reason = self.filter_node(info.pod, *_node(context.snapshot, int(row)))
            if reason is not None:
                found.reject_row(place, Code.Unschedulable, (reason,))
        return found

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        made = np.array([self.score_node(info.pod, *_node(context.snapshot, int(row))) for row in rows], np.int64)
        bad = made[(made < 0) | (made > MAX_NODE_SCORE)]
        if len(bad):
            raise KitError(
                f"plugin {self.name!r} returns an invalid score {bad[0]}, "
                f"it should in the range of [0, {MAX_NODE_SCORE}]"
            )
        return made

    def takes_part(self, point: str) -> bool:
        own = {"filter": "filter_node", "score": "score_node", "post_filter": "victims_on_node"}.get(point)
        if own is None:
            return super().takes_part(point)
        return getattr(type(self), own) is not getattr(NodePlugin, own)


def _node(snapshot: Snapshot, row: int) -> tuple[Node, list[Pod]]:
    return snapshot.nodes[row], [info.pod for info in snapshot.pods[row].values()]
