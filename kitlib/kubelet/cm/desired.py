"""The desired cgroup tree: for a node's configuration and its pods, every cgroup, every file, every value, and why.

Four levels: the node's own cgroups ("kubepods" and those of reserved resources), one cgroup a QoS class, one a pod,
one a container (written by the runtime). The tree is computed from nothing but its arguments, so it can be shown before
anything runs, and compared with what a node shows afterwards.

Sources: kubelet cm.containerManagerImpl.setupNode, createNodeAllocatableCgroups, enforceNodeAllocatableCgroups;
qosContainerManagerImpl.UpdateCgroups; podContainerManagerImpl.EnsureExists; kuberuntime generateContainerConfig.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import containers_of
from kitlib.kubelet.cm import reasons
from kitlib.kubelet.cm.assigned import NOTHING_ASSIGNED, Assigned, Assignments
from kitlib.kubelet.cm.cgroup_config import (
    ResourceConfig,
    pod_totals,
    resource_config_for_list,
    resource_config_for_pod,
)
from kitlib.kubelet.cm.cgroup_files import kubelet_files, runtime_files, unbounded_huge_pages, with_defaults
from kitlib.kubelet.cm.cgroup_names import (
    Driver,
    container_cgroup,
    node_allocatable_name,
    parse_path,
    pod_cgroup_name,
    qos_cgroup_name,
    to_path,
)
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Version
from kitlib.kubelet.cm.container_config import LinuxContainerResources, linux_container_resources
from kitlib.kubelet.cm.conversions import MIN_SHARES
from kitlib.kubelet.cm.memory_qos import TIERED_RESERVATION
from kitlib.kubelet.cm.node_allocatable import pods_limit
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.qos_container_manager import (
    parse_qos_reserved,
    qos_cpu_shares,
    qos_memory_limits,
    qos_memory_protection,
    qos_requests,
)
from kitlib.kubelet.cm.systemd_properties import slice_quota
from kitlib.kubelet.qos.policy import SANDBOX_OOM_SCORE_ADJ
from kitlib.kubelet.qos.qos_class import QOS_CLASSES, get_pod_qos, is_restartable_init


def _whose(given: Assigned) -> reasons.Whose:
    return "container" if given.exclusive else "pod" if given.of_pod else "node"


def container_id(uid: str, name: str) -> str:
    """A container's id where no runtime has given one: 64 hexadecimal digits that depend on pod and name only."""
    return hashlib.sha256(f"{uid}/{name}".encode()).hexdigest()


def running_containers(pod: Pod) -> list[Container]:
    """The containers of a pod that has started: its sidecars and its containers."""
    return [*filter(is_restartable_init, pod.spec.init_containers), *pod.spec.containers]


