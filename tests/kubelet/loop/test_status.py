"""Whether containers are ready, as the kubelet reports them."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster


def container(name: str, workload: str) -> tuple[dict[str, str], dict[str, str]]:
    return {"name": name, "image": "x"}, {f"kitlib.dev/workload.{name}": workload}


@pytest.mark.parametrize(
    ("policy", "ready"),
    [("Never", {"init": True, "done": False, "runs": True}), ("Always", {"init": True, "done": False, "runs": True})],
)
def test_a_container_that_has_succeeded_is_ready_only_if_it_is_an_init_container(
    policy: str, ready: dict[str, bool]
) -> None:
    """Source: kubelet prober manager UpdatePodStatus."""
    init, done, runs = container("init", "1s"), container("done", "1s exit=0"), container("runs", "cpu=0.1")
    spec: dict[str, Any] = {"initContainers": [init[0]], "containers": [done[0], runs[0]], "restartPolicy": policy}
    meta = {"name": "p", "annotations": init[1] | done[1] | runs[1]}
    cluster = Cluster.simulated(1)
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    cluster.advance(4)
    status = cluster.pod("p").status
    assert {one.name: one.ready for one in (*status.init_container_statuses, *status.container_statuses)} == ready
