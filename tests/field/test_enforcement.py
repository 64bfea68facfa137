"""Public reports about enforcement, rebuilt: every case has the reported outcome, or is listed with the reason.

The rows are those of a log of 52 reports (repository#number). A row is tested here in a few lines, or by a test
elsewhere that `ELSEWHERE` names; `LEFT_OUT` says why a row is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster

MI, GI = 2**20, 2**30
ROOT = Path(__file__).parents[2]
ROWS = sorted({*range(1, 53)} - {28, 36, 39, 43})
"""Numbers of the log."""
_SETTINGS = "tests/field/test_enforcement_settings.py"
ELSEWHERE = {
    **dict.fromkeys((3, 4, 9, 12, 14, 21, 26, 35, 41, 50, 51), _SETTINGS),
    13: "tests/kubelet/loop/test_restarting_reconfigured.py",
    18: "tests/kubelet/loop/test_restarting_reconfigured.py",
    27: "tests/node/simulated/test_memory_page_cache.py",
    29: "tests/node/simulated/test_memory_page_cache.py",
    38: "tests/cluster/nodes/test_simulated_programs.py",
    42: "tests/kubelet/loop/test_evicting.py",
    45: "tests/node/simulated/test_tmpfs.py",
}
"""Row -> the file with its test."""
LEFT_OUT = {
    11: "the memory manager's texts and sets are those of its own tests",
    19: "the settings' validation has its own table with the kubelet's words",
    22: "the arithmetic of swap has its own table",
    23: "the distribution of swap between processes is not predicted page by page",
    30: "oom.group and singleProcessOOMKill are recorded from a real kernel; a shell script is one process here",
    52: "what a program makes of its limits (GOMAXPROCS, heap sizes) is not computed; such a program idles and says so",
}
"""Row -> why it is not tested here."""
CASES: dict[int, Callable[[], None]] = {}


def case(number: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(run: Callable[[], None]) -> Callable[[], None]:
        assert number not in CASES
        CASES[number] = run
        return run

    return register


def pod(name: str = "p", *, load: str = "", notes: Any = None, volumes: Any = None, **more: Any) -> dict[str, Any]:
    """Return a pod of one container; `limits`, `requests`, `command`, `args`, `image` go to it, the rest to the pod."""
    own = {key: more.pop(key) for key in ("command", "args", "image", "volumeMounts", "env") if key in more}
    resources = {key: more.pop(key) for key in ("limits", "requests") if key in more}
    container = {"name": "c", "image": "busybox", "command": ["sleep", "inf"], "resources": resources} | own
    if "args" in own and "command" not in own:
        del container["command"]
    meta = {"name": name, "annotations": {**(notes or {}), **({"kitlib.dev/workload.c": load} if load else {})}}
    spec = {"containers": [container], "volumes": volumes or [], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def read(cluster: Any, name: str, file: str, container: str = "") -> str:
    """Return a file of a pod's own cgroup, or of a container's."""
    for one in cluster.node().desired().values():
        if one.pod == f"default/{name}" and one.kind != "sandbox" and one.container == container:
            return str(cluster.node().read(one.path, file))
    raise AssertionError(f"no cgroup of {name}/{container}")


def simulated(*pods: dict[str, Any], version: Any = 2, release: str = "1.36", **node: Any) -> Any:
    cluster = Cluster.simulated(
        [{"name": "n", "cpus": 8, "memory": "16Gi", **node}], cgroup_version=version, release=release
    )
    cluster.apply(list(pods))
    cluster.advance(1)
    return cluster


def shares(name: str) -> Callable[[Any], Any]:
    return lambda cluster: cluster.pod(name).status.container_statuses[0]


@case(1)
def weight_of_one_cpu() -> None:
    """runc#4772, kubernetes#131216: the kubelet's own level 39, the container 100."""
    with simulated(pod(requests={"cpu": "1"})) as cluster:
        assert (read(cluster, "p", "cpu.weight"), read(cluster, "p", "cpu.weight", "c")) == ("39", "100")


@case(2)
def weight_of_a_tenth_at_pod_level() -> None:
    """kubernetes/website#54835."""
    with simulated(pod(requests={"cpu": "100m"})) as cluster:
        assert read(cluster, "p", "cpu.weight") == "4"


