"""DefaultPreemption: the PostFilter plugin that makes room by removing pods of lower priority.

The search is in `framework/preemption.py`. This module has the plugin's arguments, and a dry run that calls no plugins
if only resources can be insufficient.

Source: plugins/defaultpreemption; apis/config/validation ValidateDefaultPreemptionArgs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.api.errors import KitError
from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.filtering import filters
from kitlib.scheduler.framework.plugin import Context, FailedCycle, Plugin
from kitlib.scheduler.framework.pod_info import Amounts, PodInfo
from kitlib.scheduler.framework.post_filter import Candidate, PostFilterResult
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.plugins.node_resources_fit import TOO_MANY_PODS, NodeResourcesFit

MIN_PERCENTAGE, MIN_ABSOLUTE = 10, 100


class DefaultPreemption(Plugin):
    """The plugin that makes room for a pod that fits no node by removing pods of lower priority.

    Args:
        arguments: minCandidateNodesPercentage (0 to 100) and minCandidateNodesAbsolute, the numbers of candidates that
            are enough.

    Raises:
        KitError: an argument is out of range.
    """

    name = "DefaultPreemption"
    needs_verdicts = False

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return []

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        given = arguments or {}
        if given.get("minCandidateNodesPercentage") == given.get("minCandidateNodesAbsolute") == 0:
            # kube-scheduler has two messages for this, one for each field
            raise KitError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero")
        super().__init__(arguments)
        self.percentage = int(self.arguments.get("minCandidateNodesPercentage", MIN_PERCENTAGE))
        self.absolute = int(self.arguments.get("minCandidateNodesAbsolute", MIN_ABSOLUTE))

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        """Look for victims, with a dry run on sums of requests if no filter reads more.

        Source: DefaultPreemption.PostFilter.
        """
        # loaded with the first pod that fits nowhere
        from kitlib.scheduler.framework.candidate_search import CandidateSearch
        from kitlib.scheduler.framework.preemption import preempt, select_victims_on_node

        enough = self.calculate_num_candidates(len(context.snapshot))
        wanted = requests_that_matter(cycle)
        if cycle.nominated or wanted is None:
            return preempt(cycle, info, context, enough)
        # An older release's reason contains the pod's name, so that pods cannot share it there. Victims follow from the
        # requests and the priority; `remembered` drops rows whose pods have changed.
        named = info.pod.name if "{pod}" in context.release.text("no_victims") else ""
        key = (self, tuple(wanted.items()), info.priority, named)
        known = context.snapshot.remembered(key)

        def select(row: int) -> Candidate | Status:
            found: Candidate | Status | None = known.get(row)
            if found is None:
                found = known[row] = select_victims_on_node(info, context, row, RequestsDryRun(wanted, context, row))
            return found

        search: CandidateSearch = context.snapshot.memo(key, CandidateSearch)
        return preempt(cycle, info, context, enough, select, search)

    def calculate_num_candidates(self, size: int) -> int:
        """Return the number of candidates that is enough with `size` nodes. Source: calculateNumCandidates."""
        return min(max(size * self.percentage // 100, self.absolute), size)


def requests_that_matter(cycle: FailedCycle) -> Amounts | None:
    """Return the amounts that NodeResourcesFit compares, if no other filter reads more than the Node object.

    Victims then follow from sums of requests; None = they do not.
    """
    asked = list(filters(cycle.handle, cycle.filters))
    # NodeResourcesFit must be the last filter: a node that it rejected has not been seen by the filters after it
    alone = all(plugin.depends_on == "node" for plugin in asked[:-1]) and asked[-1:] == [
        plugin for plugin in asked if plugin.name == NodeResourcesFit.name
    ]
    state = cycle.filters.states.get(NodeResourcesFit.name)
    if not alone or cycle.filters.prefilter_node_names is not None or not isinstance(state, dict):
        return None
    return state if any(plugin.name == NodeResourcesFit.name for plugin in asked) else None


class RequestsDryRun:
    """A dry run on a node on which only resources can be insufficient: NodeResourcesFit's comparison with what is left.

    It is correct if `requests_that_matter` is not None: every other Filter plugin reads the Node object alone, so that
    its answers do not depend on pods, and NodeResourcesFit's answer follows from sums of requests, which this class
    keeps instead of changing the snapshot.

    Args:
        wanted: the preempting pod's requests, as NodeResourcesFit compares them.
        context: the cluster.
        row: the node.
    """

    def __init__(self, wanted: Amounts, context: Context, row: int) -> None:
        table = context.snapshot
        # pods that may still be added, and amounts that are left, once the preempting pod is on the node
        self._places = int(table.allowed_pods[row] - table.pod_count[row]) - 1
        self._left = {
            name: int(table.column(name, table.allocatable)[row] - table.column(name, table.requested)[row]) - amount
            for name, amount in wanted.items()
        }

    def remove_pods(self, pods: Sequence[PodInfo]) -> Status:
        left = self._left
        self._places += len(pods)
        for other in pods:
            for name in left:
                left[name] += other.requests.get(name, 0)
        lacking = tuple(f"Insufficient {name}" for name in left if left[name] < 0)
        if self._places < 0:
            lacking = (TOO_MANY_PODS, *lacking)
        return Status(Code.Unschedulable, lacking, NodeResourcesFit.name) if lacking else SUCCESS

    def reprieve_pod(self, pod: PodInfo) -> bool:
        left, requests = self._left, pod.requests
        if self._places <= 0 or any(requests.get(name, 0) > left[name] for name in left):
            return False
        self._places -= 1
        for name in left:
            left[name] -= requests.get(name, 0)
        return True
