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
        cluster.node().exec("default", "p", "c", ["touch", "/tmp/ready"], heard.append, stdin=False, tty=False)
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
