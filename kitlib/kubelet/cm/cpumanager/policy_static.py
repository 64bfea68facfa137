"""The static CPU policy: containers of Guaranteed pods that request whole CPUs get exclusive CPUs.

All other containers share the remaining CPUs, the default set. It contains the reserved CPUs (except with
`strict-cpu-reservation`), which are never assigned exclusively.

Source: kubelet cpumanager staticPolicy, StaticPolicyOptions; KEP-3570; KEP-2625.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from kitlib.api.core import Container, Pod, ResourceList
from kitlib.api.podresources import containers_of
from kitlib.api.release import Release
from kitlib.kubelet.cm.cpumanager.distributed import take_by_topology_numa_distributed
from kitlib.kubelet.cm.cpumanager.packed import take_by_topology_numa_packed
from kitlib.kubelet.cm.cpumanager.state import NONE, CPUManagerError, CPUState, SMTAlignmentError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology
from kitlib.kubelet.cm.pod_level import partition, pool_problem
from kitlib.kubelet.cm.topologymanager.hints import EmptyPodSharedPoolError, TopologyHint, node_sets
from kitlib.kubelet.config.options import is_on, static_policy_option_problems
from kitlib.kubelet.qos.qos_class import (
    get_pod_qos,
    is_regular_init,
    is_restartable_init,
    pod_level_managed,
    pod_level_resources,
    resembles_guaranteed,
)
from kitlib.kubelet.util.cpuset import format_cpus


class StaticPolicy:
    """Assigns processors to containers and releases them.

    Args:
        topology: the machine's topology.
        reserve: the number of processors that are reserved for the system.
        reserved: the reserved processors; empty = the first `reserve` ones that the policy itself would take.
        options: `--cpu-manager-policy-options`.
        release: the release that determines the feature gates; None = the latest.
        state: the state from before a restart; None = no assignments.

    Attributes:
        reserved, reserved_physical: the reserved processors, without and with the other threads of their cores.
        state: the current assignments.

    Raises:
        CPUManagerError: options, reservations or the state are invalid; the message is the kubelet's.
    """

    def __init__(
        self,
        topology: CPUTopology,
        reserve: int,
        reserved: Iterable[int] = (),
        options: Mapping[str, str] | None = None,
        *,
        release: Release | None = None,
        state: CPUState | None = None,
    ) -> None:
        self.topology, self.release = topology, release or Release.followed()
        self.options = dict(options or {})
        for problem in static_policy_option_problems(self.options, self.release):
            raise CPUManagerError(problem)
        if self._on("align-by-socket") and len(topology.groups("socket")) > len(topology.groups("numa")):
            raise CPUManagerError(
                "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
            )
        self.reserved = frozenset(reserved) or self._reserve(reserve)
        if len(self.reserved) != reserve:
            raise CPUManagerError(
                "[cpumanager] unable to reserve the required amount of CPUs "
                f"(size of {format_cpus(self.reserved)} did not equal {reserve})"
            )
        self.reserved_physical = topology.of("core", topology.above(self.reserved, "core"))
        self._reusable: tuple[str, frozenset[int]] = ("", NONE)
        self.state = state or CPUState()
        self._start()

    def _on(self, option: str) -> bool:
        return is_on(self.options, option)

    def _reserve(self, count: int) -> frozenset[int]:
        try:
            return self._take(self.topology.ids, count)
        except CPUManagerError:
            return NONE

    def _start(self) -> None:
        """Initialize an empty state, or validate the state from before a restart.

        Source: staticPolicy.validateState.
        """
        state, everything = self.state, self.topology.ids
        strict = self._on("strict-cpu-reservation")
        if strict:
            everything -= self.reserved
        if not state.default:
            if state.assignments:
                raise CPUManagerError("default cpuset cannot be empty")
            state.default = everything
            return
        shown = format_cpus(state.default)
        wrong = state.default & self.reserved
        if strict and wrong:
            raise CPUManagerError(
                f'some of strictly reserved cpus: "{format_cpus(wrong)}" are present in defaultCpuSet: "{shown}"'
            )
        if not strict and wrong != self.reserved:
            raise CPUManagerError(
                f'not all reserved cpus: "{format_cpus(self.reserved)}" are present in defaultCpuSet: "{shown}"'
            )
        known = state.default
        for uid, containers in state.assignments.items():
            for name, cpus in containers.items():
                if cpus & state.default:
                    raise CPUManagerError(
                        f'pod: {uid}, container: {name} cpuset: "{format_cpus(cpus)}" overlaps with default cpuset '
                        f'"{shown}"'
                    )
                known |= cpus
        # A different set means that CPUs went offline or online while the kubelet was stopped; upstream does not start
        # then, because it would later assign CPUs that do not exist.
        known = known.union(*state.pods.values())
        if known != everything:
            raise CPUManagerError(
                f'current set of available CPUs "{format_cpus(everything)}" doesn\'t match with CPUs in state '
                f'"{format_cpus(known)}"'
            )

    @property
    def allocatable(self) -> frozenset[int]:
        """The processors that can be assigned exclusively, free or not. Source: GetAllocatableCPUs."""
        return self.topology.ids - self.reserved

    @property
    def available(self) -> frozenset[int]:
        """The processors that can be assigned exclusively and are free. Source: GetAvailableCPUs."""
        return self.state.default - self.reserved

    def exclusive_cpus(self, pod: Pod, container: Container) -> int:
        """Return the number of exclusive processors of a container; 0 = it uses a shared set.

        The pod must be Guaranteed and the container's request a whole number. In a pod with pod-level resources no
        container has exclusive CPUs, or with the gate PodLevelResourceManagers only one with requests equal to its
        limits.

        Source: staticPolicy.guaranteedCPUs, Allocate.
        """
        if get_pod_qos(pod, self.release) != "Guaranteed":
            return 0
        if pod_level_resources(pod, self.release) and not (
            pod_level_managed(pod, self.release) and resembles_guaranteed(container)
        ):
            return 0
        return _whole(container.resources.requests)

    def pod_cpus(self, pod: Pod) -> int:
        """Return the number of processors of the whole pod: the maximum that its containers need at the same time.

        For a pod with pod-level resources it is their CPU request. Source: staticPolicy.podGuaranteedCPUs; KEP-753,
        KEP-5526.
        """
        if pod_level_managed(pod, self.release):
            assert pod.spec.resources is not None
            guaranteed = get_pod_qos(pod, self.release) == "Guaranteed"
            return _whole(pod.spec.resources.requests) if guaranteed else 0
        sidecars = most = 0
        for container in pod.spec.init_containers:
            wanted = self.exclusive_cpus(pod, container)
            if is_restartable_init(container):
                sidecars += wanted
            else:
                # A regular init container runs beside the sidecars that started before it, but not beside later ones.
                most = max(most, sidecars + wanted)
        return max(most, sidecars + sum(self.exclusive_cpus(pod, c) for c in pod.spec.containers))

    def allocate(self, pod: Pod, container: Container, nodes: frozenset[int] | None = None) -> frozenset[int] | None:
        """Assign processors to a container.

        Args:
            pod: the pod to admit.
            container: one of its containers; init containers must come before the others.
            nodes: the NUMA nodes of the topology manager's hint; None = any.

        Returns:
            The container's exclusive set, or None if it uses a shared set.

        Raises:
            SMTAlignmentError, CPUManagerError: the request cannot be satisfied; the state is unchanged.

        Source: staticPolicy.Allocate.
        """
        wanted = self.exclusive_cpus(pod, container)
        if not wanted:
            return None
        self._check_cores(wanted)
        uid = pod.metadata.uid
        cpus = self.state.of(uid, container.name)
        if cpus is None:
            cpus = self._allocate(wanted, nodes, self._reusable_by(uid))
            self.state.assignments.setdefault(uid, {})[container.name] = cpus
        reusable = self._reusable_by(uid)
        once = is_regular_init(pod, container)
        # The CPUs of an init container that ends are assigned again to the pod's later containers. The kubelet stores
        # them for one pod only, which suffices as pods are admitted one after the other.
        self._reusable = (uid, reusable | cpus if once else reusable - cpus)
        return cpus

    def allocate_pod(self, pod: Pod, nodes: frozenset[int] | None = None) -> None:
        """Assign processors to a pod with pod-level resources, and divide them among its containers.

        Args:
            pod: the admitted pod.
            nodes: the NUMA nodes of the topology manager's hint; None = any.

        Raises:
            EmptyPodSharedPoolError, SMTAlignmentError, CPUManagerError: the request cannot be satisfied; the state is
                unchanged.

        Source: staticPolicy.AllocatePod.
        """
        total, uid = self.pod_cpus(pod), pod.metadata.uid
        if not total or uid in self.state.pods:
            return
        problem = self._pool_problem(pod)
        if problem:
            raise EmptyPodSharedPoolError(problem)
        self._check_cores(total)
        cpus = self._allocate(total, nodes, NONE)
        try:
            parts = partition(pod, cpus, partial(self._own, pod), self._split)
        except CPUManagerError:
            self.state.default |= cpus
            raise
        self.state.pods[uid], self.state.assignments[uid] = cpus, parts

    def _pool_problem(self, pod: Pod) -> str:
        return pool_problem(pod, {"cpu": self.pod_cpus(pod)}, partial(self._own, pod))

    def _own(self, pod: Pod, container: Container) -> dict[str, int]:
        """Return the exclusive CPUs of a container of a pod with pod-level resources; {} = none."""
        wanted = self.exclusive_cpus(pod, container)
        return {"cpu": wanted} if wanted else {}

    def _split(self, cpus: frozenset[int], wanted: Mapping[str, int]) -> tuple[frozenset[int], frozenset[int]]:
        """Split processors into the wanted number and the rest."""
        chosen = self._take(cpus, wanted["cpu"])
        return chosen, cpus - chosen

    def remove(self, uid: str, container: str) -> None:
        """Release a container's processors.

        The processors of a pod with pod-level resources are released together, with its last container.

        Source: staticPolicy.RemoveContainer, getAssignedCPUsOfSiblings.
        """
        cpus = self.state.of(uid, container)
        if cpus is None:
            return
        rest = self.state.assignments[uid]
        del rest[container]
        if not rest:
            del self.state.assignments[uid]
        if uid in self.state.pods:
            self.state.default |= self.state.pods.pop(uid) if not rest else NONE
            return
        # An init container's CPUs may have been assigned again to another container of the pod, which keeps them.
        self.state.default |= cpus - NONE.union(*rest.values())

    def _reusable_by(self, uid: str) -> frozenset[int]:
        """Return the processors of the pod's regular init containers that can be assigned again.

        Source: updateCPUsToReuse.
        """
        return self._reusable[1] if self._reusable[0] == uid else NONE

    def _check_cores(self, wanted: int) -> None:
        """Source: staticPolicy.enforceSMTAlignment."""
        if not self._on("full-pcpus-only"):
            return
        threads = self.topology.size("core")
        if wanted % threads:
            raise SMTAlignmentError(
                f"SMT Alignment Error: requested {wanted} cpus not multiple cpus per core = {threads}"
            )
        # Reserved CPUs need not be whole cores. Their siblings cannot be assigned either, or the allocation could
        # descend to single threads and void the guarantee of the option.
        free = len(self.state.default - self.reserved_physical)
        if wanted > free:
            raise SMTAlignmentError(
                f"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {free}, "
                f"requested CPUs = {wanted}, CPUs per core = {threads}"
            )

    def _allocate(self, wanted: int, nodes: frozenset[int] | None, reusable: frozenset[int]) -> frozenset[int]:
        """Take processors of the hinted NUMA nodes first, then any others. Source: staticPolicy.allocateCPUs."""
        usable = self.available | reusable
        chosen = NONE
        if nodes is not None:
            aligned = usable & self._aligned(nodes)
            chosen = self._take(aligned, min(wanted, len(aligned)))
        chosen |= self._take(usable - chosen, wanted - len(chosen))
        self.state.default -= chosen
        return chosen

    def _aligned(self, nodes: frozenset[int]) -> frozenset[int]:
        """Return the processors of these NUMA nodes; with `align-by-socket` of all their sockets.

        Source: getAlignedCPUs.
        """
        cpus = self.topology.of("numa", nodes)
        if self._on("align-by-socket"):
            return self.topology.of("socket", self.topology.above(cpus, "socket"))
        return cpus

    def _take(self, available: frozenset[int], count: int) -> frozenset[int]:
        spread = self._on("distribute-cpus-across-cores")
        if self._on("distribute-cpus-across-numa"):
            group = self.topology.size("core") if self._on("full-pcpus-only") else 1
            return take_by_topology_numa_distributed(self.topology, available, count, group, spread=spread)
        by_cache = self._on("prefer-align-cpus-by-uncorecache")
        return take_by_topology_numa_packed(self.topology, available, count, spread=spread, by_cache=by_cache)

    def hints(self, pod: Pod, container: Container) -> list[TopologyHint] | None:
        """Return the sets of NUMA nodes that can serve a container; None = no preference, [] = no set can.

        Source: staticPolicy.GetTopologyHints.
        """
        wanted = self.exclusive_cpus(pod, container)
        if not wanted:
            return None
        has = self.state.of(pod.metadata.uid, container.name)
        if has is not None:
            # After a restart of the kubelet the container is admitted again and keeps its CPUs.
            return self._hints(has, NONE, wanted) if len(has) == wanted else []
        return self._hints(self.available, self._reusable_by(pod.metadata.uid), wanted)

    def pod_hints(self, pod: Pod) -> list[TopologyHint] | None:
        """Return the sets of NUMA nodes that can serve the whole pod; None = no preference, [] = no set can.

        Source: staticPolicy.GetPodTopologyHints.
        """
        wanted = self.pod_cpus(pod)
        if not wanted:
            return None
        uid, assigned = pod.metadata.uid, NONE
        if pod_level_managed(pod, self.release):
            if uid in self.state.pods:
                return self._hints(self.state.pods[uid], NONE, wanted)
            if self._pool_problem(pod):
                return []
        for container in containers_of(pod):
            has = self.state.of(uid, container.name)
            if has is not None:
                if len(has) != self.exclusive_cpus(pod, container):
                    return []
                assigned |= has
        if len(assigned) == wanted:
            return self._hints(assigned, NONE, wanted)
        return self._hints(self.available, self._reusable_by(uid) | assigned, wanted)

    def _hints(self, available: frozenset[int], reusable: frozenset[int], wanted: int) -> list[TopologyHint]:
        """Return every set of NUMA nodes with enough processors; sets of the minimum size are preferred.

        Source: staticPolicy.generateCPUTopologyHints.
        """
        numa = self.topology.groups("numa")
        least, found = len(numa), []
        for nodes in node_sets(numa):
            cpus = self.topology.of("numa", nodes)
            if len(cpus) >= wanted:
                # The minimum counts all CPUs of the nodes, free or not: on a busy machine there may be no preferred
                # hint at all, and the topology manager's restricted policy then rejects the pod.
                least = min(least, len(nodes))
            if reusable <= cpus and len(reusable) + len(available & cpus) >= wanted:
                found.append(nodes)
        return [TopologyHint(nodes, len(nodes) == least or self._fills_sockets(nodes, least)) for nodes in found]

    def _fills_sockets(self, nodes: frozenset[int], least: int) -> bool:
        """Return whether `align-by-socket` is on and the nodes are in as few sockets as possible.

        Source: isHintSocketAligned.
        """
        if not self._on("align-by-socket"):
            return False
        sockets = self.topology.groups("socket")
        per_socket = len(self.topology.groups("numa")) // len(sockets)
        if not per_socket:
            return False
        touched = self.topology.above(self.topology.of("numa", nodes), "socket")
        return len(touched) == -(-least // per_socket)


def _whole(requests: ResourceList) -> int:
    """Return the requested CPUs if they are a whole number, else 0. Source: isIntegralCPUAmount."""
    request = requests.get("cpu")
    return 0 if request is None or request.milli_value() % 1000 else request.value()
