"""The base class of plugins: the extension points of the scheduling framework, on columns of nodes.

A plugin subclasses `Plugin` and overrides the points that it takes part in. `pre_filter` and `pre_score` read the pod
once and return a state for `filter` and `score`; the state `SKIP` leaves the plugin out of this cycle. Filter and Score
answer for all given rows at once. `NodePlugin` (node_plugin.py) is the base of plugins that judge one node at a time.

Source: kube-scheduler framework interface.go; KEP-624.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Node, Pod, ReplicationController, Service
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.scheduler.framework.arguments import check_arguments
from kitlib.scheduler.framework.events import EVERYTHING, Registered
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.incremental_answers import IncrementalAnswers
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP, PostFilterResult
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import SUCCESS, Code, Rows, Status, Verdicts

if TYPE_CHECKING:  # loaded with the first volume or claim
    from kitlib.api.devices import DeviceClass
    from kitlib.scheduler.framework.dra_manager import DRAManager
    from kitlib.scheduler.framework.volumes import Volumes

MAX_NODE_SCORE = 100
Scores = NDArray[np.int64]


class Affected(Enum):
    """The part of a plugin's answers for a pod that may change when another pod is placed and no node changes."""

    NOTHING = "nothing"
    AMOUNTS = "amounts"
    """The answer for the row of the placed pod, which follows from the amounts that the pods there request."""
    ALL = "all"


class Reads(Enum):
    """The part of a pod on which a plugin's answers for it depend."""

    ANYTHING = "anything"
    ALL_BUT_AMOUNTS = "all but amounts"
    """The names of the requested resources may count, the amounts do not."""
    AMOUNTS = "amounts"
    """Only the requested amounts count, and the state that PreFilter or PreScore made."""


