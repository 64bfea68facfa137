"""Public reports about killed children, signals and rooms that are full: what really happened happens here.

Queries of 26 November 2026 to an index of public issues, the first results in its order (reports that do not say what
happened, or happened before 1.23, are in tests/field/newest.md):

    A  container OOMKilled exit code 0 shell script child process killed pod Completed
    B  stress OOMKilled exit code 1 "worker got signal 9" memory limit cgroup v1
    C  preStop hook nginx -s quit FailedPreStopHook exited with 137
    D  emptyDir medium Memory sizeLimit tmpfs size not enforced
    E  subprocess killed by OOM pod not restarted, invisible OOM kill
    F  OutOfcpu OutOfpods pod rejected after scheduling
    G  SIGTERM not received by process shell entrypoint PID 1
    H  /dev/shm 64MB too small
    I  init container OOMKilled exit code 0
    J  1.28 cgroup v2 memory.oom.group whole container killed
    K  kubectl exec kill 1 kill -9 1 no effect
    L  critical pod preempts "Preempted in order to admit critical pod"
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

NGINX = ["nginx", "-g", "daemon off;"]


def pod(command: list[str], container: Any = None, **spec: Any) -> dict[str, Any]:
    one = {"name": "c", "image": "busybox", "command": command, **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [one], **spec},
    }


def memory(amount: str) -> dict[str, Any]:
    return {"resources": {"requests": {"memory": amount}, "limits": {"memory": amount}}}


def test_131530_a_pod_succeeds_whose_container_was_oomkilled_with_exit_code_0() -> None:
    with Cluster.simulated(1, cgroup_version=1, release="1.28") as cluster:
        cluster.apply(pod(["sh", "-c", "tail /dev/zero; exit 0"], memory("50Mi"), restartPolicy="Never"))
        cluster.advance(5)
        status = cluster.pod("p").status
        ended = status.container_statuses[0].state["terminated"]
        assert (status.phase, ended["reason"], ended["exitCode"]) == ("Succeeded", "OOMKilled", 0)


INIT_PHASES = [("1.26", "Never", "Pending"), ("1.27", "Never", "Failed"), ("1.36", "OnFailure", "Pending")]


@pytest.mark.parametrize(("release", "policy", "phase"), INIT_PHASES)
def test_116676_an_init_container_that_was_oomkilled_has_failed_with_exit_code_0(
    release: str, policy: str, phase: str
) -> None:
    """kubernetes#104454, #104650, #117712 and nvidia-container-toolkit#30: the main container does not start."""
    init = {"name": "i", "image": "busybox", "command": ["sh", "-c", "tail /dev/zero; exit 0"], **memory("15Mi")}
    with Cluster.simulated(1, cgroup_version=1, release=release) as cluster:
        cluster.apply(pod(["sleep", "1000"], initContainers=[init], restartPolicy=policy))
        cluster.advance(60)
        status = cluster.pod("p").status
        (first,) = status.init_container_statuses
        ended = first.state.get("terminated") or first.last_state["terminated"]
        assert (ended["reason"], ended["exitCode"], status.phase) == ("OOMKilled", 0, phase)
        assert not status.container_statuses[0].state.get("running")
        assert bool(first.restart_count) == (policy == "OnFailure")


def test_50632_a_container_lives_on_without_its_killed_process() -> None:
    """kubernetes#100483: silent kills of processes that are not number 1."""
    script = "(sleep 5; tail /dev/zero) & while true; do sleep 1; done"
    with Cluster.simulated(1, cgroup_version=1) as cluster:
        cluster.apply(pod(["sh", "-c", script], memory("50Mi")))
        cluster.advance(60)
        (status,) = cluster.pod("p").status.container_statuses
        assert (status.ready, status.restart_count, status.last_state) == (True, 0, {})
        assert sum("Killed process" in line for line in cluster.node().kernel_log()) == 1


@pytest.mark.parametrize(("release", "restarts"), [("1.27", 0), ("1.28", 1)])
def test_117793_since_1_28_the_kill_of_one_process_ends_the_container(release: str, restarts: int) -> None:
    script = "(sleep 5; tail /dev/zero) & while true; do sleep 1; done"
    with Cluster.simulated(1, cgroup_version=2, release=release) as cluster:
        cluster.apply(pod(["sh", "-c", script], memory("50Mi")))
        cluster.advance(8)
        assert cluster.pod("p").status.container_statuses[0].restart_count == restarts


