"""Further public reports about enforcement, found by nine stated queries; none in the logs before them.

Queries, to the same search as in `test_more_reports.py`, answers in its order:

7.  kubelet swap LimitedSwap container memory.swap.max pod wrong
8.  kubelet system-reserved kube-reserved enforce-node-allocatable cgroup kubepods memory limit; with the follow-up
    "kubernetes system-reserved option cannot work as expected … system.slice memory limit"
9.  pod terminationGracePeriodSeconds preStop hook SIGKILL exit code 137 kubelet
10. topology manager TopologyAffinityError NUMA single-numa-node pod rejected
11. kubernetes cgroup v2 OOM kill whole container memory.oom.group child process killed
12. podPidsLimit pids cgroup fork resource temporarily unavailable kubelet PIDPressure
13. emptyDir medium Memory tmpfs size pod memory limit node allocatable no sizeLimit
14. kubelet container lifecycle liveness probe timeout restart CrashLoopBackOff wrong restart count
15. graceful node shutdown kubelet pods Terminated NodeShutdown status reason

`PASSED_OVER` lists the other answers. Those of query 15 are in
`SHUTDOWNS` and `CANNOT_BE_REBUILT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.field.test_more_reports import MI, cluster, pod, status

PASSED_OVER = {
    "containerd/containerd#8870": "7: a cherry pick",
    "kubernetes/kubernetes#7294": "7: a wish",
    "kubernetes/kubernetes#53533": "7: a wish",
    "kubernetes/enhancements#2602": "7: a proposal",
    "cri-o/cri-o#6040": "7: a check of CRI-O's own, for a setting that is gone",
    "rancher/rancher#29805": "7: dockershim, which is gone",
    "kubernetes/kubernetes#127853": "7: in the log",
    "kubernetes/kubernetes#116637": "7: a proof of concept",
    "kubernetes/kubernetes#117392": "7: a proof of concept",
    "kubermatic/machine-controller#355": "8: a change of code",
    "kubernetes/kubernetes#72881": "8: the part that was found does not say what happened",
    "openshift/openshift-docs#29375": "8: documentation",
    "openshift/openshift-docs#4532": "8: documentation",
    "cozystack/cozystack#2420": "8: in the log",
    "gardener/gardener#2574": "8: a change of code",
    "kubernetes/website#56572": "8: documentation of kubernetes#128284",
    "kubernetes/kubernetes#25429": "8: a proposal",
    "kubernetes/kubernetes#93648": "8: figures in pictures only",
    "elastisys/welkin#956": "9: documentation",
    "kubernetes/kubernetes#116753": "9: the same as #115817",
    "kubernetes/website#9661": "9: does not say what the dashboard was asked",
    "kubernetes/kubernetes#8641": "9: a change of code",
    "OctopusDeploy/Issues#5309": "9: another product",
    "ondrejsika/kubernetes-training#50": "9: notes of a course",
    "kubernetes/website#17901": "10: a translation",
    "kubernetes/kubernetes#84597": "10: in the log",
    "kubernetes/kubernetes#128669": "10: in the log",
    "kubernetes/kubernetes#123816": "10: in the log",
    "k8snetworkplumbingwg/multus-cni#413": "10: the part that was found does not say the cause",
    "kubernetes/kubernetes#110306": "10: in the log",
    "kubernetes/kubernetes#83777": "10: the mending of #83775",
    "kubernetes/community#7237": "11: a wish",
    "kubernetes/kubernetes#117070": "11: in the log",
    "kubernetes/kubernetes#117793": "11: a change of code",
    "cri-o/cri-o#6787": "11: a wish",
    "kubernetes/kubernetes#126096": "11: a change of code",
    "kubernetes/kubernetes#128339": "11: in the log",
    "gardener/gardener#13966": "11: in the log",
    "containerd/cgroups#274": "11: a wish",
    "kubernetes/kubernetes#98206": "12: in the log",
    "kubesphere/kubekey#992": "12: a setting",
    "kubernetes/website#13455": "12: an article",
    "kubernetes/kubernetes#72844": "12: a change of code",
    "kubernetes/website#23929": "12: documentation",
    "kubernetes/kubernetes#78930": "12: in the log",
    "kubernetes/kubernetes#29035": "12: a wish",
    "kubernetes/kubernetes#63641": "13: a change of code",
    "kubernetes/website#27908": "13: documentation",
    "kubernetes/website#37420": "13: documentation",
    "kubernetes/website#37804": "13: a translation",
    "kubernetes/kubernetes#63126": "13: in the log",
    "jupyter-infra/jupyter-k8s#467": "13: a plan",
    "kubernetes/kubernetes#53530": "14: in the log",
    "kubernetes/kubernetes#48918": "14: sent to another forum",
    "kubernetes/kubernetes#4121": "14: a wish",
    "virtual-kubelet/systemk#17": "14: another kubelet",
    "kubernetes/kubernetes#81713": "14: the cause was the machine's TCP settings",
    "kubernetes/kubernetes#68110": "14: does not say how long the container took to end",
    "kubernetes/kubernetes#22107": "14: a change of code",
    "sapcc/helm-charts#975": "14: a setting",
    "SREGym/SREGym#132": "14: an exercise",
    "kubevious/kubevious#79": "14: a setting",
}
SHUTDOWNS = ("#102820", "#109531", "#98012", "#100184", "#110755", "#120168", "#104531", "#112443")
"""Of kubernetes/kubernetes, query 15; `test_shutdown_reports.py` rebuilds them."""
REPORTS: dict[str, Callable[[], None]] = {}
DEAF = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
POLITE = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"]


def report(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(run: Callable[[], None]) -> Callable[[], None]:
        assert name not in {*REPORTS, *PASSED_OVER}
        REPORTS[name] = run
        return run

    return register


@report("kubernetes/kubernetes#67833")
def allocatable_cpus_are_shares_and_no_quota() -> None:
    """Query 8, third: 8 CPUs, 1 reserved: kubepods gets the shares of 7, and no quota."""
    flags = ["--kube-reserved=cpu=1", "--enforce-node-allocatable=pods"]
    with cluster(kubelet=flags, version=1) as made:
        assert [made.node().read("/kubepods", file) for file in ("cpu.shares", "cpu.cfs_quota_us")] == ["7168", "-1"]
        assert str(made.get("Node", "n").status.allocatable["cpu"]) == "7"


@report("rancher/rancher#17177")
def reserved_amounts_without_a_cgroup_only_lessen_what_pods_may_have() -> None:
    """Query 8, ninth: both reservations work without a cgroup; a name is needed to limit what the system uses."""
    flags = ["--kube-reserved=cpu=1,memory=1Gi", "--system-reserved=cpu=500m,memory=512Mi"]
    with cluster(kubelet=flags) as made:
        offered = made.get("Node", "n").status.allocatable
        assert (str(offered["cpu"]), offered["memory"].value()) == ("6500m", (16 * 1024 - 1024 - 512 - 100) * MI)
        assert {path.split("/")[1].split(".")[0] for path in made.node().cgroupfs.paths() if path != "/"} == {
            "kubepods"
        }


def system_limit(enforced: list[str]) -> str:
    settings = {
        "systemReserved": {"memory": "1536Mi"},
        "systemReservedCgroup": "/system",
        "enforceNodeAllocatable": enforced,
        "cgroupDriver": "systemd",
    }
    with cluster(kubelet=settings) as made:
        return str(made.node().read("/system.slice", "memory.max"))


@report("kubernetes/kubernetes#128284")
def an_enforced_reservation_is_a_hard_limit_of_the_systems_services() -> None:
    """Query 8, follow-up, third: memory.max of the slice is 1610612736 in place of max."""
    assert system_limit(["pods", "system-reserved"]) == "1610612736"


@report("lework/kainstall#19")
def a_reservation_that_is_not_enforced_limits_nothing() -> None:
    """Query 8, follow-up, sixth: system.slice at 512M killed haproxy; `pods` alone leaves it unlimited."""
    assert system_limit(["pods"]) == "max"


def with_hook(command: list[str], hook: list[str], grace: int = 30) -> dict[str, Any]:
    made = pod("p", terminationGracePeriodSeconds=grace)
    made["spec"]["containers"][0] |= {"command": command, "lifecycle": {"preStop": {"exec": {"command": hook}}}}
    return made


def seconds_to_end(made: dict[str, Any], release: str = "1.36") -> tuple[int, list[str]]:
    """Return the whole seconds that a pod takes to end when it is deleted, and the reasons of its events."""
    with Cluster.simulated(1, release=release) as there:
        there.apply(made)
        there.advance(3)
        there.delete("Pod", "p")
        passed = 0
        while there.node().owners():
            there.advance(1)
            passed += 1
        return passed, [event.reason for event in there.events("p")]


@report("kubernetes/kubernetes#65496")
def a_hook_of_five_minutes_does_not_keep_a_pod_longer_than_its_grace_period() -> None:
    """Query 9, first: ten pauses of 30 s in the hook, a grace period of 30 s."""
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >> /data/shutdown.log; sleep 30; done"
    assert seconds_to_end(with_hook(POLITE, ["sh", "-c", script]))[0] == 30


@report("kubernetes/kubernetes#117373")
def a_hook_doubled_the_grace_period() -> None:
    """Query 9, fourth: 300 s of hook and a container without ears, 300 s of grace: ten minutes, until 1.28."""
    made = with_hook(DEAF, ["sleep", "300"], 300)
    assert [seconds_to_end(made, release)[0] for release in ("1.26", "1.28")] == [600, 302]


@report("kubernetes/kubernetes#115817")
def a_hook_that_hangs_and_a_container_that_does_not_listen() -> None:
    """Query 9, sixth: 60 s of grace took 120; since 1.28 60, and the two seconds that every container gets."""
    made = with_hook(DEAF, ["/bin/sh", "-c", "sleep 999999"], 60)
    assert [seconds_to_end(made, release)[0] for release in ("1.27", "1.36")] == [120, 62]


@report("kubernetes/kubernetes#31902")
def a_hook_that_takes_too_long_is_told_in_no_event() -> None:
    """Query 9, eighth: an event tells of a hook that fails, none of one that does not end in time."""
    assert "FailedPreStopHook" not in seconds_to_end(with_hook(POLITE, ["sleep", "60"], 20))[1]
    assert "FailedPreStopHook" in seconds_to_end(with_hook(POLITE, ["false"], 20))[1]


@report("kubernetes/kubernetes#24695")
def a_pod_ends_with_its_hook_if_it_listens_to_sigterm() -> None:
    """Query 9, tenth: a hook of 2 min, a grace of 5 min: who takes five minutes does not handle SIGTERM."""
    both = [seconds_to_end(with_hook(command, ["sleep", "120"], 300))[0] for command in (POLITE, DEAF)]
    assert both == [120, 300]


@report("kubernetes/kubernetes#83775")
def a_pod_without_resources_runs_where_one_numa_node_is_required() -> None:
    """Query 10, third: kube-dns failed with Topology Affinity Error for days of 1.17's development; it is admitted."""
    settings = {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "single-numa-node",
        "reservedSystemCPUs": "0",
    }
    with cluster(pod("dns"), topology={"sockets": 2, "cores": 2}, cpus=8, kubelet=settings) as made:
        assert made.pod("dns").status.phase == "Running"


