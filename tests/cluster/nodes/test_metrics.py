"""What is seen on a node: ranking, usage against limits, rates of counters; the same on both cgroup versions."""

import pytest

from kitlib.advisor.forecast import forecast, kills_in
from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.metrics import Meter, lines_after, name_of, name_of_path, oom_rows

POD = """
apiVersion: v1
kind: Pod
metadata: {name: busy, annotations: {kitlib.dev/workload.app: "cpu=2 memory=100Mi"}}
spec:
  containers:
  - name: app
    image: x
    resources: {requests: {cpu: 500m}, limits: {cpu: 500m, memory: 200Mi}}
"""


@pytest.fixture(params=[1, 2])
def node(request):
    with Cluster.simulated(1, cpus=2, memory="2Gi", cgroup_version=request.param) as cluster:
        cluster.apply(POD)
        yield cluster.node(), cluster


def containers(node):
    return node.desired().of_kind("container")


def test_memory_stands_against_its_limit(node):
    machine, _ = node
    reading = Meter(machine, "memory").read(containers(machine), 0)["busy/app"]
    assert (reading.value, reading.limit) == (100 * 2**20, 200 * 2**20)


def test_cpu_and_throttling_are_rates_between_two_looks(node):
    machine, cluster = node
    cpu, throttled = Meter(machine, "cpu"), Meter(machine, "throttled")
    assert cpu.read(containers(machine), 0)["busy/app"].value is None
    throttled.read(containers(machine), 0)
    cluster.advance(2)
    reading = cpu.read(containers(machine), 2)["busy/app"]
    assert reading.value == pytest.approx(0.5, abs=0.01) and reading.limit == 0.5
    assert throttled.read(containers(machine), 2)["busy/app"].value == pytest.approx(100, abs=6)


def test_a_cgroup_that_has_gone_is_left_out(node):
    machine, cluster = node
    cgroups = containers(machine)
    meter = Meter(machine, "memory")
    cluster.delete("Pod", "busy", grace=0)
    assert meter.read(cgroups, 1) == {}


def test_a_metric_that_is_none_is_refused(node):
    with pytest.raises(KitError, match="metric: must be one of memory, cpu, throttled, got"):
        Meter(node[0], "disk")


def test_the_ranking_is_by_badness_and_names_daemons_too(node):
    machine, _ = node
    rows = oom_rows(machine)
    assert [row["name"] for row in rows] == ["busy/app", "kubelet", "containerd"]
    assert rows[0]["badness"] > rows[1]["badness"] > rows[2]["badness"]


def test_a_forecast_changes_nothing_on_the_node(node):
    machine, cluster = node
    data = {
        "metadata": {"name": "hog", "uid": "u-1", "annotations": {"kitlib.dev/workload.a": "memory=3Gi"}},
        "spec": {"containers": [{"name": "a", "image": "x"}]},
    }
    coming = set_defaults(from_dict(data, Pod))
    before = [p.pid for p in machine.processes()]
    found = forecast(machine, cluster.pods(), coming)
    assert found.victims == ("hog/a",)
    assert found.rows[0]["name"] == "hog/a"
    assert [p.pid for p in machine.processes()] == before and machine.kernel_log() == []


def test_kills_are_read_from_the_lines_of_a_real_kernel_too():
    line = (
        "[ 1234.5] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,"
        "oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c1,task=stress,pid=77,uid=0"
    )
    assert kills_in([line]) == [("/kubepods/pod1", "/kubepods/pod1/c1")]
    whole = (
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/a/b,task=x"
    )
    assert kills_in([whole]) == [("/", "/a/b")]


def test_a_cgroup_that_is_gone_is_named_after_its_pod(node):
    machine, cluster = node
    path = containers(machine)[0].path
    empty = type(machine.desired())(2, "systemd")
    assert name_of_path(path, cluster.pods(), empty) == "busy/app"
    assert name_of_path("/other", cluster.pods(), empty) == "/other"
    assert name_of(None, "kubelet") == "kubelet"


def test_new_lines_of_a_log_are_found_even_where_old_ones_were_forgotten():
    assert lines_after(["a", "b", "c"], "b") == ["c"]
    assert lines_after(["b", "c", "b", "d"], "b") == ["d"]
    assert lines_after(["x", "y"], "gone") == ["x", "y"] == lines_after(["x", "y"], "")
