"""Quality of service classes: known pods, and the same class as the plain definition for any pod."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.qos.qos_class import (
    compute_pod_qos,
    is_critical_pod,
    is_node_critical_pod,
    is_regular_init,
    pod_level_managed,
    pod_level_resources,
    resembles_guaranteed,
)

BOTH = {"cpu": "1", "memory": "1Gi"}


def pod(*containers: dict[str, Any]) -> Pod:
    return from_dict(
        {"spec": {"containers": [{"name": f"c{i}", "resources": r} for i, r in enumerate(containers)]}}, Pod
    )


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"example.com/gpu": "1"}}], "BestEffort"),
        ([{"requests": {"cpu": "0"}, "limits": {"memory": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": BOTH}], "Burstable"),
        ([{"requests": BOTH, "limits": {"cpu": "1000m", "memory": "1024Mi"}}], "Guaranteed"),
        ([{"requests": BOTH, "limits": BOTH}, {}], "Burstable"),
        ([{"requests": BOTH, "limits": BOTH}, {"requests": BOTH, "limits": BOTH}], "Guaranteed"),
        # only the sums count
        (
            [
                {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
                {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            ],
            "Guaranteed",
        ),
    ],
)
def test_the_class_follows_from_cpu_and_memory_alone(containers: list[dict[str, Any]], expected: str) -> None:
    assert compute_pod_qos(pod(*containers)) == expected


amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.sampled_from(["0", "1", "1000m", "2"]), max_size=3
)
resources = st.fixed_dictionaries({"requests": amounts, "limits": amounts})


def defined(containers: list[dict[str, Any]]) -> str:
    """The class by the words of ComputePodQOS: sums of what is above zero, and limits in every container."""
    sums: dict[str, dict[str, Quantity]] = {"requests": {}, "limits": {}}
    every = True
    for one in containers:
        for kind, total in sums.items():
            for name in ("cpu", "memory"):
                amount = Quantity(one[kind].get(name, "0"))
                if amount.sign() > 0:
                    total[name] = total.get(name, Quantity("0")) + amount
        every &= all(Quantity(one["limits"].get(name, "0")).sign() > 0 for name in ("cpu", "memory"))
    if not sums["requests"] and not sums["limits"]:
        return "BestEffort"
    return "Guaranteed" if every and sums["requests"] == sums["limits"] else "Burstable"


@given(st.lists(resources, min_size=1, max_size=3))
def test_short_cuts_give_the_class_of_the_definition(containers: list[dict[str, Any]]) -> None:
    assert compute_pod_qos(pod(*containers)) == defined(containers)


@pytest.mark.parametrize(
    ("priority", "annotations", "critical"),
    [
        (2_000_000_000, {}, True),
        (1_999_999_999, {}, False),
        (None, {}, False),
        (None, {"kubernetes.io/config.source": "file"}, True),
        (None, {"kubernetes.io/config.source": "api"}, False),
        (0, {"kubernetes.io/config.mirror": "hash"}, True),
    ],
)
def test_which_pods_are_critical(priority: int | None, annotations: dict[str, str], critical: bool) -> None:
    """Source: kubelet types.IsCriticalPod."""
    made = pod({})
    made.spec.priority, made.metadata.annotations = priority, annotations
    assert is_critical_pod(made) is critical


@pytest.mark.parametrize(
    ("priority", "name", "critical"),
    [
        (2_000_001_000, "system-node-critical", True),
        (2_000_000_000, "system-cluster-critical", False),
        (0, "system-node-critical", False),
        (None, "", False),
    ],
)
def test_which_pods_are_critical_to_the_node(priority: int | None, name: str, critical: bool) -> None:
    """Source: kubelet types.IsNodeCriticalPod."""
    made = pod({})
    made.spec.priority, made.spec.priority_class_name = priority, name
    assert is_node_critical_pod(made) is critical


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"requests": BOTH, "limits": BOTH}, True),
        ({"requests": BOTH, "limits": {**BOTH, "cpu": "2"}}, False),
        ({"requests": BOTH, "limits": {**BOTH, "memory": "2Gi"}}, False),
        ({"requests": BOTH, "limits": {"cpu": "1"}}, False),
        ({"requests": BOTH, "limits": {"memory": "1Gi"}}, False),
        ({"requests": {"cpu": "1"}, "limits": BOTH}, False),
        ({"requests": {"memory": "1Gi"}, "limits": BOTH}, False),
        ({"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "0", "memory": "0"}}, False),
        ({"requests": BOTH}, False),
        ({"limits": BOTH}, False),
        ({}, False),
    ],
)
def test_which_containers_resemble_those_of_a_guaranteed_pod(resources: dict[str, Any], expected: bool) -> None:
    """Source: kubelet cm/qos IsContainerEquivalentQOSGuaranteed."""
    assert resembles_guaranteed(pod(resources).spec.containers[0]) is expected


@pytest.mark.parametrize(
    ("own", "release", "expected"),
    [({}, "1.36", True), ({}, "1.37", False), ({"requests": {"cpu": "1"}}, "1.37", True), (None, "1.36", False)],
)
def test_which_pods_have_resources_of_their_own(own: Any, release: str, expected: bool) -> None:
    """Source: kubernetes/kubernetes #137150 for the empty ones."""
    containers = [{"name": "c"}]
    made = from_dict({"spec": {"containers": containers, **({} if own is None else {"resources": own})}}, Pod)
    assert pod_level_resources(made, Release(release)) is expected


@pytest.mark.parametrize(("name", "expected"), [("i", True), ("s", False), ("c", False), ("x", False)])
def test_the_resources_of_a_regular_init_container_can_be_used_again(name: str, expected: bool) -> None:
    made = from_dict(
        {
            "spec": {
                "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
                "containers": [{"name": "c"}],
            }
        },
        Pod,
    )
    given = next((c for c in (*made.spec.init_containers, *made.spec.containers) if c.name == name), None)
    assert (
        is_regular_init(made, given or from_dict({"spec": {"containers": [{"name": name}]}}, Pod).spec.containers[0])
        is expected
    )


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"limits": {"cpu": "0", "memory": "1"}, "requests": {"cpu": "0", "memory": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "0"}, "requests": {"cpu": "1", "memory": "0"}}, "Burstable"),
        ({"limits": {"cpu": "0", "memory": "0"}, "requests": {"cpu": "0", "memory": "0"}}, "BestEffort"),
    ],
)
def test_a_limit_of_zero_counts_as_absent(resources: dict[str, Any], expected: str) -> None:
    assert compute_pod_qos(pod(resources)) == expected


@pytest.mark.parametrize(
    ("level", "gates", "managed"),
    [
        ({"requests": {"cpu": "1"}}, {}, True),
        (None, {}, False),
        ({"requests": {"cpu": "1"}}, {"PodLevelResourceManagers": False}, False),
        ({"requests": {"cpu": "1"}}, {"PodLevelResources": False}, False),
    ],
)
def test_the_managers_use_pod_level_resources_with_both_gates(
    level: Any, gates: dict[str, bool], managed: bool
) -> None:
    on = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    made = from_dict({"spec": {"containers": [], **({"resources": level} if level else {})}}, Pod)
    assert pod_level_managed(made, Release("1.36", {**on, **gates})) is managed
