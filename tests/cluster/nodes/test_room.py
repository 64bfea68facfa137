"""A node whose eviction threshold leaves pods hardly any memory says so."""

from __future__ import annotations

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.room import shortage

CASES = {
    "128Mi less the default threshold of 100Mi": ({"memory": "128Mi"}, "leave pods 28 MiB of 128 MiB"),
    "a small threshold": ({"memory": "128Mi", "kubelet": ["--eviction-hard=memory.available<10Mi"]}, ""),
    "a larger node": ({"memory": "512Mi"}, ""),
    "a small node without a threshold": ({"memory": "32Mi", "kubelet": ["--eviction-hard="]}, ""),
    "much is reserved": ({"memory": "1Gi", "kubelet": ["--kube-reserved=memory=900Mi"]}, "leave pods 24 MiB of 1024"),
}


@pytest.mark.parametrize(("node", "said"), CASES.values(), ids=CASES.keys())
def test_what_is_left_for_pods(node: dict[str, object], said: str) -> None:
    (made,) = Cluster.simulated([node]).nodes
    found = shortage(made)
    assert (said in found) if said else not found
