"""What a plugin is: the extension points of the scheduling framework, on columns of nodes.

A plugin subclasses `Plugin` and overrides the points that it takes part in. `pre_filter` and `pre_score` look at the
pod once and return a state that `filter` and `score` get back; `SKIP` as the state leaves the plugin out of this
cycle. Filter and Score answer for all rows that they are asked about. `NodePlugin`
(node_plugin.py) is for writing them for one node at a time.

Source: kube-scheduler framework interface.go; KEP-624.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Node, Pod, ReplicationController, Service
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.scheduler.framework.arguments import check_arguments
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.events import EVERYTHING, Registered
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.incremental_answers import IncrementalAnswers
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP, PostFilterResult
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Code, Rows, Status, Verdicts
from kitlib.scheduler.framework.volumes import Volumes

MAX_NODE_SCORE = 100
Scores = NDArray[np.int64]


class Affected(Enum):
    """What of a plugin's answers for a pod may be another one after a pod was placed, nodes being the same."""

    NOTHING = "nothing"
    AMOUNTS = "amounts"
    """The answer for the row that the pod stands on, and only by what the pods there request."""
    ALL = "all"


class Reads(Enum):
    """What of a pod itself a plugin's answers for it depend on."""

    ANYTHING = "anything"
    ALL_BUT_AMOUNTS = "all but amounts"
    """Which resources the containers request may count, but not how much of them."""
    AMOUNTS = "amounts"
    """Nothing but the amounts requested, and the state that PreFilter or PreScore made."""


