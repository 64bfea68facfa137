"""The scheduler: nodes and pods in, one Decision a pod out.

    scheduler = Scheduler(nodes, pods)
    decision = scheduler.schedule(pod)      # decides and, if the pod fits, counts it there
    decision = scheduler.explain(pod)       # decides only

Source: schedule_one.go.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Namespace, Node, Pod, ReplicationController, Service
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.cycle import add_extender_scores, ask_extenders, run_filters, run_scores
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.extender import Extender
from kitlib.scheduler.node_table import NodeTable
from kitlib.scheduler.plugin import Context
from kitlib.scheduler.pod_info import PodInfo
from kitlib.scheduler.preemption import Preemption, preempt
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.status import Code
from kitlib.scheduler.volumes import Volumes


class Scheduler:
    """One scheduler with its view of a cluster.

    Args:
        nodes: in the order in which equal ones are preferred when there is no seed.
        pods: that stand on nodes; others are ignored.
        release: whose behaviour is followed. profile: plugins and weights; None = the defaults.
        seed: of the choice between equal nodes; None takes the first by name.
        namespaces, services, replication_controllers, replica_sets, stateful_sets, budgets: what plugins look at.
        nominated: pods that preemption has promised a node (`status.nominatedNodeName`).
        volumes: storage objects, in any order. extenders: asked after the plugins.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        pods: Iterable[Pod] = (),
        *,
        release: Release | str | None = None,
        profile: Profile | None = None,
        seed: int | None = None,
        namespaces: Iterable[Namespace] | Mapping[str, Mapping[str, str]] = (),
        services: Sequence[Service] = (),
        replication_controllers: Sequence[ReplicationController] = (),
        replica_sets: Sequence[ReplicaSet] = (),
        stateful_sets: Sequence[StatefulSet] = (),
        budgets: Sequence[PodDisruptionBudget] = (),
        nominated: Iterable[Pod] = (),
        volumes: Volumes | Iterable[object] = (),
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.release = Release(release) if isinstance(release, str) else (release or Release.latest())
        self.profile = profile or Profile.default()
        self.table = NodeTable(nodes, self.release)
        self._random = random.Random(seed) if seed is not None else None
        labels = namespaces if isinstance(namespaces, Mapping) else {n.name: n.metadata.labels for n in namespaces}
        self.context = Context(
            self.table,
            self.release,
            labels,
            services,
            replication_controllers,
            replica_sets,
            stateful_sets,
            budgets,
            volumes if isinstance(volumes, Volumes) else Volumes.of(volumes),
        )
        self.extenders = list(extenders)
        self._pods: dict[str, PodInfo] = {}
        self._nominated: dict[int, list[PodInfo]] = {}
        for pod in pods:
            self.add_pod(pod)
        for pod in nominated:
            self.nominate(pod, pod.status.nominated_node_name)

    # ------------------------------------------------------------------------------------------------ the view

    def add_pod(self, pod: Pod) -> None:
        """A pod stands on its node."""
        info = self.table.add_pod(pod)
        if info is not None:
            self._pods[info.uid] = info

    def remove_pod(self, pod: Pod) -> None:
        """A pod is gone; nothing happens where it was not known."""
        info = self._pods.pop(pod.metadata.uid or pod.key, None)
        if info is not None:
            self.table.remove(info)

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Nodes were added, changed or removed."""
        self.table.set_nodes(nodes)
        self._pods = {info.uid: info for info in self.table.every_pod()}

    def nominate(self, pod: Pod, node: str) -> None:
        """A pod is promised a node."""
        row = self.table.index.get(node)
        if row is not None:
            self._nominated.setdefault(row, []).append(PodInfo(pod, self.release))

    # ------------------------------------------------------------------------------------------------ deciding

    def explain(self, pod: Pod) -> Decision:
        """One cycle for a pod; nothing is changed."""
        for plugin in self.profile.at("pre_enqueue"):
            if self._gated(plugin.name):
                continue
            status = plugin.pre_enqueue(pod)
            if not status.ok:
                return Decision(pod, self.table.names, self.release, gate=status)
        info = PodInfo(pod, self.release)
        outcome = run_filters(self.profile, info, self.context, self._nominated)
        decision = Decision(pod, self.table.names, self.release, filters=outcome)
        ask_extenders(self.extenders, info, self.context, outcome)
        rows = outcome.feasible
        if len(rows):
            decision.scores = run_scores(self.profile, info, self.context, rows)
            add_extender_scores(self.extenders, info, self.context, decision.scores)
            decision.chosen = self._pick(decision)
        else:
            self._post_filter(decision, info)
        return decision

    def _gated(self, plugin: str) -> bool:
        return plugin == "SchedulingGates" and not self.release.enabled("PodSchedulingReadiness")

    def _post_filter(self, decision: Decision, info: PodInfo) -> None:
        """PostFilter: dynamic resources have nothing to give back, then preemption. Source: RunPostFilterPlugins."""
        assert decision.filters is not None
        if not decision.filters.status.ok and not self.release.enabled("KitPostFilterAfterPreFilter"):
            return
        claims = self.release.enabled("DynamicResourceAllocation")
        if not decision.filters.status.ok and claims:
            # its PostFilter looks for a state that PreFilter, which stopped early, has not written
            decision.preemption = Preemption(Code.Error, "not found")
            return
        decision.pre_post_filter = "no new claims to deallocate" if claims else ""
        decision.preemption = preempt(self.profile, info, self.context, decision.filters, self._nominated)

    def _pick(self, decision: Decision) -> str:
        assert decision.scores is not None
        best = decision.scores.best
        if self._random is not None:
            return self.table.names[int(best[self._random.randrange(len(best))])]
        return self.table.names[int(best[self.table.name_order()[best].argmin()])]

    def schedule(self, pod: Pod) -> Decision:
        """One cycle; a pod that fits stands on its node afterwards (a copy of it: the caller's is not changed)."""
        decision = self.explain(pod)
        if decision.chosen:
            placed = deepcopy(pod)
            placed.spec.node_name = decision.chosen
            self.add_pod(placed)
        return decision