class _Skip:
    """The state of a plugin that has nothing to do in this cycle."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP = _Skip()


@dataclass
class Context:
    """The cluster as plugins see it.

    Attributes:
        snapshot: the nodes and their pods.
        release: the release whose behaviour is followed.
        namespaces: namespace -> its labels.
        services, replication_controllers, replica_sets, stateful_sets: the objects whose selectors group pods.
        budgets: the PodDisruptionBudgets, for preemption.
        storage: the storage objects; None until the cluster has one or a pod asks for one.
        devices: the claims of devices, with the devices and their classes; None until the cluster has such an object
            or a pod asks for one.
        connect_storage, connect_devices: called once with each of the two, to connect them to the API.
        removed: the pods that preemption has removed on trial; they are not in the snapshot.
    """

    snapshot: Snapshot
    release: Release
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    services: Sequence[Service] = ()
    replication_controllers: Sequence[ReplicationController] = ()
    replica_sets: Sequence[ReplicaSet] = ()
    stateful_sets: Sequence[StatefulSet] = ()
    budgets: Sequence[PodDisruptionBudget] = ()
    storage: Volumes | None = None
    devices: DRAManager | None = None
    connect_storage: Callable[[Volumes], None] | None = None
    connect_devices: Callable[[DRAManager], None] | None = None
    removed: Sequence[PodInfo] = ()

    @property
    def volumes(self) -> Volumes:
        """The storage objects: claims, volumes, classes and the objects of CSI drivers."""
        if self.storage is None:
            from kitlib.scheduler.framework.volumes import Volumes

            self.set_volumes(Volumes())
        assert self.storage is not None
        return self.storage

    def set_volumes(self, volumes: Volumes) -> None:
        """Replace the storage objects; volumes and claims that the scheduler has assumed stay assumed."""
        if self.storage is not None:
            volumes.follows(self.storage)
        elif self.connect_storage is not None:
            self.connect_storage(volumes)
        self.storage = volumes

    @property
    def claims(self) -> DRAManager:
        """The claims of devices, with the devices and their classes."""
        if self.devices is None:
            from kitlib.scheduler.framework.dra_manager import DRAManager

            self.set_claims(DRAManager())
        assert self.devices is not None
        return self.devices

    def set_claims(self, claims: DRAManager) -> None:
        """Set the claims of devices."""
        claims.obeys_rules = self.release.enabled("DRADeviceTaintRules")
        if self.connect_devices is not None:
            self.connect_devices(claims)
        self.devices = claims

    @property
    def device_classes(self) -> Mapping[str, DeviceClass]:
        """The device classes by name."""
        return self.devices.classes if self.devices is not None else {}

    def connect(
        self,
        *,
        storage: Callable[[Volumes], None] | None = None,
        devices: Callable[[DRAManager], None] | None = None,
    ) -> None:
        """Connect the storage objects and the claims of devices to the API, now or when they are first needed."""
        self.connect_storage, self.connect_devices = storage, devices
        if storage is not None and self.storage is not None:
            storage(self.storage)
        if devices is not None and self.devices is not None:
            devices(self.devices)


Nominated = Mapping[int, list[PodInfo]]
"""Row -> pods that are nominated to run there and are not bound yet."""


class Handle(Protocol):
    """The framework as plugins see it. Source: framework interface.go Handle.

    Attributes:
        weights: Score plugin -> weight.
    """

    weights: dict[str, int]

    def at(self, point: str) -> list[Plugin]:
        """Return the plugins that take part at an extension point, in order."""


@dataclass(frozen=True)
class FailedCycle:
    """The cycle that found no node, as PostFilter sees it.

    Attributes:
        handle: the framework.
        filters: the results of PreFilter and Filter.
        nominated: the nominated pods that the cycle counted.
    """

    handle: Handle
    filters: FilterOutcome
    nominated: Nominated


@dataclass(frozen=True)
class PreFilterResult:
    """The answer of `pre_filter`.

    Attributes:
        state: the argument for `filter`; SKIP = `filter` is not called.
        status: a status other than Success rejects the pod on all nodes.
        nodes: the names of the only candidate nodes; None = all.
    """

    state: Any = None
    status: Status = SUCCESS
    nodes: frozenset[str] | None = None


class Plugin:
    """The base of all plugins; it takes part in no extension point.

    Args:
        arguments: the plugin's arguments from the profile's pluginConfig.

    Raises:
        KitError: the arguments of an in-tree plugin are not valid; the message is kube-scheduler's.
    """

    name = ""
    depends_on: ClassVar[str] = "pods"
    """The objects that Filter reads besides the pod: `node` (the Node object), `requests` (also the requests of the
    node's pods), `pods` (anything else)."""
    reads: ClassVar[Reads] = Reads.ANYTHING
    """The part of the pod on which the answers depend: pods that differ only in amounts share the answers that do not
    follow from these."""
    needs_verdicts: ClassVar[bool] = True
    """Whether PostFilter reads more of the cycle than each row's code and the states of PreFilter."""
    feature_gate: ClassVar[str] = ""
    """The feature gate without which the plugin takes no part in PreEnqueue and PostFilter; "" = none."""
    missing_state: ClassVar[str] = ""
    """Filter's error if the profile disables the plugin at PreFilter; "" = the state is made before Filter."""
    missing_score_state: ClassVar[str] = ""
    """Score's error if the profile disables the plugin at PreScore; "" = the state is made before Score."""

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        self.arguments = dict(arguments or {})
        check_arguments(self.name, self.arguments, self.name)

    def follows_pods(self, release: Release) -> bool:
        """Return whether preemption tells the plugin which pods it removes on trial. Source: PreFilterExtensions."""
        return False

    def concerns(self, pod: Pod) -> bool:
        """Return whether Reserve, PreBind and Unreserve are called for the pod."""
        return True

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        """Return the events that may make a pod schedulable that this plugin rejected, each with its queueing hint.

        Source: EnqueueExtensions.EventsToRegister; KEP-4247.
        """
        return EVERYTHING

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected | None:
        """Return which answers for a pod may change when another pod is placed; None = each pod needs a whole cycle.

        A plugin that does not return None promises that two pods with the same spec, labels, namespace and owners get
        the same answers, and, unless it returns ALL, that PreScore and NormalizeScore do not depend on the number of
        feasible nodes. Such pods are scheduled in a batch.

        Source: framework interface.go SignPlugin; KEP-5598.
        """
        return None

    def incremental_answers(self, info: PodInfo, context: Context) -> IncrementalAnswers | None:
        """Return answers for pods of a kind that are updated with each placement, if a placement affects all of them.

        None = the plugin is asked again for each pod.
        """
        return None

    def pre_enqueue(self, pod: Pod) -> Status:
        """Return whether the pod may enter the queue."""
        return SUCCESS

    def pre_enqueue_in(self, pod: Pod, context: Context) -> Status:
        """Return whether the pod may enter the queue, for a plugin that reads the cluster."""
        return self.pre_enqueue(pod)

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        """Read the pod once, before the nodes are filtered."""
        return PreFilterResult()

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        """Return a verdict for each of the rows."""
        return Verdicts.passing(len(rows))

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        """Return a state for `score` from the feasible rows; SKIP = the plugin does not score."""
        return None

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        """Return a score for each of the rows: any whole numbers, which `normalize` scales to 0..100."""
        return np.zeros(len(rows), np.int64)

    def normalize(self, state: Any, scores: Scores) -> Scores:
        """Return the scores scaled to 0..100."""
        return scores

    def reserve(self, info: PodInfo, node: Node) -> Status:
        """Record that the pod will run on the node."""
        return SUCCESS

    def unreserve(self, info: PodInfo, node: Node) -> None:
        """Undo `reserve`."""

    def permit(self, info: PodInfo, node: Node) -> Status:
        """Let the pod pass, reject it, or hold it (Code.Wait)."""
        return SUCCESS

    def pre_bind(self, info: PodInfo, node: Node) -> Status:
        """Prepare the binding; Code.Wait = the preparation takes time, call `pre_bind_again`."""
        return SUCCESS

    def pre_bind_again(self, info: PodInfo, node: Node, waited_ms: int) -> Status:
        """Return whether the condition of `pre_bind` is met; called once a second until the code is not Code.Wait.

        Args:
            info: the pod.
            node: the pod's node.
            waited_ms: milliseconds since `pre_bind`, for a time limit.
        """
        return SUCCESS

    def post_bind(self, info: PodInfo, node: Node) -> None:
        """React to the binding of the pod."""

    def bind(self, info: PodInfo, node: Node) -> Status:
        """Bind the pod; Code.Skip leaves it to the next plugin."""
        return Status(Code.Skip)

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        """Look for a way to make room for a pod that fits no node, without changing anything."""
        return PostFilterResult(Code.Unschedulable, nominating_mode=NOOP)

    def commit_post_filter(self, effect: Any, info: PodInfo, context: Context) -> None:
        """Carry out the `effect` of this plugin's `post_filter`; not called by `Scheduler.explain`."""

    def takes_part(self, point: str) -> bool:
        """Return whether the plugin overrides the method of an extension point."""
        if point == "pre_enqueue" and type(self).pre_enqueue_in is not Plugin.pre_enqueue_in:
            return True
        return getattr(type(self), point) is not getattr(Plugin, point)


def default_normalize(scores: Scores, *, reverse: bool = False) -> Scores:
    """Return scores scaled so that the highest is 100; with `reverse` a score of 0 becomes 100.

    Source: helper.DefaultNormalizeScore.
    """
    highest = int(scores.max()) if len(scores) else 0
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE if reverse else 0, np.int64)
    scaled = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
