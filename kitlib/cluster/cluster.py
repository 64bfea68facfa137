"""The public face of clusters: `Cluster.simulated()`, `.docker()` and `.kubernetes()` make one of a kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from kitlib.api.clock import EPOCH
from kitlib.api.errors import KitError
from kitlib.cluster.base import BaseCluster
from kitlib.cluster.control_plane.options import ClusterOptions, SimulationOptions
from kitlib.cluster.nodes.plan import Nodes
from kitlib.kubelet.cm.cgroup_tree import Version

if TYPE_CHECKING:
    from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
    from kitlib.cluster.control_plane.copied import CopiedCluster
    from kitlib.cluster.control_plane.docker import DockerCluster
    from kitlib.cluster.control_plane.simulated import SimulatedCluster
    from kitlib.cluster.nodes.provisioner import Provision, Show
    from kitlib.node.kubernetes.manifest import Machines
    from kitlib.node.real.container import Privilege

    RealCluster: TypeAlias = ContainerControlPlaneClient | DockerCluster

ControlPlane = Literal["container", "process"]
_PLACES = ("process", "container")
DEADLINE, START = 8 * 3600, 180.0
"""The maximum lifetime of a node of `Cluster.kubernetes`, and the maximum time until its pod runs, in seconds."""


class Cluster(BaseCluster):
    """A cluster with `apply`, `delete`, `get`, `watch`, `events`, `advance`, and access to its nodes by name.

    `Cluster.simulated()` runs in this process on a simulated kernel and virtual time, `Cluster.docker()` on real
    kernels in disposable containers, `Cluster.kubernetes()` on real kernels in pods. Every cluster is an instance of
    `Cluster`, whatever its kind.
    """

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return BaseCluster in kind.__mro__ if cls is Cluster else NotImplemented

    @staticmethod
    def simulated(
        nodes: Nodes = 1,
        *,
        kubelets: bool = True,
        cgroup_version: Version = 2,
        start: datetime = EPOCH,
        tick: float = 1.0,
        **options: Any,
    ) -> SimulatedCluster:
        """Return a cluster on a simulated kernel, in this process and on virtual time.

        Args:
            nodes: a number, specifications, or Node manifests (see `kitlib.cluster.nodes.plan`).
            kubelets: whether nodes have kubelets and kernels; False = hollow nodes, for scheduling alone.
            cgroup_version: the cgroup version of the kernels, 1 or 2.
            start: the date at the start of the cluster.
            tick: the seconds between two steps while time advances.
            options: release, feature_gates, seed, scheduler, plugins, autoscaler, gate_manager, and defaults for all
                nodes (cpus, memory, kubelet, labels, taints, …); see `ClusterOptions`.

        Raises:
            KitError: an argument is invalid; the error names it.
        """
        from kitlib.cluster.control_plane.simulated import SimulatedCluster

        simulation = SimulationOptions(kubelets=kubelets, cgroup_version=cgroup_version, start=start, tick=tick)
        return SimulatedCluster(ClusterOptions.of(nodes, **options), simulation)

    @staticmethod
    def from_dump(dump: Any) -> CopiedCluster:
        """Return a copy of the cluster of a `kitlib.advisor.dump.Dump`, on hollow nodes and virtual time."""
        from kitlib.cluster.control_plane import copied

        return copied.of_dump(dump)

    @staticmethod
    def docker(
        nodes: Nodes = 1,
        *,
        control_plane: ControlPlane | None = None,
        privilege: Privilege = "least",
        image: str = "",
        progress: Show | None = None,
        **options: Any,
    ) -> RealCluster:
        """Return a cluster of real kernels in disposable containers.

        Args:
            nodes: the nodes, as for `Cluster.simulated`. `node.fidelity` lists what the engine cannot provide.
            control_plane: the place of store, admission, controllers and scheduler: a "container" of their own, or this
                "process"; None = the value of KITLIB_CONTROL_PLANE, else "container". Options that need this process
                (custom plugins, extenders) keep them here, and the cluster's `notes` report it.
            privilege: "least" (the smallest set that can own cgroups) or "full" (`--privileged`).
            image: the image to run; "" = the kit's own, which is built if it does not exist.
            progress: called with the numbers of started and of requested nodes; None = a progress bar if standard error
                is a terminal.
            options: the options, as for `Cluster.simulated`.

        Raises:
            KitError: no engine answers, the image cannot be built, or a node does not start. Nothing is left running.
        """
        from kitlib.cluster.nodes.provision import ProvisionOptions

        where = control_plane or os.environ.get("KITLIB_CONTROL_PLANE") or "container"
        provision = ProvisionOptions(privilege=privilege, image=image, progress=progress)
        return _started(ClusterOptions.of(nodes, **options), provision, where)

    @staticmethod
    def kubernetes(
        nodes: Nodes = 1,
        *,
        namespace: str = "",
        image: str = "",
        context: str = "",
        kubeconfig: str = "",
        privilege: Privilege = "least",
        requests: Mapping[str, str] | None = None,
        deadline: int = DEADLINE,
        start_timeout: float = START,
        pod: Mapping[str, Any] | None = None,
        machines: str = "",
        control_plane: ControlPlane = "process",
        progress: Show | None = None,
        **options: Any,
    ) -> RealCluster:
        """Return a cluster of real kernels in pods of an existing Kubernetes cluster, which needs rights there.

        Args:
            nodes: the nodes, as for `Cluster.simulated`. `node.fidelity` lists what the cluster cannot provide.
            namespace: the namespace of the pods; "" = KITLIB_NODES_NAMESPACE, else the context's.
            image: an image that the cluster can pull; "" = KITLIB_NODE_IMAGE, else the kit's own image, which must be
                on its machines already (kind load, minikube image load).
            context: the context, as for kubectl.
            kubeconfig: the file, as for kubectl; without a file, a pod uses its service account.
            privilege: "least" (the smallest set that can own cgroups) or "full" (`privileged: true`).
            requests: the resource requests of each node's pod; None = 100m of CPU, 128Mi of memory.
            deadline: the seconds after which the cluster ends a node in any case.
            start_timeout: the maximum seconds until a pod runs.
            pod: fields of the pods' specification: nodeSelector, tolerations, runtimeClassName, imagePullSecrets, ….
            machines: "preferred": machines with the label kitlib.dev/nodes if there are any; "required": only those;
                "" = KITLIB_NODES_MACHINES, else preferred.
            control_plane: the place of the control plane: this "process", or a pod of its own ("container").
            progress: called as for `Cluster.docker`.
            options: the options, as for `Cluster.simulated`.

        Raises:
            KitError: rights are missing, a rule of the cluster (Pod Security, a quota) rejects a pod, or a pod does
                not run in time. The error has the rule and the remedy. Nothing is left behind.
        """
        from kitlib.cluster.nodes.provision_pods import PodProvisionOptions

        provision = PodProvisionOptions(
            namespace=namespace or os.environ.get("KITLIB_NODES_NAMESPACE", ""),
            image=image or os.environ.get("KITLIB_NODE_IMAGE", ""),
            context=context,
            kubeconfig=kubeconfig,
            privilege=privilege,
            requests=requests,
            deadline=deadline,
            start_timeout=start_timeout,
            pod=pod or {},
            machines=cast("Machines", machines or os.environ.get("KITLIB_NODES_MACHINES", "") or "preferred"),
            progress=progress,
        )
        return _started(ClusterOptions.of(nodes, **options), provision, control_plane)


def _started(wanted: ClusterOptions, provision: Provision, where: str) -> RealCluster:
    """Return a cluster of real nodes, its control plane in a container or in this process."""
    if where not in _PLACES:
        raise KitError(f"control_plane: must be one of {', '.join(_PLACES)}, got {where!r}")
    why = ""
    if where == "container":
        from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient, why_in_process

        why = why_in_process(wanted)
        if not why:
            return ContainerControlPlaneClient(wanted, provision)
    from kitlib.cluster.control_plane.docker import DockerCluster

    cluster = DockerCluster(wanted, provision)
    if why:
        cluster.notes.append(why)
    return cluster
