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
"""Seconds: that a node of `Cluster.kubernetes` lives at most, and that its pod may take to run."""


class Cluster(BaseCluster):
    """A cluster to work with: `apply`, `delete`, `get`, `watch`, `events`, `advance`, and its nodes by name.

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
        """A cluster on a simulated kernel, in this process and on virtual time.

        Args:
            nodes: a number, specifications, or Node manifests (see `kitlib.cluster.nodes.plan`).
            kubelets, cgroup_version, start, tick: see `SimulationOptions`.
            options: release, feature_gates, seed, scheduler, plugins, autoscaler, gate_manager, and what holds for all
                nodes (cpus, memory, kubelet, labels, taints, …); see `ClusterOptions`.

        Raises:
            KitError: naming the argument.
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
        """A cluster of real kernels in disposable containers.

        Args:
            nodes, options: as for `Cluster.simulated`. What the engine cannot give is said in `node.fidelity`.
            control_plane: where store, admission, controllers and scheduler run: in a "container" of their own, or in
                this "process"; None = as KITLIB_CONTROL_PLANE says, else "container". What only this process can do
                (plugins of your own, extenders) keeps them here; `notes` of the cluster says so.
            privilege: "least" (the smallest set that can own cgroups) or "full" (`--privileged`).
            image: an image to run; "" = the kit's own, which is built where it does not exist.
            progress: called with the number of nodes that are up and of those that were asked for; None = a bar where
                standard error is a terminal.

        Raises:
            KitError: where no engine answers, the image cannot be built, or a node does not start; then nothing is
                left.
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
        """Return a cluster of real kernels in pods of a Kubernetes cluster in which you have rights.

        Args:
            nodes, options: as for `Cluster.simulated`. What the cluster cannot give is said in `node.fidelity`.
            namespace: of the pods; "" = KITLIB_NODES_NAMESPACE, else the context's.
            image: that the cluster can pull; "" = KITLIB_NODE_IMAGE, else the kit's own name, which must be on its
                machines already (kind load, minikube image load).
            context, kubeconfig: as kubectl has them; inside a pod its service account is used where there is no file.
            privilege: "least" (the smallest set that can own cgroups) or "full" (`privileged: true`).
            requests: what the cluster's scheduler sets aside for each node; None = 100m of CPU, 128Mi of memory.
            deadline: seconds after which the cluster ends a node in any case.
            start_timeout: seconds that a pod may take to run.
            pod: fields of the pods' specification: nodeSelector, tolerations, runtimeClassName, imagePullSecrets, ….
            machines: "preferred": the machines with the label kitlib.dev/nodes where there are any; "required": only
                those; "" = KITLIB_NODES_MACHINES, else preferred.
            control_plane: in this "process", or in a pod ("container") of its own.
            progress: as for `Cluster.docker`.

        Raises:
            KitError: where rights are missing, or Pod Security, a quota or another rule of the cluster refuses a pod,
                or it does not run in time: which rule, and what to do; then nothing is left.
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
