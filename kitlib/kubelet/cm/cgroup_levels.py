"""The desired content of each cgroup of a node, level by level: the node, the QoS classes, pods, containers.

Sources: kubelet cm.containerManagerImpl.setupNode, createNodeAllocatableCgroups, enforceNodeAllocatableCgroups,
getCgroupConfig; qosContainerManagerImpl.UpdateCgroups; podContainerManagerImpl.EnsureExists; kuberuntime
generateContainerConfig.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from kitlib.api.core import Container, Pod, ResourceList
from kitlib.api.podresources import containers_of
from kitlib.kubelet.cm import reasons
from kitlib.kubelet.cm.assigned import NOTHING_ASSIGNED, Assigned, Assignments
from kitlib.kubelet.cm.cgroup_config import (
    ResourceConfig,
    pod_totals,
    resource_config_for_list,
    resource_config_for_pod,
)
from kitlib.kubelet.cm.cgroup_files import (
    UNBOUNDED_HUGE_PAGES,
    kubelet_files,
    runtime_files,
    with_defaults,
)
from kitlib.kubelet.cm.cgroup_names import (
    CgroupName,
    container_cgroup,
    node_allocatable_name,
    parse_path,
    pod_cgroup_name,
    qos_cgroup_name,
    to_path,
)
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, Version
from kitlib.kubelet.cm.container_config import LinuxContainerResources, effective_limit, linux_container_resources
from kitlib.kubelet.cm.conversions import MIN_SHARES
from kitlib.kubelet.cm.memory_qos import MEMORY_MIN, TIERED_RESERVATION
from kitlib.kubelet.cm.node_allocatable import pods_limit
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.qos_container_manager import (
    QosRequests,
    parse_qos_reserved,
    qos_cpu_shares,
    qos_memory_limits,
    qos_memory_protection,
    qos_requests,
)
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.qos.policy import SANDBOX_OOM_SCORE_ADJ
from kitlib.kubelet.qos.qos_class import QosClass, get_pod_qos, is_restartable_init
from kitlib.kubelet.util.cpuset import format_cpus

INNER = "container"
"""Name of the cgroup that crun makes inside a container's scope. Source: crun cgroup-systemd.c."""


def _whose(given: Assigned) -> reasons.Whose:
    return "container" if given.exclusive else "pod" if given.of_pod else "node"


def container_id(uid: str, name: str) -> str:
    """Return an id for a container without a runtime: 64 hexadecimal digits that depend on pod UID and name only."""
    return hashlib.sha256(f"{uid}/{name}".encode()).hexdigest()


def running_containers(pod: Pod) -> list[Container]:
    """Return the containers of a started pod: sidecars, containers, ephemeral containers that have not ended."""
    ended = {status.name for status in pod.status.ephemeral_container_statuses if "terminated" in status.state}
    ephemeral = [container for container in pod.spec.ephemeral_containers if container.name not in ended]
    return [*filter(is_restartable_init, pod.spec.init_containers), *pod.spec.containers, *ephemeral]


