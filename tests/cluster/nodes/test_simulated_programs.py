"""Programs on simulated nodes: memory use leads to kills, disks fill up, an unknown program is reported once."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.views.kubectl import describe

MI = 2**20


def pod(name: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "polinux/stress", **container}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


KILLED = [
    # what runs below a limit of 100Mi
    {"command": ["stress"], "args": ["--vm", "1", "--vm-bytes", "250M", "--vm-hang", "1"]},
    {"args": ["--vm", "1", "--vm-bytes", "250M", "--vm-hang", "1"]},
    {"command": ["tail", "/dev/zero"]},
    {"command": ["sh", "-c", "sleep 1; head -c 1G /dev/zero | tail"]},
    {"command": ["python3", "-c", "x = 'a' * 500000000"]},
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("container", KILLED)
def test_a_program_that_takes_more_than_its_limit_is_killed_again_and_again(container: Any, version: Any) -> None:
    """kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource, "Exceed a Container's memory limit"."""
    with Cluster.simulated(1, cgroup_version=version) as cluster:
        resources = {"requests": {"memory": "50Mi"}, "limits": {"memory": "100Mi"}}
        cluster.apply(pod("memory-demo-2", {**container, "resources": resources}))
        cluster.advance(60)
        (status,) = cluster.pod("memory-demo-2").status.container_statuses
        last = status.last_state["terminated"]
        assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)
        assert status.restart_count >= 2
        assert "ProgramNotSimulated" not in {event.reason for event in cluster.events("memory-demo-2")}


def test_a_program_that_is_not_known_says_so_once_and_how_to_declare_it() -> None:
    with Cluster.simulated(1) as cluster:
        command = ["sh", "-c", "sleep 2; frobnicate --fast"]
        cluster.apply(pod("p", {"command": command, "livenessProbe": {"exec": {"command": ["false"]}}}))
        cluster.advance(90)
        assert cluster.pod("p").status.container_statuses[0].restart_count > 0
        (event,) = [event for event in cluster.events("p") if event.reason == "ProgramNotSimulated"]
        assert (event.type, event.count or 1) == ("Warning", 1)
        assert event.message == (
            "Unknown command 'frobnicate --fast': it idles. It uses 3Mi and no CPU until it is stopped; declare what "
            'it uses with the annotation kitlib.dev/workload.c: "10s cpu=500m memory=100Mi; memory=200Mi", or give the '
            "container a command that is known, such as stress, dd, sleep or a shell script of them"
        )
        assert event.message in describe(cluster, "p", "pod")
        assert [entry.about for entry in cluster.node().timeline() if entry.action == "not simulating"] == [
            "default/p/c"
        ]


def test_of_an_image_that_is_not_known_the_timeline_tells() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod("p", {"image": "example/shop:1"}))
        (entry,) = [entry for entry in cluster.node().timeline() if entry.action == "not simulating"]
        assert entry.detail == 'Image "example/shop:1" is not known: its program idles'
        assert {event.reason for event in cluster.events("p")} == {"Scheduled", "Created", "Started", "Pulled"} - {
            "Pulled"
        }


def test_a_script_that_fills_its_layer_is_evicted() -> None:
    """kubernetes/kubernetes#115819: 10 MB more each second below a limit of 5Mi, and a trap."""
    script = "trap 'exit 0' TERM; sleep 10; while true; do dd if=/dev/zero bs=1M count=10 >> /tmp/f; sleep 1; done"
    with Cluster.simulated([{"name": "n", "ephemeral_storage": "20Gi"}]) as cluster:
        limits = {"limits": {"ephemeral-storage": "5Mi"}}
        cluster.apply(pod("p", {"image": "busybox", "command": ["sh", "-c", script], "resources": limits}))
        cluster.advance(5)
        assert cluster.pod("p").status.phase == "Running"
        cluster.advance(30)
        assert "exceeds" in " ".join(event.message for event in cluster.events("p") if event.reason == "Evicted")


def test_a_liveness_probe_sees_what_exec_has_written() -> None:
    with Cluster.simulated(1) as cluster:
        probe = {"exec": {"command": ["cat", "/tmp/ready"]}, "periodSeconds": 1}
        cluster.apply(pod("p", {"image": "busybox", "command": ["sleep", "inf"], "readinessProbe": probe}))
        cluster.advance(3)
        assert not cluster.pod("p").status.container_statuses[0].ready
        heard: list[Any] = []
        node: Any = cluster.node()
        node.exec("default", "p", "c", ["touch", "/tmp/ready"], heard.append, stdin=False, tty=False)
        cluster.advance(3)
        assert heard[-1].code == 0
        assert cluster.pod("p").status.container_statuses[0].ready


