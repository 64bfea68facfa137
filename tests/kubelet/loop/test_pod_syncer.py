"""The work on pods: ended pods make room before new ones are admitted, and grace periods only become shorter."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster


def pod(name: str, cpu: str = "100m", **more: Any) -> dict[str, Any]:
    """Return a pod of one container on the first node."""
    containers = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"containers": containers, "nodeName": "node-1", **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_a_pod_that_is_deleted_makes_room_for_a_new_one_of_the_same_moment() -> None:
    """Source: HandlePodRemoves before HandlePodAdditions; the new pod is bound without the scheduler."""
    cluster = Cluster.simulated([{"cpus": 2}])
    cluster.apply(pod("old", cpu="1500m"))
    cluster.advance(2)
    cluster.delete("Pod", "old", grace=0)
    cluster.apply(pod("new", cpu="1500m"))
    cluster.advance(2)
    assert cluster.pod("new").status.phase == "Running"


def test_without_the_deletion_the_new_pod_is_rejected() -> None:
    """Source: lifecycle predicateAdmitHandler.Admit."""
    cluster = Cluster.simulated([{"cpus": 2}])
    cluster.apply(pod("old", cpu="1500m"))
    cluster.advance(2)
    cluster.apply(pod("new", cpu="1500m"))
    cluster.advance(2)
    status = cluster.pod("new").status
    assert (status.phase, status.reason) == ("Failed", "OutOfcpu")


def test_a_second_deletion_shortens_the_grace_period_and_a_longer_one_does_not_extend_it() -> None:
    """Source: pod_workers.go calculateEffectiveGracePeriod."""
    ends = {}
    for name, second in (("once", None), ("shorter", 5), ("longer", 60)):
        cluster = Cluster.simulated(1)
        made = pod(name, terminationGracePeriodSeconds=20)
        # A shell that is process 1 has no handler of SIGTERM, so only SIGKILL ends it.
        made["spec"]["containers"][0]["command"] = ["sh", "-c", "sleep 1000"]
        cluster.apply(made)
        cluster.advance(2)
        cluster.delete("Pod", name, grace=20)
        if second is not None:
            cluster.delete("Pod", name, grace=second)
        seconds = 0
        while cluster.pods():
            cluster.advance(1)
            seconds += 1
            assert seconds < 100
        ends[name] = seconds
    assert ends["shorter"] < ends["once"] == ends["longer"]
