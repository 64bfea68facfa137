"""The content of `memory_manager_state`, from which a restarted kubelet restores the state of the memory manager.

Source: kubelet memorymanager/state state_checkpoint.go; staticPolicy.validateState.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.api.errors import KitError

FILE = "memory_manager_state"


@dataclass(frozen=True)
class MemoryCheckpoint:
    """The memory manager's state at the last write.

    Attributes:
        policy: "None" or "Static".
        allocatable: NUMA node -> resource -> bytes.
        blocks: (pod UID, container) -> its blocks (resource, nodes, bytes).
        pods: UID of a pod with pod-level resources -> the blocks of all of its containers together.
        nodes: NUMA node -> (free bytes by resource, nodes of its group, number of blocks).
    """

    policy: str
    allocatable: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    blocks: Mapping[tuple[str, str], tuple[tuple[str, frozenset[int], int], ...]] = field(default_factory=dict)
    pods: Mapping[str, tuple[tuple[str, frozenset[int], int], ...]] = field(default_factory=dict)
    nodes: Mapping[int, tuple[Mapping[str, int], frozenset[int], int]] = field(default_factory=dict)

    def check(self, policy: str) -> None:
        """Check that the checkpoint is from the configured policy.

        Raises:
            KitError: it is from another policy; the message is that of a kubelet that fails to start.
        """
        if policy != self.policy:
            why = f'[memorymanager] configured policy "{policy}" differs from state checkpoint policy "{self.policy}"'
            raise KitError(
                f"could not restore state from checkpoint: {why}, please drain this node and delete the memory manager "
                f'checkpoint file "{FILE}" before restarting Kubelet'
            )