class Desired:
    """Computes the parts of the desired tree; `desired_tree` joins them.

    Args:
        node: the node's configuration.
        version: cgroup version, 1 or 2.
        driver: the cgroup driver; None = that of the settings.
    """

    def __init__(self, node: NodeConfig, version: Version = 2, driver: Driver | None = None) -> None:
        self.node, self.version = node, version
        self.settings, self.release = node.settings, node.gates
        self.driver: Driver = driver or node.settings.cgroup_driver
        self.kubepods = node_allocatable_name(node.settings.cgroup_root, node.settings.cgroups_per_qos)
        self.context = node.container_context(version)
        self._huge = node.machine.huge_page_sizes
        self._tiered = self.context.memory_qos and self.settings.memory_reservation_policy == TIERED_RESERVATION

    def path(self, name: CgroupName) -> str:
        """Return a cgroup's path in the driver's spelling."""
        return to_path(name, self.driver)

    def root(self) -> Cgroup:
        """Return the root cgroup, which has all of the machine's resources."""
        return Cgroup("/", "root", "the whole machine", files=with_defaults([], self.version, root=True))

    def node_level(self) -> list[Cgroup]:
        """Return the cgroups of the node level that do not depend on the pods."""
        made = [self.kubepods_level()] if self.settings.cgroups_per_qos else []
        return made + self.reserved_level() + self.daemon_level()

    def reserved_level(self) -> list[Cgroup]:
        """Return the enforced cgroups of reserved resources; the administrator creates them, not the kubelet.

        Every size of huge pages that the reservation does not name is limited to 0. With MemoryQoS the reserved memory
        is protected.

        Source: kubelet cm.enforceExistingCgroup, cgroupCommon.maybeSetHugetlb.
        """
        s, made = self.settings, []
        for which, path, reserved in (
            ("system", s.system_reserved_cgroup, self.node.reservations.system_reserved),
            ("kube", s.kube_reserved_cgroup, self.node.reservations.kube_reserved),
        ):
            whole, part = f"{which}-reserved", f"{which}-reserved-compressible"
            if not path or not {whole, part} & set(s.enforce_node_allocatable):
                continue
            compressible = part in s.enforce_node_allocatable
            config = self._for_list(reserved, compressible)
            if self.context.memory_qos and config.memory is not None:
                config = replace(config, unified={MEMORY_MIN: str(config.memory)})
            why = reasons.reserved(which, reserved, self.version)
            files = kubelet_files(config, self.version, huge_page_sizes=self._huge, why=why)
            title = f"reserved for {'system daemons' if which == 'system' else 'Kubernetes itself'}"
            where = self.path(parse_path(path, self.driver))
            made.append(Cgroup(where, "reserved", title, "kubelet", with_defaults(files, self.version)))
        return made

    def _for_list(self, resources: ResourceList, compressible: bool = False) -> ResourceConfig:
        """Return the configuration for a list of resources. Source: kubelet containerManagerImpl.getCgroupConfig."""
        config = resource_config_for_list(resources, compressible_only=compressible)
        if self.settings.cpu_manager_policy != "none" or self.node.processors is None:
            return config
        # Under the CPU manager's policy none the kubelet writes all processors into the cpuset of each cgroup that it
        # makes from a list of resources.
        processors = self.node.processors or format_cpus(cpu.id for cpu in self.node.machine.cpus)
        return replace(config, cpuset=processors)

    def daemon_level(self) -> list[Cgroup]:
        """Return the cgroups of `--kubelet-cgroups` and `--system-cgroups`, which have no limits.

        The paths are not converted to the driver's spelling. Source: kubelet cm.setupNode, newSystemCgroups.
        """
        made = []
        for path, title in (
            (self.settings.kubelet_cgroups, "the kubelet itself"),
            (self.settings.system_cgroups, "processes of the system that stood in no cgroup"),
        ):
            if path and path != "/":
                where = "/" + path.strip("/")
                made.append(Cgroup(where, "daemon", title, "kubelet", with_defaults([], self.version)))
        return made

    def qos_level(self, pods: Sequence[Pod] | QosRequests) -> list[Cgroup]:
        """Return "kubepods" with the values that depend on the pods, and the QoS cgroups Burstable and BestEffort.

        Args:
            pods: the active pods, or the sums of their requests by QoS class.
        """
        if not self.settings.cgroups_per_qos:
            return []
        requests = pods if isinstance(pods, QosRequests) else qos_requests(pods, self.release)
        reserved = self.settings.qos_reserved if self.release.enabled("QOSReserved") else {}
        percent = parse_qos_reserved(reserved).get("memory")
        allocatable = self.context.node_allocatable_memory
        limits = qos_memory_limits(requests, allocatable, percent) if percent is not None else {}
        protected: dict[str, dict[str, str]] = {}
        if self.context.memory_qos:
            protected = qos_memory_protection(requests, self.settings.memory_reservation_policy)
        # The kubelet limits each page size without a value to 0 (maybeSetHugetlb), which would apply to all pods below.
        unbounded = dict.fromkeys(self._huge, UNBOUNDED_HUGE_PAGES)
        made = [self.kubepods_level(ResourceConfig(unified=protected.get("Guaranteed", {}), huge_page_limit=unbounded))]
        for qos, shares in qos_cpu_shares(requests).items():
            config = ResourceConfig(
                cpu_shares=shares,
                memory=limits.get(qos),
                unified=protected.get(qos, {}),
                huge_page_limit=unbounded,
            )
            why = reasons.qos_class(qos, requests, allocatable, percent, self.version)
            files = kubelet_files(config, self.version, huge_page_sizes=self._huge, why=why)
            path = self.path(qos_cgroup_name(self.kubepods, qos))
            title = f"all {qos} pods"
            made.append(Cgroup(path, "qos", title, "kubelet", with_defaults(files, self.version), qos=qos))
        return made

    def kubepods_level(self, updated: ResourceConfig | None = None) -> Cgroup:
        """Return the cgroup of all pods.

        Args:
            updated: the values of UpdateCgroups, as it is also the QoS cgroup of Guaranteed pods; None = none.
        """
        limit = pods_limit(self.node.machine, self.node.reservations)
        config = self._for_list(limit)
        if updated is not None:
            config = replace(config, unified=updated.unified, huge_page_limit=updated.huge_page_limit)
        why = reasons.kubepods(self.node.machine, self.node.reservations, limit, self.version)
        files = kubelet_files(config, self.version, huge_page_sizes=self._huge, why=why)
        return Cgroup(self.path(self.kubepods), "kubepods", "all pods", "kubelet", with_defaults(files, self.version))

    def pod_path(self, pod: Pod) -> str:
        """Return the path of the pod's cgroup; "" with `--cgroups-per-qos=false`."""
        return self._pod_path(pod, get_pod_qos(pod, self.release))

    def _pod_path(self, pod: Pod, qos: QosClass) -> str:
        if not self.settings.cgroups_per_qos:
            return ""
        return self.path(pod_cgroup_name(self.kubepods, qos, pod.metadata.uid))

    def pod_level(self, pod: Pod, assigned: Assignments | None = None) -> list[Cgroup]:
        """Return the pod's own cgroup; [] with `--cgroups-per-qos=false`.

        A pod with exclusive CPUs has no quota from the release on that has DisableCPUQuotaWithExclusiveCPUs.
        Source: EnsureExists, PodHasExclusiveCPUs; `slice_quota`.
        """
        path = self.pod_path(pod)
        if not path:
            return []
        totals = pod_totals(pod, self.release)
        pids = self.settings.pod_pids_limit
        given, uid = assigned or {}, pod.metadata.uid
        containers = containers_of(pod)
        owns = any(given.get((uid, c.name), NOTHING_ASSIGNED).exclusive for c in containers)
        unquoted = owns and self.release.enabled("DisableCPUQuotaWithExclusiveCPUs")
        config = resource_config_for_pod(
            totals,
            enforce_cpu_limits=self.settings.cpu_cfs_quota and not unquoted,
            cpu_period=self.settings.cpu_cfs_quota_period,
            memory_reservation=self._tiered,
            pids_limit=pids if pids > 0 else None,
            release=self.release,
        )
        # systemd rewrites the slice when a container's scope enters it, with the quota rounded up to whole percents.
        exact = config.cpu_quota
        if self.driver == "systemd" and exact is not None:
            from kitlib.kubelet.cm.systemd_properties import slice_quota

            config = replace(config, cpu_quota=slice_quota(exact, self.settings.cpu_cfs_quota_period))
        why = reasons.pod(
            totals, self.settings.cpu_cfs_quota_period, pids, self.version, rounded=config.cpu_quota != exact
        )
        files = kubelet_files(config, self.version, huge_page_sizes=self._huge, why=why)
        made = with_defaults(files, self.version)
        title = f"{totals.qos} pod {pod.key}"
        return [Cgroup(path, "pod", title, "kubelet", made, pod=pod.key, uid=uid, qos=totals.qos)]

    def container_resources(
        self, pod: Pod, container: Container, given: Assigned = NOTHING_ASSIGNED
    ) -> LinuxContainerResources:
        """Return the CRI message for a container. Source: internalContainerLifecycle.PreCreateContainer."""
        found = linux_container_resources(pod, container, self.context, exclusive_cpus=given.exclusive)
        return replace(found, cpuset_cpus=given.cpus, cpuset_mems=given.mems)

    def container_level(
        self, pod: Pod, container: Container, identity: str, given: Assigned = NOTHING_ASSIGNED
    ) -> Cgroup:
        """Return a container's cgroup.

        Args:
            pod: the container's pod.
            container: the container in the manifest.
            identity: the container's id.
            given: the assignment of the resource managers.
        """
        resources = self.container_resources(pod, container, given)
        limit = effective_limit(pod, container, "cpu", self.release)
        why = reasons.container(container, resources, self.context, self.node.runtime, limit, cpus=_whose(given))
        files = runtime_files(resources, self.version, self.node.runtime, why=why)
        return self._runtime_cgroup(pod, identity, "container", f"container {container.name}", files, container.name)

    def sandbox_level(self, pod: Pod, identity: str) -> Cgroup:
        """Return the pause container's cgroup: minimum shares, no limits.

        Source: containerd WithDefaultSandboxShares.
        """
        resources = LinuxContainerResources(cpu_shares=MIN_SHARES, oom_score_adj=SANDBOX_OOM_SCORE_ADJ)
        files = runtime_files(resources, self.version, self.node.runtime, why=reasons.sandbox(self.version))
        return self._runtime_cgroup(pod, identity, "sandbox", "pause container", files)

    def _runtime_cgroup(
        self,
        pod: Pod,
        identity: str,
        kind: Literal["container", "sandbox"],
        title: str,
        files: list[CgroupFile],
        container: str = "",
    ) -> Cgroup:
        runtime = self.node.runtime
        qos, inner = get_pod_qos(pod, self.release), None
        path = container_cgroup(self._pod_path(pod, qos), identity, self.driver, runtime)
        # Below a scope crun makes one more cgroup on v2 and writes the exact values there; the scope shows systemd's.
        if path.endswith(".scope"):
            from kitlib.kubelet.cm.systemd_properties import scope_files

            outer = scope_files(files, self.version, runtime.low_level, self.node.machine.max_pid)
            if runtime.low_level.nests and self.version == 2:
                inner = Cgroup(
                    f"{path}/{INNER}",
                    "inner",
                    f"processes of the {title} (crun)",
                    "runtime",
                    with_defaults(files, self.version),
                    pod=pod.key,
                    uid=pod.metadata.uid,
                    container=container,
                    qos=qos,
                )
            files = outer
        return Cgroup(
            path,
            kind,
            title,
            "runtime",
            with_defaults(files, self.version),
            pod=pod.key,
            uid=pod.metadata.uid,
            container=container,
            qos=qos,
            inner=inner,
        )
