"""Rules and policies of single containers beside the pod's policy."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.backoff import restart_back_off
from kitlib.kubelet.loop.restart_policy import container_should_restart, is_container_restartable

ON, OFF = Release("1.36"), Release("1.34")


def rule(operator: str, *codes: int, action: str = "Restart") -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


def pod(policy: str = "Never", own: str | None = None, *rules: dict[str, Any]) -> Pod:
    container = {"name": "c", "image": "i", "restartPolicyRules": list(rules)} | ({"restartPolicy": own} if own else {})
    spec = {"restartPolicy": policy, "containers": [container]}
    made: Pod = from_dict({"metadata": {"name": "p"}, "spec": spec}, Pod)
    return made


@pytest.mark.parametrize(
    ("of", "code", "release", "expected"),
    [
        (pod("Never"), 1, ON, False),
        (pod("OnFailure"), 0, ON, False),
        (pod("OnFailure"), 1, ON, True),
        (pod("Never", "OnFailure"), 1, ON, True),
        (pod("Never", "OnFailure"), 1, OFF, False),
        (pod("Always", "Never"), 1, ON, False),
        (pod("Never", "Never", rule("In", 42)), 42, ON, True),
        (pod("Never", "Never", rule("In", 42)), 1, ON, False),
        (pod("Never", "Never", rule("NotIn", 42)), 1, ON, True),
        (pod("Never", "Never", rule("In", 42, action="RestartAllContainers")), 42, ON, True),
        (pod("Never", "Never", rule("In", 42, action="RestartAllContainers")), 42, Release("1.35"), False),
    ],
)
def test_a_containers_rules_come_before_its_policy_and_that_before_the_pods(
    of: Pod, code: int, release: Release, expected: bool
) -> None:
    assert container_should_restart(of.spec.containers[0], of.spec, code, release) is expected


@pytest.mark.parametrize(
    ("of", "expected"),
    [(pod("Never", "Never", rule("In", 42)), True), (pod("Always", "Never"), False), (pod("Always"), True)],
)
def test_a_container_with_a_rule_to_restart_may_be_started_again(of: Pod, expected: bool) -> None:
    assert is_container_restartable(of.spec.containers[0], of.spec, ON) is expected


@pytest.mark.parametrize(
    ("gates", "longest", "expected"),
    [
        ({}, 300, (10, 300)),
        ({}, 5, (5, 5)),
        ({"ReduceDefaultCrashLoopBackOffDecay": True}, 300, (1, 300)),
        ({"ReduceDefaultCrashLoopBackOffDecay": True, "KubeletCrashLoopBackOffMax": False}, 300, (1, 60)),
    ],
)
def test_the_back_off_begins_and_ends_as_the_gates_say(
    gates: dict[str, bool], longest: float, expected: tuple[float, float]
) -> None:
    settings = KubeletSettings(crash_loop_back_off_max=longest)
    assert restart_back_off(settings, Release("1.36", gates)) == expected
