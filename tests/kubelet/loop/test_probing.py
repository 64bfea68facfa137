"""Probes on a simulated node: readiness, restarts, and what controllers make of them."""

from __future__ import annotations

import pytest

from kitlib.api.apps import Deployment
from kitlib.api.core import Pod
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: web, annotations: {{{notes}}}}}
spec:
  restartPolicy: {policy}
  containers:
  - {{name: web, image: nginx, {probes}}}
"""


def started(probes: str, notes: str = "", policy: str = "Always") -> SimulatedCluster:
    cluster = Cluster.simulated(1)
    cluster.apply(POD.format(probes=probes, notes=notes, policy=policy))
    return cluster


def status(cluster: SimulatedCluster) -> tuple[bool | None, bool, int]:
    (found,) = cluster.pod("web").status.container_statuses
    return found.started, found.ready, found.restart_count


def changes(cluster: SimulatedCluster, seconds: int) -> list[tuple[int, tuple[bool | None, bool, int]]]:
    """When (started, ready, restarts) were others than before; second 0 first."""
    found = [(0, status(cluster))]
    for second in range(1, seconds + 1):
        cluster.advance(1)
        if status(cluster) != found[-1][1]:
            found.append((second, status(cluster)))
    return found


FAIL = '"kitlib.dev/readiness.web": '
CASES = [
    ("without delay it is ready at once", "readinessProbe: {tcpSocket: {port: 80}}", "", [(0, (True, True, 0))]),
    (
        "after the delay the next tick counts",
        "readinessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 7, periodSeconds: 5}",
        "",
        [(0, (True, False, 0)), (10, (True, True, 0))],
    ),
    (
        "it becomes unready with the third failure in a row, and ready with the first success",
        "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 5}",
        FAIL + "12s ok; 20s fail; ok",
        [(0, (True, True, 0)), (25, (True, False, 0)), (35, (True, True, 0))],
    ),
    (
        "readiness waits for the startup probe",
        "startupProbe: {tcpSocket: {port: 80}, periodSeconds: 4}, readinessProbe: {tcpSocket: {port: 80}}",
        '"kitlib.dev/startup.web": 6s fail; ok',
        [(0, (False, False, 0)), (8, (True, True, 0))],
    ),
    (
        "a failed startup probe restarts the container, at once until two ends lie within the back-off",
        "startupProbe: {tcpSocket: {port: 80}, periodSeconds: 4, failureThreshold: 2}",
        '"kitlib.dev/startup.web": fail',
        [(0, (False, False, 0)), (8, (False, False, 1)), (16, (False, False, 2)), (34, (False, False, 3))],
    ),
]


@pytest.mark.parametrize(("sentence", "probes", "notes", "expected"), CASES, ids=[case[0] for case in CASES])
def test_timing(
    sentence: str, probes: str, notes: str, expected: list[tuple[int, tuple[bool | None, bool, int]]]
) -> None:
    assert changes(started(probes, notes), 37) == expected


def test_a_failed_liveness_probe_kills_and_restarts_with_its_events() -> None:
    cluster = started(
        "livenessProbe: {httpGet: {port: 80}, periodSeconds: 5}", '"kitlib.dev/liveness.web": 7s ok; fail'
    )
    cluster.advance(20)
    (found,) = cluster.pod("web").status.container_statuses
    assert found.restart_count == 1 and "running" in found.state
    assert found.last_state["terminated"]["exitCode"] == 0  # of nginx' own handler
    told = {(e.type, e.reason, e.message, e.count, e.involved_object.field_path) for e in cluster.events("web")}
    where = "spec.containers{web}"
    assert ("Warning", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503", 3, where) in told
    assert ("Normal", "Killing", "Container web failed liveness probe, will be restarted", 1, where) in told


def test_killed_again_and_again_it_backs_off_in_the_end() -> None:
    cluster = started(
        "livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 5, failureThreshold: 1}",
        '"kitlib.dev/liveness.web": fail',
    )
    seen = [(second, restarts) for second, (_, _, restarts) in changes(cluster, 27)]
    assert seen == [(0, 0), (5, 1), (10, 2), (15, 2), (25, 3)]
    (back_off,) = [e for e in cluster.events("web") if e.reason == "BackOff"]
    assert back_off.message.startswith("Back-off restarting failed container web in pod web_default(")


def test_with_policy_never_a_killed_container_stays_down() -> None:
    cluster = started(
        "livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 5, failureThreshold: 1}",
        '"kitlib.dev/liveness.web": fail',
        "Never",
    )
    cluster.advance(30)
    pod = cluster.pod("web")
    assert (pod.status.phase, pod.status.container_statuses[0].restart_count) == ("Succeeded", 0)
    (killing,) = [e.message for e in cluster.events("web") if e.reason == "Killing"]
    assert killing == "Container web failed liveness probe"


def test_conditions_name_the_unready_container() -> None:
    cluster = started("readinessProbe: {tcpSocket: {port: 80}}", FAIL + "fail")
    found = {c.type: (c.status, c.reason, c.message) for c in cluster.pod("web").status.conditions}
    unready = ("False", "ContainersNotReady", "containers with unready status: [web]")
    assert found["Ready"] == found["ContainersReady"] == unready


def test_the_annotation_may_be_changed_while_it_runs() -> None:
    cluster = started("readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 2}")
    assert status(cluster)[1]
    cluster.patch(Pod, "web", {"metadata": {"annotations": {"kitlib.dev/readiness.web": "fail"}}})
    cluster.advance(6)
    assert not status(cluster)[1]


def test_a_readiness_gate_keeps_a_pod_unready_until_its_condition_holds() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply("""
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  readinessGates: [{conditionType: example.com/in}]
  containers: [{name: web, image: nginx}]
