"""The Kubernetes side of real nodes: their pods, and the limits of pods as machines.

A pod cannot request a set of processors or a limit of processes. Its agent sets both, in a cgroup above the node's root
(`kitlib.node.real.bounds`).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.plan import NodePlan, images_left_out
from kitlib.cluster.nodes.provisioner import Connect, Held, Show
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.kubernetes import manifest, pods
from kitlib.node.kubernetes.client import Api, Place
from kitlib.node.kubernetes.manifest import Machines, PodOptions
from kitlib.node.kubernetes.pods import NodePod
from kitlib.node.real import image as images
from kitlib.node.real import reaper
from kitlib.node.real.container import Privilege
from kitlib.node.real.link import Link

USER_NAMESPACE = "KITLIB_NODES_USER_NAMESPACE"
"""Environment variable: "required" = nodes have a user namespace, or do not start."""


def _user_namespace() -> dict[str, bool]:
    """Return the field of a pod that KITLIB_NODES_USER_NAMESPACE requests. Raises: KitError."""
    wanted = os.environ.get(USER_NAMESPACE, "")
    if wanted not in ("", "required"):
        raise KitError(f"{USER_NAMESPACE}: must be 'required' or empty, got {wanted!r}")
    return {manifest.HOST_USERS: False} if wanted else {}


@dataclass(frozen=True, kw_only=True)
class PodProvisionOptions:
    """The options of nodes' pods; see `Cluster.kubernetes`.

    Raises:
        KitError: an argument is invalid; the error names it.
    """

    deadline: int
    start_timeout: float
    namespace: str = ""
    image: str = ""
    context: str = ""
    kubeconfig: str = ""
    privilege: Privilege = "least"
    requests: Mapping[str, str] | None = None
    pod: Mapping[str, Any] = field(default_factory=dict)
    machines: Machines = "preferred"
    progress: Show | None = None

    def __post_init__(self) -> None:
        self.pods(systemd=False)

    def pods(self, *, systemd: bool) -> PodOptions:
        """Return the common options of node pods, with or without systemd."""
        return PodOptions(
            image=self.image or images.tag(systemd=systemd),
            privilege=self.privilege,
            requests=dict(manifest.REQUESTS if self.requests is None else self.requests),
            deadline=self.deadline,
            spec={**_user_namespace(), **self.pod},
            machines=self.machines,
        )

    def provisioner(self) -> PodProvisioner:
        """Return the provisioner with these options.

        Raises:
            KitError: the client library or its configuration is missing.
        """
        return PodProvisioner(self)


class PodProvisioner:
    """A provisioner of pods, which end when it is closed or no longer referenced.

    Args:
        options: the options of the pods.

    Raises:
        KitError: the client library or its configuration is missing.
    """

    def __init__(self, options: PodProvisionOptions) -> None:
        self._options = options
        place = Place(options.kubeconfig, options.context, options.namespace)
        self._api = Api(place)
        self._place = Place(place.kubeconfig, place.context, self._api.namespace)
        self._held: Held[NodePod] = Held(self)
        self._ended = threading.Event()
        weakref.finalize(self, self._ended.set)

    def prepare(self) -> None:
        """Check the required rights, and delete leftovers of other processes.

        Raises:
            KitError: rights are missing, or the cluster does not answer.
        """
        pods.check_rights(self._api)
        pods.sweep(self._api)
        self._owner = pods.owner_of(self._api)
        where = self._place
        reaper.start(pods.__name__, self._owner.label, where.kubeconfig, where.context, where.namespace)

    def begin(
        self, node_plan: NodePlan, config: NodeConfig, number: int, link: Connect = Link
    ) -> tuple[NodePod, list[str]]:
        """Start one node; see `Provisioner.begin`."""
        machine, notes = config.machine, []
        if node_plan.cgroup_version is not None:
            notes.append(f"cgroup v{node_plan.cgroup_version} was asked for; the machine that runs the pod decides")
        if machine.swap:
            notes.append("swap is declared; whether there is any, the machine that runs the pod decides")
        notes += images_left_out(node_plan, machine)
        systemd = config.settings.cgroup_driver == "systemd"
        body = manifest.node_pod(
            self._name(node_plan.name),
            node_plan.name,
            machine,
            self._options.pods(systemd=systemd),
            self._owner,
            systemd=systemd,
        )
        return self._start(node_plan.name, body, link), notes

    def begin_control(self, link: Connect) -> NodePod:
        """Start the pod of a control plane."""
        body = manifest.control_pod(self._name("control-plane"), self._options.pods(systemd=False), self._owner)
        return self._start("control-plane", body, link)

    def _name(self, node: str) -> str:
        return manifest.pod_name(node, os.urandom(4).hex())

    def _start(self, node: str, body: dict[str, Any], link: Connect) -> NodePod:
        timeout = self._options.start_timeout
        return self._held.begin(
            lambda: pods.start(self._api, node, body, link=link, timeout=timeout, given_up=self._ended)
        )

    def let_go(self) -> None:
        """Release all pods: their containers end by themselves, and `close` or the reaper deletes the pods."""
        self._held.let_go()

    def close(self) -> None:
        """End all nodes and delete their pods."""
        self._ended.set()
        self._held.stop()
        names = [node_pod.pod for node_pod in self._held.all if pods.delete(self._api, node_pod.pod)]
        pods.wait_until_gone(self._api, names)
        self._held.all.clear()
        self._api.close()
