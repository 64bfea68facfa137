"""Resources changed in place on a real kernel, and the timeline of what the kubelet did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.errors import Forbidden
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.views.timeline import timeline_frame
from tests.engine.helpers import pod, state

MIB = 2**20


def both(cpu: str, memory: str) -> dict[str, Any]:
    return {"c": {kind: {"cpu": cpu, "memory": memory} for kind in ("requests", "limits")}}


def limits(cluster: DockerCluster) -> list[int]:
    """Bytes that the pod and its container may use."""
    node = cluster.node()
    file = "memory.max" if node.cgroupfs.version == 2 else "memory.limit_in_bytes"
    return [int(node.read(node.desired().of_kind(kind)[0].path, file)) for kind in ("pod", "container")]


def condition(cluster: DockerCluster, kind: str) -> str:
    return next((c.message for c in cluster.pod("a").status.conditions if c.type == kind), "")


def test_a_resize_reaches_the_files_of_a_running_container(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    asked = {"cpu": "200m", "memory": "128Mi"}
    cluster.apply(pod(name="a", workload="memory=60Mi", requests=asked, limits=asked))
    cluster.wait(lambda c: any(p.memory > 50 * MIB for p in c.node().processes()), 20)
    cluster.resize("a", both("400m", "256Mi"))
    cluster.wait(lambda c: limits(c) == [256 * MIB] * 2, 10)
    assert cluster.node().differences() == []
    cluster.resize("a", both("400m", "32Mi"))
    cluster.wait(lambda c: "cannot decrease memory limits: [attempting" in condition(c, "PodResizeInProgress"), 10)
    assert limits(cluster) == [256 * MIB] * 2
    cluster.resize("a", both("400m", "192Mi"))
    cluster.wait(lambda c: limits(c) == [192 * MIB] * 2, 10)
    with pytest.raises(Forbidden, match="node didn't have enough allocatable resources: cpu, requested: 64000"):
        cluster.resize("a", both("64", "192Mi"))
    assert state(cluster, "a") == ("Running", "running", 0)
    frame = timeline_frame(cluster.node(), "allocationManager", "kubeRuntimeManager")
    assert list(frame["action"]).count("resizing") == 2


def test_a_pods_own_limits_are_resized_in_place(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    resources = {kind: {"cpu": "200m", "memory": "128Mi"} for kind in ("requests", "limits")}
    container = {"name": "c", "image": "x", "command": ["sleep", "1000"]}
    spec = {"containers": [container], "resources": resources, "terminationGracePeriodSeconds": 0}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    cluster.wait(lambda c: state(c, "a")[1] == "running", 20)
    file = "memory.max" if cluster.node().cgroupfs.version == 2 else "memory.limit_in_bytes"

    def limit() -> int:
        node = cluster.node()
        return int(node.read(node.desired().of_kind("pod")[0].path, file))

    assert limit() == 128 * MIB
    cluster.resize("a", pod={kind: {"cpu": "300m", "memory": "192Mi"} for kind in ("requests", "limits")})
    cluster.wait(lambda _: limit() == 192 * MIB, 10)
    assert cluster.node().differences() == []
    assert state(cluster, "a") == ("Running", "running", 0)
    shown = cluster.pod("a").status.resources
    assert shown is not None
    assert str(shown.limits["memory"]) == "192Mi"


def test_a_write_that_the_kernel_refuses_is_a_resize_error_until_it_takes_it(
    start: Callable[..., DockerCluster],
) -> None:
    """A quota written into the pod's cgroup by hand stays; cgroup v1 lets no container have a larger one."""
    cluster = start(1)
    node = cluster.node()
    if node.cgroupfs.version == 2:
        return  # v2 takes any quota: the lower one of a path holds
    asked = {"cpu": "200m", "memory": "128Mi"}
    cluster.apply(pod(name="a", workload="memory=1Mi", requests=asked, limits=asked))
    cluster.wait(lambda c: state(c, "a")[1] == "running", 20)
    whole, container = (node.desired().of_kind(kind)[0].path for kind in ("pod", "container"))
    node.write(container, "cpu.cfs_quota_us", "10000")
    node.write(whole, "cpu.cfs_quota_us", "10000")
    cluster.resize("a", both("200m", "192Mi"))
    cluster.wait(lambda c: "cpu.cfs_quota_us" in condition(c, "PodResizeInProgress"), 10)
    node.write(whole, "cpu.cfs_quota_us", "20000")
    cluster.wait(lambda c: not condition(c, "PodResizeInProgress"), 90)  # tried again with the pod's next sync
    assert node.read(container, "cpu.cfs_quota_us") == "20000"
    assert limits(cluster) == [192 * MIB] * 2
