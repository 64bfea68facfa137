"""The recipe for a room on Kubernetes: values of Zero to JupyterHub, shared storage, namespaces for real nodes.

The numbers follow from measurements (kitlib/docs/workshop.md) of the memory and CPUs of a learner's server and
kernels, and of a node. `size_of` computes the size of a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from string import Template
from textwrap import indent

from kitlib.api.errors import KitError, shortened
from kitlib.workshop import FILES, RESERVE, Limits, Written, roster, write_files
from kitlib.workshop.nodes_namespace import NodesNamespace, check_image, check_namespace

SERVER_MB, KERNEL_MB, HUB_MB = 120, 110, 1024
"""Measured MB of a learner's server, and of a kernel with a table and a widget; limit of the hub."""
NODE_CPU, LEARNER_CPU = 0.1, 0.05
"""Requested CPUs of a node's pod, and the guarantee of a learner."""
SPAWNS = 64
"""concurrentSpawnLimit of the chart: a smaller one rejects learners who log in together, and starts them later."""
CHART, HUB = "4.4.0", "5.5.0"
"""Release of the chart, and of JupyterHub in it, which the learners' image has too. Source: Chart.yaml appVersion."""
MACHINE_GB, MACHINE_CPUS, USABLE = 32, 8, 0.85
"""Size of a machine, and the fraction of it for pods."""


@dataclass(frozen=True)
class Size:
    """The computed requirements of a room.

    Attributes:
        learners: number of simultaneous learners.
        nodes: number of nodes per learner.
        memory_mb: MB of all learners' servers and kernels, and the hub.
        node_mb: MB that all real nodes request.
        cpus: requested CPUs.
        machines: number of machines of 8 CPUs and 32 GB.
        storage_gb: GB of learners' homes and of the shared storage.
    """

    learners: int
    nodes: int
    memory_mb: int
    node_mb: int
    cpus: float
    machines: int
    storage_gb: int

    def __str__(self) -> str:
        of_pods = f"{self.memory_mb / 1000:.0f} GB for servers and hub, {self.node_mb / 1000:.0f} GB for node pods"
        machines = (
            f"{self.machines} machines of {MACHINE_CPUS} CPUs and {MACHINE_GB} GB, {self.storage_gb} GB of storage"
        )
        return f"{self.learners} learners with {self.nodes} real nodes each: {of_pods}, {self.cpus:g} CPUs: {machines}"


def size_of(learners: int, nodes: int = 0) -> Size:
    """Return the requirements of a room for this number of learners, with `nodes` real nodes each."""
    memory = learners * (SERVER_MB + KERNEL_MB) + HUB_MB
    node_memory = ceil(learners * nodes * 128 * 1.048576)  # 128Mi is the request of each node's pod
    cpus = round(learners * LEARNER_CPU + learners * nodes * NODE_CPU + 0.5, 1)
    by_memory = (memory + node_memory) / (MACHINE_GB * 1000 * USABLE)
    machines = ceil(max(by_memory, cpus / (MACHINE_CPUS * USABLE)))
    return Size(learners, nodes, memory, node_memory, cpus, machines, learners + storage_gb(learners))


def storage_gb(learners: int) -> int:
    """Return the GB of the shared storage: a progress file of a whole course is smaller than 20 MB."""
    return max(1, ceil(learners * 20 / 1000))


@dataclass(frozen=True, kw_only=True)
class KubernetesRoom:
    """The requested room.

    Attributes:
        limits: limits of each learner.
        hub: namespace of the hub.
        image: image of learners, `REGISTRY/NAME:TAG`.
        nodes: the namespaces for real nodes, one per seat.
        people: the roster; () = every name may log in.

    Raises:
        KitError: an argument is invalid; the message names it.
    """

    limits: Limits
    hub: str = "kitlib-hub"
    image: str = "registry.example/kitlib-learner:1"
    nodes: NodesNamespace
    people: Sequence[roster.Person] = ()

    def __post_init__(self) -> None:
        check_namespace(self.hub)
        check_image(self.image)
        if not self.nodes.seats:
            raise KitError(
                "--for cannot be used with --kubernetes, which creates a service account and a namespace for each "
                "learner"
            )

    def values(self) -> dict[str, str]:
        """Return placeholder -> value for the recipe's files.

        Raises:
            KitError: the image has no tag.
        """
        name, colon, tag = self.image.rpartition(":")
        if not colon or "/" in tag:
            raise KitError(
                f"image {shortened(repr(self.image), 80)}: must have the form NAME:TAG, because the hub pulls each tag "
                "only once"
            )
        learners = self.limits.learners
        return {
            "learners": str(learners),
            "servers": str(learners + RESERVE),
            "at_once": str(SPAWNS),
            "placeholders": str(max(1, learners // 20)),
            "memory_mb": str(self.limits.memory_mb),
            "guarantee_mb": str(min(self.limits.memory_mb, SERVER_MB + KERNEL_MB)),
            "cpus": f"{self.limits.cpus:g}",
            "image": self.image,
            "image_name": name,
            "image_tag": tag,
            "nodes": str(self.nodes.nodes),
            "namespace": self.nodes.name,
            "node_image": self.nodes.image,
            "chart": CHART,
            "hub": self.hub,
            "hours": f"{self.nodes.deadline / 3600:g}",
            "storage": str(storage_gb(learners)),
            "login": indent((FILES / "room_login.py").read_text(encoding="utf-8").rstrip(), " " * 6),
            "page_429": indent((FILES / "429.html").read_text(encoding="utf-8").rstrip(), " " * 8),
            "roster": indent(roster.to_csv(self.people).rstrip(), " " * 8),
            "hub_roster": "/usr/local/etc/jupyterhub/roster.csv" if self.people else "",
            "room_roster": (
                "- {name: KITLIB_HUB_ROSTER, value: /etc/kitlib/roster.csv}" if self.people else "# there is no roster"
            ),
        }

    def files(self) -> dict[str, str]:
        """Return name -> content of every file of the recipe except the wheel."""
        values = self.values()
        made = {
            path.name: Template(path.read_text(encoding="utf-8")).substitute(values)
            for path in sorted((FILES / "kubernetes").iterdir())
            if path.suffix in (".md", ".yaml")
        }
        made |= {name: (FILES / name).read_text(encoding="utf-8") for name in ("guide.md", "start-learner")}
        image = (FILES / "Dockerfile").read_text(encoding="utf-8")
        image = image.replace("ARG EXTRAS=notebook\n", "ARG EXTRAS=notebook,live\n")
        made["Dockerfile"] = re.sub(r"(?m)^ARG JUPYTERHUB=.*$", f"ARG JUPYTERHUB={HUB}", image)
        return {**made, "nodes-namespace.yaml": self.nodes.to_yaml()}


def write(folder: str | Path, room: KubernetesRoom, *, wheel: bool = True, wheels: bool = False) -> Written:
    """Write the recipe into `folder`; a file that the trainer has changed is kept.

    Raises:
        KitError: the folder cannot be written, or a wheel cannot be built or downloaded.
    """
    return write_files(folder, room.files(), wheel=wheel, wheels=wheels, extras="notebook,live")
