"""The widgets on real nodes: the same controls, now answered by a real kernel."""

import os

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.host_load import HostMeter
from kitlib.widgets import (
    CgroupTreeExplorer,
    CgroupWatch,
    CpuMap,
    EvictionGauge,
    NodeBar,
    OomArena,
    PodBuilder,
    SchedulerBoard,
    SharesRace,
    SideBySide,
    Timeline,
)
from tests.engine.helpers import cpu_seconds, end, needed, pod


@pytest.fixture(scope="module")
def cluster():
    needed()
    with Cluster.docker(1, cpus=2, memory="512Mi") as made:
        yield made


@pytest.fixture(autouse=True)
def empty(cluster):
    yield
    end(cluster, *cluster.pods())


def running(cluster, name):
    cluster.wait(lambda c: c.pod(name).status.phase == "Running")


def test_the_tree_of_a_real_node_is_as_desired_and_a_file_can_be_written(cluster):
    explorer = CgroupTreeExplorer(cluster)
    assert explorer.problem == "" and "the same, file by file" in explorer.sentence
    explorer.cgroup.value = next(path for _, path in explorer.cgroup.options if path.endswith("burstable"))
    explorer.file.value = "cpu.weight" if cluster.node().cgroupfs.version == 2 else "cpu.shares"
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
        cluster.wait(lambda c, name=name: cpu_seconds(c, name) > 0.05)  # running, and at work
    meter = HostMeter([cluster.node()])
    race.refresh()
    race.run.click()
    load = meter.load()
    frame = race.frame().set_index("cgroup")
    observed, promised = frame["observed CPUs"], frame["predicted CPUs"]
    assert load is not None and 0 < observed.sum() <= 2.1
    # Weights divide what other processes leave. These may take all of their time from one racer; the rest of the
    # tolerance is the kernel's, which balances four threads on two processors now and then.
    taken = load.others * 2 / observed.sum()
    for name in race.names:
        share, wanted = observed[name] / observed.sum(), promised[name] / promised.sum()
        assert share == pytest.approx(wanted, abs=0.1 + taken), (dict(observed), load)


def test_gauge_bar_and_timeline_speak_of_a_real_node(cluster):
    gauge, line = EvictionGauge(cluster), Timeline(cluster)
    cluster.apply(pod(name="web", workload="memory=50Mi", requests={"memory": "60Mi", "cpu": "100m"}))
    running(cluster, "web")
    gauge.refresh()
    assert gauge.problem == "" and "<p>web" in gauge._order.value
    assert gauge.frame().available.max() < 512 * 2**20
    bar = NodeBar(cluster)
    assert "100 of 2000m allocatable requested" in bar.sentence
    line.look.click()
    assert {"event", "cgroup", "kubelet"} <= set(line.frame().source)


def test_four_logs_of_a_real_node_stand_on_the_nodes_own_clock(cluster):
    line = Timeline(cluster)
    cluster.apply(pod(name="leak", workload="2s memory=20Mi; memory=100Mi", limits={"memory": "60Mi"}))
    cluster.wait(lambda c: c.pod("leak").status.container_statuses[0].restart_count)
    line.look.click()
    frame = line.frame()

    def when(source, *words, since=0.0):
        """The first entry of a source that says all of this; the node has seen other tests before."""
        says = frame.source.eq(source) & frame.object.str.contains("leak|node-1") & frame.seconds.ge(since)
        for word in words:
            says &= frame.text.str.contains(word, regex=False)
        return frame[says].iloc[0].seconds

    admitted, killed = when("kubelet", "admitting pod"), when("kubelet", "container ended", "out of memory")
    assert frame.seconds.is_monotonic_increasing
    assert admitted + 1.5 < killed <= cluster.node().uptime()
    assert when("event", "Scheduled") == pytest.approx(admitted, abs=2)
    log = cluster.node().kernel_log()
    if not any("cannot be read" in text for text in log):
        assert when("kernel", "Killed process", since=admitted) == pytest.approx(killed, abs=2)


