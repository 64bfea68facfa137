"""The engine's side of real nodes: images, containers, and the limits of the engine's machine.

This module knows nothing of pods. The control plane, in this process or in a container of its own, gets its nodes here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.plan import NodePlan, images_left_out
from kitlib.cluster.nodes.provisioner import Connect, Held, Show
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.real import container, engine, host, reaper
from kitlib.node.real import image as images
from kitlib.node.real.container import NodeContainer, Privilege
from kitlib.node.real.link import Link

MAX_MEMORY_SHARE = 0.8
"""The maximum share of the engine's memory for one node, whatever its plan."""
BOUND = {"cpuset": "CPUs", "memory": "memory", "pids": "number of processes"}
"""The limits of a container that an engine cannot set, by missing cgroup controller."""
_PRIVILEGES = ("least", "full")


@dataclass(frozen=True, kw_only=True)
class ProvisionOptions:
    """The options of nodes' containers.

    Attributes:
        privilege: "least" (the smallest set that can own cgroups) or "full" (`--privileged`).
        image: the image to run; "" = the kit's own, which is built if it does not exist.
        progress: called with the numbers of started and of requested nodes; None = a progress bar if standard error is
            a terminal.

    Raises:
        KitError: an argument is invalid; the error names it.
    """

    privilege: Privilege = "least"
    image: str = ""
    progress: Show | None = None

    def __post_init__(self) -> None:
        if self.privilege not in _PRIVILEGES:
            raise KitError(f"privilege: must be one of {', '.join(_PRIVILEGES)}, got {self.privilege!r}")

    def provisioner(self) -> EngineProvisioner:
        """Return the provisioner with these options.

        Raises:
            KitError: no engine answers.
        """
        return EngineProvisioner(self)


class EngineProvisioner:
    """A provisioner of containers on the engine, which end when it is closed or no longer referenced.

    Args:
        options: the options of the containers.

    Raises:
        KitError: no engine answers.
    """

    def __init__(self, options: ProvisionOptions) -> None:
        self._privilege, image = options.privilege, options.image
        self._image = image
        self._client = engine.connect()
        self._info: dict[str, Any] = {}
        self._lacking: tuple[str, ...] = ()
        self._built = threading.Lock()
        self._with_systemd = image
        self._held: Held[NodeContainer] = Held(self)

    def prepare(self) -> None:
        """Read the engine's properties, remove leftovers of other processes, and build the image if necessary."""
        standing = self._held.threads.submit(lambda: self._image or images.standing(self._client))
        with engine.asking("real nodes"):
            self._info = self._client.info()
            if why := host.hindrance(self._info):  # before an image is built in vain
                raise engine.EngineError(
                    f"this container engine cannot run real nodes: {why}; or use Cluster.simulated()"
                )
            container.sweep(self._client)
            reaper.start()
        self._image = standing.result() or images.build(self._client)

    def _image_for(self, config: NodeConfig) -> str:
        """Return the image of a node; the one with systemd is built for the first node that needs it."""
        if config.settings.cgroup_driver != "systemd":
            return self._image
        with self._built:
            self._with_systemd = self._with_systemd or images.ensure(self._client, systemd=True)
        return self._with_systemd

    def begin(
        self, node_plan: NodePlan, config: NodeConfig, number: int, link: Connect = Link
    ) -> tuple[NodeContainer, list[str]]:
        """Start one node's container.

        Args:
            node_plan: the node's plan.
            config: the kubelet's configuration.
            number: the number of nodes before this one.
            link: the type of connection, as for `container.start`.

        Returns:
            The container, and sentences about its differences from the plan.
        """
        machine, notes = config.machine, []
        have = int(self._info.get("NCPU") or 0)
        cpuset = ""
        if have and machine.cores < have:
            # Nodes get different processors, so that they disturb each other less. The static policy assigns processors
            # by the ids of the declared machine, which start at 0.
            first = 0 if config.settings.cpu_manager_policy == "static" else number * machine.cores % have
            cpuset = ",".join(str((first + i) % have) for i in range(machine.cores))
        elif have and machine.cores > have:
            notes.append(f"{machine.cores} CPUs were asked for, the engine has {have}: weights hold, sums do not")
        total = int(int(self._info.get("MemTotal") or 0) * MAX_MEMORY_SHARE)
        most = 0
        if total and machine.memory > total:
            most = total
            notes.append(f"{machine.memory} bytes of memory were asked for; the container may use {total}")
        if node_plan.cgroup_version is not None and f"{node_plan.cgroup_version}" != str(
            self._info.get("CgroupVersion", "1")
        ):
            have_version = self._info.get("CgroupVersion", "1")
            notes.append(f"cgroup v{node_plan.cgroup_version} was asked for, the engine's kernel has v{have_version}")
        if machine.swap:
            notes.append("swap is declared; whether there is any, the host decides")
        notes += images_left_out(node_plan, machine)
        start = partial(
            container.start,
            self._client,
            self._image_for(config),
            node_plan.name,
            machine,
            privilege=self._privilege,
            cpuset=cpuset,
            lacking=self._lacking,
            most_memory=most,
            systemd=config.settings.cgroup_driver == "systemd",
            link=link,
        )
        made = self._held.begin(start)
        # The next node does not try again what the engine rejected for this one.
        self._lacking = made.lacking
        if "SYSLOG" in made.lacking:
            notes.append("the kernel's log may be refused (no CAP_SYSLOG)")
        for bound in container.BOUNDS:
            if bound in made.lacking:
                notes.append(f"the engine has no {bound} controller: nothing keeps the node within its {BOUND[bound]}")
        return made, notes

    def begin_control(self, link: Connect) -> NodeContainer:
        """Start the container of a control plane."""
        return self._held.begin(partial(container.start_control, self._client, self._image, link))

    def let_go(self) -> None:
        """Release all containers: they end by themselves."""
        self._held.let_go()

    def close(self) -> None:
        """End and remove all containers."""
        self._held.stop()
        for node_container in self._held.all:
            node_container.close()
        self._held.all.clear()
        self._client.close()