class Desired:
    """Computes the parts of the desired tree; `desired_tree` puts all of them together.

    Args:
        node: the configuration.
        version: cgroup version.
        driver: in place of the settings' own.
    """

    def __init__(self, node: NodeConfig, version: Version = 2, driver: Driver | None = None) -> None:
        self.node, self.version = node, version
        self.settings, self.release = node.settings, node.gates
        self.driver: Driver = driver or node.settings.cgroup_driver
        self.kubepods = node_allocatable_name(node.settings.cgroup_root, node.settings.cgroups_per_qos)
        self.context = node.container_context(version)
        self._huge = node.machine.huge_page_sizes
        self._tiered = self.context.memory_qos and self.settings.memory_reservation_policy == TIERED_RESERVATION

    def path(self, name: Any) -> str:
        """A cgroup's path as the driver spells it."""
        return to_path(name, self.driver)

    def root(self) -> Cgroup:
        """The root cgroup: everything that the machine has."""
        return Cgroup("/", "root", "the whole machine", files=with_defaults([], self.version, root=True))

    def node_level(self) -> list[Cgroup]:
        """ "kubepods", and the cgroups of reserved resources where they are enforced."""
        made = []
        if self.settings.cgroups_per_qos:
            made.append(self._kubepods(ResourceConfig()))
        s = self.settings
        for which, path, reserved in (
            ("system", s.system_reserved_cgroup, self.node.reservations.system_reserved),
            ("kube", s.kube_reserved_cgroup, self.node.reservations.kube_reserved),
        ):
            whole, part = f"{which}-reserved", f"{which}-reserved-compressible"
            if path and (whole in s.enforce_node_allocatable or part in s.enforce_node_allocatable):
                compressible = part in s.enforce_node_allocatable
                config = resource_config_for_list(reserved, compressible_only=compressible)
                files = kubelet_files(config, self.version, why=reasons.reserved(which, reserved))
                title = f"reserved for {'system daemons' if which == 'system' else 'Kubernetes itself'}"
                where = self.path(parse_path(path, self.driver))
                made.append(Cgroup(where, "reserved", title, "kubelet", with_defaults(files, self.version)))
        return made + self.daemon_level()

    def daemon_level(self) -> list[Cgroup]:
        """The cgroups of `--kubelet-cgroups` and `--system-cgroups`: made, but without limits.

        The paths are taken as they are, whatever the driver. Source: kubelet cm.setupNode, newSystemCgroups.
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

    def qos_level(self, pods: Sequence[Pod]) -> list[Cgroup]:
        """ "kubepods" again with what depends on its pods, and the classes Burstable and BestEffort."""
        if not self.settings.cgroups_per_qos:
            return []
        requests = qos_requests(pods, self.release)
        reserved = self.settings.qos_reserved if self.release.enabled("QOSReserved") else {}
        percent = parse_qos_reserved(reserved).get("memory")
        allocatable = pods_limit(self.node.machine, self.node.reservations)["memory"].value()
        limits = qos_memory_limits(requests, allocatable, percent) if percent is not None else {}
        protected: dict[str, dict[str, str]] = {}
        if self.context.memory_qos:
            protected = qos_memory_protection(requests, self.settings.memory_reservation_policy)
        made = [self._kubepods(ResourceConfig(unified=protected.get("Guaranteed", {})))]
        for qos, shares in qos_cpu_shares(requests).items():
            config = ResourceConfig(cpu_shares=shares, memory=limits.get(qos), unified=protected.get(qos, {}))
            why = reasons.qos_class(qos, requests, allocatable, percent)
            files = kubelet_files(config, self.version, why=why)
            files += unbounded_huge_pages(self._huge, self.version)
            path = self.path(qos_cgroup_name(self.kubepods, qos))
            title = f"all {qos} pods"
            made.append(Cgroup(path, "qos", title, "kubelet", with_defaults(files, self.version), qos=qos))
        return made

    def _kubepods(self, more: ResourceConfig) -> Cgroup:
        limit = pods_limit(self.node.machine, self.node.reservations)
        config = replace(resource_config_for_list(limit), unified=more.unified)
        why = reasons.kubepods(self.node.machine, self.node.reservations, limit)
        files = kubelet_files(config, self.version, huge_page_sizes=self._huge, why=why)
        return Cgroup(self.path(self.kubepods), "kubepods", "all pods", "kubelet", with_defaults(files, self.version))

    def pod_path(self, pod: Pod) -> str:
        """Path of the pod's cgroup; "" where pods have none."""
        if not self.settings.cgroups_per_qos:
            return ""
        return self.path(pod_cgroup_name(self.kubepods, get_pod_qos(pod, self.release), pod.metadata.uid))

    def pod_level(self, pod: Pod, assigned: Assignments | None = None) -> list[Cgroup]:
        """The pod's own cgroup; [] where pods have none.

        A pod with exclusive CPUs has no quota, where the release does so; systemd keeps a quota in whole percents.
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
        exact = config.cpu_quota
        if self.driver == "systemd" and exact is not None:
            config = replace(config, cpu_quota=slice_quota(exact, self.settings.cpu_cfs_quota_period))
        why = reasons.pod(totals, self.settings.cpu_cfs_quota_period, rounded=config.cpu_quota != exact)
        files = kubelet_files(config, self.version, huge_page_sizes=self._huge, why=why)
        title = f"{totals.qos} pod {pod.key}"
        return [
            Cgroup(
                path,
                "pod",
                title,
                "kubelet",
                with_defaults(files, self.version),
                pod=pod.key,
                uid=pod.metadata.uid,
                qos=totals.qos,
            )
        ]

    def container_resources(
        self, pod: Pod, container: Container, given: Assigned = NOTHING_ASSIGNED
    ) -> LinuxContainerResources:
        """What the runtime is told about a container. Source: internalContainerLifecycle.PreCreateContainer."""
        found = linux_container_resources(pod, container, self.context, exclusive_cpus=given.exclusive)
        return replace(found, cpuset_cpus=given.cpus, cpuset_mems=given.mems)

    def container_level(
        self, pod: Pod, container: Container, identity: str, given: Assigned = NOTHING_ASSIGNED
    ) -> Cgroup:
        """A container's cgroup.

        Args:
            pod: it belongs to. container: which. identity: its id. given: by the resource managers.
        """
        resources = self.container_resources(pod, container, given)
        why = reasons.container(container, resources, self.node.runtime, cpus=_whose(given))
        files = runtime_files(resources, self.version, self.node.runtime, why=why)
        return self._runtime_cgroup(pod, identity, "container", f"container {container.name}", files, container.name)

    def sandbox_level(self, pod: Pod, identity: str) -> Cgroup:
        """The pause container's cgroup: the least shares and no limits. Source: containerd WithDefaultSandboxShares."""
        resources = LinuxContainerResources(cpu_shares=MIN_SHARES, oom_score_adj=SANDBOX_OOM_SCORE_ADJ)
        files = runtime_files(resources, self.version, self.node.runtime, why=reasons.SANDBOX)
        return self._runtime_cgroup(pod, identity, "sandbox", "pause container", files)

    def _runtime_cgroup(
        self, pod: Pod, identity: str, kind: Any, title: str, files: list[CgroupFile], container: str = ""
    ) -> Cgroup:
        path = container_cgroup(self.pod_path(pod), identity, self.driver, self.node.runtime)
        return Cgroup(
            path,
            kind,
            title,
            "runtime",
            with_defaults(files, self.version),
            pod=pod.key,
            uid=pod.metadata.uid,
            container=container,
            qos=get_pod_qos(pod, self.release),
        )


