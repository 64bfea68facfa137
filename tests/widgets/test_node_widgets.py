"""Node bar, shares race, eviction gauge, CPU map: figures are the kubelet's and the kernel's, errors stand in place."""

import asyncio
import re

import pytest

from kitlib.charts.node_bar import _LOOKS, scale_of
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.host_load import HostTime
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.kubelet.cm.node_allocatable import node_status
from kitlib.widgets import CpuMap, EvictionGauge, NodeBar, SharesRace

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: x, resources: {requests: {cpu: 500m, memory: 200Mi}}}
"""


class TestNodeBar:
    def field(self, bar, part, resource):
        return bar.fields[part, resource]

    def test_a_clusters_node_is_shown_with_what_its_pods_request(self):
        flags = ["--kube-reserved=cpu=500m,memory=100Mi", "--eviction-hard=memory.available<10%"]
        with Cluster.simulated(1, cpus=4, memory="8Gi", kubelet=flags) as cluster:
            cluster.apply(POD)
            bar = NodeBar(cluster)
            config = cluster.node().config
            allocatable = node_status(config.machine, config.reservations, 110).allocatable
        frame = bar.frame().set_index(["resource", "part"]).value
        left = allocatable["memory"].value() - 200 * 2**20
        assert frame["memory", "free"] == left
        assert frame["cpu", "requested by pods"] == 500 and frame["cpu", "free"] == 3000
        assert "500 of 3500m allocatable requested (14%)" in bar.sentence

    def test_reservations_and_thresholds_change_allocatable_but_eviction_not_the_cgroup(self):
        bar = NodeBar()
        self.field(bar, "kube-reserved", "memory").control.value = "2Gi"
        self.field(bar, "eviction-hard", "memory").control.value = "1Gi"
        assert "memory 13Gi" in bar._figures.value and "limited to 14Gi" in bar._figures.value

    @pytest.mark.parametrize(
        ("part", "resource"),
        [
            ("system-reserved", "memory"),
            ("eviction-hard", "memory"),
            ("kube-reserved", "cpu"),
            ("requested by pods", "cpu"),
        ],
    )
    def test_a_dragged_border_is_the_amount_at_the_pointer_and_leaves_the_other_parts(self, part, resource):
        bar = NodeBar()
        self.field(bar, "kube-reserved", resource).control.value = "1"
        before = dict(bar._parts[resource])
        left = 8 + sum(before.get(name, 0) for name in list(_LOOKS)[: list(_LOOKS).index(part)]) * scale_of(before, 720)
        bar.picture.act("drag", what=f"{resource} {part}", x=left + before["capacity"] / 4 * scale_of(before, 720), y=0)
        after = bar._parts[resource]
        assert after[part] == before["capacity"] / 4
        assert {name: after[name] for name in after if name != part} == {n: before[n] for n in before if n != part}
        bar.picture.act("step", what=f"{resource} {part}", by=1)
        assert bar._parts[resource][part] > after[part]
        bar.picture.act("unset", what=f"{resource} {part}")
        assert bar._parts[resource][part] == 0

    def test_the_values_of_the_borders_are_whole_numbers_for_screen_readers(self):
        values = re.findall(r'aria-value(?:now|max|min)="([^"]*)"', NodeBar().picture.body)
        assert len(values) == 21 and all(value.isdigit() for value in values)

    def test_reservations_cannot_be_dragged_beyond_the_capacity(self):
        bar = NodeBar()
        bar.picture.act("drag", what="memory kube-reserved", x=700, y=0)
        bar.picture.act("step", what="memory system-reserved", by=5000)
        parts = bar._parts["memory"]
        assert sum(parts[name] for name in ("kube-reserved", "system-reserved", "eviction-hard")) <= parts["capacity"]
        assert bar.problem == "" and all(field.problem == "" for field in bar.fields.values())

    @pytest.mark.parametrize(
        ("part", "resource", "text", "beside", "message"),
        [
            ("kube-reserved", "memory", "2x", ("kube-reserved", "memory"), "quantities must match"),
            ("system-reserved", "cpu", "-1", ("system-reserved", "cpu"), "must not be negative"),
            ("kube-reserved", "memory", "99Gi", ("capacity", "memory"), "Expected capacity >= reservation"),
            ("capacity", "cpu", "", ("capacity", "cpu"), "a machine has some cpu"),
            ("eviction-hard", "memory", "lots", ("eviction-hard", "memory"), "quantities must match"),
        ],
    )
    def test_bad_amounts_are_said_beside_their_field(self, part, resource, text, beside, message):
        bar = NodeBar()
        before = bar.sentence
        self.field(bar, part, resource).control.value = text
        assert message in self.field(bar, *beside).problem
        assert bar.sentence == before and bar.problem == ""
        self.field(bar, part, resource).control.value = "1"
        assert all(field.problem == "" for field in bar.fields.values())


class TestSharesRace:
    @pytest.mark.parametrize("version", [1, 2])
    def test_what_the_weights_promise_is_what_is_measured(self, version):
        with Cluster.simulated(1, cpus=2, memory="2Gi", cgroup_version=version) as cluster:
            race = SharesRace(cluster, requests=("1", "500m"))
            race.run.click()
            frame = race.frame().set_index("cgroup")
            assert frame["observed CPUs"].sum() == pytest.approx(2, abs=0.01)
            assert (frame["observed CPUs"] - frame["predicted CPUs"]).abs().max() < 0.01
            share = frame.weight["racer-1"] / frame.weight.sum()
            assert frame["predicted CPUs"]["racer-1"] == pytest.approx(2 * share, abs=0.01)

    def test_a_request_that_is_changed_is_written_by_the_kubelet(self):
        race = SharesRace()
        before = int(race.frame().weight[0])
        race.fields["racer-1", "requests"].amount = "100m"
        assert int(race.frame().weight[0]) < before
        assert "observed CPUs" not in race.frame()

    def test_a_limit_holds_a_racer_back_and_the_others_share_what_it_leaves(self):
        race = SharesRace()
        race.fields["racer-1", "requests"].amount = "100m"
        race.fields["racer-1", "limits"].amount = "200m"
        race.run.click()
        frame = race.frame().set_index("cgroup")
        assert frame["observed CPUs"]["racer-1"] == pytest.approx(0.2, abs=0.01)
        assert frame["observed CPUs"].sum() == pytest.approx(2, abs=0.01)

    @pytest.mark.parametrize(
        ("what", "text", "message"),
        [
            ("limits", "1m", "must be less than or equal to cpu limit"),
            ("requests", "x", "quantities"),
            ("requests", "", "not taken away"),
            ("requests", "3", "enough allocatable resources: cpu, requested: 3000"),
            ("requests", "1", "Deferred"),
        ],
    )
    def test_a_resize_that_is_refused_is_said_beside_its_field(self, what, text, message):
        race = SharesRace()
        race.fields["racer-2", what].amount = text
        assert message in race.fields["racer-2", what].problem


class TestEvictionGauge:
    def test_pods_fill_the_node_until_one_is_evicted(self):
        gauge = EvictionGauge()
        assert "No eviction threshold is met" in gauge.sentence
        for _ in range(4):
            gauge.add.click()
        assert "Thresholds met: memory.available" in gauge.sentence
        folded = "<summary>The order of eviction (guess first)</summary><p>pod-1, pod-2, pod-3, pod-4</p></details>"
        assert folded in gauge._order.value
        gauge.wait.click()
        assert "Evicted so far: pod-1" in gauge._order.value
        gauge.wait.click()  # the condition comes with the next node status
        assert "MemoryPressure" in gauge._order.value
        assert "No eviction threshold is met" in gauge.sentence

    def test_priority_and_the_use_above_the_request_decide_the_order(self):
        gauge = EvictionGauge()
        gauge.uses.amount, gauge.request.amount, gauge.priority.value = "100Mi", "50Mi", 100
        gauge.add.click()
        gauge.priority.value = 0
        gauge.add.click()
        gauge.request.amount = "200Mi"
        gauge.add.click()
        assert "pod-2, pod-1, pod-3" in gauge._order.value

    def test_bars_are_the_signals_of_the_kubelet(self):
        gauge = EvictionGauge()
        frame = gauge.frame().set_index("signal")
        assert frame.threshold["memory.available"] == 200 * 2**20
        assert frame.threshold["memory.available (soft, 30 s)"] == 300 * 2**20
        daemons = sum(p.memory for p in gauge.node.processes())
        assert frame.available["memory.available"] == 2**30 - daemons

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [("uses", "x", "quantities"), ("request", "x", "quantities"), ("uses", "", "specify the memory")],
    )
    def test_bad_amounts_are_said_beside_their_field(self, name, text, message):
        gauge = EvictionGauge()
        getattr(gauge, name).amount = text
        gauge.add.click()
        assert message in getattr(gauge, name).problem
        assert gauge.cluster.pods() == []

    def test_it_runs_by_itself_in_a_notebook_and_ends_when_it_is_closed(self):
        async def main():
            gauge = EvictionGauge()
            gauge._beat.seconds = 0.01
            gauge.live.value = True
            while gauge.cluster.clock.seconds < 3:
                await asyncio.sleep(0.01)
            gauge.close()
            assert not gauge._beat.running

        asyncio.run(main())


class TestCpuMap:
    def test_whole_cpus_of_a_guaranteed_pod_are_its_own(self):
        cpus = CpuMap()
        cpus.add.click()
        assert "pod-1/app: 2" in cpus.sentence and "reserved: 1" in cpus.sentence
        mine = cpus.frame().query("owner == 'pod-1/app'")
        assert mine.core.nunique() == 1  # the two threads of one core

    def test_parts_of_a_cpu_share(self):
        cpus = CpuMap()
        cpus.cpus.control.value = "1500m"
        cpus.add.click()
        assert "pod-1" not in cpus.sentence and cpus.cpus.problem == ""

    def test_a_pod_that_goes_gives_its_cpus_back(self):
        cpus = CpuMap()
        cpus.add.click()
        assert cpus.pod.value == "pod-1"
        cpus.remove.click()
        assert "pod-1" not in cpus.sentence
        cpus.remove.click()
        assert "there is no pod to remove" in cpus.problem

    @pytest.mark.parametrize(
        ("text", "message"),
        [("99", "not enough cpus"), ("zz", "quantities must match"), ("-2", "greater than or equal to 0")],
    )
    def test_what_cannot_be_given_is_said_beside_the_field(self, text, message):
        cpus = CpuMap()
        cpus.cpus.control.value = text
        cpus.add.click()
        assert message in cpus.cpus.problem

    def test_the_cpus_of_a_pod_with_resources_of_its_own_are_shared_by_its_containers(self):
        flags = ["--cpu-manager-policy=static", "--reserved-cpus=0", "--topology-manager-scope=pod"]
        flags += ["--topology-manager-policy=restricted", "--feature-gates=PodLevelResourceManagers=true"]
        total, own = {"cpu": "4", "memory": "2Gi"}, {"cpu": "1", "memory": "1Gi"}
        containers = [{"name": "main", "image": "x", "resources": {"limits": own}}, {"name": "log", "image": "x"}]
        pod = {"resources": {"limits": total, "requests": total}, "containers": containers}
        with Cluster.simulated(1, cpus=8, kubelet=flags) as cluster:
            cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": pod})
            sentence = CpuMap(cluster).sentence
        assert "web/main: 1" in sentence and "web, shared by its containers: 3" in sentence

    def test_without_the_static_policy_all_is_shared(self):
        with Cluster.simulated(1) as cluster:
            assert CpuMap(cluster).sentence == "4 CPUs; shared pool: 4."


def test_the_eviction_gauges_player_goes_through_starts_pressure_and_evictions():
    gauge = EvictionGauge()
    for uses in ("300Mi", "300Mi", "250Mi"):
        gauge.uses.amount = uses
        gauge.add.click()
    for _ in range(4):
        gauge.wait.click()
    said = " ".join(frame["caption"] for frame in gauge.board.frames)
    assert said.index("pod-1 starts.") < said.index("MemoryPressure=True") and " is evicted." in said
    gone = [any(area["id"] == "evicted" for area in frame["areas"]) for frame in gauge.board.frames]
    assert gone == sorted(gone) and True in gone, "evicted pods stay in their box"
    times = [frame["seconds"] for frame in gauge.board.frames if frame["seconds"] is not None]
    assert times == sorted(times) and len(times) >= 4


def test_a_race_on_a_busy_host_says_so_and_a_quiet_one_does_not(monkeypatch):
    """If other processes take the CPU, the difference to the promise is not Kubernetes'."""
    taken = [0.0]

    def host_time(node):
        now = node.kernel.now
        return HostTime(now, now, {"0": now, "1": taken[0] * now})

    monkeypatch.setattr(SimulatedNode, "host_time", host_time)
    race = SharesRace()
    race.run.click()
    assert "host was busy" not in race.sentence
    taken[0] = 1.0
    race.run.click()
    assert race.sentence.endswith("The host was busy: other processes used 50% of the CPU time. Run this again.")
    taken[0] = 0.0
    race.fields["racer-1", "requests"].amount = "750m"
    assert "host was busy" not in race.sentence  # that was measured with other requests
    race.cluster.close()
