"""The loss of power of a node: all containers end at once, and the volumes in memory are lost."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence

from kitlib.api.core import Pod
from kitlib.node.real import volumes
from kitlib.node.real.running import Running
from kitlib.node.real.state_files import remove

PATIENCE = 10.0
"""Seconds for which killed processes are waited for."""
_LOOK = 0.01


class PowerOff:
    """The part of a runtime that ends all of its containers.

    Attributes:
        containers: running containers by id.
    """

    containers: dict[str, Running]

    @abstractmethod
    def stop(self, identity: str, grace: float = 0.0) -> None:
        """Stop a container."""

    @abstractmethod
    def reap(self) -> None:
        """Handle every child that has exited."""

    def power_off(self, pods: Sequence[Pod]) -> None:
        """End all containers at once; see `ContainerRuntime`."""
        for identity in list(self.containers):
            self.stop(identity)
        deadline = time.monotonic() + PATIENCE
        while self.containers and time.monotonic() < deadline:
            time.sleep(_LOOK)
            self.reap()
        for pod in pods:
            for volume in pod.spec.volumes:
                if volume.empty_dir is not None and volume.empty_dir.medium == "Memory":
                    remove(f"{volumes.directory(pod)}/{volume.name}")