@case(5)
def quota_follows_the_period() -> None:
    """kubernetes#76704, #79833."""
    with simulated(
        pod(limits={"cpu": "1290m"}),
        kubelet={"cpuCFSQuotaPeriod": "5ms", "featureGates": {"CustomCPUCFSQuotaPeriod": True}},
    ) as c:
        assert read(c, "p", "cpu.max") == "6450 5000"


@case(6)
def resize_without_limits() -> None:
    """kubernetes#126388: stuck until 1.33; done since."""
    with simulated(pod(requests={"cpu": "200m", "memory": "200Mi"})) as cluster:
        cluster.resize("p", {"c": {"requests": {"cpu": "300m"}}})
        cluster.advance(5)
        assert read(cluster, "p", "cpu.weight") == "12"


@case(7)
def shrinking_below_the_usage() -> None:
    """kubernetes#129152: refused, memory.max stays."""
    with simulated(pod(limits={"memory": "300Mi"}, load="memory=200Mi")) as cluster:
        cluster.resize("p", {"c": {"limits": {"memory": "100Mi"}, "requests": {"memory": "100Mi"}}})
        cluster.advance(5)
        conditions = {c.type: c for c in cluster.pod("p").status.conditions}
        assert conditions["PodResizeInProgress"].reason == "Error"
        assert read(cluster, "p", "memory.max", "c") == str(300 * MI)


@case(8)
def no_quota_on_exclusive_cpus() -> None:
    """koordinator#489, kubernetes#70585: since 1.33. (Throttling by the jitter of ticks is not modelled.)"""
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    for release, quota in (("1.33", "max 100000"), ("1.32", "200000 100000")):
        with simulated(pod(limits={"cpu": "2", "memory": "64Mi"}), kubelet=flags, release=release) as cluster:
            assert read(cluster, "p", "cpu.max", "c") == quota


@case(10)
def cpus_of_an_init_container_go_on_to_the_app() -> None:
    """kubernetes#123816, #110306."""
    made = pod(limits={"cpu": "2", "memory": "64Mi"})
    init = {
        "name": "i",
        "image": "busybox",
        "command": ["true"],
        "resources": {"limits": {"cpu": "1", "memory": "64Mi"}},
    }
    made["spec"]["initContainers"] = [init]
    with simulated(made, kubelet=["--cpu-manager-policy=static", "--reserved-cpus=0"]) as cluster:
        entries = json.loads(json.loads(cluster.node().checkpoint())["data"])["entries"]
        assert list(entries.values()) == [{"c": "1-2", "i": "1"}]


@case(15)
def one_cpu_with_full_pcpus_only() -> None:
    """openshift-kni/telco-reference#930."""
    flags = [
        *("--cpu-manager-policy=static", "--reserved-cpus=0,4", "--cpu-manager-policy-options=full-pcpus-only=true"),
    ]
    topology = {"sockets": 1, "cores": 4, "threads": 2}
    with Cluster.simulated([{"name": "n", "topology": topology, "memory": "8Gi", "kubelet": flags}]) as cluster:
        cluster.apply(pod(limits={"cpu": "1", "memory": "64Mi"}))
        cluster.advance(1)
        status = cluster.pod("p").status
        assert (status.phase, status.reason) == ("Failed", "SMTAlignmentError")
        assert "requested 1 cpus not multiple cpus per core = 2" in status.message


@case(16)
def seven_cpus_of_a_cache_of_eight() -> None:
    """kubernetes#131610: since 1.34 prefer-align-cpus-by-uncorecache needs no whole cache; seven of one cache here."""
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    with simulated(pod(limits={"cpu": "7", "memory": "64Mi"}), kubelet=flags) as cluster:
        assert '"c\\":\\"1-7' in cluster.node().checkpoint()


@case(17)
def pods_are_admitted_anew_after_a_restart() -> None:
    """kubernetes#129078, #110478: what the checkpoint says stays; a kubelet that finds too few CPUs does not start."""
    flags = ["--cpu-manager-policy=static", "--reserved-cpus=0"]
    with simulated(pod(limits={"cpu": "2", "memory": "64Mi"}), kubelet=flags) as cluster:
        before = cluster.node().checkpoint()
        cluster.node().restart_kubelet()
        assert cluster.node().checkpoint() == before
        with pytest.raises(KitError, match="not all reserved cpus"):
            cluster.node().restart_kubelet(["--cpu-manager-policy=static", "--reserved-cpus=0-1"])


