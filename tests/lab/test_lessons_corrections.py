"""What a review of the course found wrong stays right: in the notebook's words, and in the model that they describe.

Each row of WORDS is a correction: notebook, what it must say, and what it may not say. The tests below ask the kernel's
model, the kubelet, the scheduler or the API whether the sentence is true.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.kubelet.cm.conversions import shares_to_weight
from kitlib.lab import cpu_used, pod, priority_class, wait_until_running
from kitlib.node.common.workload import declared_workload
from kitlib.scheduler.driver import Driver
from kitlib.study.scenario import Scenario, node_of, pod_of

ROOT = Path(__file__).parents[2]
WORDS = {
    "1 a pod can get less than its request": ("03", "The CPU time can also fall below", "never (shrinks|falls) below"),
    "2 usage ends at the limit": ("04", "kill_log(node)", r"usage 204800kB"),
    "3 the node's cgroups are made at set-up": (
        "10",
        "once, when the kubelet starts",
        "every pod.{0,40}createNode",
    ),
    "4 a hard threshold gives 1 s": (
        "11",
        "1 s for a hard one (`immediateEvictionGracePeriodSeconds`)",
        "0 s for a hard",
    ),
    "5 a tolerated taint costs nothing": ("12", "get for a pod that tolerates the taint", "loses points"),
    "6 quotas are bounded in core.c": (
        "03b",
        "`tg_set_cfs_bandwidth` in [`kernel/sched/core.c`",
        r"bandwidth` in .{,9}/fair",
    ),
    "7 skew is the candidate's": ("13", "plus one if the pod matches itself, minus the smallest", "fullest"),
    "8 a pod may leave backoffQ early": (
        "15b",
        "Since 1.33 a pod may be taken out of backoffQ",
        "leaves backoffQ",
    ),
    "9 weights count among siblings": (
        "09",
        "A weight has an effect only among sibling cgroups",
        r"cpu\.max.*cpu\.shares",
    ),
    "10 OOMKilled is the runtime's word": (
        "04",
        "The reason `OOMKilled` comes from the runtime",
        "the kubelet kills",
    ),
    "11 task stats need a flag": ("10", "They appear only with `--enable_load_reader`", "Task stats.{0,80}every 10 s"),
    "12 only bandwidth has periods": (
        "01",
        "Other limits have no periods",
        "CPU time has periods",
    ),
    "13 Kueue exists": ("15", "[Kueue](https://kueue.sigs.k8s.io)", "(no|not a) queue of jobs"),
    "14 the QoS source of 1.36": (
        "02",
        "blob/v1.36.0/pkg/apis/core/v1/helper/qos/qos.go",
        "blob/v1.36.0/pkg/apis/core/helper/qos",
    ),
    "15 a priority class does not change": (
        "14",
        "Value and policy of a class cannot be changed later",
        "change the value of the class",
    ),
}


def _text(number: str) -> str:
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    return " ".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]).replace("\n", " ")


@pytest.mark.parametrize(("number", "says", "never"), WORDS.values(), ids=WORDS)
def test_the_notebook_says_so(number: str, says: str, never: str) -> None:
    text = _text(number)
    assert says in text
    assert not re.search(never, text)


def test_1_three_busy_slices_leave_pods_less_than_they_request() -> None:
    cluster = Cluster.simulated([{"name": "n", "cpus": 2, "memory": "2Gi"}], cgroup_version=2)
    cluster.apply(pod("p", cpu="1", busy=2))
    cluster.advance(2)
    kernel = cluster.node("n").kernel
    for name in ("a", "b", "c"):
        kernel.cgroups.mkdir(f"/{name}.slice")
        kernel.spawn(declared_workload("cpu=2"), f"/{name}.slice")
    cpu_used(cluster)
    cluster.advance(10)
    kubepods = shares_to_weight(2048)  # 79; a slice has 100
    assert (
        cpu_used(cluster)["p"]
        == pytest.approx(2 * kubepods / (kubepods + 300), abs=0.01)
        == pytest.approx(0.417, abs=0.01)
    )


@pytest.mark.parametrize("version", [1, 2])
def test_2_the_kernel_log_of_a_kill_shows_usage_at_the_limit(version: int) -> None:
    cluster = Cluster.simulated([{"name": "n", "memory": "1Gi"}], cgroup_version=version)
    cluster.apply(pod("leak", memory_limit="100Mi", uses="1s memory=60Mi; memory=200Mi", restart="Never"))
    cluster.advance(5)
    found = re.findall(r"usage (\d+)kB, limit (\d+)kB", "\n".join(cluster.node("n").kernel_log()))
    assert found[0] == ("102400", "102400")


def test_3_the_node_allocatable_cgroup_is_made_once_before_any_pod() -> None:
    cluster = Cluster.simulated([{"name": "n", "memory": "1Gi"}])
    cluster.apply([pod("a"), pod("b")])
    cluster.advance(5)
    sources = [entry.source for entry in cluster.node("n").timeline()]
    made = [i for i, source in enumerate(sources) if "createNodeAllocatableCgroups" in source]
    assert len(made) == 1
    assert made[0] < next(i for i, source in enumerate(sources) if source == "startContainer")


def test_4_a_hard_threshold_gives_a_victim_one_second_and_its_containers_two() -> None:
    hard = ["--eviction-hard=memory.available<400Mi"]
    cluster = Cluster.simulated([{"name": "n", "memory": "768Mi", "kubelet": hard}])
    deaf = ["sh", "-c", "sleep 3; trap '' TERM; stress-ng --vm 1 --vm-bytes 350M"]
    cluster.apply(pod("deaf", command=deaf, restart="Never", terminationGracePeriodSeconds=60))
    node = cluster.node("n")
    evicted: list[float] = []
    while not evicted and node.kernel.now < 60:
        cluster.advance(1)
        evicted = [entry.time for entry in node.timeline() if entry.action == "evicting"]
    while any(process.workload.tidying for process in node.kernel.processes.values()) and node.kernel.now < 120:
        cluster.advance(0.1)
    assert node.kernel.now - evicted[0] == pytest.approx(2.0, abs=0.11)
    cluster.advance(5)
    status = cluster.pod("deaf").status
    ended = status.container_statuses[0].state["terminated"]
    assert (status.reason, ended["exitCode"]) == ("Evicted", 137), "it does not listen to SIGTERM"


def test_5_a_tolerated_prefer_no_schedule_taint_costs_nothing() -> None:
    taint = {"key": "k", "value": "v", "effect": "PreferNoSchedule"}
    tolerates = {"tolerations": [{"key": "k", "operator": "Exists"}]}
    nodes = [{"name": "plain"}, {"name": "tainted", "taints": [taint]}]
    for spec, points in ((tolerates, [100, 100]), ({}, [100, 0])):
        made = Scenario.of({"nodes": nodes, "pods": [{"name": "p", "cpu": 1, "spec": spec}]}).decide()
        scores = made.score_frame()["TaintToleration", "normalized"]
        assert [scores["plain"], scores["tainted"]] == points


ZONES = {"a": 3, "b": 1, "c": 1}


@pytest.mark.parametrize(("matches", "free"), [(True, {"b", "c"}), (False, {"b", "c"})])
def test_7_skew_is_that_of_the_candidate_not_of_the_fullest_zone(matches: bool, free: set[str]) -> None:
    zone, labels = "topology.kubernetes.io/zone", {"app": "web"}
    rule = {
        "topologyKey": zone,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    nodes = [{"name": name, "labels": {zone: name}} for name in ZONES]
    pods = [{"name": f"{z}{i}", "node": z, "labels": labels} for z, count in ZONES.items() for i in range(count)]
    new = {"name": "new", "labels": labels if matches else {}, "spec": {"topologySpreadConstraints": [rule]}}
    assert set(Scenario.of({"nodes": nodes, "pods": [*pods, new]}).decide().feasible) == free


@pytest.mark.parametrize(("release", "waits"), [("1.32", 10), ("1.33", 0)])
def test_8_from_1_33_a_pod_leaves_the_back_off_queue_when_no_other_waits(release: str, waits: int) -> None:
    driver = Driver([node_of({"name": "n1", "cpu": 1})], [pod_of({"name": "big", "cpu": 2})], release=release)

    def tries() -> list[float]:
        return [e.time_ms / 1000 for e in driver.log if (e.pod, e.reason) == ("default/big", "FailedScheduling")]

    for i in range(6):
        while len(tries()) <= i:
            driver.step()
        driver.add_pod(pod_of({"name": f"tmp-{i}", "node": "n1", "cpu": "100m"}))
        driver.delete_pod(f"tmp-{i}")
    while len(tries()) <= 6:
        driver.step()
    last = [b - a for a, b in pairwise(tries())][-1]
    assert last == pytest.approx(waits, abs=1.0)


def test_9_the_classes_are_siblings_and_share_by_their_weights() -> None:
    for version, (low, high) in ((1, (2, 1024)), (2, (1, 39))):
        cluster = Cluster.simulated([{"name": "n", "cpus": 1, "memory": "1Gi"}], cgroup_version=version)
        cluster.apply([pod("burstable", cpu="1", busy=2), pod("besteffort", busy=2)])
        wait_until_running(cluster)
        cluster.advance(3)
        cpu_used(cluster)
        cluster.advance(10)
        assert cpu_used(cluster)["besteffort"] == pytest.approx(low / (low + high), abs=0.003)


def test_15_value_and_policy_of_a_priority_class_cannot_be_changed() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(priority_class("high", 1000))
    changed = priority_class("high", 2000)
    never = {**priority_class("high", 1000), "preemptionPolicy": "Never"}
    for manifest, field in ((changed, "value"), (never, "preemptionPolicy")):
        with pytest.raises(KitError, match=field):
            cluster.apply(manifest)
    assert cluster.get("PriorityClass", "high").value == 1000
