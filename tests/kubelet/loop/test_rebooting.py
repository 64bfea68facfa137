"""The states of containers that the kubelet finds after a boot."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod, PodSpec
from kitlib.api.meta import ObjectMeta
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.rebooting import found_after_boot
from tests.kubelet.loop.container_states import NOW, state


def worker(policy: str, *mains: ContainerState) -> PodWorker:
    spec = PodSpec(restart_policy=policy, containers=[one.container for one in mains])
    made = PodWorker(Pod(metadata=ObjectMeta(name="a", uid="u"), spec=spec), NOW)
    made.mains, made.has_sandbox = list(mains), True
    return made


@pytest.mark.parametrize(
    ("policy", "starts"), [("Always", ["run", "done"]), ("OnFailure", ["run"]), ("Never", [])], ids=str
)
def test_the_policy_decides_which_containers_start_again(policy: str, starts: list[str]) -> None:
    made = worker(policy, state("run", "runs"), state("done", "0"))
    found_after_boot(made, 9.0, NOW)
    assert (made.has_sandbox, made.mains[0].ended["exitCode"], made.mains[0].ended["reason"]) == (False, 255, "Unknown")
    assert [one.container.name for one in made.to_start(9.0)] == starts


def test_a_pod_without_a_container_to_start_gets_no_sandbox() -> None:
    made = worker("OnFailure", state("done", "0"))
    found_after_boot(made, 9.0, NOW)
    assert made.to_start(9.0) == [] and made.phase() == "Succeeded"