def test_the_liveness_server_of_the_tutorial_fails_after_ten_seconds() -> None:
    """kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes."""
    with Cluster.simulated(1) as cluster:
        probe = {"httpGet": {"path": "/healthz", "port": 8080}, "initialDelaySeconds": 3, "periodSeconds": 3}
        image = "registry.k8s.io/e2e-test-images/agnhost:2.40"
        cluster.apply(pod("p", {"image": image, "args": ["liveness"], "livenessProbe": probe}))
        cluster.advance(9)
        assert cluster.pod("p").status.container_statuses[0].restart_count == 0
        cluster.advance(15)
        texts = [event.message for event in cluster.events("p") if event.reason == "Unhealthy"]
        assert "Liveness probe failed: HTTP probe failed with statuscode: 500" in texts
        cluster.advance(30)
        assert cluster.pod("p").status.container_statuses[0].restart_count >= 1


def test_a_probes_command_that_takes_too_long_times_out() -> None:
    with Cluster.simulated(1) as cluster:
        probe = {"exec": {"command": ["sh", "-c", "sleep 5"]}, "periodSeconds": 5, "timeoutSeconds": 2}
        cluster.apply(pod("p", {"image": "nginx", "readinessProbe": probe}))
        cluster.advance(10)
        assert "timed out after 2s" in cluster.events("p")[-1].message


LIMITED = {"resources": {"limits": {"cpu": "1", "memory": "100Mi"}}}


def shell_pod(script: str) -> dict[str, Any]:
    return pod("p", {"image": "busybox", "command": ["sh", "-c", script], **LIMITED}, restartPolicy="Never")


def lines(cluster: Any) -> list[str]:
    return [line.text.decode().rstrip() for line in cluster.node().log("default", "p", "c")().lines()]


SURVIVORS = [
    # the script, what it prints, its exit code
    ("tail /dev/zero; echo $?; sleep 3; echo end", ["Killed", "137", "end"], 0),
    ("tail /dev/zero || exit 7", ["Killed"], 7),
    ("(tail /dev/zero); exit $?", ["Killed"], 137),
    ("tail /dev/zero & wait $!; echo $?", ["Killed", "137"], 0),
    ("sleep 2; tail /dev/zero & sleep 6; echo still", ["Killed", "still"], 0),
    ("tail /dev/zero | cat; echo $?", ["Killed", "0"], 0),
    ("x=$(tail /dev/zero); echo $?", ["Killed", "137"], 0),
    # https://github.com/kubernetes/kubernetes/issues/104454, stress in a script: its worker is the victim
    ("stress --vm 1 --vm-bytes 250M; echo $?", ["stress: FAIL: [1] (415) <-- worker 7 got signal 9", "1"], 0),
]


@pytest.mark.parametrize(("script", "printed", "code"), SURVIVORS)
def test_a_shell_survives_the_kill_of_its_program(script: str, printed: list[str], code: int) -> None:
    """The reason is OOMKilled, whatever the exit code: kubernetes#131530, #104454."""
    with Cluster.simulated(1, cgroup_version=1) as cluster:
        cluster.apply(shell_pod(script))
        cluster.advance(15)
        found = cluster.pod("p").status
        ended = found.container_statuses[0].state["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", code)
        assert found.phase == ("Failed" if code else "Succeeded")
        assert lines(cluster) == printed
        assert sum("Killed process" in line for line in cluster.node().kernel_log()) == 1


