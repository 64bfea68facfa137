"""The scheduler: it makes one Decision per pod from nodes and pods.

    scheduler = Scheduler(nodes, pods)
    decision = scheduler.schedule(pod)      # decides, and places a copy of the pod if it fits
    decision = scheduler.explain(pod)       # decides only

Source: schedule_one.go.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import TERMINAL_PHASES, Namespace, Node, Pod, ReplicationController, Service
from kitlib.api.errors import KitError
from kitlib.api.podresources import is_resize_deferred
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.binding_cycle import BindingCycles
from kitlib.scheduler.decision import Decision, Given
from kitlib.scheduler.framework.binding import BindingProgress
from kitlib.scheduler.framework.filtering import find_nodes_that_pass_filters
from kitlib.scheduler.framework.framework import commit_post_filter, run_post_filter_plugins
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.scoring import ScoreError, ScoreOutcome, prioritize_nodes, random_row
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Status
from kitlib.scheduler.incremental.batch import OpportunisticBatch, are_batches_on
from kitlib.scheduler.node_search import evaluate_nominated_node, keep_to_sample, num_feasible_nodes_to_find
from kitlib.scheduler.profile import DEFAULT_SCHEDULER, Profile
from kitlib.scheduler.queue.nominator import Nominator

if TYPE_CHECKING:
    from kitlib.scheduler.extender import Extender
    from kitlib.scheduler.framework.dra_manager import DRAManager
    from kitlib.scheduler.framework.volumes import Volumes
    from kitlib.scheduler.incremental.signature_answers import SignatureAnswers

RESIZE_PREEMPTION = "InPlacePodVerticalScalingSchedulerPreemption"


class Scheduler:
    """A scheduler with its view of a cluster.

    Args:
        nodes: the nodes, in the order of the rows.
        pods: the pods that have a node; values that a `PodInfo` has computed are not computed again.
        release: the release whose behaviour is followed.
        profile: the plugins and weights, or profiles by `schedulerName` (a pod that names none of them is refused);
            None = the default profile.
        seed: the seed of the random choice between equal nodes; None = the first node by name.
        namespaces: the namespaces, or namespace -> labels.
        services, replication_controllers, replica_sets, stateful_sets, budgets: the objects that plugins read.
        nominated: the pods with a `status.nominatedNodeName`.
        volumes: the storage objects, in any order.
        extenders: the extenders, which are asked after the plugins.
        claims: ResourceClaims, DeviceClasses, ResourceSlices and DeviceTaintRules, in any order.
        batching: whether equal pods are placed in a batch; the decisions are the same without it, but take longer.

    Attributes:
        bindings: the binding cycles of pods that have a node and are not bound yet.
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
        claims: DRAManager | Iterable[object] = (),
        batching: bool = True,
    ) -> None:
        self.release = Release(release) if isinstance(release, str) else (release or Release.followed())
        one = profile if isinstance(profile, Profile) else None if profile else Profile.default()
        self.profiles = {one.name: one} if one else dict(profile)  # type: ignore[arg-type]
        self._only = one  # None = several profiles, of which pods choose one by schedulerName
        self._start = 0  # nextStartNodeIndex: the place in the search order where the next search begins
        self._snapshot = Snapshot(nodes, self.release)
        self._random = random.Random(seed) if seed is not None else None
        self.context = Context(self._snapshot, self.release)
        self._set_claims(claims)
        self.set_objects(
            namespaces=namespaces,
            services=services,
            replication_controllers=replication_controllers,
            replica_sets=replica_sets,
            stateful_sets=stateful_sets,
            budgets=budgets,
            volumes=volumes,
        )
        self.extenders = list(extenders)
        self.nominator = Nominator()
        self._batch = OpportunisticBatch(self.context) if batching and are_batches_on() else None
        self._nodes = {node.name: node for node in self._snapshot.nodes}
        self._stale = self._objects_changed = False
        self._elsewhere: dict[str, PodInfo] = {}
        self.bindings = BindingCycles(self.remove_pod)
        self._pods: dict[str, PodInfo] = {}
        self._nominated_infos: dict[str, PodInfo] = {}
        for pod in pods:
            self.add_pod(pod)
        for pod in nominated:
            self.nominate(pod, pod.status.nominated_node_name)

    # The cache. Changes of nodes are applied together when the next cycle reads the snapshot.

    @property
    def snapshot(self) -> Snapshot:
        """The nodes and pods as the next cycle sees them. Source: cache.UpdateSnapshot."""
        if self._stale:
            self._stale, changed = False, self._objects_changed
            self._objects_changed = False
            gone = self._snapshot.rebuild(self._nodes.values(), list(self._elsewhere.values()), objects_changed=changed)
            self._elsewhere = {uid: info for uid, info in self._elsewhere.items() if info.row < 0}  # < 0: no node
            self._elsewhere.update((info.uid, info) for info in gone)
        return self._snapshot

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """The pods with a node by UID, including assumed pods."""
        return self._pods

    def set_objects(
        self,
        *,
        namespaces: Iterable[Namespace] | Mapping[str, Mapping[str, str]] | None = None,
        volumes: Volumes | Iterable[object] | None = None,
        **others: Sequence[Any],
    ) -> None:
        """Replace objects other than nodes and pods; values computed from the old ones are discarded.

        Args:
            namespaces: the namespaces, or namespace -> labels; None = as before.
            volumes: the storage objects; None = as before.
            others: attribute of the context -> its new objects. Claims are changed in the DRAManager instead.
        """
        context = self.context
        if namespaces is not None:
            labels = namespaces if isinstance(namespaces, Mapping) else {n.name: n.metadata.labels for n in namespaces}
            context.namespaces = labels
        if volumes is not None:
            self._set_volumes(volumes)
        for name, objects in others.items():
            setattr(context, name, objects)
        self._stale = self._objects_changed = True

    # The code of volumes and of claims for devices is loaded with the first object.

    def _set_volumes(self, given: Volumes | Iterable[object]) -> None:
        objects = list(given) if isinstance(given, Iterable) else given
        if objects or self.context.storage is not None:
            from kitlib.scheduler.framework.volumes import Volumes

            self.context.set_volumes(Volumes.of(objects) if isinstance(objects, list) else objects)

    def _set_claims(self, given: DRAManager | Iterable[object]) -> None:
        objects = list(given) if isinstance(given, Iterable) else given
        if objects:
            from kitlib.scheduler.framework.dra_manager import DRAManager

            self.context.set_claims(DRAManager.of(objects) if isinstance(objects, list) else objects)

    def add_pod(self, pod: Pod | PodInfo) -> None:
        """Add or replace a pod that has a node, also an assumed one; ignore a terminal one, which `remove_pod` removes.

        A given PodInfo is copied with its computed values, since the row of an info belongs to one scheduler.
        """
        if (pod.pod if isinstance(pod, PodInfo) else pod).status.phase in TERMINAL_PHASES:
            return
        self._add(pod.like(pod.pod) if isinstance(pod, PodInfo) else PodInfo(pod, self.release))

    def _add(self, info: PodInfo) -> None:
        uid, node = info.uid, info.pod.spec.node_name
        known = self._pods.get(uid)
        if known is not None:
            if known.replace(info.pod):  # replaced in place
                # nothing that columns count has changed, but values that plugins derive from the row's pods may have
                if uid not in self._elsewhere:
                    self._snapshot.touch(known)
                return
            self.remove_pod(info.pod)
        self._pods[uid] = info
        if node in self._snapshot.index:  # may be outdated: `rebuild` moves the pods of changed nodes
            self._snapshot.add(info)
        else:
            self._elsewhere[uid] = info

    def remove_pod(self, pod: Pod) -> None:
        """Remove a pod; ignore one that is not known."""
        info = self._pods.pop(pod.metadata.uid or pod.key, None)
        if info is not None and self._elsewhere.pop(info.uid, None) is None:
            self._snapshot.remove(info)

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Replace the nodes.

        Args:
            nodes: the nodes now; a changed node is a new object, since the rows of known objects are not read again.

        Raises:
            KitError: two nodes have the same name.
        """
        listed = list(nodes)
        twice = len(listed) - len({node.name for node in listed})
        if twice:
            raise KitError(f"nodes: {twice} names are used more than once")
        self._nodes, self._stale = {node.name: node for node in listed}, True

    def add_node(self, node: Node) -> None:
        """Add a node.

        Raises:
            KitError: a node of that name exists.
        """
        self.set_nodes([*self._nodes.values(), node])

    def update_node(self, node: Node) -> None:
        """Replace a node, or add one that is not known; columns are rebuilt only if a field changed that they need."""
        old, self._nodes[node.name] = self._nodes.get(node.name), node
        if old is None or _columns_of(old) != _columns_of(node):
            self._stale = True
        elif not self._stale:
            self._snapshot.nodes[self._snapshot.index[node.name]] = node

    def remove_node(self, node: Node | str) -> None:
        """Remove a node; its pods are kept and count again if the node comes back."""
        self._nodes.pop(node if isinstance(node, str) else node.name, None)
        self._stale = True

    def node(self, name: str) -> Node | None:
        """Return a node by name, or None."""
        return self._nodes.get(name)

    @property
    def profile(self) -> Profile:
        """The single profile, or the first of several."""
        return self._only or next(iter(self.profiles.values()))

    def profile_of(self, pod: Pod) -> Profile:
        """Return the profile that a pod names by `schedulerName`; a single profile applies to every pod.

        Raises:
            KitError: no profile of that name exists.
        """
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
        found = self._only or self.profiles.get(name)
        if found is None:
            raise KitError(f"pod {pod.key}: profile not found for scheduler name {name!r}")
        return found

    def responsible_for(self, pod: Pod) -> bool:
        """Return whether the pod names one of the profiles. Source: eventhandlers.go responsibleForPod."""
        return self._only is not None or (pod.spec.scheduler_name or DEFAULT_SCHEDULER) in self.profiles

    def nominate(self, pod: Pod, node: str) -> None:
        """Nominate a pod to a node."""
        self.nominator.add(pod, node)

    def forget_nomination(self, pod: Pod) -> None:
        """Remove a pod's nomination, because the pod is placed or gone."""
        self.nominator.delete(pod)

    def _nominated(self) -> dict[int, list[PodInfo]]:
        """Return row -> pods that are nominated to run there."""
        if not len(self.nominator):
            return {}
        known, self._nominated_infos = self._nominated_infos, {}
        found: dict[int, list[PodInfo]] = {}
        for name, pods in self.nominator.by_node().items():
            row = self._snapshot.index.get(name)
            for pod in pods if row is not None else ():
                info = known.get(pod.metadata.uid or pod.key)
                if info is None or info.pod is not pod:
                    info = PodInfo(pod, self.release)
                self._nominated_infos[info.uid] = info
                found.setdefault(row, []).append(info)  # type: ignore[arg-type]
        return found

    # One cycle.

    def explain(self, pod: Pod) -> Decision:
        """Run one cycle for a pod without changing anything: the next `schedule` makes the same decision."""
        return self._cycle(pod, copy(self._random))

    def _cycle(self, pod: Pod, choices: random.Random | None) -> Decision:
        profile, snapshot = self.profile_of(pod), self.snapshot
        if self.makes_room_for(pod):
            from kitlib.scheduler import deferred_resize  # loaded with the first such pod: its gate is off by default

            return deferred_resize.explain(profile, pod, self.context, self._nominated())
        gate = self.pre_enqueue(pod)
        if not gate.ok:
            return Decision(pod, snapshot.names, self.release, gate=gate)
        info, nominated = PodInfo(pod, self.release), self._nominated()
        outcome = find_nodes_that_pass_filters(profile, info, self.context, nominated)
        answers = Given(outcome)
        decision = Decision(pod, snapshot.names, self.release, answers=answers)
        # A feasible nominated node is the only candidate: there is no search, and `_start` stays.
        if not evaluate_nominated_node(outcome, snapshot, pod.status.nominated_node_name):
            wanted = num_feasible_nodes_to_find(profile.percentage, len(outcome.rows))
            decision.evaluated_nodes = keep_to_sample(outcome, snapshot, wanted, self._start)
        if self.extenders:
            from kitlib.scheduler.extender import find_nodes_that_pass_extenders

            find_nodes_that_pass_extenders(self.extenders, info, self.context, outcome)
        rows = outcome.feasible  # without the rows that the sample and the extenders have removed
        if len(rows):
            try:
                answers.scores = prioritize_nodes(profile, info, self.context, rows)
            except ScoreError as error:
                outcome.status = error.status
                return decision  # an error ends the cycle without PostFilter
            if self.extenders:
                from kitlib.scheduler.extender import add_extender_scores

                add_extender_scores(self.extenders, info, self.context, answers.scores)
            decision.suggested_host = self._select_host(answers.scores, choices)
        else:
            decision.post_filter = run_post_filter_plugins(profile, info, self.context, outcome, nominated)
        return decision

    def makes_room_for(self, pod: Pod) -> bool:
        """Return whether a pod needs room on its own node: its resize is deferred, the gate on. Source: KEP-5836."""
        return bool(pod.spec.node_name) and is_resize_deferred(pod) and self.release.enabled(RESIZE_PREEMPTION)

    def pre_enqueue(self, pod: Pod) -> Status:
        """Return whether the pod may enter the queue: the first plugin's refusal, or Success."""
        return self._run_pre_enqueue_plugins(pod, self.profile_of(pod))

    def _run_pre_enqueue_plugins(self, pod: Pod, profile: Profile) -> Status:
        statuses = (plugin.pre_enqueue_in(pod, self.context) for plugin in profile.enabled("pre_enqueue", self.release))
        return next((status for status in statuses if not status.ok), SUCCESS)

    def _select_host(self, scores: ScoreOutcome, choices: random.Random | None) -> str:
        """Return one of the best nodes: the first by name, with a seed a random one. Source: sortedNodeScores.Pop."""
        best = scores.best
        if choices is not None:
            row = random_row(best, choices)
        else:
            row = int(best[self._snapshot.name_order()[best].argmin()])
        return self._snapshot.names[row]

    def schedule(self, pod: Pod) -> Decision:
        """Run one cycle; a pod that fits is then on its node, as a copy: the caller's pod is not changed.

        Reserve, Permit, PreBind, Bind and PostBind follow the choice. A pod that one of them refuses is removed. A pod
        that Permit holds stays on the node until `allow` or `reject`, one that PreBind holds until `bindings.resume`.
        """
        profile, snapshot = self.profile_of(pod), self.snapshot
        if self.makes_room_for(pod):
            return self.explain(pod)  # the pod has its node already: it is not assumed again
        like = self._like(pod, profile)
        decision = like[0] if like is not None else self._cycle(pod, self._random)
        if snapshot.nodes:
            self._start = (self._start + decision.evaluated_nodes) % len(snapshot.nodes)
        if decision.suggested_host:
            info = self._assume(pod, decision, like[1] if like is not None else None)
            decision.binding = BindingProgress(info, snapshot.nodes[info.row])
            self.bindings.begin(profile, decision)
        elif decision.post_filter is not None and decision.post_filter.effects:
            info = PodInfo(pod, self.release)
            commit_post_filter(profile, info, self.context, decision.post_filter.effects)
        return decision

    def _like(self, pod: Pod, profile: Profile) -> tuple[Decision, SignatureAnswers] | None:
        """Return a cycle's decision, derived from answers for pods with an equal signature; None = run the cycle."""
        if self._batch is None or self.extenders or len(self.nominator) or pod.status.nominated_node_name:
            return None
        snapshot = self._snapshot
        size = len(snapshot.nodes)
        # a sample of the nodes depends on the search order, which the answers do not follow; None = no sample
        if profile.percentage is not None and num_feasible_nodes_to_find(profile.percentage, size) < size:
            return None
        like = self._batch.like(pod, profile)
        if like is None or not self._run_pre_enqueue_plugins(pod, profile).ok:
            return None
        row, post_filter = like.choose(self._random), None
        if row < 0:
            outcome = like.rejections()
            if outcome is None or any(plugin.needs_verdicts for plugin in profile.enabled("post_filter", self.release)):
                return None
            info = like.info.like(pod)
            info.states = outcome.states
            post_filter = run_post_filter_plugins(profile, info, self.context, outcome, {})
        decision = Decision(
            pod,
            snapshot.names,
            self.release,
            answers=self._batch.answers(like, pod),
            post_filter=post_filter,
            suggested_host=snapshot.names[row] if row >= 0 else "",
            evaluated_nodes=size,
        )
        return decision, like

    def _assume(self, pod: Pod, decision: Decision, like: SignatureAnswers | None) -> PodInfo:
        """Add the pod to its node in the cache and return its info. Source: schedule_one.go assume."""
        if like is not None:
            info, states = like.placed(pod, decision.suggested_host), like.states
        else:
            placed = deepcopy(pod)
            placed.spec.node_name = decision.suggested_host
            info = PodInfo(placed, self.release)
            states = decision.filters.states if decision.filters is not None else {}
        self._add(info)
        if len(self.nominator):
            self.forget_nomination(pod)
        known = self._pods[info.uid]
        known.states = states
        return known

    @property
    def waiting(self) -> list[Pod]:
        """The pods that Permit plugins hold."""
        return self.bindings.waiting

    def allow(self, pod: Pod) -> Decision:
        """Bind a pod that Permit holds.

        Raises:
            KitError: no Permit plugin holds the pod.
        """
        return self.bindings.allow(pod)

    def reject(self, pod: Pod, reason: str = "rejected while waiting on permit") -> Decision:
        """Reject a pod that Permit holds; its reservations are undone.

        Raises:
            KitError: no Permit plugin holds the pod.
        """
        return self.bindings.reject(pod, reason)


def _columns_of(node: Node) -> tuple[Any, ...]:  # the fields that the snapshot's columns are made of
    status = node.status
    return node.spec, node.metadata.labels, node.metadata.annotations, status.allocatable, status.images