class _Skip:
    """The state of a plugin that has nothing to do in this cycle."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP = _Skip()


@dataclass
class Context:
    """What plugins may look at besides the nodes.

    Attributes:
        snapshot: the nodes and their pods.
        release: whose behaviour is followed.
        namespaces: namespace -> its labels.
        services, replication_controllers, replica_sets, stateful_sets: by which pods are counted as belonging together.
        budgets: PodDisruptionBudgets, for preemption.
        volumes: claims, volumes, classes and what CSI drivers say.
        claims: of devices, with the devices and their classes.
        removed: pods that preemption takes away on trial; the snapshot does not hold them.
    """

    snapshot: Snapshot
    release: Release
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    services: Sequence[Service] = ()
    replication_controllers: Sequence[ReplicationController] = ()
    replica_sets: Sequence[ReplicaSet] = ()
    stateful_sets: Sequence[StatefulSet] = ()
    budgets: Sequence[PodDisruptionBudget] = ()
    volumes: Volumes = field(default_factory=Volumes)
    claims: DRAManager = field(default_factory=DRAManager)
    removed: Sequence[PodInfo] = ()


Nominated = Mapping[int, list[PodInfo]]
"""Row -> pods that are nominated to run there and do not stand there yet."""


class Handle(Protocol):
    """The framework as plugins see it. Source: framework interface.go Handle.

    Attributes:
        weights: Score plugin -> weight.
    """

    weights: dict[str, int]

    def at(self, point: str) -> list[Plugin]:
        """The plugins that take part at an extension point, in order."""


@dataclass(frozen=True)
class FailedCycle:
    """What PostFilter is told of the cycle that found no node.

    Attributes:
        handle: the framework.
        filters: what PreFilter and Filter said.
        nominated: pods that counted on nodes where they do not stand yet.
    """

    handle: Handle
    filters: FilterOutcome
    nominated: Nominated


@dataclass(frozen=True)
class PreFilterResult:
    """What `pre_filter` answers.

    Attributes:
        state: handed to `filter`; SKIP = do not call it.
        status: other than success rejects the pod at once.
        nodes: names of the only nodes that come into question; None = all.
    """

    state: Any = None
    status: Status = SUCCESS
    nodes: frozenset[str] | None = None


class Plugin:
    """Base of all plugins: takes part in nothing.

    Args:
        arguments: from the profile's pluginConfig.

    Raises:
        KitError: with kube-scheduler's words, for arguments that it refuses of one of its own plugins.
    """

    name = ""
    depends_on: ClassVar[str] = "pods"
    """What Filter looks at besides the pod: `node` (the Node object), `requests` (and what the pods on it request),
    `pods` (anything else)."""
    reads: ClassVar[Reads] = Reads.ANYTHING
    """What of the pod the answers depend on: like pods that differ in amounts alone share what does not follow from
    them."""
    needs_verdicts: ClassVar[bool] = True
    """Whether PostFilter looks at more of the cycle than each row's code and the states of PreFilter."""
    feature_gate: ClassVar[str] = ""
    """Without this gate of the release the plugin takes no part in PreEnqueue and PostFilter."""
    missing_state: ClassVar[str] = ""
    """What Filter says where the profile disables the plugin at PreFilter; "" = it makes the state itself."""
    missing_score_state: ClassVar[str] = ""
    """The same of Score, where PreScore is disabled."""

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        self.arguments = dict(arguments or {})
        check_arguments(self.name, self.arguments, self.name)

    def follows_pods(self, release: Release) -> bool:
        """Whether preemption tells the plugin which pods it takes away on trial. Source: PreFilterExtensions."""
        return False

    def concerns(self, pod: Pod) -> bool:
        """Whether Reserve to PostBind are to be asked about the pod at all."""
        return True

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        """The events that may make a pod schedulable which this plugin rejected, each with its queueing hint.

        Source: EnqueueExtensions.EventsToRegister; KEP-4247.
        """
        return EVERYTHING

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected | None:
        """Which answers for a pod have to be made anew after another pod was placed; None = pods are never alike.

        A plugin that says it promises that two pods with the same spec, labels, namespace and owners get the same
        answers, and, unless everything is affected, that PreScore and NormalizeScore do not ask how many nodes are
        left. Such pods are scheduled in a batch.

        Source: framework interface.go SignPlugin; KEP-5598.
        """
        return None

    def incremental_answers(self, info: PodInfo, context: Context) -> IncrementalAnswers | None:
        """Answers for pods of a kind that follow the pods that come and go, where a placement affects all of them.

        None = the plugin is asked anew for each pod.
        """
        return None

    def pre_enqueue(self, pod: Pod) -> Status:
        """Whether the pod may enter the queue."""
        return SUCCESS

    def pre_enqueue_in(self, pod: Pod, context: Context) -> Status:
        """The same for a plugin that has to look at the cluster."""
        return self.pre_enqueue(pod)

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        """Look at the pod once, before the nodes."""
        return PreFilterResult()

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        """Which of the rows the pod can run on."""
        return Verdicts.passing(len(rows))

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        """Look at the feasible rows once; SKIP = no score from this plugin."""
        return None

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        """How good each of the rows is; any whole numbers, which `normalize` brings to 0..100."""
        return np.zeros(len(rows), np.int64)

    def normalize(self, state: Any, scores: Scores) -> Scores:
        """Bring scores to 0..100."""
        return scores

    def reserve(self, info: PodInfo, node: Node) -> Status:
        """Note that the pod will run there."""
        return SUCCESS

    def unreserve(self, info: PodInfo, node: Node) -> None:
        """Take back what `reserve` did."""

    def permit(self, info: PodInfo, node: Node) -> Status:
        """Let the pod pass, reject it, or let it wait (Code.Wait)."""
        return SUCCESS

    def pre_bind(self, info: PodInfo, node: Node) -> Status:
        """Do what must be done before the pod is bound; Code.Wait = it takes time, ask `pre_bind_again`."""
        return SUCCESS

    def pre_bind_again(self, info: PodInfo, node: Node, waited_ms: int) -> Status:
        """Return whether the condition of `pre_bind` is met; called once a second until the code is not Code.Wait.

        Args:
            waited_ms: milliseconds since `pre_bind`, for a time limit.
        """
        return SUCCESS

    def post_bind(self, info: PodInfo, node: Node) -> None:
        """The pod is bound."""

    def bind(self, info: PodInfo, node: Node) -> Status:
        """Bind the pod; Code.Skip leaves it to the next plugin."""
        return Status(Code.Skip)

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        """Look for a way to make room for a pod that fits nowhere. Nothing is changed here."""
        return PostFilterResult(Code.Unschedulable, nominating_mode=NOOP)

    def commit_post_filter(self, effect: Any, info: PodInfo, context: Context) -> None:
        """Carry out the `effect` of this plugin's `post_filter`, where the cycle is more than an explanation."""

    def takes_part(self, point: str) -> bool:
        """Whether the plugin overrides a method of this base."""
        if point == "pre_enqueue" and type(self).pre_enqueue_in is not Plugin.pre_enqueue_in:
            return True
        return getattr(type(self), point) is not getattr(Plugin, point)


def default_normalize(scores: Scores, *, reverse: bool = False) -> Scores:
    """Scale so that the best has 100; `reverse` makes the smallest the best. Source: helper.DefaultNormalizeScore."""
    highest = int(scores.max()) if len(scores) else 0
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE if reverse else 0, np.int64)
    scaled = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
