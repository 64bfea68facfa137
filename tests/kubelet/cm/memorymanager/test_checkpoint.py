"""The memory manager's checkpoint is restored under the policy that wrote it only."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.memorymanager.checkpoint import MemoryCheckpoint


@pytest.mark.parametrize(("written", "configured"), [("Static", "None"), ("None", "Static")])
def test_another_policy_stops_the_kubelet(written: str, configured: str) -> None:
    with pytest.raises(KitError) as error:
        MemoryCheckpoint(written).check(configured)
    assert str(error.value) == (
        f'could not restore state from checkpoint: [memorymanager] configured policy "{configured}" differs from state '
        f'checkpoint policy "{written}", please drain this node and delete the memory manager checkpoint file '
        '"memory_manager_state" before restarting Kubelet'
    )


@pytest.mark.parametrize("policy", ["None", "Static"])
def test_the_same_policy_is_accepted(policy: str) -> None:
    MemoryCheckpoint(policy).check(policy)