@report("containerd/containerd#6323")
def the_pods_cgroup_is_full_before_that_of_its_only_container() -> None:
    """Query 11, fifth: one limit for both: `oom` counts in the pod's cgroup alone, `oom_kill` in both."""
    load = pod("p", "2s memory=50Mi; memory=50Mi child=300Mi", limits={"memory": "256Mi"})
    with cluster(load, seconds=4, kubelet={"singleProcessOOMKill": True}) as made:
        own = made.node().process("p").cgroup
        counts = []
        for path in (own.rpartition("/")[0], own):
            events = dict(line.split() for line in made.node().read(path, "memory.events").splitlines())
            counts.append((events["oom"], events["oom_kill"]))
        assert counts == [("1", "1"), ("0", "1")]


@report("m-lab/k8s-support#459")
def a_pod_cannot_fork_beyond_its_limit() -> None:
    """Query 12, third: a loop of background sleeps ends at the limit, the pause container and the shell counted."""
    made = pod("p")
    made["spec"]["containers"][0]["command"] = [
        "sh",
        "-c",
        "idx=0; while true; do sleep 60000 & idx=$((idx + 1)); done",
    ]
    with cluster(made, kubelet={"podPidsLimit": 1000}, seconds=5) as there:
        own = there.node().process("p").cgroup
        whole = own.rpartition("/")[0]
        found = [there.node().read(path, "pids.current") for path in (whole, own)]
        assert found == ["1000", "999"]


