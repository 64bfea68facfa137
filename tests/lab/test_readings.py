"""What a notebook reads has one name on both cgroup versions."""

import pytest

from kitlib.cluster import Cluster
from kitlib.lab.manifests import pod
from kitlib.lab.readings import (
    adjustment_of,
    arrival,
    back_off,
    cpu_mask,
    cpu_stat,
    cpu_used,
    failed,
    file_names,
    kill_log,
    memory_used,
    phases,
    placed,
    pod_cgroup,
    pressure_of,
    quota_of,
    quota_periods,
    swap_parts,
    try_write,
    wait_until_running,
    watch_eviction,
    watch_memory,
)


@pytest.mark.parametrize("version", [1, 2])
def test_a_pods_files_are_read_by_one_name_on_both_versions(version):
    with Cluster.simulated(1, cgroup_version=version) as cluster:
        cluster.apply([pod("a", "1", "64Mi", guaranteed=True), pod("b")])
        cluster.advance(1)
        names = file_names(cluster.node())
        assert names == file_names(version)
        assert pod_cgroup(cluster, "a")[names.memory_limit].value == str(64 * 2**20)
        assert pod_cgroup(cluster, "a", "main").container == "main"
        assert quota_of(pod_cgroup(cluster, "a")) == 100000 and quota_of(pod_cgroup(cluster, "b")) is None
        path = pod_cgroup(cluster, "b").path
        assert try_write(cluster.node(), path, names.memory_limit, "1Q") != "accepted"
        assert try_write(cluster.node(), path, names.memory_limit, "64M") == "accepted"


@pytest.mark.parametrize("version", [1, 2])
def test_use_and_throttling_are_read_alike(version):
    with Cluster.simulated(1, cpus=2, cgroup_version=version) as cluster:
        cluster.apply([pod("half", cpu_limit="500m", busy=1), pod("full", uses="memory=64Mi")])
        cluster.advance(3)
        cpu_used(cluster)
        cluster.advance(4)
        assert cpu_used(cluster)["half"] == pytest.approx(0.5, abs=0.02)
        stat = cpu_stat(cluster, "half")
        assert 0 < stat["nr_throttled"] <= stat["nr_periods"]
        assert stat["throttled_ms"] == pytest.approx(50 * stat["nr_throttled"], rel=0.1)
        assert memory_used(cluster, "full") == 64 * 2**20


def test_phases_and_places_of_pods():
    with Cluster.simulated(1, memory="1Gi") as cluster:
        big = pod("big", memory_limit="10Mi", uses="memory=64Mi", restart="Never")
        cluster.apply([pod("ok"), big, pod("huge", memory="2Gi")])
        cluster.advance(3)
        assert phases(cluster)["ok"] == "Running" and failed(cluster) == ["big"]
        assert placed(cluster) == {"ok": "node-1", "big": "node-1", "huge": "pending"}


@pytest.mark.parametrize(
    ("cpus", "mask"),
    [("4-5,20-21", "00300030"), ("0", "00000001"), ("0-63", "ffffffff,ffffffff"), ("32", "00000001,00000000")],
)
def test_a_list_of_cpus_as_a_mask(cpus, mask):
    """Source: proc(5), Cpus_allowed; lib/bitmap.c bitmap_print."""
    assert cpu_mask(cpus) == mask


def test_an_arrival_is_looked_at_until_the_process_runs():
    with Cluster.simulated(1, cpus=1) as cluster:
        rows = arrival(cluster, pod("a", cpu="1"))
        assert rows[-1]["node"] == "node-1" and "a" in rows[-1]["processes of"]
        assert len(arrival(cluster, pod("b", cpu="1"), at_most=3)) == 3


def test_a_notebook_waits_until_its_pods_run_and_says_whether_they_do():
    with Cluster.simulated(1, cpus=1) as cluster:
        cluster.apply([pod("a"), pod("huge", cpu="2")])
        assert wait_until_running(cluster, "a")
        assert not wait_until_running(cluster, at_most=3)


