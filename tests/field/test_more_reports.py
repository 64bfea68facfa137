"""Further public reports about enforcement, found by six stated queries, none in the log of `test_enforcement.py`.

Queries, to a search over public issue threads, answers in its order:

1. kubernetes container OOMKilled memory limit unexpected
2. kubernetes CPU throttling cfs quota container below limit
3. kubelet evicts pod ephemeral-storage emptyDir sizeLimit
4. cpu manager static policy exclusive cpus cpuset container kubelet
5. kubelet eviction node memory pressure wrong pod evicted grace period
6. in-place pod vertical scaling resize kubelet cgroup limit bug

`PASSED_OVER` lists, in that order, the answers whose thread does not say what really happened, or that are not reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster import Cluster

MI, GI = 2**20, 2**30
PASSED_OVER = {
    "kubernetes/website#13723": "1: a change of the documentation",
    "kubernetes/kubernetes#114142": "1: two metrics differ, and the thread does not say what the rest of the usage was",
    "docker/for-linux#653": "1: unexplained there",
    "flyteorg/flyte#2376": "1: a container in a container in Docker; which of them lost the kill is not said",
    "kubernetes/kubernetes#69676": "1: a wish for a log line",
    "docker/for-linux#670": "1: Docker's own events",
    "kubernetes/kubernetes#67577": "2: a defect of kernels before 5.4, which the simulated kernel does not have",
    "zalando-incubator/kubernetes-on-aws#1026": "2: a proposal",
    "kubermatic/kubermatic#2367": "2: an alert's threshold",
    "kubernetes/kubernetes#99280": "3: containerd on a file system that its kubelet did not know of",
    "clearlinux/cloud-native-setup#71": "4: a question of a default",
    "kubernetes/website#4950": "4: documentation",
    "kubernetes/kubeadm#1614": "4: the configuration did not reach the kubelet, and the thread ends there",
    "kata-containers/kata-containers#5442": "4: CPUs of a virtual machine",
    "kubernetes/kubernetes#18724": "5: the proposal of eviction",
    "kubernetes/kubernetes#107024": "5: which setting was wrong is not said",
    "kubernetes/kubernetes#135640": "6: waits for information",
    "kubernetes/kubernetes#137876": "6: a change of code without a report",
    "CentaurusInfra/arktos#392": "6: another orchestrator",
}
REPORTS: dict[str, Callable[[], None]] = {}


def report(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(run: Callable[[], None]) -> Callable[[], None]:
        assert name not in {*REPORTS, *PASSED_OVER}
        REPORTS[name] = run
        return run

    return register


def pod(name: str, load: str = "", *, limits: Any = None, requests: Any = None, **spec: Any) -> dict[str, Any]:
    resources = {key: value for key, value in (("limits", limits), ("requests", requests)) if value}
    container = {"name": "c", "image": "busybox", "command": ["sleep", "inf"], "resources": resources}
    notes = {"kitlib.dev/workload.c": load} if load else {}
    body = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes}, "spec": body}


def cluster(*pods: dict[str, Any], seconds: float = 1, version: Any = 2, **node: Any) -> Any:
    made = Cluster.simulated([{"name": "n", "cpus": 8, "memory": "16Gi", **node}], cgroup_version=version)
    made.apply(list(pods))
    made.advance(seconds)
    return made


def status(made: Any, name: str) -> Any:
    return made.pod(name).status.container_statuses[0]


@report("kubernetes/kubernetes#22322")
def an_oom_kill_is_in_the_status_and_in_no_event() -> None:
    """Query 1, third: reason OOMKilled and exit code 137 in the status; events say nothing of it."""
    with cluster(pod("p", "2s memory=50Mi; memory=300Mi", limits={"memory": "100Mi"}), seconds=4) as made:
        ended = (status(made, "p").last_state or status(made, "p").state)["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
        assert not [event for event in made.events("p") if "OOM" in event.reason + event.message]


@report("kubernetes/kubernetes#56891")
def a_low_score_does_not_help_in_ones_own_cgroup() -> None:
    """Query 1, fourth: a Guaranteed pod's java (score -997) is killed where its own cgroup is full."""
    both = {"cpu": "1", "memory": "200Mi"}
    with cluster(pod("p", "2s memory=50Mi; memory=300Mi", limits=both, requests=both), seconds=4) as made:
        assert (status(made, "p").last_state or status(made, "p").state)["terminated"]["reason"] == "OOMKilled"
        assert any("oom_score_adj:-997" in line for line in made.node().kernel_log())