@case(20)
def a_missing_cgroup_keeps_the_kubelet_from_starting() -> None:
    """kops#3223, kubernetes#50770, website#19104."""
    flags = [
        "--enforce-node-allocatable=pods,system-reserved",
        "--system-reserved=cpu=1",
        "--system-reserved-cgroup=/sys",
    ]
    with pytest.raises(KitError, match=re.escape('Failed to enforce System Reserved Cgroup Limits on "/sys"')):
        simulated(kubelet=flags)


@case(24)
def huge_pages_are_limited_in_the_pod() -> None:
    """kubernetes#85938: the pod's limit is written; the container's is the runtime's."""
    limits = {"hugepages-2Mi": "4Mi", "memory": "64Mi", "cpu": "100m"}
    with simulated(pod(limits=limits), huge_pages={"2Mi": 16}) as cluster:
        assert read(cluster, "p", "hugetlb.2MB.max") == str(4 * MI)


@case(25)
def an_odd_number_of_huge_pages_is_refused() -> None:
    """kubernetes#98513."""
    with simulated() as cluster, pytest.raises(KitError, match="5Mi is not positive integer multiple of hugepages-2Mi"):
        cluster.apply(pod(limits={"hugepages-2Mi": "5Mi", "memory": "64Mi", "cpu": "100m"}))


@case(31)
def a_sidecar_has_the_lower_score_of_the_regular_containers() -> None:
    """kubernetes#111356."""
    made = pod(requests={"memory": "1Gi"})
    side = {"name": "s", "image": "busybox", "command": ["sleep", "inf"], "restartPolicy": "Always"}
    made["spec"]["initContainers"] = [side]
    with simulated(made) as cluster:
        scores = {name: cluster.node().proc("p", name)["oom_score_adj"] for name in ("c", "s")}
        assert scores["s"] == scores["c"] == "938"


@case(32)
def scores_on_a_large_node_end_at_999() -> None:
    """kubernetes#142230: 999, 999, 998."""
    found = []
    for request in ("1Mi", "500Mi", "3Gi"):
        with simulated(pod(requests={"memory": request}), memory="1Ti") as cluster:
            found.append(int(cluster.node().proc("p", "c")["oom_score_adj"]))
    assert found == [999, 999, 998]


@case(33)
def on_a_full_node_the_larger_one_dies() -> None:
    """kubernetes#133839."""
    with simulated(
        pod("small", requests={"memory": "1Gi"}, load="memory=2Gi"),
        pod("large", requests={"memory": "8Gi"}, load="5s memory=6Gi; memory=15Gi"),
        kubelet={"evictionHard": {"memory.available": "0%"}},
    ) as cluster:
        cluster.advance(10)
        ended = {
            p.name: p.status.container_statuses[0].last_state or p.status.container_statuses[0].state
            for p in cluster.pods()
        }
        assert ended["large"]["terminated"]["exitCode"] == 137
        assert "running" in ended["small"]


@case(34)
def overhead_is_in_the_pods_cgroup() -> None:
    """kubernetes#99577, #83054."""
    overhead = {"cpu": "50m", "memory": "200Mi"}
    made = pod(limits={"cpu": "1", "memory": "2Gi"}, runtimeClassName="kata")
    with simulated() as cluster:
        kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata"}
        cluster.apply({**kind, "overhead": {"podFixed": overhead}})
        cluster.apply(made)
        cluster.advance(1)
        assert (read(cluster, "p", "cpu.max"), read(cluster, "p", "memory.max")) == ("105000 100000", str(2248 * MI))


@case(37)
def logs_count_as_ephemeral_storage() -> None:
    """kubernetes#124333."""
    with simulated(pod(limits={"ephemeral-storage": "10Mi"}, load="logs=12Mi"), ephemeral_storage="20Gi") as cluster:
        cluster.advance(30)
        assert "exceeds" in cluster.pod("p").status.message


