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

from kitlib.cluster import Cluster
from kitlib.cluster.docker import DockerCluster
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


@pytest.fixture(scope="module", params=["process", "container"])
def one(name: str, request: pytest.FixtureRequest) -> Iterator[DockerCluster]:
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


def test_a_node_is_ready_in_at_most_1_2_times_what_docker_run_takes(benchmark: Any, name: str) -> None:
    Cluster.docker(1, **NODE).close()
    reference = median(run_true(name))
    ready = median(lambda: Cluster.docker(1, **NODE))
    benchmark.extra_info |= {"docker run true": reference, "node ready": ready, "ratio": ready / reference}
    benchmark.pedantic(lambda: Cluster.docker(1, **NODE).close(), rounds=3)
    print(f"\nnode ready {ready * 1000:.0f} ms, docker run true {reference * 1000:.0f} ms: {ready / reference:.2f}")
    assert ready <= 1.2 * reference


def test_ten_nodes_in_parallel_take_less_than_eight_times_one(benchmark: Any, name: str) -> None:
    single = median(lambda: Cluster.docker(1, **NODE), 5)
    ten = median(lambda: Cluster.docker(10, **NODE), 3)
    benchmark.pedantic(lambda: Cluster.docker(10, **NODE).close(), rounds=1)
    print(f"\nten nodes {ten * 1000:.0f} ms, one {single * 1000:.0f} ms: {ten / single:.1f}")
    assert ten < 8 * single


def test_a_pod_runs_within_40_ms_after_apply(benchmark: Any, one: DockerCluster) -> None:
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


def test_a_round_trip_to_the_node(benchmark: Any, one: DockerCluster) -> None:
    benchmark(one.node().link.ask, "alive")


def test_a_cluster_with_a_control_plane_of_its_own_is_ready_soon_after_one_without(benchmark: Any, name: str) -> None:
    without = median(lambda: Cluster.docker(1, control_plane="process", **NODE), 5)
    ready = median(lambda: Cluster.docker(1, control_plane="container", **NODE), 5)
    benchmark.pedantic(lambda: Cluster.docker(1, control_plane="container", **NODE).close(), rounds=1)
    print(f"\nready {ready * 1000:.0f} ms, with the control plane in the process {without * 1000:.0f} ms")
    assert ready < 3 * without


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