@report("kubernetes/kubernetes#68835")
def the_limit_of_process_ids_is_the_pods_and_not_the_containers() -> None:
    """Query 12, fifth: no container has the limit; the cgroup around them has it."""
    with cluster(pod("p"), kubelet={"podPidsLimit": 2048}) as made:
        own = made.node().process("p").cgroup
        assert made.node().read(own.rpartition("/")[0], "pids.max") == "2048"
        assert made.node().read(own, "pids.max") == "max"


@report("kubernetes/kubernetes#54313")
def a_node_without_process_ids_stays_ready() -> None:
    """Query 12, sixth: it is Ready and gets pods; only a threshold of pid.available makes PIDPressure."""
    seen = []
    for settings in ({}, {"evictionHard": {"pid.available": "10%"}}):
        with cluster(pod("bomb", "pids=20000"), max_pid=16000, seconds=40, kubelet=settings) as made:
            conditions = {one.type: one.status for one in made.get("Node", "n").status.conditions}
            seen.append((conditions["Ready"], conditions["PIDPressure"], made.pod("bomb").status.phase))
    assert seen == [("True", "False", "Running"), ("True", "True", "Failed")]


def with_memory_volume(load: str, **volume: Any) -> dict[str, Any]:
    made = pod("p", load)
    made["spec"]["volumes"] = [{"name": "v", "emptyDir": {"medium": "Memory", **volume}}]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    return made


