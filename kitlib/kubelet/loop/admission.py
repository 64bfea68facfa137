"""The admission of a pod that is bound to the node: pressure, resource managers, free resources.

The handlers are called in this order: eviction, sysctls, topology manager with CPU, memory and devices, then the
predicates (platform, resources, affinity, name, ports, taints), AppArmor, features, node shutdown.

Source: kubelet NewMainKubelet (handlers), allocation.manager.canAdmitPod, eviction managerImpl.Admit, cm's allocate
handler, lifecycle predicateAdmitHandler.Admit; preemption.CriticalPodAdmissionHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import containers_of
from kitlib.kubelet.cm.node_allocatable import node_status
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.cm.topologymanager.manager import AdmissionProblem
from kitlib.kubelet.loop.eviction import EvictionManager
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.predicate import (
    PodRefusal,
    Room,
    asked_of,
    check_features,
    check_platform,
    check_room,
    check_sysctls,
    node_of,
)
from kitlib.kubelet.pods.objects import Objects
from kitlib.kubelet.qos.qos_class import is_static_pod, pod_level_managed

if TYPE_CHECKING:
    from kitlib.kubelet.loop.node_shutdown import NodeShutdown


class Admission:
    """The admission of pods on one node.

    Args:
        node: the settings, the reports and the timeline.
        managers: the managers of CPUs, memory and devices.
        eviction: the eviction manager, which has the node's pressures.
        objects: the objects that the kubelet may read, with the Node object.

    Attributes:
        allocatable: resource -> allocatable amount of the node, in thousandths.
        asked: resource -> sum of the admitted pods' requests, in thousandths.
        shutdown: the shutdown of the node; None = the machine has not announced one.
    """

    def __init__(
        self, node: Dependencies, managers: ResourceManagers, eviction: EvictionManager, objects: Objects
    ) -> None:
        self._reports, self._objects, self._timeline = node.reports, objects, node.timeline
        config = self._config = node.config
        self._managers, self._eviction = managers, eviction
        settings = config.settings
        offered = node_status(config.machine, config.reservations, settings.max_pods, settings.pods_per_core)
        self.allocatable = {name: amount.milli_value() for name, amount in offered.allocatable.items()}
        self.allocatable |= {name: amount * 1000 for name, amount in config.offered.items()}
        self.asked: dict[str, int] = {}
        self.shutdown: NodeShutdown | None = None

    def admit(
        self, worker: PodWorker, workers: Collection[PodWorker], preempt: Callable[[PodWorker], None]
    ) -> PodRefusal | None:
        """Admit a pod, or return the reason of its rejection.

        Args:
            worker: the pod.
            workers: all pods of the node.
            preempt: ends a pod to make room for a critical pod.
        """
        pod = worker.pod
        pressure = self._eviction.admit(pod)
        if pressure:
            return PodRefusal("Evicted", pressure)
        gates = self._config.gates
        refused = check_sysctls(pod, self._config.settings.allowed_unsafe_sysctls, gates)
        if refused is not None:
            return refused
        try:
            self._managers.admit(pod)
        except AdmissionProblem as problem:
            self._note_hints(pod, refused=True)
            return PodRefusal(problem.reason, problem.message)
        self._note_hints(pod, refused=False)
        self._note_cpus(worker)
        node = node_of(self._config.name, self._objects.node(self._config.name))
        refused = check_platform(pod, node, gates)
        if refused is not None:
            return refused
        worker.asked = asked_of(pod, gates)
        refused = self._make_room(worker, workers, node, preempt)
        if refused is None and not self._config.machine.apparmor:
            from kitlib.kubelet.loop.apparmor import refuse_profiles  # loaded on machines without it

            refused = refuse_profiles(pod)
        refused = refused or check_features(pod, gates)
        if refused is None and self.shutdown is not None:
            refused = self.shutdown.refusal()
        if refused is not None:
            return refused
        self.count(worker, 1)
        worker.holds_resources = True
        self._timeline.note("kubelet", "admitting pod", pod.key, "", "HandlePodAdditions")
        return None

    def count(self, worker: PodWorker, sign: int) -> None:
        """Add a pod's requests to `asked` at its admission (1), or subtract them at its end (-1), each once."""
        if worker.counted == (sign > 0):
            return
        worker.counted = sign > 0
        for name, amount in worker.asked.items():
            self.asked[name] = self.asked.get(name, 0) + sign * amount

    def _note_cpus(self, worker: PodWorker) -> None:
        pod = worker.pod
        for container in containers_of(pod):
            given = self._managers.assigned(pod, container)
            if given.exclusive or given.of_pod:
                about = f"{pod.name}/{container.name}"
                function = "AllocatePod" if pod_level_managed(pod, self._config.gates) else "Allocate"
                self._timeline.note("cpumanager", "allocating CPUs to", about, given.cpus, f"staticPolicy.{function}")

    def _note_hints(self, pod: Pod, *, refused: bool) -> None:
        """Record the topology hints in the timeline, as in the kubelet's log; for a rejected pod in an event, too."""
        for container, text in self._managers.hints_seen.items():
            about = f"{pod.key}/{container}" if container else pod.key
            self._timeline.note("topologymanager", "topology hints of", about, text, "HintMerger.Merge")
            if refused:
                settings = self._config.settings
                rule = f"topology manager, policy {settings.topology_manager_policy}, hints of {container or 'the pod'}"
                self._reports.event(pod, "Normal", "TopologyHints", f"{rule}: {text}")

    def _make_room(
        self, worker: PodWorker, workers: Collection[PodWorker], node: Node, preempt: Callable[[PodWorker], None]
    ) -> PodRefusal | None:
        """Return the rejection of a pod that does not fit; preempt others for a critical one that lacks resources."""
        counted = {one.pod.metadata.uid: one for one in workers if one.counted}
        others = [one.pod for one in counted.values()]
        room = Room(self.allocatable, self.asked)
        refused, victims = check_room(worker.pod, worker.asked, room, node, others, self._config.gates)
        if victims:
            worker.victims = [counted[pod.metadata.uid] for pod in victims]
            for victim in worker.victims:
                preempt(victim)
        return refused


class WaitingStaticPods:
    """The static pods that wait until an earlier pod of the same namespace and name has ended.

    A static pod whose file is changed becomes another pod with another UID; the two never run at the same time.

    Source: podWorkers.allowStaticPodStart.
    """

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}

    def holds(self, pod: Pod, workers: Iterable[PodWorker]) -> bool:
        """Return whether the pod has to wait; if so, store it."""
        waits = is_static_pod(pod) and any(worker.pod.key == pod.key for worker in workers)
        if waits:
            self._pods[pod.metadata.uid] = pod
        else:
            self._pods.pop(pod.metadata.uid, None)
        return waits

    def forget(self, uids: Iterable[str]) -> None:
        """Forget pods that are gone."""
        for uid in uids:
            self._pods.pop(uid, None)

    def released(self, workers: Iterable[PodWorker]) -> list[Pod]:
        """Remove and return the pods that may start now; of several with the same name the first one."""
        taken, found = {worker.pod.key for worker in workers} if self._pods else set(), []
        for uid, pod in list(self._pods.items()):
            if pod.key not in taken:
                taken.add(pod.key)
                found.append(self._pods.pop(uid))
        return found
