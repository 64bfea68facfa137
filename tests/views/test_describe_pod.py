"""`kubectl describe pod`: parts that the recorded texts do not hold, from kubectl's describe.go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.views.describe.pod import describe_pod
from kitlib.views.kubectl import describe

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lines(container: dict[str, Any] | None = None, meta: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    """The text's lines with single spaces, from a pod with one container."""
    pod = {
        "metadata": {"name": "p", "namespace": "default", **(meta or {})},
        "spec": {"containers": [{"name": "c", "image": "x", **(container or {})}], **spec},
        "status": {"phase": "Running", "qosClass": "BestEffort"},
    }
    return [" ".join(line.split()) for line in describe_pod(pod, None, NOW).splitlines()]


FIGURES = "delay=0s timeout=1s period=10s successThreshold=1 failureThreshold=3"
DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


@pytest.mark.parametrize(
    ("probe", "text"),
    [
        ({"exec": {"command": ["cat", "/x"]}}, "exec [cat /x]"),
        ({"httpGet": {"path": "/z", "port": 80, "scheme": "HTTP"}}, "http-get http://:80/z"),
        ({"httpGet": {"path": "z", "port": "web", "host": "h", "scheme": "HTTPS"}}, "http-get https://h:web/z"),
        ({"tcpSocket": {"port": 5}}, "tcp-socket :5"),
        ({"grpc": {"port": 9, "service": "s"}}, "grpc <pod>:9 s"),
    ],
)
def test_a_probe_is_one_line(probe: dict[str, Any], text: str) -> None:
    assert f"Liveness: {text} {FIGURES}" in lines({"livenessProbe": {**probe, **DEFAULTS}})


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ({"value": "1"}, "A: 1"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, "A: p (v1:metadata.name)"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}, "A: b (v1:metadata.labels['a'])"),
        ({"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, "A: (v1:status.podIP)"),
        ({"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}, "A: node allocatable (limits.cpu)"),
        ({"valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}}, "A: 2 (requests.cpu)"),
        (
            {"valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
            "A: 100 (requests.memory)",
        ),
        (
            {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            "A: <set to the key 'k' in secret 's'> Optional: false",
        ),
        (
            {"valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": True}}},
            "A: <set to the key 'k' of config map 'm'> Optional: true",
        ),
    ],
)
def test_a_variable_shows_its_value_or_where_it_comes_from(variable: dict[str, Any], text: str) -> None:
    requests = {"requests": {"cpu": "1500m", "memory": "100Mi"}}
    assert text in lines({"env": [{"name": "A", **variable}], "resources": requests}, {"labels": {"a": "b"}})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"hostPath": {"path": "/x"}},
            ["Type: HostPath (bare host directory volume)", "Path: /x", "HostPathType: <none>"],
        ),
        (
            {"emptyDir": {}},
            ["Type: EmptyDir (a temporary directory that shares a pod's lifetime)", "Medium:", "SizeLimit: <unset>"],
        ),
        (
            {"configMap": {"name": "m"}},
            ["Type: ConfigMap (a volume populated by a ConfigMap)", "Name: m", "Optional: false"],
        ),
        (
            {"persistentVolumeClaim": {"claimName": "d"}},
            [
                "Type: PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
                "ClaimName: d",
                "ReadOnly: false",
            ],
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607}}, {"downwardAPI": {}}]}},
            [
                "Type: Projected (a volume that contains injected data from multiple sources)",
                "TokenExpirationSeconds: 3607",
                "DownwardAPI: true",
            ],
        ),
        (
            {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            ["Type: DownwardAPI (a volume populated by information about the pod)", "Items:", "metadata.name -> n"],
        ),
        (
            {"csi": {"driver": "d", "volumeAttributes": {"b": "2", "a": "1"}}},
            [
                "Type: CSI (a Container Storage Interface (CSI) volume source)",
                "Driver: d",
                "FSType:",
                "ReadOnly: false",
                "VolumeAttributes: a=1",
                "b=2",
            ],
        ),
        ({"portworxVolume": {}}, ["<unknown>"]),
    ],
)
def test_a_volume_shows_its_source(source: dict[str, Any], expected: list[str]) -> None:
    found = lines(volumes=[{"name": "v", **source}])
    start = found.index("v:") + 1
    assert found[start : start + len(expected)] == expected


def test_long_annotations_stand_below_their_key_and_are_cut() -> None:
    found = lines(
        meta={"annotations": {"a": "x" * 200, "b": "1\n2", "kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    )
    start = found.index("Annotations: a:")
    assert found[start + 1 : start + 5] == ["x" * 138 + "...", "b:", "1", "2"]


def test_what_a_pod_rarely_has_is_shown_where_kubectl_shows_it() -> None:
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
    }
    owner = {"kind": "ReplicaSet", "name": "r", "controller": True}
    found = lines(
        {"ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}], "command": ["a\nb"]},
        {"ownerReferences": [owner]},
        topologySpreadConstraints=[constraint],
        tolerations=[{"operator": "Exists"}],
        priorityClassName="high",
        resources={"limits": {"cpu": "1"}},
    )
    for text in (
        "Topology Spread Constraints: zone:DoNotSchedule when max skew 1 is exceeded for selector a=b",
        "Controlled By: ReplicaSet/r",
        "Ports: 80/TCP, 81/UDP",
        "Host Ports: 0/TCP, 0/UDP",
        "Tolerations: op=Exists",
        "Priority Class Name: high",
        "cpu: 1",
    ):
        assert text in found


def test_a_pod_of_a_cluster_is_described_with_its_events() -> None:
    cluster = Cluster.simulated([{"name": "n", "cpus": 4}])
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [
        {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}]}})  # fmt: skip
    text = describe(cluster, "web", "pod")
    found = [" ".join(line.split()) for line in text.splitlines()]
    assert {"Name: web", "State: Running", "Ready: True", "cpu: 100m", "QoS Class: Burstable"} <= set(found)
    assert any(line.startswith("Normal Scheduled") and "assigned default/web to n" in line for line in found)
