"""The scheduling cycle of a running pod whose resize is deferred: it makes room on the pod's own node only.

NodeName rejects all other nodes, NodeResourcesFit compares the increase of the pod's requests with the free amounts,
and DefaultPreemption looks for victims. The other default plugins are not asked. Permit refuses a pod whose resize
fits: the pod waits for the kubelet and is not bound again.

Source: NodeName.PreFilter, noderesources adjustDeltasToAccomodateCacheDiscrepancy and DeferredPodScheduling of 1.37;
KEP-5836.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kitlib.api.core import Pod
from kitlib.api.podresources import pod_requests
from kitlib.scheduler.decision import Decision, Given
from kitlib.scheduler.framework.binding import BindingProgress, reserve_and_permit
from kitlib.scheduler.framework.filtering import find_nodes_that_pass_filters
from kitlib.scheduler.framework.framework import Framework, run_post_filter_plugins
from kitlib.scheduler.framework.plugin import Context, Nominated, Plugin, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo, amounts
from kitlib.scheduler.framework.status import Rows, Verdicts
from kitlib.scheduler.plugins.deferred_pod_scheduling import DeferredPodScheduling
from kitlib.scheduler.plugins.node_name import NodeName
from kitlib.scheduler.plugins.node_resources_fit import NATIVE, NodeResourcesFit
from kitlib.scheduler.profile import REGISTRY


class _OwnNode(NodeName):
    """A filter that restricts the candidates to the pod's own node."""

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        return PreFilterResult(nodes=frozenset((info.pod.spec.node_name,)))


class _Growth(NodeResourcesFit):
    """A NodeResourcesFit that compares only the increase of the requests, since the pod already counts on its node."""

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        found = super().pre_filter(info, context)
        asked = amounts(pod_requests(info.pod, release=context.release))
        row = context.snapshot.index.get(info.pod.spec.node_name, -1)
        known = context.snapshot.pods[row].get(info.uid) if row >= 0 else None
        held = known.requests if known is not None else {}
        # not negative: a smaller request frees resources only once the kubelet has carried the resize out
        return PreFilterResult({name: max(0, asked.get(name, 0) - held.get(name, 0)) for name in found.state})

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        asked = amounts(pod_requests(info.pod, release=context.release))
        # whether victims can help depends on the whole request: the node must be able to hold it
        whole = {name: asked.get(name, 0) if name in NATIVE else amount for name, amount in state.items()}
        return self.judge(state, (), context, rows, np.flatnonzero(self.lacks(state, (), context, rows)), whole)


def _framework(profile: Framework) -> Framework:
    """Return a framework with the plugins for a deferred resize: four default ones and the user's own."""
    plugins: list[Plugin] = []
    for plugin in profile.plugins:
        if plugin.name == NodeName.name:
            plugins += [_OwnNode(plugin.arguments), DeferredPodScheduling()]
        elif plugin.name == NodeResourcesFit.name:
            plugins.append(_Growth(plugin.arguments))
        elif plugin.name == "DefaultPreemption" or plugin.name not in REGISTRY:
            plugins.append(plugin)
    return Framework(plugins, name=profile.name)


def explain(profile: Framework, pod: Pod, context: Context, nominated: Nominated) -> Decision:
    """Run one cycle for a pod with a deferred resize; nothing is changed, and no node is suggested.

    Args:
        profile: the pod's scheduling profile.
        pod: the running pod, bound to its node.
        context: the cluster.
        nominated: row -> pods that are nominated to run there.
    """
    framework, info, snapshot = _framework(profile), PodInfo(pod, context.release), context.snapshot
    outcome = find_nodes_that_pass_filters(framework, info, context, nominated)
    decision = Decision(pod, snapshot.names, context.release, answers=Given(outcome))
    if len(outcome.feasible):
        decision.binding = BindingProgress(info, snapshot.nodes[outcome.feasible[0]])
        reserve_and_permit(framework, decision.binding)
    else:
        decision.post_filter = run_post_filter_plugins(framework, info, context, outcome, nominated)
    return decision
