"""The widgets on real nodes: the same controls, now answered by a real kernel."""

import pytest

from kitlib.cluster.docker import DockerCluster
from kitlib.widgets import (
    CgroupTreeExplorer,
    CgroupWatch,
    EvictionGauge,
    NodeBar,
    OomArena,
    SharesRace,
    Timeline,
)
from tests.engine.helpers import needed, pod


@pytest.fixture(scope="module")
def cluster():
    needed()
    with DockerCluster(1, cpus=2, memory="512Mi") as made:
        yield made


@pytest.fixture(autouse=True)
def empty(cluster):
    yield
    for one in cluster.pods():
        cluster.delete("Pod", one.name, one.namespace, grace=0)
    cluster.wait(lambda c: not c.pods())


def running(cluster, name):
    cluster.wait(lambda c: c.pod(name).status.phase == "Running")


def test_the_tree_of_a_real_node_is_as_desired_and_a_file_can_be_written(cluster):
    explorer = CgroupTreeExplorer(cluster)
    assert explorer.problem == "" and "the same, file by file" in explorer.sentence
    explorer.cgroup.value = next(path for _, path in explorer.cgroup.options if path.endswith("burstable"))
    explorer.file.value = "cpu.weight" if cluster.node().kernel.version == 2 else "cpu.shares"
    explorer.value.control.value = "77"
    explorer.write.click()
    assert "observed 77" in explorer.sentence
    explorer.value.control.value = "plenty"
    explorer.write.click()
    assert "EINVAL" in explorer.value.problem or "Invalid argument" in explorer.value.problem


@pytest.mark.parametrize("metric", ["memory", "cpu", "throttled"])
def test_a_watch_reads_the_files_of_a_real_container(cluster, metric):
    cluster.apply(pod(name="busy", workload="cpu=1 memory=60Mi", limits={"cpu": "200m", "memory": "100Mi"}))
    running(cluster, "busy")
    watch = CgroupWatch(cluster, metric=metric)
    assert watch.speed.layout.display == "none"
    for _ in range(4):
        cluster.advance(0.5)
        watch.sample()
    values = watch.frame()["busy/c"].dropna()
    least, most = {"memory": (40 * 2**20, 100 * 2**20), "cpu": (0.0, 0.3), "throttled": (-0.1, 100.1)}[metric]
    assert least < values.iloc[-1] < most


def test_the_arena_predicts_whom_a_real_kernel_kills(cluster):
    arena = OomArena(cluster)
    arena.qos.value, arena.request.amount, arena.uses.amount = "Guaranteed", "100Mi", "150Mi"
    assert "predicted victim: guaranteed-1/app" in arena._forecast.value
    arena.add.click()
    assert arena.problem == ""
    assert arena.history[-1] == (("guaranteed-1/app",), ("guaranteed-1/app",)), arena.node.kernel_log()


def test_the_race_of_real_processes_ends_near_what_the_weights_promise(cluster):
    race = SharesRace(cluster, requests=("800m", "400m"))
    for name in race.names:
        running(cluster, name)
    race.refresh()
    race.run.click()
    frame = race.frame().set_index("cgroup")
    ratio = frame["observed CPUs"]["racer-1"] / frame["observed CPUs"]["racer-2"]
    promised = frame["predicted CPUs"]["racer-1"] / frame["predicted CPUs"]["racer-2"]
    assert ratio == pytest.approx(promised, rel=0.35)


def test_gauge_bar_and_timeline_speak_of_a_real_node(cluster):
    gauge, line = EvictionGauge(cluster), Timeline(cluster)
    cluster.apply(pod(name="web", workload="memory=50Mi", requests={"memory": "60Mi", "cpu": "100m"}))
    running(cluster, "web")
    gauge.refresh()
    assert gauge.problem == "" and "Order of eviction: web" in gauge._order.value
    assert gauge.frame().available.max() < 512 * 2**20
    bar = NodeBar(cluster)
    assert "100 of 2000m allocatable requested" in bar.sentence
    line.look.click()
    assert {"event", "cgroup", "kubelet"} <= set(line.frame().source)