@case(40)
def a_negative_grace_period_is_a_second_and_a_container_has_two() -> None:
    """kubernetes-sigs/kubelet#42: SIGTERM first, so that exit code 143 is possible."""
    soft = {
        "evictionSoft": {"memory.available": "15Gi"},
        "evictionSoftGracePeriod": {"memory.available": "5s"},
        "evictionMaxPodGracePeriod": -1,
    }
    with simulated(pod(load="memory=2Gi"), kubelet=soft) as cluster:
        cluster.advance(40)
        (status,) = cluster.pod("p").status.container_statuses
        assert (cluster.pod("p").status.reason, status.state["terminated"]["exitCode"]) == ("Evicted", 143)


@case(44)
def who_writes_is_charged_and_after_a_restart_the_pod() -> None:
    """kubernetes/website#36453, #36494."""
    volumes = [{"name": "v", "emptyDir": {"medium": "Memory"}}]
    mounts = [{"name": "v", "mountPath": "/v"}]
    script = "[ -e /marker ] || head -c 50M /dev/zero > /v/f; sleep 5; exit 1"
    with simulated(pod(command=["sh", "-c", script], volumes=volumes, volumeMounts=mounts)) as cluster:
        cluster.advance(2)
        assert int(read(cluster, "p", "memory.current", "c")) > 50 * MI
        cluster.node().signal("p", "c")
        cluster.advance(0.5)
        assert int(read(cluster, "p", "memory.current")) >= 50 * MI


@case(46)
def a_liveness_probe_counts_anew_after_a_restart() -> None:
    """kubernetes#53530: three failures again, so a container with a probe that always fails lives 30 s each time."""
    made = pod(terminationGracePeriodSeconds=0)
    made["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["false"]}, "periodSeconds": 10}
    with simulated(made) as cluster:
        cluster.advance(65)
        assert shares("p")(cluster).restart_count in (2, 3)
        first, second = [e.time for e in cluster.node().timeline() if e.action == "killing container"][:2]
        assert round(second - first) == 30


@case(47)
def back_off_also_after_success() -> None:
    """kubernetes#107838: 10, 20, 40, 80 s although the exit code is 0."""
    with simulated(pod(command=["sleep", "1"])) as cluster:
        cluster.advance(200)
        starts = [e.time for e in cluster.node().timeline() if e.action == "starting container"]
        waits = [round(after - before - 1) for before, after in pairwise(starts)]
        assert waits[:4] == [0, 10, 20, 40]  # the first restart follows at once


@case(48)
def throttled_at_half_the_limit() -> None:
    """k3s#5085: bursts of 20 ms in each second period use half of 200m, and are throttled all the same."""
    with simulated(pod(limits={"cpu": "200m"}, load="cpu=4 burst=20ms every=200ms")) as cluster:
        cluster.advance(10)
        figures = dict(map(str.split, read(cluster, "p", "cpu.stat", "c").splitlines()))
        assert int(figures["nr_throttled"]) <= int(figures["nr_periods"])
        assert int(figures["usage_usec"]) / 11e6 == pytest.approx(0.1, rel=0.15)


@case(49)
def memory_high_lies_between_request_and_limit() -> None:
    """enhancements PR 3818: 85 of 100 MiB with the factor 0.9: 98.5 MiB, rounded to pages."""
    flags = ["--feature-gates=MemoryQoS=true", "--memory-throttling-factor=0.9"]
    gates = {"featureGates": {"MemoryQoS": True}, "memoryThrottlingFactor": 0.9}
    del flags
    with simulated(pod(requests={"memory": "85Mi"}, limits={"memory": "100Mi"}), kubelet=gates) as cluster:
        assert read(cluster, "p", "memory.high", "c") == "103284736"


@pytest.mark.parametrize("number", ROWS)
def test_a_report_comes_out_as_it_did(number: int) -> None:
    """Each row has exactly one of: a case here, a test elsewhere, a reason."""
    assert [number in table for table in (CASES, ELSEWHERE, LEFT_OUT)].count(True) == 1
    if number in CASES:
        CASES[number]()
    elif number in ELSEWHERE:
        assert (ROOT / ELSEWHERE[number]).is_file()
