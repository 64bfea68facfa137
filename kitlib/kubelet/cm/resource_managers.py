"""The managers of CPUs, memory and devices as one: all of them admit a pod, or the pod is rejected.

Source: kubelet cm.containerManagerImpl (NewContainerManager, GetAllocateResourcesPodAdmitHandler),
internalContainerLifecycleImpl.PreCreateContainer, admission.GetPodAdmitResult.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import containers_of
from kitlib.kubelet.cm.assigned import Assigned
from kitlib.kubelet.cm.cpumanager.checkpoint import dump_state, load_state
from kitlib.kubelet.cm.cpumanager.state import CPUState, SMTAlignmentError
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology
from kitlib.kubelet.cm.devicemanager.manager import DeviceManager
from kitlib.kubelet.cm.node_allocatable import node_allocatable_reservation
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.topologymanager.hints import EmptyPodSharedPoolError
from kitlib.kubelet.cm.topologymanager.manager import AdmissionProblem, HintProvider, TopologyManager
from kitlib.kubelet.qos.qos_class import pod_level_managed
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus

if TYPE_CHECKING:  # a static policy is loaded where a node has one, the manager of claims with the first claim
    from kitlib.api.devices import ResourceClaim
    from kitlib.kubelet.cm.cpumanager.manager import CPUManager
    from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
    from kitlib.kubelet.cm.memorymanager.checkpoint import MemoryCheckpoint
    from kitlib.kubelet.cm.memorymanager.policy_static import MemoryManager


class ResourceManagers:
    """The resource managers, which assign parts of the machine to containers.

    Args:
        config: the node's configuration.
        checkpoint: the text of the file `cpu_manager_state`; "" = no file.
        memory: the content of the memory manager's file; None = no file.
        before: the managers of the kubelet before its restart; None = the kubelet has not been restarted.

    Attributes:
        cpus: the static CPU policy; None = policy none.
        cpu_manager: the CPU manager with the static policy; None = policy none.
        memory: the static memory policy; None = policy None.
        devices: the device manager.
        find_claim: (namespace, name) -> ResourceClaim of the API server; None = this node does not know claims.

    Raises:
        KitError: the kubelet would not start with this configuration or this file; the message is the kubelet's.
    """

    def __init__(
        self,
        config: NodeConfig,
        checkpoint: str = "",
        memory: MemoryCheckpoint | None = None,
        before: ResourceManagers | None = None,
    ) -> None:
        settings, machine = config.settings, config.machine
        self.topology = CPUTopology(machine.cpus)
        self.cpus: StaticPolicy | None = None
        self.cpu_manager: CPUManager | None = None
        self.memory: MemoryManager | None = None
        numa = self.topology.groups("numa")
        self.find_claim: Callable[[str, str], ResourceClaim | None] | None = None
        self.devices = DeviceManager.of(config.devices, numa, config.gates)
        providers: list[HintProvider] = [self.devices]
        if settings.cpu_manager_policy == "static":
            kept = node_allocatable_reservation(machine.container_manager_capacity(), config.reservations)
            reserve = math.ceil(kept["cpu"].milli_value() / 1000) if "cpu" in kept else 0
            if not reserve:
                raise KitError(
                    "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than "
                    "zero"
                )
            from kitlib.kubelet.cm.cpumanager.manager import CPUManager
            from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy

            self.cpus = StaticPolicy(
                self.topology,
                reserve,
                parse_cpus(settings.reserved_system_cpus),
                settings.cpu_manager_policy_options,
                release=config.gates,
                state=load_state(checkpoint, "static"),
            )
            self.cpu_manager = CPUManager(self.cpus, before.cpu_manager if before is not None else None)
            providers.append(self.cpu_manager)
        else:
            load_state(checkpoint, "none")
        if memory is not None:
            memory.check(settings.memory_manager_policy)
        if settings.memory_manager_policy == "Static":
            from kitlib.kubelet.cm.memorymanager.policy_static import MemoryManager

            self.memory = MemoryManager.of(machine, settings.reserved_memory, config.gates)
            if memory is not None:
                self.memory.restore(memory)
            providers.append(self.memory)
        self._topology_manager = TopologyManager(
            settings.topology_manager_policy,
            settings.topology_manager_scope,
            numa,
            providers,
            settings.topology_manager_policy_options,
            machine.numa_distances,
            config.gates,
        )

    @property
    def idle(self) -> bool:
        """Whether no manager has anything to assign."""
        return self.cpus is None and self.memory is None and not self.devices.plugins

    def admit(self, pod: Pod) -> None:
        """Assign CPUs, memory and devices to all of a pod's containers.

        Raises:
            AdmissionProblem: the pod is rejected; all of its assignments are released.
        """
        if self.cpu_manager is not None:
            self.cpu_manager.remove_stale_state()
        try:
            self._topology_manager.admit(pod)
        except AdmissionProblem:
            self.release(pod)
            raise
        except SMTAlignmentError as error:
            self.release(pod)
            raise AdmissionProblem("SMTAlignmentError", str(error)) from error
        except EmptyPodSharedPoolError as error:
            self.release(pod)
            raise AdmissionProblem("EmptyPodSharedPoolError", str(error)) from error
        except KitError as error:
            self.release(pod)
            text = f"Allocate failed due to {error}, which is unexpected"
            raise AdmissionProblem("UnexpectedAdmissionError", text) from error

    @property
    def hints_seen(self) -> dict[str, str]:
        """The topology hints of the last admitted or rejected pod; {} = the policy none does not request hints."""
        return self._topology_manager.hints_seen

    def release(self, pod: Pod) -> None:
        """Release all assignments of a pod; its CPUs at the next admission or tick (removeStaleState)."""
        uid = pod.metadata.uid
        for container in containers_of(pod):
            if self.cpu_manager is not None:
                self.cpu_manager.release(uid, container.name)
            if self.memory is not None:
                self.memory.release_container(uid, container.name)
            self.devices.release_container(uid, container.name)

    def assigned(self, pod: Pod, container: Container) -> Assigned:
        """Return a container's assignment; with the static CPU policy, the default set if it has no CPUs of its own.

        Source: cpumanager GetCPUAffinity, GetResourceIsolationLevel.
        """
        uid, cpus, exclusive, of_pod = pod.metadata.uid, "", False, False
        if self.cpus is not None:
            own = self.cpus.state.of(uid, container.name)
            pooled = pod_level_managed(pod, self.cpus.release) and not self.cpus.exclusive_cpus(pod, container)
            exclusive = own is not None and not pooled
            of_pod = own is not None and not exclusive
            cpus = format_cpus(self.cpus.state.default if own is None else own)
        mems = self.memory.nodes_of(uid, container.name) if self.memory is not None else ()
        return Assigned(cpus, exclusive, format_cpus(mems), of_pod)

    def assigned_to_running(self, pod: Pod, container: Container) -> Assigned:
        """Return a running container's assignment, with the last written CPUs instead of those of the state."""
        given = self.assigned(pod, container)
        if self.cpu_manager is None:
            return given
        return given._replace(cpus=self.cpu_manager.cpus_of_running(pod.metadata.uid, container.name, given.cpus))

    def assignments(self, pods: Iterable[Pod]) -> dict[tuple[str, str], Assigned]:
        """Return the current assignments of all containers of these pods."""
        if self.idle:
            return {}
        return {
            (pod.metadata.uid, container.name): self.assigned_to_running(pod, container)
            for pod in pods
            for container in containers_of(pod)
        }

    def environment(self, uid: str, container: str) -> dict[str, str]:
        """Return the variables that list a container's devices."""
        return self.devices.environment(uid, container)

    def claim_environment(self, pod: Pod, container: Container) -> dict[str, str]:
        """Return the variables that list the devices of a container's claims."""
        if not (container.resources.claims or pod.status.extended_resource_claim_status):
            return {}
        from kitlib.kubelet.cm.dra.manager import ClaimManager

        return ClaimManager(self.find_claim).environment(pod, container)

    def claim_problem(self, pod: Pod) -> str:
        """Return the reason why the pod's claims cannot be prepared; "" = they can, or the pod has no claims."""
        if not (pod.spec.resource_claims or pod.status.extended_resource_claim_status):
            return ""
        from kitlib.kubelet.cm.dra.manager import ClaimManager

        return ClaimManager(self.find_claim).problem(pod)

    def restarted(self, config: NodeConfig, *, delete_checkpoints: bool = False) -> ResourceManagers:
        """Return the managers of a restarted kubelet, which restore their state from the checkpoints if these exist.

        Devices and prepared claims have checkpoints of their own, which are not deleted.

        Raises:
            KitError: as in the constructor.
        """
        from kitlib.kubelet.cm.memorymanager.checkpoint import MemoryCheckpoint

        memory: MemoryCheckpoint | None = MemoryCheckpoint("None")
        if self.memory is not None:
            memory = self.memory.checkpoint()
        kept, memory = ("", None) if delete_checkpoints else (self.checkpoint(), memory)
        made = ResourceManagers(config, kept, memory, self)
        made.devices.held, made.find_claim = dict(self.devices.held), self.find_claim
        return made

    def checkpoint(self) -> str:
        """Return the text of `cpu_manager_state`, which the policy "none" writes, too."""
        return dump_state("none", CPUState()) if self.cpus is None else dump_state("static", self.cpus.state)