def test_microk8s_138_a_hook_that_stops_nginx_and_sleeps_fails() -> None:
    hook = {"preStop": {"exec": {"command": ["bash", "-c", "/usr/sbin/nginx -s quit ; sleep 29"]}}}
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(NGINX, {"image": "nginx:1.11", "lifecycle": hook}))
        cluster.advance(3)
        cluster.delete("pod", "p")
        cluster.advance(2)
        assert [event.reason for event in cluster.events("p")][-1] == "FailedPreStopHook"
        assert not cluster.pods()


ENDS = [
    # kubernetes#64015, kubernetes#127188, openshift/verification-tests#1640, cilium-cli#276, etcd-operator#1680
    (["sh", "-c", "while true; do sleep 1; done"], {}, 30),
    (["sh", "-c", "trap exit TERM; while true; do sleep 1; done"], {}, 1),
    (["bash", "-c", "export; sleep 9999"], {}, 30),
    (["bash", "-c", "export; trap 'exit 0' TERM; sleep 9999 & wait"], {}, 1),
    (["bash", "-c", "export; sleep 9999"], {"shareProcessNamespace": True}, 1),
    (["/bin/bash", "-c", "sleep 2000000000000"], {}, 30),
    (["/bin/bash", "-c", "trap 'kill $(jobs -p); exit 0' TERM ; sleep 2000000000000 & wait"], {}, 1),
    (["/bin/sh", "-c", "exec sleep 100000"], {}, 30),
]


@pytest.mark.parametrize(("command", "spec", "most"), ENDS)
def test_a_shell_without_a_trap_waits_for_sigkill(command: list[str], spec: dict[str, Any], most: int) -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(command, **spec))
        cluster.advance(3)
        cluster.delete("pod", "p")
        passed = 0
        while cluster.node().owners():
            cluster.advance(1)
            passed += 1
        assert passed == 30 if most == 30 else passed <= most
        assert "ProgramNotSimulated" not in {event.reason for event in cluster.events("p")}


def test_56451_kill_9_of_process_1_from_inside_has_no_effect() -> None:
    """argo-workflows#4289: `/bin/sh -c sleep` cannot be killed through exec, by no signal."""
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(["/bin/sh", "-c", "sleep 86400"]))
        cluster.advance(2)
        node: Any = cluster.node()
        for signal in ("-9", "-15"):
            heard: list[Any] = []
            node.exec("default", "p", "c", ["kill", signal, "1"], heard.append, stdin=False, tty=False)
            cluster.advance(2)
        assert cluster.pod("p").status.container_statuses[0].restart_count == 0


def test_k9s_287_kill_1_restarts_a_server_in_its_pod() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(NGINX, {"image": "nginx"}))
        cluster.advance(2)
        uid, node = cluster.pod("p").metadata.uid, cluster.node()
        heard: list[Any] = []
        exec_node: Any = node
        exec_node.exec("default", "p", "c", ["kill", "1"], heard.append, stdin=False, tty=False)
        cluster.advance(3)
        found = cluster.pod("p")
        assert (found.metadata.uid, found.status.container_statuses[0].restart_count) == (uid, 1)


@pytest.mark.parametrize("kubelets", [True, False])
def test_115325_the_kubelet_rejects_what_does_not_fit_beside_the_others(kubelets: bool) -> None:
    """kubernetes#98928: a pod that names its node, or the pod of a second scheduler."""
    with Cluster.simulated([{"name": "n", "cpus": 4}], kubelets=kubelets, release="1.30") as cluster:
        pods = [pod(["sleep", "1000"], {"resources": {"requests": {"cpu": "100m"}}}, nodeName="n") for _ in range(41)]
        for number, one in enumerate(pods):
            one["metadata"]["name"] = f"p{number}"
        cluster.apply(pods)
        cluster.advance(2)
        status = cluster.pod("p40").status
        text = "Pod was rejected: Node didn't have enough resource: cpu, requested: 100, used: 4000, capacity: 4000"
        assert (status.reason, status.message) == ("OutOfcpu", text)
        assert cluster.pod("p39").status.phase == "Running"


@pytest.mark.parametrize("size", [None, "2Gi"])
def test_nebari_1642_a_memory_volume_at_dev_shm_lifts_the_64_mib(size: str | None) -> None:
    """timescale/helm-charts#127, kubernetes#28272: without it, more than 64 MiB is no space left on device."""
    script = "dd if=/dev/zero of=/dev/shm/x bs=1M count=100 || exit 5; exit 0"
    volume = {"volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}]} if size else {}
    mounts = {"volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}]} if size else {}
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(["sh", "-c", script], mounts, restartPolicy="Never", **volume))
        cluster.advance(5)
        ended = cluster.pod("p").status.container_statuses[0].state["terminated"]
        assert ended["exitCode"] == (0 if size else 5)
