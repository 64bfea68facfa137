"""What an operator looks at, from a real kernel: top, the metrics API, describe, and what `free` shows with lxcfs."""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.resource import Quantity
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.views.kubectl import describe, metrics, top_node, top_pod
from kitlib.views.lxcfs import seen
from kitlib.views.shares import parts
from tests.engine.helpers import pod

MIB = 2**20


def working_set(cluster: DockerCluster) -> int:
    """MiB of the only pod; 0 before it has any."""
    rows = top_pod(cluster).splitlines()[1:]
    return int(rows[0].split()[2].removesuffix("Mi")) if rows else 0


def test_top_and_the_metrics_api_show_what_is_really_used(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    limits = {"cpu": "500m", "memory": "128Mi"}
    cluster.apply(pod(name="a", workload="cpu=0.3 memory=60Mi", limits=limits))
    # the pages of the interpreter's own files count for the process and may be another cgroup's
    cluster.wait(lambda c: working_set(c) >= 55, 20)
    name, cpu, memory = top_pod(cluster).splitlines()[1].split()
    assert name == "a" and cpu.endswith("m")
    assert 55 <= int(memory.removesuffix("Mi")) <= 75
    figures = top_node(cluster).splitlines()[1].split()
    assert figures[0] == "node-1" and 0 < int(figures[1].removesuffix("m")) <= 2000
    used = metrics(cluster)["items"][0]["containers"][0]["usage"]
    assert 55 * MIB <= Quantity(used["memory"]).value() <= 75 * MIB
    assert Quantity(metrics(cluster, "nodes")["items"][0]["usage"]["memory"]).value() > 55 * MIB
    lines = describe(cluster, "node-1").splitlines()
    assert "  cpu                500m (25%)   500m (25%)" in lines
    assert any(line.split()[:2] == ["PIDPressure", "False"] for line in lines)


def test_a_limit_is_seen_only_with_lxcfs_and_raised_by_hand_at_once(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    cluster.apply(pod(name="a", workload="memory=40Mi", limits={"cpu": "500m", "memory": "128Mi"}))
    node = cluster.node()
    cluster.wait(lambda c: any(p.memory > 35 * MIB for p in node.processes()), 20)
    assert seen(node, "a").total == 1024 * MIB
    faked = seen(node, "a", lxcfs=True)
    assert (faked.total, faked.cpus) == (128 * MIB, 1)
    assert faked.available < 95 * MIB
    file = "memory.max" if node.cgroupfs.version == 2 else "memory.limit_in_bytes"
    for kind in ("pod", "container"):  # from above: the container's own limit is not what holds it any more
        path = node.desired().of_kind(kind)[0].path
        if "memory.memsw.limit_in_bytes" in node.tree()[path]:  # no swap on v1: raised before the limit
            node.write(path, "memory.memsw.limit_in_bytes", str(256 * MIB))
        node.write(path, file, str(256 * MIB))
    assert seen(node, "a", lxcfs=True).total == 256 * MIB
    assert max(part.with_limits for part in parts(node.desired(), 2.0) if part.kind == "container") == 0.5
