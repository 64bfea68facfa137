"""NodeResourcesFit: the comparison of pods' requests with nodes' free amounts.

Source: plugins/noderesources (fit.go, resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import pod_requests
from kitlib.scheduler.framework.counts import Column
from kitlib.scheduler.framework.events import NODE, POD, ActionType, ClusterEvent, Registered, uid_of
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, Affected, Context, Plugin, PreFilterResult, Reads, Scores
from kitlib.scheduler.framework.pod_info import Amounts, PodInfo, amounts
from kitlib.scheduler.framework.status import Code, Rows, Verdicts

TOO_MANY_PODS = "Too many pods"
SIDECARS_DISABLED = "Pod has a restartable init container and the SidecarContainers feature is disabled"
NATIVE = ("cpu", "memory", "ephemeral-storage")
EXACT = 2**46
"""Amounts below this are divided as floating-point numbers, which is several times as fast and exact: a quotient of at
most 100 that is not a whole number differs from one by more than the rounding error."""
DEFAULT_RESOURCES = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})


class NodeResourcesFit(Plugin):
    """The plugin that filters nodes by free amounts and scores them by a strategy, LeastAllocated by default."""

    name = "NodeResourcesFit"
    reads = Reads.AMOUNTS
    depends_on = "requests"
    missing_state = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.AMOUNTS

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN), _room_made),
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE), _node_has_room),
        ]

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        strategy = self.arguments.get("scoringStrategy") or {}
        self.strategy = strategy.get("type", "LeastAllocated")
        self.resources = weights_of(strategy.get("resources") or DEFAULT_RESOURCES)
        shape = (strategy.get("requestedToCapacityRatio") or {}).get("shape") or []
        self.shape = [(int(point["utilization"]), int(point["score"]) * 10) for point in shape]
        self.ignored = set(self.arguments.get("ignoredResources") or ())
        self.ignored_groups = set(self.arguments.get("ignoredResourceGroups") or ())

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        if self._refuses_sidecars(info, context):
            return PreFilterResult(SIDECARS_DISABLED)
        wanted = {name: amount for name, amount in info.requests.items() if amount > 0 and not self._is_ignored(name)}
        ordered = {name: wanted[name] for name in NATIVE if name in wanted}
        if wanted and not context.release.enabled("KitFitChecksOnlyRequested"):
            ordered = {name: wanted.get(name, 0) for name in NATIVE}
        return PreFilterResult(ordered | {name: wanted[name] for name in sorted(wanted) if name not in ordered})

    def _refuses_sidecars(self, info: PodInfo, context: Context) -> bool:
        """Return whether the release knows sidecars, but their feature gate is off.

        A kubelet without the feature would run a sidecar as an ordinary init container.

        Source: Fit.Filter, hasRestartableInitContainer (1.28 to 1.32).
        """
        rules = context.release
        if not rules.knows("SidecarContainers") or rules.enabled("SidecarContainers"):
            return False
        return any(container.restart_policy == "Always" for container in info.pod.spec.init_containers)

    def _is_ignored(self, name: str) -> bool:
        return "/" in name and (name in self.ignored or name.partition("/")[0] in self.ignored_groups)

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        if state is SIDECARS_DISABLED:
            found = Verdicts.passing(len(rows))
            found.reject(np.ones(len(rows), np.bool_), Code.UnschedulableAndUnresolvable, SIDECARS_DISABLED)
            return found
        table = context.snapshot
        delegated: tuple[str, ...] = ()
        if context.device_classes:
            from kitlib.scheduler.framework.dra_manager import backed_resources

            delegated = tuple(backed_resources(state, context.device_classes, context.release))

        def short(some: Rows) -> tuple[NDArray[np.bool_]]:
            return (self.lacks(state, delegated, context, some),)

        bad = table.kept((self, "short", info.signature, delegated), short)[0]
        bad = table.at(rows, bad)
        if not bad.any():
            return Verdicts.passing(len(rows))
        places = np.flatnonzero(bad)
        return self.judge(state, delegated, context, rows, places, state)

    @staticmethod
    def lacks(state: Amounts, delegated: Sequence[str], context: Context, some: Rows) -> NDArray[np.bool_]:
        """Return a mask of the rows in which some resource is insufficient."""
        table = context.snapshot
        found = table.at(some, table.pod_count) >= table.at(some, table.allowed_pods)
        for name, amount in state.items():
            has = table.at(some, table.column(name, table.allocatable))
            lacks = has - table.at(some, table.column(name, table.requested)) < amount
            found |= lacks & (has > 0) if name in delegated else lacks
        return found

    def judge(
        self,
        state: Amounts,
        delegated: Sequence[str],
        context: Context,
        every: Rows,
        places: Rows,
        whole: Amounts,
    ) -> Verdicts:
        """Return the verdicts on rows of which some are known to be rejections, with the insufficient resources.

        A resource that a device class serves is ignored on nodes that do not offer it: DynamicResources checks it.
        Source: shouldDelegateResourceToDRA.

        Args:
            state: resource -> amount that must be free on a node.
            delegated: the resources that device classes serve.
            context: the cluster.
            every: the rows.
            places: the indices in `every` of the rejected rows.
            whole: resource -> amount that a node must have in total; on a smaller node preemption does not help.
        """
        table, rows = context.snapshot, every[places]
        full = table.pod_count[rows] + 1 > table.allowed_pods[rows]
        lacking: list[tuple[str, NDArray[np.bool_]]] = []
        never = np.zeros(len(rows), np.bool_)
        for name, amount in state.items():
            has = table.column(name, table.allocatable)[rows]
            short = amount > has - table.column(name, table.requested)[rows]
            short = short & (has > 0) if name in delegated else short
            if short.any():
                lacking.append((name, short))
                never |= whole[name] > has
        bad = np.ones(len(rows), np.bool_)
        found = Verdicts.passing(len(rows))
        # rows with the same reasons are rejected together: each reason is a bit of a number
        signature = full.astype(np.int64)
        for bit, (_, short) in enumerate(lacking, start=1):
            signature |= short.astype(np.int64) << bit
        resolvable = context.release.enabled("KitFitUnresolvable")
        for number in np.unique(signature[bad]):
            reasons: tuple[str, ...] = (TOO_MANY_PODS,) if number & 1 else ()
            reasons += tuple(f"Insufficient {name}" for bit, (name, _) in enumerate(lacking, 1) if number >> bit & 1)
            mask = bad & (signature == number)
            found.reject(mask & never if resolvable else mask & False, Code.UnschedulableAndUnresolvable, *reasons)
            found.reject(mask, Code.Unschedulable, *reasons)
        verdicts = Verdicts.passing(len(every))
        verdicts.codes[places], verdicts.which[places], verdicts.texts = found.codes, found.which, found.texts
        return verdicts

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        return {name: _non_zero_request(info, name) for name, _ in self.resources}

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        table, key = context.snapshot, (self, "score", info.signature)
        found: Scores = table.kept(key, lambda some: (self._score(state, context, some),))[0]
        return table.at(rows, found)

    def _score(self, state: Amounts, context: Context, rows: Rows) -> Scores:
        total, table = np.zeros(len(rows), np.int64), context.snapshot
        weights: Any = 0  # a number as long as all rows have the same
        for name, weight in self.resources:
            if name not in NATIVE and not state[name]:
                continue
            has = table.at(rows, table.column(name, table.allocatable))
            asked = table.at(rows, _non_zero_column(context, name)) + state[name]
            least, most = table.extent(name)
            one = self._one(asked, has, least, most)
            if self.strategy == "LeastAllocated" and least > 0:
                total += one if weight == 1 else one * weight
                weights = weights + weight
                continue
            there = has > 0
            # resources with a score of 0 do not count. Source: buildRequestedToCapacityRatioScorerFunction
            if self.strategy == "RequestedToCapacityRatio":
                counts = there & (one > 0)
            else:
                counts = there
            total += np.where(counts, one * weight, 0)
            weights = weights + np.where(counts, weight, 0)
        if self.strategy == "RequestedToCapacityRatio":  # rounded, as by math.Round; the other strategies truncate
            return np.where(weights > 0, np.floor(total / np.maximum(weights, 1) + 0.5), 0).astype(np.int64)
        if isinstance(weights, int):
            return total // max(weights, 1)
        return np.where(weights > 0, total // np.maximum(weights, 1), 0)

    def _one(self, asked: Column, has: Column, least: int, most: int) -> Column:
        """Return one resource's score, 0 to 100; `least` and `most` are its minimum and maximum among all nodes."""
        points: Column
        safe = has if least > 0 else np.maximum(has, 1)
        if self.strategy == "LeastAllocated":
            left = np.maximum(has - asked, 0)  # defaults for missing requests may add up to more than the node has
            if most < EXACT:
                points = (left * MAX_NODE_SCORE / safe).astype(np.int64)
            else:
                points = left * MAX_NODE_SCORE // safe
            return points
        if self.strategy == "MostAllocated":
            points = np.minimum(asked, has) * MAX_NODE_SCORE // safe
            return points
        used = np.where(asked > has, 100, asked * 100 // safe)
        from kitlib.scheduler.plugins.shape_score import broken_line

        return broken_line(self.shape, used)


def weights_of(resources: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    return [(resource["name"], int(resource.get("weight", 1) or 1)) for resource in resources]


def _non_zero_request(info: PodInfo, name: str) -> int:
    """Return the amount that the pod counts for in scoring. Source: calculatePodResourceRequest."""
    if name == "cpu":
        return info.scored[0]
    return info.scored[1] if name == "memory" else info.requests.get(name, 0)


def _non_zero_column(context: Context, name: str) -> Column:
    table = context.snapshot
    if name == "cpu":
        return table.non_zero_cpu
    return table.non_zero_memory if name == "memory" else table.column(name, table.requested)


def _room_made(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether a pod left a node or requests less of a resource that the pod needs, or the pod itself does.

    Source: noderesources isSchedulableAfterPodEvent.
    """
    other = new if new is not None else old
    if not isinstance(other, Pod):
        return True
    if new is None:
        return bool(other.spec.node_name) and pod.spec.node_name in ("", other.spec.node_name)
    if uid_of(other) == uid_of(pod):
        return True
    if not other.spec.node_name or not isinstance(old, Pod):
        return False
    if pod.spec.node_name and pod.spec.node_name != other.spec.node_name:
        return False  # a resize needs room on its own node
    before, after = pod_requests(old, use_status=True), pod_requests(other, use_status=True)
    wanted = pod_requests(pod)
    return any(
        name in before and (name not in after or after[name] < before[name])
        for name, amount in wanted.items()
        if not amount.is_zero()
    )


def _node_has_room(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the node could hold the pod if it were empty, and offers more than before.

    Source: isSchedulableAfterNodeChange.
    """
    if not isinstance(new, Node):
        return True
    if pod.spec.node_name and pod.spec.node_name != new.name:
        return False
    wanted, has = amounts(pod_requests(pod)), amounts(new.status.allocatable)
    if any(has.get(name, 0) < amount for name, amount in wanted.items() if amount):
        return False
    if not isinstance(old, Node):
        return True
    had = amounts(old.status.allocatable)
    return any(had.get(name, 0) < has.get(name, 0) for name in {*wanted, "pods"})