@report("elastic/cloud-on-k8s#2402")
def a_limit_of_a_fifth_is_a_fifth_of_each_period() -> None:
    """Query 2, fifth: with 20% of a CPU a busy thread runs 20 ms of each 100 ms, and waits for the rest."""
    with cluster(pod("p", "cpu=1", limits={"cpu": "200m"}), seconds=20) as made:
        path = made.node().process("p").cgroup
        assert made.node().read(path, "cpu.max") == "20000 100000"
        figures = dict(map(str.split, made.node().read(path, "cpu.stat").splitlines()))
        assert int(figures["nr_throttled"]) >= int(figures["nr_periods"]) - 2
        assert int(figures["usage_usec"]) / int(figures["nr_periods"]) == pytest.approx(20_000, rel=0.02)


def with_disk(name: str, load: str, **more: Any) -> dict[str, Any]:
    made = pod(name, load, **more)
    made["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    return made


@report("openshift/openshift-docs#73550")
def a_container_and_a_pod_have_limits_of_storage() -> None:
    """Query 3, first: one container beyond its 4Gi, or both and the volumes beyond 8Gi together."""
    limits = {"ephemeral-storage": "4Gi"}
    two = with_disk("sum", "disk=3Gi volume=3Gi", limits=limits)
    two["spec"]["containers"].append({**two["spec"]["containers"][0], "name": "d"})
    two["metadata"]["annotations"]["kitlib.dev/workload.d"] = "disk=3Gi"
    alone = pod("one", "disk=5Gi", limits=limits)
    with cluster(two, alone, seconds=40, ephemeral_storage="100Gi") as made:
        said = {one.name: one.status.message.strip() for one in made.pods()}
        assert said["one"] == "Pod ephemeral local storage usage exceeds the total limit of containers 4Gi."
        assert said["sum"] == "Pod ephemeral local storage usage exceeds the total limit of containers 8Gi."


@report("kubernetes/kubernetes#91600")
def a_node_that_is_short_of_disk_names_usage_and_request() -> None:
    """Query 3, fourth: ephemeral-storage is short, the pod used 34260Ki and had asked for nothing."""
    hard = {"evictionHard": {"nodefs.available": "10Gi"}}
    with cluster(
        pod("p", "disk=34260Ki"), pod("q", "logs=108488Ki"), seconds=30, ephemeral_storage="10Gi", kubelet=hard
    ) as made:
        first = next(event for event in made.events() if event.reason == "Evicted")
        assert first.involved_object.name == "q"
        assert first.message.startswith("The node was low on resource: ephemeral-storage.")
        assert "Container c was using 108488Ki, request is 0" in first.message


@report("kubernetes/website#51114")
def what_counts_against_the_limit_of_storage() -> None:
    """Query 3, fifth: the layer, the log and disk-backed volumes; memory-backed ones do not."""
    limits = {"ephemeral-storage": "100Mi"}
    memory_backed = pod("memory", "shm=200Mi", limits=limits)
    memory_backed["spec"]["volumes"] = [{"name": "v", "emptyDir": {"medium": "Memory"}}]
    memory_backed["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    parts = [with_disk(name, f"{name}=120Mi", limits=limits) for name in ("disk", "logs", "volume")]
    with cluster(*parts, memory_backed, seconds=60, ephemeral_storage="50Gi") as made:
        evicted = {one.name for one in made.pods() if one.status.reason == "Evicted"}
        assert evicted == {"disk", "logs", "volume"}


@report("artifact-keeper/artifact-keeper-iac#153")
def temporary_files_in_a_volume_evict_a_pod_in_the_middle_of_an_upload() -> None:
    """Query 3, seventh: 1.2 GiB in an emptyDir, a container's limit of 1Gi."""
    made = with_disk("backend", "20s volume=200Mi; volume=1200Mi", limits={"ephemeral-storage": "1Gi"})
    with cluster(made, seconds=15, ephemeral_storage="50Gi") as found:
        assert found.pod("backend").status.phase == "Running"
        found.advance(30)
        text = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
        assert found.pod("backend").status.message.strip() == text


@report("kubernetes/kubernetes#106606")
def files_in_volumes_count_when_a_node_is_short_of_disk() -> None:
    """Query 3, eighth: the pod with the large emptyDir goes before the one with a small log."""
    hard = {"evictionHard": {"nodefs.available": "15Gi"}}
    with cluster(
        pod("a", "logs=100Mi"), with_disk("b", "volume=6Gi"), seconds=15, ephemeral_storage="20Gi", kubelet=hard
    ) as made:
        assert next(event.involved_object.name for event in made.events() if event.reason == "Evicted") == "b"


STATIC = ["--cpu-manager-policy=static", "--reserved-cpus=0,1"]


@report("kubernetes/kubernetes#104147")
def reserved_cpus_are_in_the_shared_pool_unless_they_are_strict() -> None:
    """Query 4, second: other pods run on the reserved CPUs; since 1.32 strict-cpu-reservation keeps them out."""
    options = "--cpu-manager-policy-options=strict-cpu-reservation=true"
    for flags, shared in ((STATIC, "0-7"), ([*STATIC, options], "2-7")):
        with cluster(pod("p"), kubelet=flags) as made:
            assert made.node().proc("p")["Cpus_allowed_list"] == shared


@report("kubernetes/kubernetes#87249")
def exclusive_cpus_do_not_set_the_kernels_flag() -> None:
    """Query 4, fourth: on cgroup v1 cpuset.cpus is 2-5 and cpuset.cpu_exclusive stays 0."""
    both = {"cpu": "4", "memory": "64Mi"}
    with cluster(pod("p", limits=both), kubelet=STATIC, version=1) as made:
        path = made.node().process("p").cgroup
        files = [made.node().read(path, name) for name in ("cpuset.cpus", "cpuset.cpu_exclusive")]
        assert files == ["2-5", "0"]


@report("kubernetes/kubernetes#116086")
def a_container_with_a_fraction_shares_beside_one_that_has_its_own() -> None:
    """Query 4, seventh: of a Guaranteed pod the container with one CPU gets it alone, the one with 1.5 shares."""
    made = pod("p", limits={"cpu": "1", "memory": "64Mi"})
    other = {**made["spec"]["containers"][0], "name": "d", "resources": {"limits": {"cpu": "1.5", "memory": "64Mi"}}}
    made["spec"]["containers"].append(other)
    with cluster(made, kubelet=STATIC, seconds=12) as found:
        entries = json.loads(json.loads(found.node().checkpoint())["data"])["entries"]
        assert [sorted(containers) for containers in entries.values()] == [["c"]]
        assert found.node().proc("p", "c")["Cpus_allowed_list"] == "2"
        assert found.node().proc("p", "d")["Cpus_allowed_list"] == "0-1,3-7"


@report("kubernetes/kubernetes#25772")
def the_grace_period_of_a_soft_eviction_is_bounded() -> None:
    """Query 5, first: a pod that would take 300 s gets evictionMaxPodGracePeriod."""
    soft = {
        "evictionSoft": {"memory.available": "12Gi"},
        "evictionSoftGracePeriod": {"memory.available": "5s"},
        "evictionMaxPodGracePeriod": 20,
    }
    made = pod("p", "memory=6Gi", terminationGracePeriodSeconds=300)
    made["spec"]["containers"][0]["command"] = ["sh", "-c", "trap '' TERM; sleep inf"]
    with cluster(made, kubelet=soft) as found:
        while not [event for event in found.events("p") if event.reason == "Evicted"]:
            found.advance(1)
        began = found.now()
        while found.node().owners():
            found.advance(1)
        assert (found.now() - began).total_seconds() == pytest.approx(20, abs=1)


@report("kubernetes/kubernetes#71660")
def an_empty_list_of_thresholds_evicts_nobody() -> None:
    """Query 5, fifth: `--eviction-hard=` leaves a full disk without pressure and without evictions."""
    with cluster(pod("p", "disk=19900Mi"), seconds=40, ephemeral_storage="20Gi", kubelet=["--eviction-hard="]) as made:
        assert made.pod("p").status.phase == "Running"
        conditions = {one.type: one.status for one in made.get("Node", "n").status.conditions}
        assert conditions["DiskPressure"] == "False"


@report("kubernetes/kubernetes#118371")
def a_lowered_limit_throttles_again() -> None:
    """Query 6, fourth: from 0.5 to 1.5 CPUs and back; since 1.33 the lower limit holds again, at pod and container."""
    with cluster(pod("p", "cpu=2", limits={"cpu": "500m"})) as made:
        for limit, cpus in (("1500m", 1.5), ("500m", 0.5)):
            made.resize("p", {"c": {"limits": {"cpu": limit}, "requests": {"cpu": "500m"}}})
            made.advance(10)
            assert made.node().usages()["default", "p"]["c"][0] == pytest.approx(cpus, abs=0.05)


@pytest.mark.parametrize("name", REPORTS)
def test_a_further_report_comes_out_as_it_did(name: str) -> None:
    REPORTS[name]()
