"""What an operator reads: kubectl's layout of nodes and usage."""

from datetime import UTC, datetime

import pytest

from kitlib.api.core import Event
from kitlib.api.serialize import load
from kitlib.views.describe.node import describe_node, human_duration
from kitlib.views.tabs import align
from kitlib.views.top import MetricsUsage, PodUsage, node_metrics, pod_metrics, top_nodes, top_pods

OBJECTS = """
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {a: b, kubernetes.io/hostname: node-1}, creationTimestamp: "2026-01-05T08:00:00Z"}
spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110", example.com/gpu: "2"}
  allocatable: {cpu: 3500m, memory: 7Gi, pods: "110", example.com/gpu: "2"}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, creationTimestamp: "2026-01-05T08:01:30Z"}
spec:
  nodeName: node-1
  containers:
  - {name: c, resources: {requests: {cpu: 500m, memory: 1Gi, example.com/gpu: "1"}, limits: {cpu: "8", memory: 8Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: done, namespace: default}
spec: {nodeName: node-1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
status: {phase: Succeeded}
"""


@pytest.fixture
def objects():
    return load(OBJECTS)


def test_describe_node_has_kubectls_lines(objects):
    text = describe_node(objects[0], objects[1:], now=datetime(2026, 1, 5, 8, 2, tzinfo=UTC))
    lines = text.splitlines()
    for line in (
        "Name:               node-1",
        "Labels:             a=b",
        "                    kubernetes.io/hostname=node-1",
        "CreationTimestamp:  Mon, 05 Jan 2026 08:00:00 +0000",
        "Taints:             gpu=yes:NoSchedule",
        "  HolderIdentity:  <unset>",
        "  cpu:              3500m",
        "  Kubelet Version:            ",
        "Non-terminated Pods:          (1 in total)",
        "  default                     web     500m (14%)    8 (228%)    1Gi (14%)        8Gi (114%)     30s",
        "  (Total limits may be over 100 percent, i.e., overcommitted.)",
        "  cpu                500m (14%)  8 (228%)",
        "  example.com/gpu    1           0",
        "Events:              <none>",
    ):
        assert line in lines, f"{line!r} is not in\n{text}"


def test_describe_node_counts_events_that_repeat(objects):
    event = Event(
        type="Warning",
        reason="SystemOOM",
        message="System OOM encountered, victim process: a, pid: 1",
        count=3,
        source={"component": "kubelet", "host": "node-1"},
        first_timestamp=datetime(2026, 1, 5, 8, 0, tzinfo=UTC),
        last_timestamp=datetime(2026, 1, 5, 8, 1, tzinfo=UTC),
    )
    lease = {"holderIdentity": "node-1"}
    text = describe_node(objects[0], (), [event], datetime(2026, 1, 5, 8, 2, tzinfo=UTC), lease)
    assert "  HolderIdentity:  node-1" in text.splitlines()
    (line,) = [line for line in text.splitlines() if "SystemOOM" in line]
    assert line.split(None, 2)[2].startswith("60s (x3 over 2m)  kubelet  System OOM encountered")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "5s"), (119, "119s"), (120, "2m"), (200, "3m20s"), (3600, "60m"), (4 * 3600 + 60, "4h1m"), (2 * 86400, "2d")],
)
def test_ages_are_written_as_kubectl_does(seconds, text):
    assert human_duration(seconds) == text


def test_columns_end_where_a_line_has_no_tab():
    assert align("a\tb\nlonger\tc\nno tabs\nd\te") == "a       b\nlonger  c\nno tabs\nd  e"


def test_top_pod_sums_containers_and_rounds_cpu_up(objects):
    web = PodUsage(
        "default", "web", {"a": MetricsUsage(100_000_001, 10 * 2**20), "b": MetricsUsage(50_000_000, 2**20 - 1)}
    )
    assert top_pods([web]).splitlines()[1].split() == ["web", "151m", "10Mi"]
    assert [line.split()[:2] for line in top_pods([web], containers=True).splitlines()[1:]] == [
        ["web", "a"],
        ["web", "b"],
    ]


def test_top_node_shows_parts_of_allocatable(objects):
    text = top_nodes([(objects[0], MetricsUsage(350_000_000, 7 * 2**29))])
    assert text.splitlines()[1].split() == ["node-1", "350m", "10%", "3584Mi", "50%"]


def test_the_metrics_api_answers_with_quantities(objects):
    at = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
    web = PodUsage("default", "web", {"c": MetricsUsage(123, 2048)})
    answer = pod_metrics([web], at=at, window_seconds=15)
    assert answer["items"][0]["containers"] == [{"name": "c", "usage": {"cpu": "123n", "memory": "2Ki"}}]
    assert (
        node_metrics([(objects[0], MetricsUsage(1, 1024))], at=at, window_seconds=15)["items"][0]["window"] == "15.000s"
    )