def desired_tree(
    node: NodeConfig,
    pods: Iterable[Pod] = (),
    *,
    version: Version = 2,
    driver: Driver | None = None,
    assigned: Assignments | None = None,
    ids: Callable[[str, str], str] = container_id,
) -> CgroupTree:
    """Every cgroup that the kubelet and its runtime make for these pods, parents before children.

    Args:
        node: the configuration.
        pods: that run on the node, defaulted; ended ones are left out.
        version: cgroup version, 1 or 2.
        driver: in place of the settings' own.
        assigned: what the resource managers gave the containers.
        ids: (pod UID, container name; "" = the pause container) -> the container's id.

    Returns:
        The tree; every file has its reason.
    """
    active = [pod for pod in pods if pod.status.phase not in ("Succeeded", "Failed")]
    rules = Desired(node, version, driver)
    cgroups = [rules.root(), *rules.node_level()]
    known = {cgroup.path: i for i, cgroup in enumerate(cgroups)}
    for cgroup in rules.qos_level(active):
        if cgroup.path in known:
            cgroups[known[cgroup.path]] = cgroup
        else:
            cgroups.append(cgroup)
    by_class: dict[str, list[Pod]] = {qos: [] for qos in QOS_CLASSES}
    for pod in active:
        by_class[get_pod_qos(pod, rules.release)].append(pod)
    for pod in [pod for some in by_class.values() for pod in some]:
        cgroups += rules.pod_level(pod, assigned)
        cgroups.append(rules.sandbox_level(pod, ids(pod.metadata.uid, "")))
        for container in running_containers(pod):
            given = (assigned or {}).get((pod.metadata.uid, container.name), NOTHING_ASSIGNED)
            cgroups.append(rules.container_level(pod, container, ids(pod.metadata.uid, container.name), given))
    return CgroupTree(version, rules.driver, with_parents(cgroups, version))


def with_parents(cgroups: list[Cgroup], version: Version) -> list[Cgroup]:
    """The same with the directories above them that others made, `system.slice`, each before what is in it."""
    known = {cgroup.path for cgroup in cgroups}
    made: list[Cgroup] = []
    for cgroup in cgroups:
        missing = []
        parent = cgroup.parent
        while parent and parent not in known:
            missing.append(parent)
            known.add(parent)
            parent = parent.rpartition("/")[0]
        for path in reversed(missing):
            made.append(Cgroup(path, "system", "made by the system", files=with_defaults([], version)))
        made.append(cgroup)
    return made