def shared_memory(made: Any) -> int:
    path = made.node().process("p").cgroup
    figures = dict(line.split() for line in made.node().read(path, "memory.stat").splitlines())
    return int(figures["shmem"])


@report("kubernetes/kubernetes#99309")
def a_tmpfs_is_as_large_as_its_size_limit() -> None:
    """Query 13, sixth: half of the node's memory where the kubelet's gate was off; the limit where it is on."""
    with cluster(with_memory_volume("shm=500Mi", sizeLimit="100Mi"), seconds=5) as made:
        assert (shared_memory(made), status(made, "p").restart_count) == (100 * MI, 0)


@report("kubernetes/website#40723")
def a_tmpfs_without_a_limit_is_as_large_as_the_nodes_allocatable_memory() -> None:
    """Query 13, seventh: not half of the memory, as the page said: what pods may have."""
    reserved = ["--kube-reserved=memory=1Gi"]
    with cluster(with_memory_volume("shm=20Gi"), memory="4Gi", kubelet=reserved, seconds=5) as made:
        offered = made.get("Node", "n").status.allocatable["memory"].value()
        assert (shared_memory(made), status(made, "p").restart_count) == (offered, 0)


@report("kubernetes/kubernetes#43811")
def a_command_that_takes_too_long_fails_its_probe() -> None:
    """Query 14, eleventh: 20 s of sleep with timeoutSeconds 2 lived for ever with Docker; since 1.20 it fails."""
    made = pod("p")
    probe = {"exec": {"command": ["sleep", "20"]}, "initialDelaySeconds": 5, "periodSeconds": 5, "timeoutSeconds": 2}
    made["spec"]["containers"][0]["livenessProbe"] = probe
    with cluster(made, seconds=80) as there:
        assert status(there, "p").restart_count >= 1
        text = 'Liveness probe failed: command timed out: "sleep 20" timed out after 2s'
        assert text in [event.message for event in there.events("p")]


@report("kubernetes/kubernetes#109537")
def a_killed_container_that_ends_with_0_is_restarted_until_it_has_to_wait() -> None:
    """Query 14, tenth: OnFailure: kill and start are one sync; after a back-off exit code 0 counts: Completed."""
    made = pod("p", restartPolicy="OnFailure")
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 2, "failureThreshold": 2}
    made["spec"]["containers"][0] |= {"command": POLITE, "livenessProbe": probe}
    with cluster(made, seconds=60) as there:
        found = there.pod("p").status
        assert (found.phase, status(there, "p").restart_count) == ("Succeeded", 2)
        assert status(there, "p").state["terminated"]["exitCode"] == 0


@pytest.mark.parametrize("name", REPORTS)
def test_a_last_report_comes_out_as_it_did(name: str) -> None:
    REPORTS[name]()


def test_there_are_as_many_as_were_asked_for() -> None:
    from tests.field import test_more_reports

    assert len(REPORTS) + len(test_more_reports.REPORTS) >= 30
    known = {
        *test_more_reports.REPORTS,
        *PASSED_OVER,
        *(f"kubernetes/kubernetes{one}" for one in SHUTDOWNS),
    }
    assert not set(REPORTS) & known
