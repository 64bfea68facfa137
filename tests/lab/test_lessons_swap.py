"""Notebook 20's last exercise: clusters with a pod that may not swap, judged by the node's files."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.lab import container, pod
from kitlib.lab.exercise import judged
from kitlib.lab.lessons import content

KUBELET = {"cgroupDriver": "systemd", "failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}
NO_SWAP = {**KUBELET, "memorySwap": {"swapBehavior": "NoSwap"}}
USES = "memory=100Mi"


def made(*pods: dict[str, Any], swap: str = "1Gi", kubelet: dict[str, Any] = KUBELET, seconds: float = 5) -> Cluster:
    cluster = Cluster.simulated([{"name": "node-1", "memory": "2Gi", "swap": swap, "kubelet": kubelet}])
    cluster.apply(list(pods))
    cluster.advance(seconds)
    return cluster


CLUSTERS: dict[str, list[tuple[Any, str]]] = {
    "20b stays": [
        (lambda: made(pod("cache", memory="120Mi", memory_limit="120Mi", uses=USES)), ""),
        (lambda: made(pod("cache", "100m", "150Mi", guaranteed=True, uses=USES)), ""),
        (lambda: made(pod("cache", memory="120Mi", uses=USES, priority_class="system-node-critical")), ""),
        (lambda: made(pod("cache", "100m", "1Gi", memory_limit="1Gi", uses=USES), pod("other", memory="64Mi")), ""),
        (lambda: made(pod("other", memory="120Mi", memory_limit="120Mi", uses=USES)), "no pod cache"),
        (lambda: made(pod("cache", memory="120Mi", memory_limit="120Mi", uses=USES), swap="0"), "has no swap"),
        (
            lambda: made(pod("cache", memory="120Mi", memory_limit="200Mi", uses=USES), kubelet=NO_SWAP),
            "Leave the node",
        ),
        (lambda: made(pod("cache", memory="120Mi", memory_limit="200Mi", uses=USES)), "may still swap 60 MiB"),
        (lambda: made(pod("cache", memory="120Mi", uses=USES)), "may still swap 60 MiB"),
        (lambda: made(pod("cache", uses=USES)), "first to be evicted"),
        (lambda: made(pod("cache", memory="120Mi", memory_limit="120Mi", uses="memory=20Mi")), "It keeps 100 MiB"),
        (lambda: made(pod("cache", memory="8Gi", memory_limit="8Gi", uses=USES)), "does not run"),
    ],
}
ROWS = [
    pytest.param(answer, words, id=words or f"right {i}") for i, (answer, words) in enumerate(CLUSTERS["20b stays"])
]


@pytest.mark.parametrize(("answer", "words"), ROWS)
def test_a_pod_that_may_not_swap_is_right_and_other_answers_get_their_hint(answer: Any, words: str) -> None:
    said = judged(content("20b").exercises["stays"], answer(), None)
    assert said.right == (not words), said.text
    assert words in said.text


def test_a_container_of_another_name_is_named() -> None:
    other = made({**pod("cache"), "spec": {"containers": [container("app", memory="1Gi", memory_limit="1Gi")]}})
    assert judged(content("20b").exercises["stays"], other, None).right is False
