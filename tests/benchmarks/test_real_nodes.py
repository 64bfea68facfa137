"""How fast real nodes are, each beside a reference that is measured in the same run.

Run with: pytest -m docker tests/benchmarks/test_real_nodes.py
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kitlib.api.serialize import to_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
from kitlib.node.real import engine, image
from tests.engine.helpers import needed, pod

pytestmark = pytest.mark.docker
NODE = {"cpus": 2, "memory": "512Mi"}


@pytest.fixture(scope="module")
def name() -> Iterator[str]:
    needed()
    client = engine.connect()
    yield image.ensure(client)
    client.close()


@pytest.fixture(scope="module", params=["container", "process"])
def one(name: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    with Cluster.docker(1, cpus=2, memory="2Gi", control_plane=request.param) as cluster:
        yield cluster


def median(what: Callable[[], Any], times: int = 7) -> float:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        done = what()
        found.append(time.perf_counter() - began)
        if done is not None:
            done.close()
    return statistics.median(found)


def run_true(name: str) -> Callable[[], None]:
    """`docker run --rm IMAGE true`, the time that any container takes."""
    command = ["docker", "run", "--rm", "--network=none", "--entrypoint=/bin/true", name]
    if shutil.which("docker") is None:
        pytest.skip("the docker command, which is the reference, is not installed")
    return lambda: subprocess.run(command, check=True) and None  # type: ignore[func-returns-value]


def ready_after(name: str, where: str) -> tuple[float, float]:
    """Seconds until a cluster of one node is ready, and `docker run` in the same minute, one after the other."""
    reference, ready = [], []
    Cluster.docker(1, control_plane=where, **NODE).close()
    for _ in range(7):
        reference.append(median(run_true(name), 1))
        ready.append(median(lambda: Cluster.docker(1, control_plane=where, **NODE), 1))
    return statistics.median(ready), statistics.median(reference)


@pytest.mark.parametrize("where", ["container", "process"])
def test_a_node_is_ready_in_at_most_1_2_times_what_docker_run_takes(benchmark: Any, name: str, where: str) -> None:
    """With its control plane in a second container (so the whole cluster is), and in this process."""
    ready, reference = ready_after(name, where)
    benchmark.extra_info |= {"docker run true": reference, "ready": ready, "ratio": ready / reference}
    benchmark.pedantic(lambda: Cluster.docker(1, control_plane=where, **NODE).close(), rounds=3)
    print(f"\nready {ready * 1000:.0f} ms, docker run true {reference * 1000:.0f} ms: {ready / reference:.2f}")
    assert ready <= 1.2 * reference


def test_ten_nodes_in_parallel_take_less_than_eight_times_one(benchmark: Any, name: str) -> None:
    single = median(lambda: Cluster.docker(1, **NODE), 5)
    ten = median(lambda: Cluster.docker(10, **NODE), 3)
    benchmark.pedantic(lambda: Cluster.docker(10, **NODE).close(), rounds=1)
    print(f"\nten nodes {ten * 1000:.0f} ms, one {single * 1000:.0f} ms: {ten / single:.1f}")
    assert ten < 8 * single


def test_a_pod_runs_within_40_ms_after_apply(benchmark: Any, one: Any) -> None:
    # no CPU limit: the runtime's last steps run inside the container's cgroup, and a small quota stops them as well
    def apply() -> None:
        made = one.apply(pod(requests={"cpu": "10m"}, limits={"memory": "16Mi"}))[0]
        assert one.pod(made.name).status.phase == "Running"

    benchmark.pedantic(apply, rounds=20)
    for standing in one.pods():
        one.delete(standing, grace=0)
    stats = benchmark.stats.stats
    print(f"\npod running after {stats.median * 1000:.1f} ms (median), {stats.min * 1000:.1f} ms (best of 20)")
    assert stats.median < 0.040


def test_a_round_trip_to_the_node_takes_less_than_5_ms(benchmark: Any, one: Any) -> None:
    benchmark(one.node().link.ask, "alive")
    print(f"\nround trip {benchmark.stats.stats.median * 1000:.2f} ms")
    assert benchmark.stats.stats.median < 0.005


def test_the_first_pod_runs_soon_after_the_cluster_is_ready(benchmark: Any, name: str) -> None:
    """The control plane loads its scheduler when it has answered: who asks at once waits for the rest of that."""

    def first_pod() -> None:
        with Cluster.docker(1, **NODE) as cluster:
            began = time.perf_counter()
            made = cluster.apply(pod(requests={"cpu": "10m"}))[0]
            assert cluster.pod(made.name).status.phase == "Running"
            took.append(time.perf_counter() - began)

    took: list[float] = []
    benchmark.pedantic(first_pod, rounds=5)
    print(f"\nfirst pod running {statistics.median(took) * 1000:.0f} ms after the cluster was ready")
    assert statistics.median(took) < 1.0


def test_an_idle_control_plane_takes_little(benchmark: Any, name: str) -> None:
    """Memory without page cache, and processor time, of its container as the engine counts them."""
    with Cluster.docker(1, control_plane="container", **NODE) as cluster:
        assert isinstance(cluster, ContainerControlPlaneClient) and cluster._relay.control is not None
        cluster.apply(pod(requests={"cpu": "10m"}))
        client, identity = engine.connect(), cluster._relay.control.id
        time.sleep(2)

        def look() -> tuple[float, float, float]:
            shown = client.api.stats(identity, stream=False, one_shot=True)
            memory = shown["memory_stats"]
            cache = memory["stats"].get("total_inactive_file", memory["stats"].get("inactive_file", 0))
            return time.monotonic(), shown["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9, memory["usage"] - cache

        began, before, _ = look()
        time.sleep(5)
        ended, after, memory = benchmark.pedantic(look, rounds=1)
        client.close()
    busy = (after - before) / (ended - began)
    print(f"\nidle control plane: {memory / 1e6:.1f} MB, {busy * 100:.2f}% of a CPU")
    assert memory < 64e6
    assert busy < 0.02


def test_an_idle_node_needs_less_than_15_mb(benchmark: Any, name: str) -> None:
    with Cluster.docker(1, **NODE) as cluster:
        node = cluster.node()
        used = benchmark.pedantic(lambda: node.total_usage()[1], rounds=3)
    print(f"\nidle node: {used / 1e6:.1f} MB charged to its cgroup")
    assert used < 15e6


def test_watching_fifty_pods_at_10_hz_takes_less_than_3_percent_of_a_cpu(benchmark: Any, name: str) -> None:
    seconds = 4.0
    with Cluster.docker(1, cpus=2, memory="4Gi") as cluster:
        for _ in range(50):
            cluster.apply(pod(requests={"cpu": "10m"}, limits={"memory": "16Mi"}))
        node = cluster.node()
        files = [(c.path, f) for c in node.tree().values() if c.pod and c.kind in ("pod", "container") for f in c]

        def used() -> float:
            before, began = node.link.ask("total_usage")[0], time.monotonic()
            time.sleep(seconds)
            return float(node.link.ask("total_usage")[0] - before) / (time.monotonic() - began)

        idle = used()
        with node.watch(files, hz=10) as watch:
            busy = benchmark.pedantic(used, rounds=1)
        samples = len(watch.samples)
    print(f"\n{len(files)} files at 10 Hz: {(busy - idle) * 100:.1f}% of a CPU; idle with 50 pods {idle * 100:.1f}%")
    assert samples >= 9 * seconds
    assert busy - idle < 0.03


def test_a_sync_of_fifty_unchanged_pods_takes_less_than_20_ms(benchmark: Any, name: str) -> None:
    """As the node's agent measures it: pods read from what was sent, compared, and nothing left to do."""
    with Cluster.docker(1, cpus=2, memory="4Gi") as cluster:
        cluster.apply([pod(requests={"cpu": "10m"}, limits={"memory": "16Mi"}) for _ in range(50)])
        cluster.wait(lambda c: all(p.status.phase == "Running" for p in c.pods()), 60)
        node, pods = cluster.node(), [to_dict(p) for p in cluster.pods()]
        node.link.ask("sync", pods=pods)
        steps, started = len(node.timeline()), [p.status.start_time for p in cluster.pods()]
        took: list[float] = []
        benchmark.pedantic(lambda: took.append(node.link.ask("sync", pods=pods)), rounds=20)
        assert len(pods) == 50 and len(node.timeline()) == steps
        assert [p.status.start_time for p in cluster.pods()] == started and node.differences() == []
    own, with_the_way = statistics.median(took), benchmark.stats.stats.median
    print(f"\nsync of 50 unchanged pods: {own * 1000:.1f} ms, {with_the_way * 1000:.1f} ms with the way")
    assert own < 0.020