@pytest.mark.parametrize("script", ["tail /dev/zero", "exec tail /dev/zero", "x=$(cat /dev/zero); echo $?"])
def test_process_1_does_not_survive_its_own_kill(script: str) -> None:
    with Cluster.simulated(1, cgroup_version=1) as cluster:
        cluster.apply(shell_pod(script))
        cluster.advance(120)
        ended = cluster.pod("p").status.container_statuses[0].state["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


WHOLE_CGROUP = [
    # release, kubelet's flags, whether the shell survives on cgroup v2
    ("1.27", [], True),
    ("1.28", [], False),
    ("1.36", [], False),
    ("1.36", ["singleProcessOOMKill: true"], True),
]


@pytest.mark.parametrize(("release", "settings", "survives"), WHOLE_CGROUP)
def test_on_v2_the_whole_container_is_killed_since_1_28(release: str, settings: list[str], survives: bool) -> None:
    """Source: kubelet generateLinuxContainerResources, singleProcessOOMKill (1.32)."""
    text = "\n".join(["apiVersion: kubelet.config.k8s.io/v1beta1", "kind: KubeletConfiguration", *settings])
    with Cluster.simulated(1, release=release, kubelet=text if settings else None) as cluster:
        cluster.apply(shell_pod("tail /dev/zero; sleep 1000"))
        cluster.advance(5)
        state = cluster.pod("p").status.container_statuses[0].state
        assert ("running" in state) == survives


def test_a_loop_whose_program_is_killed_goes_on_for_ever() -> None:
    """An OOM kill that no status shows: the container runs, oom_kill counts."""
    with Cluster.simulated(1, cgroup_version=1) as cluster:
        cluster.apply(shell_pod("while true; do tail /dev/zero; sleep 1; done"))
        cluster.advance(100)
        status = cluster.pod("p").status.container_statuses[0]
        assert ("running" in status.state, status.restart_count) == (True, 0)
        killed = [line for line in cluster.node().kernel_log() if "Killed process" in line]
        assert 85 <= len(killed) <= 100
        assert len(lines(cluster)) == len(killed)


def test_a_neighbour_that_fills_the_pod_may_cost_a_running_loop_its_program() -> None:
    """The kill comes in a late iteration; the earlier ones and the later ones need none."""
    script = "while true; do stress --vm 1 --vm-bytes 60M -t 5 || echo failed; done"
    one = {"name": "c", "image": "busybox", "command": ["sh", "-c", script]}
    other = {"name": "d", "image": "app"}
    note = {"kitlib.dev/workload.d": "31s memory=1Mi; 100ms memory=60Mi; memory=1Mi"}
    limit = {"limits": {"memory": "100Mi"}, "requests": {"memory": "100Mi"}}
    both = pod("p", {}, resources=limit)
    both["spec"]["containers"], both["metadata"]["annotations"] = [one, other], note
    with Cluster.simulated(1, cgroup_version=1, release="1.34") as cluster:
        cluster.apply(both)
        cluster.advance(60)
        assert lines(cluster) == ["stress: FAIL: [1] (415) <-- worker 7 got signal 9", "failed"]
        assert [one.restart_count for one in cluster.pod("p").status.container_statuses] == [0, 0]


EXEC = [
    # in the container, its own command, (restarts afterwards, exit code of the ended run)
    (["kill", "1"], {"image": "nginx"}, (1, 0)),
    (["sh", "-c", "kill -QUIT 1"], {"image": "nginx"}, (1, 0)),
    (["pkill", "ngin"], {"image": "nginx"}, (1, 0)),
    (["nginx", "-s", "stop"], {"image": "nginx"}, (1, 0)),
    (["kill", "-9", "1"], {"image": "nginx"}, (0, None)),
    (["sh", "-c", "kill -HUP 1"], {"image": "nginx"}, (0, None)),
    (["sh", "-c", "kill $$; kill 1"], {"image": "nginx"}, (0, None)),
    (["kill", "1"], {"image": "busybox", "command": ["sleep", "1000"]}, (0, None)),
    (["kill", "1"], {"image": "busybox", "command": ["sh", "-c", "trap 'exit 3' TERM; sleep 99 & wait"]}, (1, 3)),
]


@pytest.mark.parametrize(("command", "container", "expected"), EXEC)
def test_a_signal_of_exec_reaches_process_1(command: list[str], container: Any, expected: tuple[int, Any]) -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod("p", container))
        cluster.advance(3)
        heard: list[Any] = []
        node: Any = cluster.node()
        node.exec("default", "p", "c", command, heard.append, stdin=False, tty=False)
        cluster.advance(3)
        status = cluster.pod("p").status.container_statuses[0]
        code = (status.last_state.get("terminated") or {}).get("exitCode")
        assert (status.restart_count, code) == expected


def test_a_script_signals_itself() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(shell_pod("trap 'echo got it; exit 4' TERM; kill 1; echo not here"))
        cluster.advance(3)
        assert lines(cluster) == ["got it"]
        assert cluster.pod("p").status.container_statuses[0].state["terminated"]["exitCode"] == 4
