"""Dead containers that are collected: the oldest instances beyond what may stay, and all of pods that are gone."""

from __future__ import annotations

import pytest

from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.images.container_gc import DeadContainer, evictable

DEAD = [
    *(DeadContainer(f"a{n}", "a", float(n)) for n in range(3)),
    *(DeadContainer(f"b{n}", "b", 10.0 + n) for n in range(2)),
]


def removed(now: float = 100, gone: str = "", **settings: float) -> list[str]:
    found = evictable(
        DEAD, KubeletSettings(**settings), now, lambda container: f"pod-{container}", lambda pod: pod == f"pod-{gone}"
    )
    return [one.id for one in found]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"maximum_dead_containers_per_container": 1}, ["a0", "a1", "b0"]),
        ({"maximum_dead_containers_per_container": 2}, ["a0"]),
        ({"maximum_dead_containers_per_container": 0}, ["a0", "a1", "a2", "b0", "b1"]),
        ({"maximum_dead_containers_per_container": -1}, []),
        ({"maximum_dead_containers_per_container": -1, "maximum_dead_containers": 5}, []),
        ({"maximum_dead_containers_per_container": -1, "maximum_dead_containers": 4}, ["a0"]),
        ({"maximum_dead_containers_per_container": -1, "maximum_dead_containers": 2}, ["a0", "a1", "b0"]),
        ({"maximum_dead_containers_per_container": -1, "maximum_dead_containers": 1}, ["a0", "a1", "a2", "b0"]),
        ({"maximum_dead_containers_per_container": 0, "minimum_container_ttl_duration": 90}, ["a0", "a1", "a2", "b0"]),
    ],
)
def test_the_oldest_instances_beyond_the_limits_go(settings: dict[str, float], expected: list[str]) -> None:
    """Source: containerGC.evictContainers, enforceMaxContainersPerEvictUnit."""
    assert removed(**settings) == expected


def test_all_of_a_pod_that_is_gone_goes() -> None:
    assert removed(gone="b") == ["a0", "a1", "b0", "b1"]
