"""DefaultPreemption: the PostFilter plugin that makes room by removing less important pods.

The search itself is `framework/preemption.py`; what stands here are the plugin's arguments, and a shorter way to the
same victims where nothing but resources is in play.

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
from kitlib.scheduler.framework.status import Code, Status
from kitlib.scheduler.plugins.node_resources_fit import TOO_MANY_PODS, NodeResourcesFit

MIN_PERCENTAGE, MIN_ABSOLUTE = 10, 100


class DefaultPreemption(Plugin):
    """Makes room for a pod that fits nowhere by removing less important ones.

    Args:
        arguments: minCandidateNodesPercentage (0 to 100) and minCandidateNodesAbsolute: how many candidates are enough.

    Raises:
        KitError: for arguments out of range.
    """

    name = "DefaultPreemption"
    needs_verdicts = False

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return []

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        given = arguments or {}
        if given.get("minCandidateNodesPercentage") == given.get("minCandidateNodesAbsolute") == 0:
            # one sentence in place of the two that kube-scheduler has for it, one a field
            raise KitError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero")
        super().__init__(arguments)
        self.percentage = int(self.arguments.get("minCandidateNodesPercentage", MIN_PERCENTAGE))
        self.absolute = int(self.arguments.get("minCandidateNodesAbsolute", MIN_ABSOLUTE))

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        """Source: DefaultPreemption.PostFilter."""
        # loaded with the first pod that fits nowhere
        from kitlib.scheduler.framework.candidate_search import CandidateSearch
        from kitlib.scheduler.framework.preemption import preempt

        enough = self.calculate_num_candidates(len(context.snapshot))
        wanted = requests_that_matter(cycle)
        if cycle.nominated or wanted is None:
            return preempt(cycle, info, context, enough)
        # an old release's reason names the pod
        named = info.pod.name if "{pod}" in context.release.text("no_victims") else ""
        key = (self, tuple(wanted.items()), info.priority, named)
        known = context.snapshot.remembered(key)

        def select(row: int) -> Candidate | Status:
            found: Candidate | Status | None = known.get(row)
            if found is None:
                found = known[row] = victims_by_requests(info, wanted, context, row)
            return found

        search: CandidateSearch = context.snapshot.memo(key, CandidateSearch)
        return preempt(cycle, info, context, enough, select, search)

    def calculate_num_candidates(self, size: int) -> int:
        """How many candidates a cluster of `size` nodes looks for. Source: calculateNumCandidates."""
        return min(max(size * self.percentage // 100, self.absolute), size)


def requests_that_matter(cycle: FailedCycle) -> Amounts | None:
    """What NodeResourcesFit compares with the nodes, if no other plugin looks at more than the Node object.

    Then victims follow from sums of requests; None = they do not.
    """
    asked = list(filters(cycle.handle, cycle.filters))
    # a node that NodeResourcesFit rejected has passed the plugins before it, but those behind it were not asked yet
    alone = all(one.depends_on == "node" for one in asked[:-1]) and asked[-1:] == [
        one for one in asked if one.name == NodeResourcesFit.name
    ]
    state = cycle.filters.states.get(NodeResourcesFit.name)
    if not alone or cycle.filters.prefilter_node_names is not None or not isinstance(state, dict):
        return None
    return state if any(one.name == NodeResourcesFit.name for one in asked) else None


def victims_by_requests(info: PodInfo, wanted: Amounts, context: Context, row: int) -> Candidate | Status:
    """The victims on a node where only resources can be short: as `select_victims_on_node` finds them, from sums.

    Args:
        info: the pod.
        wanted: its requests, as NodeResourcesFit compares them.
        context: the cluster.
        row: the node.

    Source: SelectVictimsOnNode.
    """
    from kitlib.scheduler.framework.preemption import filter_pods_with_pdb_violation, importance, in_order

    table = context.snapshot
    lower = [other for other in table.pods[row].values() if other.priority < info.priority]
    if not lower:
        reason = context.release.text("no_victims").format(node=table.names[row], pod=info.pod.name)
        return Status(Code.UnschedulableAndUnresolvable, (reason,))
    left = {
        name: int(table.column(name, table.allocatable)[row] - table.column(name, table.requested)[row]) - amount
        for name, amount in wanted.items()
    }
    places = int(table.allowed_pods[row] - table.pod_count[row]) - 1 + len(lower)
    for other in lower:
        for name in wanted:
            left[name] += other.requests.get(name, 0)
    lacking = ((TOO_MANY_PODS,) if places < 0 else ()) + tuple(f"Insufficient {n}" for n in left if left[n] < 0)
    if lacking:
        return Status(Code.Unschedulable, lacking, "NodeResourcesFit")
    violating, others = filter_pods_with_pdb_violation(sorted(lower, key=importance), context.budgets)
    victims: list[PodInfo] = []
    violations = 0
    for group, violates in ((violating, True), (others, False)):
        for other in group:
            if places > 0 and all(other.requests.get(name, 0) <= left[name] for name in wanted):
                places -= 1
                for name in wanted:
                    left[name] -= other.requests.get(name, 0)
            else:
                victims.append(other)
                violations += violates
    return Candidate(row, table.names[row], in_order(victims, context), violations)
