"""NodeDeclaredFeatures: a pod that needs a feature runs only on nodes that declare it.

Source: plugins/nodedeclaredfeatures; KEP-5328.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kitlib.api.core import Pod
from kitlib.api.node_declared_features import missing, required_to_schedule
from kitlib.api.release import Release
from kitlib.scheduler.framework.events import NODE, POD, ActionType, ClusterEvent, Registered, is_itself
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, Plugin, PreFilterResult, Reads
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts

UNSATISFIED = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(Plugin):
    """The plugin that compares the features that a pod needs with the nodes' `status.declaredFeatures`."""

    name = "NodeDeclaredFeatures"
    feature_gate = "NodeDeclaredFeatures"
    reads = Reads.ALL_BUT_AMOUNTS
    depends_on = "node"
    missing_state = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        if not context.release.enabled("NodeDeclaredFeatures"):
            return ()
        return [
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE), _declares_otherwise),
            (ClusterEvent(POD, ActionType.UPDATE), partial(_needs_otherwise, context.release)),
        ]

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        return PreFilterResult(required_to_schedule(info.pod.spec, context.release) or SKIP)

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        lacking: dict[tuple[str, ...], bool] = {}  # few lists serve many nodes
        mask = np.zeros(len(rows), np.bool_)
        for place, row in enumerate(rows):
            declared = tuple(context.snapshot.nodes[row].status.declared_features)
            if declared not in lacking:
                lacking[declared] = bool(missing(state, declared, context.release))
            mask[place] = lacking[declared]
        found.reject(mask, Code.UnschedulableAndUnresolvable, UNSATISFIED)
        return found


def _declares_otherwise(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the node is new or its declared features have changed. Source: isSchedulableAfterNodeChange."""
    return old is None or old.status.declared_features != new.status.declared_features


def _needs_otherwise(release: Release, pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the pod itself needs other features than before. Source: isSchedulableAfterPodUpdate."""
    if not is_itself(pod, old, new) or not isinstance(old, Pod):
        return False
    return required_to_schedule(old.spec, release) != required_to_schedule(new.spec, release)