def test_the_builders_files_are_those_that_its_pod_gets(cluster):
    node = cluster.node()
    builder = PodBuilder(node=node)
    assert (builder.version.value, builder.driver.value) == (node.cgroupfs.version, "cgroupfs")
    builder.form.rows[0].amounts["requests", "cpu"].amount = "300m"
    cluster.apply(deepcopy(builder.pod))
    running(cluster, "web")
    uid = cluster.pod("web").metadata.uid
    observed = {c.title: node.tree()[c.path] for c in node.desired().of_pod(uid)}
    promised = {(r.cgroup, r.file): r.value for r in builder.frame().itertuples()}
    score = promised.pop(("container app", "/proc/PID/oom_score_adj"))
    assert score == node.proc("web")["oom_score_adj"]
    assert len(promised) > 5
    assert {(cgroup, file): observed[cgroup][file].shown for cgroup, file in promised} == promised


def test_side_by_side_says_what_differs_between_two_pods_that_really_run(cluster):
    node = cluster.node()
    both = SideBySide(node=node)
    both.right.rows[0].amounts["requests", "cpu"].amount = both.right.rows[0].amounts["limits", "cpu"].amount = "500m"
    version, pair = node.cgroupfs.version, (both.left.pod, both.right.pod)
    cluster.apply([deepcopy(one) for one in pair])
    frame = both.frame().set_index("value")
    for one in pair:
        running(cluster, one.name)
        path = next(c.path for c in node.desired().of_pod(cluster.pod(one.name).metadata.uid) if c.kind == "pod")
        for file in ("cpu.max", "cpu.weight") if version == 2 else ("cpu.cfs_quota_us", "cpu.shares"):
            assert frame.loc[f"pod {file}", one.name] == node.read(path, file)
        assert frame.loc["QoS class", one.name] == cluster.pod(one.name).status.qos_class
    assert "web is Burstable, db is Guaranteed" in both.sentence


def test_the_map_shows_cpus_that_the_kernel_gave_to_one_container(cluster):
    if (os.cpu_count() or 1) < 2:
        pytest.fail("exclusive CPUs need two processors")
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    with Cluster.docker(1, cpus=2, memory="512Mi", kubelet=flags) as other:
        cpus = CpuMap(other)
        assert cpus.sentence == "2 CPUs; shared pool: 1, reserved: 1."
        cpus.cpus.control.value = "1"
        cpus.add.click()
        running(other, "pod-1")
        cpus.refresh()
        assert cpus.sentence == "2 CPUs; reserved: 1, pod-1/app: 1."
        assert other.node().proc("pod-1")["Cpus_allowed_list"] == "1"
        cpus.remove.click()
        other.wait(lambda c: not c.pods())
        cpus.refresh()
        assert cpus.sentence == "2 CPUs; shared pool: 1, reserved: 1."


def test_the_board_shows_what_the_scheduler_of_a_real_cluster_thought(cluster):
    cluster.apply([pod(name="fits", requests={"cpu": "100m"}), pod(name="huge", requests={"cpu": "7"})])
    running(cluster, "fits")
    board = SchedulerBoard(cluster.decision("huge"))
    assert "Insufficient cpu" in board.frame().to_string()
    assert "node-1" in SchedulerBoard(cluster.decision("fits")).sentence
    assert "huge" in SchedulerBoard(cluster).pod.value  # the pod that waits


def test_the_builders_button_puts_the_pod_on_a_real_node(cluster):
    """The files and /proc show every predicted value, or the value carries the host's refusal."""
    builder = PodBuilder(from_dict(pod(name="sure", limits={"cpu": "100m", "memory": "64Mi"}), Pod), cluster)
    origin = cluster.node().origin
    assert origin.real and builder.version.value == origin.version == cluster.node().cgroupfs.version
    builder.on_cluster.put.click()
    assert builder.problem == "" and cluster.pod("sure").status.phase == "Running"
    result = builder.on_cluster.result
    assert f"Values: real node node-1, cgroup v{origin.version}" in result
    assert "differ for another reason" not in result
    refused = origin.reason("oom_score_adj")
    assert ("<td>-997</td><td>-997</td><td>yes</td>" in result) == (not refused)
    assert f"<td>no</td><td>{refused}</td>" in result or not refused
