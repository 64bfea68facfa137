"""Resizes in place: what can never be done on a node, which containers restart, limits below what is in use."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.resize import (
    below_usage,
    event_message,
    infeasible,
    restarting,
    same_resources,
    with_resources,
)

RELEASE = Release("1.36")
MI = 2**20


def pod(requests: dict[str, str], *, guaranteed: bool = False, policy: Any = (), **spec: Any) -> Pod:
    resources: dict[str, Any] = {"requests": requests, **({"limits": requests} if guaranteed else {})}
    container = {"name": "c", "image": "x", "resources": resources, "resizePolicy": list(policy)}
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}
    made: Pod = from_dict(data)
    return made


def config(**settings: Any) -> NodeConfig:
    return NodeConfig(machine=MachineInfo.declare(4, "8Gi"), settings=KubeletSettings(**settings))


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        ({"cpu": "4"}, ""),
        ({"cpu": "4001m"}, "Node didn't have enough capacity: cpu, requested: 4001, capacity: 4000"),
        ({"memory": "8Gi"}, ""),
        (
            {"memory": "9Gi", "cpu": "5"},
            "Node didn't have enough capacity: memory, requested: 9663676416, capacity: 8589934592",
        ),
    ],
)
def test_what_exceeds_the_nodes_allocatable_is_infeasible(requests: dict[str, str], problem: str) -> None:
    """Source: allocation.manager.canResizePod."""
    assert infeasible(pod(requests), pod({"cpu": "1"}), config()) == problem


@pytest.mark.parametrize(
    ("guaranteed", "policy", "before", "after", "problem"),
    [
        (True, "static", "1", "2", 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'),
        (True, "static", "1", "1", ""),
        (True, "none", "1", "2", ""),
        (False, "static", "1", "2", ""),
    ],
)
def test_exclusive_cpus_are_not_resized(guaranteed: bool, policy: str, before: str, after: str, problem: str) -> None:
    old, new = (pod({"cpu": cpu, "memory": "1Gi"}, guaranteed=guaranteed) for cpu in (before, after))
    assert infeasible(new, old, config(cpu_manager_policy=policy)) == problem


@pytest.mark.parametrize(
    ("policy", "after", "restarts"),
    [
        ("RestartContainer", {"cpu": "2", "memory": "1Gi"}, ["c"]),
        ("RestartContainer", {"cpu": "1", "memory": "2Gi"}, []),
        ("NotRequired", {"cpu": "2", "memory": "1Gi"}, []),
    ],
)
def test_a_container_restarts_for_the_resource_whose_policy_asks_for_it(
    policy: str, after: dict[str, str], restarts: list[str]
) -> None:
    rule = [{"resourceName": "cpu", "restartPolicy": policy}]
    old = pod({"cpu": "1", "memory": "1Gi"}, policy=rule)
    assert restarting(pod(after, policy=rule), old, RELEASE) == restarts


@pytest.mark.parametrize(
    ("limit", "before", "used", "problem"),
    [
        (50, 100, 49, ""),
        (50, 100, 50, 'attempting to set container "c" memory limit (52428800) below current usage (52428800)'),
        (50, 100, 51, 'attempting to set container "c" memory limit (52428800) below current usage (53477376)'),
        (50, None, 51, 'attempting to set container "c" memory limit (52428800) below current usage (53477376)'),
        (50, 50, 51, ""),
        (None, 100, 51, ""),
    ],
)
def test_a_memory_limit_is_not_lowered_below_what_is_in_use(
    limit: int | None, before: int | None, used: int, problem: str
) -> None:
    """Source: validateMemoryResizeAction."""
    found = below_usage({"c": limit and limit * MI}, {"c": before and before * MI}, {"c": used * MI}, pod_name="whole")
    assert found == (f"cannot decrease memory limits: {problem}" if problem else "")


def test_several_limits_are_told_together_and_the_pods_is_the_pods() -> None:
    found = below_usage({"c": 1, "": 1}, {}, {"c": 2, "": 2}, pod_name="")
    assert found == (
        'cannot decrease memory limits: [attempting to set container "c" memory limit (1) below current usage (2), '
        "attempting to set pod memory limit (1) below current usage (2)]"
    )


def test_resources_of_another_version() -> None:
    old, new = pod({"cpu": "1"}), pod({"cpu": "2"}, resources={"limits": {"cpu": "3"}})
    assert same_resources(old, pod({"cpu": "1"})) and not same_resources(old, new)
    assert with_resources(old, pod({"cpu": "1"})) is old
    taken = with_resources(old, new)
    assert same_resources(taken, new) and same_resources(old, pod({"cpu": "1"}))


def test_the_message_of_an_event() -> None:
    one = pod({"memory": "1Gi", "cpu": "1"})
    one.metadata.generation = 2
    resources = '{"requests":{"cpu":"1","memory":"1Gi"}}'
    text = f'{{"containers":[{{"name":"c","resources":{resources}}}],"generation":2,"error":"why"}}'
    assert event_message("error", one, "why") == f"Pod resize error: {text}"
