"""Extenders: HTTP webhooks or Python callables that reject nodes, score them, or bind pods.

An extender receives the pod and the nodes as JSON (`ExtenderArgs`). It answers with the remaining nodes and the
reasons for the others, or with scores from 0 to 10, which are scaled to 0..100 and weighted. It is asked about the
nodes that pass the Filter plugins.

Source: pkg/scheduler/extender.go, k8s.io/kube-scheduler/extender/v1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kitlib.api.boundary import guarded
from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import pod_requests
from kitlib.api.serialize import to_dict
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.scoring import ScoreOutcome
from kitlib.scheduler.framework.status import Code, Verdicts

MAX_EXTENDER_PRIORITY = 10
Call = Callable[[str, dict[str, Any]], Any]
"""A function (verb, arguments as JSON data) -> the answer as JSON data."""


class ExtenderError(KitError):
    """An extender that cannot be reached, or that answers with an error."""


@dataclass(frozen=True)
class FilterAnswer:
    """An extender's answer.

    Attributes:
        nodes: the names of the remaining nodes.
        failed: node -> reason of a rejection that preemption may resolve.
        unresolvable: node -> reason of a rejection that preemption cannot resolve.
    """

    nodes: list[str]
    failed: dict[str, str] = field(default_factory=dict)
    unresolvable: dict[str, str] = field(default_factory=dict)


@dataclass
class Extender:
    """One extender.

    Attributes:
        url: the webhook's URL; "" if `call` is given.
        call: a Python callable instead of a webhook.
        filter_verb, prioritize_verb, preempt_verb, bind_verb: the last part of the URL; "" = not supported.
        weight: the factor of its scores.
        ignorable: whether the pod is scheduled although the extender fails.
        node_cache_capable: whether the extender knows the nodes, so that only their names are sent.
        managed_resources: the extender is asked only about pods that request one of these resources; () = all pods.
        timeout: the longest wait for an answer, in seconds.
    """

    url: str = ""
    call: Call | None = None
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 1
    ignorable: bool = False
    node_cache_capable: bool = False
    managed_resources: Sequence[str] = ()
    timeout: float = 5.0

    @classmethod
    @guarded("extender")
    def from_configuration(cls, data: Mapping[str, Any]) -> Extender:
        """Return the extender of one entry of a KubeSchedulerConfiguration's `extenders`.

        Raises:
            KitError: the URL is missing, or an extender that prioritizes has no positive weight.
        """
        prioritizes = data.get("prioritizeVerb", "")
        weight = int(data.get("weight", 1 if not prioritizes else 0))
        if prioritizes and weight <= 0:
            raise KitError(f"extenders.weight: Invalid value: {weight}: must have a positive weight applied to it")
        if not data.get("urlPrefix"):
            raise KitError("extenders.urlPrefix: Required value")
        return cls(
            url=data["urlPrefix"],
            filter_verb=data.get("filterVerb", ""),
            prioritize_verb=prioritizes,
            preempt_verb=data.get("preemptVerb", ""),
            bind_verb=data.get("bindVerb", ""),
            weight=weight,
            ignorable=bool(data.get("ignorable", False)),
            node_cache_capable=bool(data.get("nodeCacheCapable", False)),
            managed_resources=tuple(one["name"] for one in data.get("managedResources") or ()),
        )

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender manages a resource that the pod requests."""
        return not self.managed_resources or any(name in self.managed_resources for name in pod_requests(pod))

    def filter(self, pod: Pod, nodes: Sequence[Node]) -> FilterAnswer:
        """Ask the extender which of the nodes remain.

        Raises:
            ExtenderError: the extender cannot be reached, or answers with an error.
        """
        if not self.filter_verb:
            return FilterAnswer([node.name for node in nodes])
        answer = self._ask(self.filter_verb, self._arguments(pod, nodes)) or {}
        if answer.get("error"):
            raise ExtenderError(f"extender {self.name}: {answer['error']}")
        if answer.get("nodenames") is not None:
            left = list(answer["nodenames"])
        elif answer.get("nodes") is not None:
            left = [item["metadata"]["name"] for item in answer["nodes"].get("items") or ()]
        else:
            left = []
        known = {node.name for node in nodes}
        strange = [name for name in left if name not in known]
        if strange:
            raise ExtenderError(
                f'extender "{self.name}" claims a filtered node "{strange[0]}" which is not found in the input'
            )
        return FilterAnswer(
            left, dict(answer.get("failedNodes") or {}), dict(answer.get("failedAndUnresolvableNodes") or {})
        )

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Ask the extender for scores and return node -> score, scaled to 0..100 and weighted.

        Raises:
            ExtenderError: the extender cannot be reached, or answers with an error.
        """
        if not self.prioritize_verb:
            return {}
        answer = self._ask(self.prioritize_verb, self._arguments(pod, nodes)) or []
        factor = self.weight * 100 // MAX_EXTENDER_PRIORITY
        return {one["host"]: int(one["score"]) * factor for one in answer}

    @property
    def name(self) -> str:
        """The name in messages: the URL, or the callable's name."""
        return self.url or getattr(self.call, "__name__", "callable")

    def _arguments(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, Any]:
        arguments: dict[str, Any] = {"pod": to_dict(pod)}
        if self.node_cache_capable:
            return arguments | {"nodenames": [node.name for node in nodes]}
        return arguments | {"nodes": {"items": [to_dict(node) for node in nodes]}}

    def _ask(self, verb: str, arguments: dict[str, Any]) -> Any:
        if self.call is not None:
            try:
                return self.call(verb, arguments)
            except Exception as error:
                raise ExtenderError(f"extender {self.name}: {type(error).__name__}: {error}") from error
        import urllib.request

        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/{verb}",
            data=json.dumps(arguments).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            raise ExtenderError(f"extender {self.name}/{verb}: {error}") from error


