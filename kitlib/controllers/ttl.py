"""The annotation of nodes with the time for which a kubelet may cache Secrets and ConfigMaps.

The time grows with the number of nodes. The boundaries of neighbouring steps overlap, so that it does not oscillate.

Source: pkg/controller/ttl/ttl_controller.go (ttlBoundaries, updateNodeIfNeeded).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import Node
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key, Manager
from kitlib.controllers.informers import Delta

ANNOTATION = "node.alpha.kubernetes.io/ttl"
BOUNDARIES = (
    (0, 100, 0),
    (90, 500, 15),
    (450, 1000, 30),
    (900, 2000, 60),
    (1800, 10000, 300),
    (9000, 2**63 - 1, 600),
)
"""The steps: minimum and maximum number of nodes, and the time to cache in seconds."""


class TTLController(Controller):
    """The controller of the annotation."""

    name: ClassVar[str] = "ttl-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self._step = self._nodes = 0

    def handlers(self) -> Mapping[str, Handler]:
        return {"Node": self._on_node}

    def _on_node(self, change: Delta) -> None:
        """Source: addNode, updateNode, deleteNode."""
        if change.type == "ADDED":
            self._nodes += 1
            if self._nodes > BOUNDARIES[self._step][1]:
                self._step += 1
        elif change.type == "DELETED":
            self._nodes -= 1
            if self._nodes < BOUNDARIES[self._step][0]:
                self._step -= 1
            return
        self.enqueue(change.new)

    def sync(self, key: Key) -> None:
        """Source: updateNodeIfNeeded."""
        node: Node | None = self.find(Node, key)
        seconds = str(BOUNDARIES[self._step][2])
        if node is not None and node.metadata.annotations.get(ANNOTATION) != seconds:
            changed = deepcopy(node)
            changed.metadata.annotations[ANNOTATION] = seconds
            self.api.store.update(changed)
