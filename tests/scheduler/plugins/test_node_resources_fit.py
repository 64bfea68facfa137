"""NodeResourcesFit: what fits exactly, what is one too many, sidecars that older kubelets do not know."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of

NODE = {"name": "a", "allocatable": {"cpu": "2", "memory": "1Gi", "pods": "2", "example.com/gpu": "1"}}


def reasons(requests: dict[str, str], standing: int = 0, release: str = "1.36", **spec: Any) -> list[str]:
    pods = [pod_of({"name": f"s{i}", "node": "a", "cpu": "500m"}) for i in range(standing)]
    pod: Pod = pod_of({"name": "p", "requests": requests, "spec": spec})
    return list(Scheduler([node_of(NODE)], pods, release=release).explain(pod).reasons_of("a"))


@pytest.mark.parametrize(
    ("requests", "standing", "expected"),
    [
        ({"cpu": "2"}, 0, []),
        ({"cpu": "2001m"}, 0, ["Insufficient cpu"]),
        ({"cpu": "1500m"}, 1, []),
        ({"cpu": "1501m"}, 1, ["Insufficient cpu"]),
        ({"cpu": "1500m", "memory": "1025Mi"}, 1, ["Insufficient memory"]),
        ({"cpu": "3", "memory": "2Gi"}, 0, ["Insufficient cpu", "Insufficient memory"]),
        ({"cpu": "1m"}, 2, ["Too many pods"]),
        ({"example.com/gpu": "1"}, 0, []),
        ({"example.com/gpu": "2"}, 0, ["Insufficient example.com/gpu"]),
        ({"example.com/other": "1"}, 0, ["Insufficient example.com/other"]),
        ({}, 1, []),
    ],
)
def test_what_a_node_has_room_for(requests: dict[str, str], standing: int, expected: list[str]) -> None:
    """Source: noderesources fitsRequest."""
    assert reasons(requests, standing) == expected


@pytest.mark.parametrize(
    ("release", "policy", "refused"), [("1.28", "Always", True), ("1.28", None, False), ("1.29", "Always", False)]
)
def test_a_release_without_sidecars_takes_no_pod_with_one(release: str, policy: str | None, refused: bool) -> None:
    """Source: Fit.Filter, hasRestartableInitContainer."""
    init = {"name": "i", "image": "x", **({"restartPolicy": policy} if policy else {})}
    assert bool(reasons({"cpu": "1m"}, release=release, initContainers=[init])) is refused