@pytest.mark.parametrize(("version", "bound"), [(1, 0), (2, 128)])
def test_swap_and_pressure_are_read_by_one_name(version: int, bound: int) -> None:
    kubelet = {"cgroupDriver": "systemd", "failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}
    nodes = [{"name": "node-1", "memory": "2Gi", "swap": "1Gi", "kubelet": kubelet}]
    with Cluster.simulated(nodes, cgroup_version=version) as cluster:
        cluster.apply(pod("a", memory="256Mi", memory_limit="300Mi", uses="2s memory=100Mi; memory=340Mi"))
        cluster.apply(pod("free", uses="memory=20Mi"))
        cluster.advance(1)
        assert swap_parts(cluster, "a")["swap limit"] == bound
        if version == 1:
            assert swap_parts(cluster, "free") == {"memory": 20, "swap": 0, "swap limit": None, "high": None}
        cluster.advance(5)
        assert bool(cluster.pod("a").status.container_statuses[0].restart_count) == (version == 1)
        if version == 2:
            found, shown = swap_parts(cluster, "a"), pressure_of(cluster, "a")
            assert (found["memory"], found["swap"]) == (300, 40)
            assert list(shown) == ["avg10", "avg60", "avg300", "total"]
            assert shown["total"] == pytest.approx(400_000, abs=10_000), "40 MiB at 100 MiB a second"


@pytest.mark.parametrize("version", [1, 2])
def test_periods_add_up_to_what_cpu_stat_counts(version):
    with Cluster.simulated(1, cpus=2, cgroup_version=version) as cluster:
        cluster.apply([pod("one", cpu_limit="200m", busy=1), pod("free", busy=1)])
        before = cpu_stat(cluster, "one")
        periods = quota_periods(cluster, ["one", "free"], 20)
        stopped = cpu_stat(cluster, "one")["throttled_ms"] - before["throttled_ms"]
        assert sum(time for _, time in periods["one"]) == pytest.approx(stopped, abs=2)
        assert all(ran == pytest.approx(20, abs=5) for ran, _ in periods["one"][1:])
        assert not any(time for _, time in periods["free"])


def test_memory_is_watched_with_its_kills():
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod("leak", memory_limit="100Mi", uses="4s memory=60Mi; memory=200Mi"))
        seconds, used, kills = watch_memory(cluster, "leak", 10)
        log = cluster.node().kernel_log()
        assert len(kills) == sum("Killed process" in line for line in log) == 2
        assert seconds == list(range(1, 11)) and used[0] == 60 * 2**20 and None in used
        said = kill_log(cluster.node())
        assert max(map(len, said.splitlines())) <= 96 and said.count("Killed process") == 2
        assert "usage" not in kill_log(cluster.node(), "Killed process") and back_off(cluster, "leak") == 10


def test_an_adjustment_is_the_same_for_a_manifest_and_for_its_pod() -> None:
    with Cluster.simulated() as cluster:
        manifest = pod("half", memory="512Mi")
        cluster.apply(manifest)
        assert adjustment_of(manifest, 2**30) == adjustment_of(cluster.pod("half"), 2**30) == 500
        assert adjustment_of(pod("none"), 2**30) == 1000


def test_an_eviction_is_watched_from_the_arrival_to_the_end_of_a_pod() -> None:
    node = {"name": "n1", "memory": "768Mi", "kubelet": ["--eviction-hard=memory.available<260Mi"]}
    with Cluster.simulated([node]) as cluster:
        pods = [pod("a", uses="memory=100Mi", restart="Never"), pod("b", memory="460Mi", uses="memory=450Mi")]
        found = watch_eviction(cluster, pods, 260 * 2**20)
        assert (found.gone, found.ended, found.order) == ("a", ("Failed", "Evicted"), "a, b")
        assert found.filled <= found.acted <= 20 and found.available[-1] < 260 * 2**20 and found.gauge
        assert len(found.seconds) == len(found.available) and found.message
