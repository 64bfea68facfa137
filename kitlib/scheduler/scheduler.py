"""The scheduler: nodes and pods in, one Decision a pod out.

    scheduler = Scheduler(nodes, pods)
    decision = scheduler.schedule(pod)      # decides and, if the pod fits, counts it there
    decision = scheduler.explain(pod)       # decides only

Source: schedule_one.go.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Namespace, Node, Pod, ReplicationController, Service
from kitlib.api.errors import KitError
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.cycle import (
    FilterOutcome,
    add_extender_scores,
    find_nodes_that_pass_extenders,
    find_nodes_that_pass_filters,
    prioritize_nodes,
    take_sample,
)
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.extender import Extender
from kitlib.scheduler.framework.binding import Binding, bind, reserve_and_permit, unreserve
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.preemption import Preemption, preempt
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.framework.volumes import Volumes
from kitlib.scheduler.plugins.dynamicresources import plugin as dynamic_resources
from kitlib.scheduler.plugins.dynamicresources.claims import Claims
from kitlib.scheduler.profile import DEFAULT_SCHEDULER, Profile


class Scheduler:
    """One scheduler with its view of a cluster.

    Args:
        nodes: in the order in which equal ones are preferred when there is no seed.
        pods: that stand on nodes; others are ignored. What has been computed of a `PodInfo` is not computed again.
        release: whose behaviour is followed. profile: plugins and weights, or several by `schedulerName` (a pod that
            names none of them is refused); None = the defaults.
        seed: of the choice between equal nodes; None takes the first by name.
        namespaces, services, replication_controllers, replica_sets, stateful_sets, budgets: what plugins look at.
        nominated: pods that preemption has promised a node (`status.nominatedNodeName`).
        volumes: storage objects, in any order. extenders: asked after the plugins.
        claims: ResourceClaims, DeviceClasses and ResourceSlices, in any order.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        pods: Iterable[Pod | PodInfo] = (),
        *,
        release: Release | str | None = None,
        profile: Profile | Mapping[str, Profile] | None = None,
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
        claims: Claims | Iterable[object] = (),
    ) -> None:
        self.release = Release(release) if isinstance(release, str) else (release or Release.latest())
        one = profile if isinstance(profile, Profile) else None if profile else Profile.default()
        self.profiles = {one.name: one} if one else dict(profile)  # type: ignore[arg-type]
        self._only = one
        self._start = 0
        self._held: dict[str, tuple[Profile, Binding, Decision]] = {}
        self.snapshot = Snapshot(nodes, self.release)
        self._random = random.Random(seed) if seed is not None else None
        labels = namespaces if isinstance(namespaces, Mapping) else {n.name: n.metadata.labels for n in namespaces}
        self.context = Context(
            self.snapshot,
            self.release,
            labels,
            services,
            replication_controllers,
            replica_sets,
            stateful_sets,
            budgets,
            volumes if isinstance(volumes, Volumes) else Volumes.of(volumes),
            claims if isinstance(claims, Claims) else Claims.of(claims),
        )
        self.extenders = list(extenders)
        self._pods: dict[str, PodInfo] = {}
        self._nominated: dict[int, list[PodInfo]] = {}
        for pod in pods:
            self.add_pod(pod)
        for pod in nominated:
            self.nominate(pod, pod.status.nominated_node_name)

    # ------------------------------------------------------------------------------------------------ the view

    def add_pod(self, pod: Pod | PodInfo) -> None:
        """A pod stands on its node."""
        info = self.snapshot.add_pod(pod)
        if info is not None:
            self._pods[info.uid] = info

    def remove_pod(self, pod: Pod) -> None:
        """A pod is gone; nothing happens where it was not known."""
        info = self._pods.pop(pod.metadata.uid or pod.key, None)
        if info is not None:
            self.snapshot.remove(info)

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Nodes were added, changed or removed."""
        promised = {self.snapshot.names[row]: pods for row, pods in self._nominated.items()}
        self.snapshot.set_nodes(nodes)
        index = self.snapshot.index
        self._nominated = {index[name]: pods for name, pods in promised.items() if name in index}
        self._pods = {info.uid: info for info in self.snapshot.every_pod()}

    def add_node(self, node: Node) -> None:
        """A node has come.

        Raises:
            KitError: there is one of that name.
        """
        self.set_nodes([*self.snapshot.nodes, node])

    def update_node(self, node: Node) -> None:
        """A node has changed; one that was not known is added."""
        known = node.name in self.snapshot.index
        self.set_nodes([node if n.name == node.name else n for n in self.snapshot.nodes] + ([] if known else [node]))

    def remove_node(self, node: Node | str) -> None:
        """A node is gone, and what stood on it."""
        name = node if isinstance(node, str) else node.name
        self.set_nodes([other for other in self.snapshot.nodes if other.name != name])

    @property
    def profile(self) -> Profile:
        """The profile, or the first of several."""
        return self._only or next(iter(self.profiles.values()))

    def profile_of(self, pod: Pod) -> Profile:
        """The profile that a pod asks for by `schedulerName`; a scheduler with a single one takes every pod.

        Raises:
            KitError: there is none of that name.
        """
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
        found = self._only or self.profiles.get(name)
        if found is None:
            raise KitError(f"pod {pod.key}: profile not found for scheduler name {name!r}")
        return found

    def nominate(self, pod: Pod, node: str) -> None:
        """A pod is promised a node."""
        row = self.snapshot.index.get(node)
        if row is not None:
            self._nominated.setdefault(row, []).append(PodInfo(pod, self.release))

    def forget_nomination(self, pod: Pod) -> None:
        """A pod is promised nothing any more: it is placed, or gone."""
        uid = pod.metadata.uid or pod.key
        left = {row: [o for o in pods if o.uid != uid] for row, pods in self._nominated.items()}
        self._nominated = {row: pods for row, pods in left.items() if pods}

    # ------------------------------------------------------------------------------------------------ deciding

    def explain(self, pod: Pod) -> Decision:
        """One cycle for a pod; nothing is changed."""
        profile = self.profile_of(pod)
        gate = self.pre_enqueue(pod)
        if not gate.ok:
            return Decision(pod, self.snapshot.names, self.release, gate=gate)
        info = PodInfo(pod, self.release)
        outcome = find_nodes_that_pass_filters(profile, info, self.context, self._nominated)
        decision = Decision(pod, self.snapshot.names, self.release, filters=outcome)
        if not self.evaluate_nominated_node(pod, outcome):
            decision.evaluated_nodes = take_sample(profile.percentage, outcome, self._start)
        find_nodes_that_pass_extenders(self.extenders, info, self.context, outcome)
        rows = outcome.feasible
        if len(rows):
            decision.scores = prioritize_nodes(profile, info, self.context, rows)
            add_extender_scores(self.extenders, info, self.context, decision.scores)
            decision.suggested_host = self._pick(decision)
        elif len(self.snapshot):
            self._post_filter(decision, info, profile)
        return decision

    def pre_enqueue(self, pod: Pod) -> Status:
        """Whether the pod may enter the queue: the first plugin's refusal, or success."""
        for plugin in self.profile_of(pod).at("pre_enqueue"):
            if self._gated(plugin.name):
                continue
            status = plugin.pre_enqueue_in(pod, self.context)
            if not status.ok:
                return status
        return SUCCESS

    def evaluate_nominated_node(self, pod: Pod, outcome: FilterOutcome) -> bool:
        """A pod that fits on the node that preemption promised it goes there; no other node is looked at.

        Source: schedule_one.go evaluateNominatedNode (PreferNominatedNode).
        """
        row = self.snapshot.index.get(pod.status.nominated_node_name, -1)
        if row < 0 or row not in outcome.feasible:
            return False
        outcome.sample = np.array([row], np.int64)
        return True

    def _gated(self, plugin: str) -> bool:
        return plugin == "SchedulingGates" and not self.release.enabled("PodSchedulingReadiness")

    def _post_filter(self, decision: Decision, info: PodInfo, profile: Profile) -> None:
        """PostFilter: dynamic resources give something back, then preemption. Source: RunPostFilterPlugins."""
        assert decision.filters is not None
        rejected = decision.filters.status
        if rejected.code is Code.Error:
            return
        if not rejected.ok and not self.release.enabled("KitPostFilterAfterPreFilter"):
            return
        claims = self.release.enabled("DynamicResourceAllocation")
        if claims and not rejected.ok and rejected.plugin != dynamic_resources.NAME:
            # its PostFilter looks for a state that PreFilter, which stopped early, has not written
            decision.preemption = Preemption(Code.Error, "not found")
            return
        if claims:
            state = decision.filters.states.get(dynamic_resources.NAME)
            decision.pre_post_filter, decision.freed = dynamic_resources.to_free(state, decision.pod)
        if profile.post_filter() is None:
            if claims:
                decision.preemption = Preemption(Code.Unschedulable, eligible=False)
            return
        decision.preemption = preempt(profile, info, self.context, decision.filters, self._nominated)

    def _pick(self, decision: Decision) -> str:
        assert decision.scores is not None
        best = decision.scores.best
        if self._random is not None:
            return self.snapshot.names[int(best[self._random.randrange(len(best))])]
        return self.snapshot.names[int(best[self.snapshot.name_order()[best].argmin()])]

    def schedule(self, pod: Pod) -> Decision:
        """One cycle; a pod that fits stands on its node afterwards (a copy of it: the caller's is not changed).

        Reserve, Permit, PreBind, Bind and PostBind follow the choice. A pod that one of them refuses is taken away
        again; one that Permit lets wait keeps its place until `allow` or `reject`.
        """
        decision = self.explain(pod)
        if len(self.snapshot):
            self._start = (self._start + decision.evaluated_nodes) % len(self.snapshot)
        if decision.suggested_host:
            placed = deepcopy(pod)
            placed.spec.node_name = decision.suggested_host
            self.add_pod(placed)
            if self._nominated:
                self.forget_nomination(pod)
            info = self._pods[placed.metadata.uid or placed.key]
            info.states = decision.filters.states if decision.filters is not None else {}
            profile = self.profile_of(pod)
            decision.binding = Binding(info, self.snapshot.nodes[info.row])
            reserve_and_permit(profile, decision.binding)
            if decision.binding.waits:
                self._held[info.uid] = profile, decision.binding, decision
            elif decision.binding.status.ok:
                self._bind(profile, decision.binding, decision)
            else:
                self._give_up(decision)
        elif decision.freed is not None and decision.filters is not None:
            dynamic_resources.free(decision.filters.states[dynamic_resources.NAME], decision.freed)
        return decision

    @property
    def waiting(self) -> list[Pod]:
        """Pods that Permit plugins hold."""
        return [binding.info.pod for _, binding, _ in self._held.values()]

    def allow(self, pod: Pod) -> Decision:
        """Let a pod go on that Permit held.

        Raises:
            KitError: it does not wait.
        """
        profile, binding, decision = self._take_held(pod)
        self._bind(profile, binding, decision)
        return decision

    def reject(self, pod: Pod, reason: str = "rejected while waiting on permit") -> Decision:
        """Refuse a pod that Permit held; it loses its place.

        Raises:
            KitError: it does not wait.
        """
        profile, binding, decision = self._take_held(pod)
        binding.status = Status(Code.Unschedulable, (reason,), binding.status.plugin)
        unreserve(profile, binding)
        self._give_up(decision)
        return decision

    def _take_held(self, pod: Pod) -> tuple[Profile, Binding, Decision]:
        found = self._held.pop(pod.metadata.uid or pod.key, None)
        if found is None:
            raise KitError(f"pod {pod.key}: does not wait for a permit")
        return found

    def _bind(self, profile: Profile, binding: Binding, decision: Decision) -> None:
        bind(profile, binding)
        if not binding.status.ok:
            self._give_up(decision)

    def _give_up(self, decision: Decision) -> None:
        assert decision.binding is not None
        self.remove_pod(decision.binding.info.pod)
        decision.suggested_host = ""