EXTENDERS = "extenders"
"""The key of the first extender's answers among those of the plugins; the second one's is `extenders-2`."""


def find_nodes_that_pass_extenders(
    extenders: Sequence[Extender], info: PodInfo, context: Context, outcome: FilterOutcome
) -> None:
    """Let extenders reject nodes that pass the plugins. Source: findNodesThatPassExtenders.

    Raises:
        ExtenderError: an extender fails that is not ignorable.
    """
    for number, extender in enumerate(extenders):
        rows = outcome.feasible
        if not len(rows) or not extender.is_interested(info.pod):
            continue
        try:
            answer = extender.filter(info.pod, [context.snapshot.nodes[row] for row in rows])
        except ExtenderError:
            if extender.ignorable:
                continue
            raise
        verdicts, left = Verdicts.passing(len(rows)), set(answer.nodes)
        for place, row in enumerate(rows):
            name = context.snapshot.names[row]
            if name not in left:
                code = Code.UnschedulableAndUnresolvable if name in answer.unresolvable else Code.Unschedulable
                reason = answer.unresolvable.get(name) or answer.failed.get(name) or "rejected by an extender"
                verdicts.reject_row(place, code, (reason,))
        plugin = EXTENDERS if not number else f"{EXTENDERS}-{number + 1}"
        outcome.plugins.append(plugin)
        outcome.verdicts[plugin] = rows, verdicts
        outcome.codes[rows] = verdicts.codes
        outcome.rejected_by[rows[verdicts.codes != 0]] = len(outcome.plugins) - 1


def add_extender_scores(extenders: Sequence[Extender], info: PodInfo, context: Context, outcome: ScoreOutcome) -> None:
    """Add the extenders' scores to the total; an extender that fails adds nothing. Source: prioritizeNodes."""
    for number, extender in enumerate(extenders):
        if not extender.prioritize_verb or not extender.is_interested(info.pod):
            continue
        try:
            found = extender.prioritize(info.pod, [context.snapshot.nodes[row] for row in outcome.rows])
        except ExtenderError:
            continue
        column = np.array([found.get(context.snapshot.names[row], 0) for row in outcome.rows], np.int64)
        name = EXTENDERS if not number else f"{EXTENDERS}-{number + 1}"
        outcome.raw[name] = outcome.normalized[name] = column
        outcome.weights[name] = 1
        outcome.total = outcome.total + column
