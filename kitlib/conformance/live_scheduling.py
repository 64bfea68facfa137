"""Decisions of a live kube-scheduler, each repeated with the pods' state that a watch had shown.

`bind`: the node must be one of the best, or be nominated and feasible. `fail`: the message must be equal, and the
nominated node must be a candidate of equal cost.

Binding and deletion are asynchronous in the live scheduler. Within `ASYNCHRONOUS` lines of a preemption, or right
after a binding, it may have decided on a slightly older state. Such a decision is repeated with the previous states,
and
with the bindings that appear right after it; it passes if it follows from one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kitlib.api.core import Namespace, Node, Pod, Service
from kitlib.api.defaults import set_defaults
from kitlib.api.pod_strategy import prepare_for_create
from kitlib.api.policy import PodDisruptionBudget, PriorityClass
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.scheduler import Scheduler

FILE = "live_scheduling"
RELEASE = "1.36"
INPUTS = frozenset({"id", "nodes", "objects", "pods", "refused"})
ASYNCHRONOUS = 14
"""Number of log lines within which the deletions of a preemption may be incomplete."""
AHEAD = 3
"""Number of lines after a decision that may hold bindings which the scheduler had already assumed."""
GATED = "SchedulingGated"
_KINDS: dict[str, Any] = {"Namespace": Namespace, "Service": Service, "PodDisruptionBudget": PodDisruptionBudget}


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Replay the log."""
    replay = _Replay(case)
    return {"log": [replay.entry(place, line) for place, line in enumerate(case["log"])]}


class _State:
    """The bindings and nominations of pods at one moment, each as node by pod key."""

    def __init__(self, bound: dict[str, str], nominated: dict[str, str]) -> None:
        self.bound, self.nominated = dict(bound), dict(nominated)


class _Replay:
    """One cluster and its log.

    Args:
        case: the case as read from the file.
    """

    def __init__(self, case: dict[str, Any]) -> None:
        self.nodes: list[Node] = [from_dict(one, Node) for one in case["nodes"]]
        made = [from_dict(one, _KINDS[one["kind"]]) for one in case["objects"] if one["kind"] in _KINDS]
        self.objects = {kind: [one for one in made if isinstance(one, kind)] for kind in _KINDS.values()}
        classes = [from_dict(one, PriorityClass) for one in case["objects"] if one["kind"] == "PriorityClass"]
        self.priorities = {priority_class.name: priority_class for priority_class in classes}
        self.pods = {pod.key: pod for pod in map(self._stored, case["pods"])}
        self.log = case["log"]
        self.now = _State({}, {})
        self.before: list[_State] = []

    def _stored(self, data: dict[str, Any]) -> Pod:
        pod: Pod = prepare_for_create(set_defaults(from_dict(data, Pod)))
        pod.metadata.uid = pod.metadata.uid or pod.key
        found = self.priorities.get(pod.spec.priority_class_name)
        if found is not None:
            pod.spec.priority = found.value
            pod.spec.preemption_policy = pod.spec.preemption_policy or found.preemption_policy
        return pod

    def entry(self, place: int, line: list[Any]) -> list[Any]:
        """Return the log line that the kit's scheduler produces: the recorded line itself where the two agree."""
        action, key, *rest = line
        found = line
        if action == "bind":
            if not any(self._binds(state, key, rest[0]) for state in self._states(place)):
                found = ["bind", key, " or ".join(self._decide(self.now, key).best)]
        elif action == "fail" and not any(self._failed(state, line) == line for state in self._states(place)):
            found = self._failed(self.now, line)
        self._apply(line)
        return found

    def _apply(self, line: list[Any]) -> None:
        action, key, *rest = line
        if action in ("bind", "del") or (action == "fail" and rest[2]):
            self.before = [_State(self.now.bound, self.now.nominated), *self.before[: ASYNCHRONOUS - 1]]
        if action == "bind":
            self.now.bound[key] = rest[0]
            self.now.nominated.pop(key, None)
        elif action == "del":
            self.now.bound.pop(key, None)
            self.now.nominated.pop(key, None)
        elif action == "fail" and rest[2]:
            self.now.nominated[key] = rest[2]

    def _states(self, place: int) -> Iterator[_State]:
        """Yield the current state, recent states that the scheduler may have used, and one with assumed bindings."""
        yield self.now
        recent = self.log[max(0, place - ASYNCHRONOUS) : place]
        if any(line[0] == "del" or (line[0] == "fail" and line[4]) for line in recent):
            yield from self.before
        elif self.before:
            yield self.before[0]
        assumed = _State(self.now.bound, self.now.nominated)
        for line in self.log[place + 1 : place + 1 + AHEAD]:  # pods that the scheduler had placed, not yet bound
            if line[0] == "bind":
                assumed.bound[line[1]] = line[2]
        yield assumed

    def _decide(self, state: _State, key: str) -> Decision:
        standing, promised = [], []
        for other, node in state.bound.items():
            pod = deepcopy(self.pods[other])
            pod.spec.node_name = node
            standing.append(pod)
        for other, node in state.nominated.items():
            pod = deepcopy(self.pods[other])
            pod.status.nominated_node_name = node
            promised.append(pod)
        scheduler = Scheduler(
            self.nodes,
            [pod for pod in standing if pod.key != key],
            namespaces=self.objects[Namespace],
            services=self.objects[Service],
            budgets=self.objects[PodDisruptionBudget],
            nominated=[pod for pod in promised if pod.key != key],
        )
        asked = deepcopy(self.pods[key])
        asked.status.nominated_node_name = state.nominated.get(key, "")
        return scheduler.explain(asked)

    def _binds(self, state: _State, key: str, node: str) -> bool:
        decision = self._decide(state, key)
        return node in decision.best or (state.nominated.get(key) == node and node in decision.feasible)

    def _failed(self, state: _State, line: list[Any]) -> list[Any]:
        key, reason, nominated = line[1], line[3], line[4]
        if reason == GATED:
            gated = self._decide(state, key).gate is not None
            return line if gated else ["fail", key, "", "", None]
        decision = self._decide(state, key)
        best = decision.post_filter.best if decision.post_filter is not None else []
        mine = nominated if nominated in best else (best[0] if best else None)
        if not best and state.nominated.get(key) == nominated:
            mine = nominated  # a promise of an earlier cycle stays
        return ["fail", key, decision.message, "Unschedulable", mine]