""")
    (ready,) = [c for c in cluster.pod("web").status.conditions if c.type == "Ready"]
    assert (ready.status, ready.reason) == ("False", "ReadinessGatesNotReady")
    assert ready.message == 'corresponding condition of pod readiness gate "example.com/in" does not exist.'


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web}}}}
  strategy: {{rollingUpdate: {{maxSurge: 1, maxUnavailable: 0}}}}
  template:
    metadata: {{labels: {{app: web}}, annotations: {{{notes}}}}}
    spec:
      containers:
      - {{name: web, image: "nginx:{tag}", readinessProbe: {{httpGet: {{port: 80}}, periodSeconds: 2}}}}
"""


def test_a_rollout_waits_for_readiness_and_stops_at_a_version_that_never_gets_ready() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(DEPLOYMENT.format(tag=1, notes=""))
    cluster.apply(DEPLOYMENT.format(tag=2, notes=FAIL + "fail"))
    cluster.advance(30)
    found = cluster.api.store.get(Deployment, "web", "default").status
    assert [found[f"{what}Replicas"] for what in ("updated", "available", "unavailable")] == [1, 3, 1]
    assert sorted(pod.spec.containers[0].image for pod in cluster.pods()) == ["nginx:1"] * 3 + ["nginx:2"]


RESTARTED = [
    # a container with a probe begins anew before 1.35; the first answer comes after half a period
    ("1.34", "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 20}", 60, [(True, False), (True, True)]),
    ("1.34", "startupProbe: {tcpSocket: {port: 80}, periodSeconds: 20}", 60, [(False, False), (True, True)]),
    ("1.34", "livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 20}", 60, [(True, True), (True, True)]),
    # since 1.35 it stays as it was
    ("1.36", "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 20}", 60, [(True, True), (True, True)]),
    ("1.36", "startupProbe: {tcpSocket: {port: 80}, periodSeconds: 20}", 60, [(True, True), (True, True)]),
    # within ten seconds of its start nobody knows whether the kubelet was restarted
    ("1.36", "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 20}", 5, [(True, False), (True, True)]),
]


@pytest.mark.parametrize(("release", "probes", "age", "wanted"), RESTARTED)
def test_a_restart_of_the_kubelet_begins_the_probes_anew(
    release: str, probes: str, age: int, wanted: list[tuple[bool, bool]]
) -> None:
    """Source: prober.manager.UpdatePodStatus, ChangeContainerStatusOnKubeletRestart."""
    with Cluster.simulated(1, release=release) as cluster:
        cluster.apply(POD.format(probes=probes, notes="", policy="Always"))
        cluster.advance(age)
        assert status(cluster) == (True, True, 0)
        cluster.node().restart_kubelet()
        cluster.advance(1)
        found = [status(cluster)[:2]]
        cluster.advance(10)
        assert [*found, status(cluster)[:2]] == wanted
        ready = [c.status for c in cluster.pod("web").status.conditions if c.type == "Ready"]
        assert ready == ["True"]


def test_a_container_that_was_not_ready_stays_so_after_a_restart_of_the_kubelet() -> None:
    with Cluster.simulated(1, release="1.36") as cluster:
        probes = "readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 20}"
        cluster.apply(POD.format(probes=probes, notes=FAIL + "1h fail", policy="Always"))
        cluster.advance(100)
        assert status(cluster) == (True, False, 0)
        cluster.node().restart_kubelet()
        cluster.advance(5)
        assert status(cluster) == (True, False, 0)


def test_a_restart_of_the_kubelet_forgets_earlier_failures() -> None:
    probes = "livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 10, failureThreshold: 3}"
    with Cluster.simulated(1) as cluster:
        cluster.apply(POD.format(probes=probes, notes='"kitlib.dev/liveness.web": 15s ok; 1h fail', policy="Always"))
        cluster.advance(35)  # two failures, at 20 and 30 s
        cluster.node().restart_kubelet()
        cluster.advance(20)  # failures at 40 and 50 s
        assert status(cluster) == (True, True, 0)
        cluster.advance(10)
        assert status(cluster)[2] == 1


def test_a_probe_that_succeeds_is_no_event() -> None:
    """Source: kubelet prober.probe: events of failures, unknown results and warnings only."""
    cluster = started("readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 1}")
    cluster.advance(10)
    assert status(cluster) == (True, True, 0)
    assert not [event for event in cluster.events() if event.reason in ("Unhealthy", "ProbeWarning")]
