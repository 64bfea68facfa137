"""metrics.k8s.io: usages in the units of metrics-server, of nodes and pods."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.apiserver.http.metrics import usage_list, usage_of
from kitlib.apiserver.http.status import StatusError
from tests.apiserver.validation.told import named

NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
TIMES = {"creationTimestamp": "2026-01-02T03:04:05Z"}
VERSION = {"apiVersion": "metrics.k8s.io/v1beta1"}
STAMP = {"timestamp": "2026-01-02T03:04:05Z", "window": "15s"}
Usages = dict[tuple[str, str], dict[str, tuple[float, int]]]


class Machine:
    """A node that uses a nanocore more than 1.5 CPUs, and 4 KiB more than 1 MiB."""

    def __init__(self, usages: Usages) -> None:
        self._usages = usages

    def total_usage(self) -> tuple[float, int]:
        return 1.500000001, 1028 << 10

    def usages(self) -> Usages:
        return self._usages


@pytest.fixture
def cluster() -> Any:
    """Node `a` with two pods, node `b` with one, and node `h` without usages, as a hollow node is."""
    stored: dict[type, list[Any]] = {
        Node: [named(Node, name, metadata={"labels": {"of": name}}) for name in "hab"],
        Pod: [named(Pod, "p", "x", metadata={"labels": {"app": "web"}}), named(Pod, "p", "y")],
    }
    machines = {
        "a": Machine(
            {("x", "p"): {"c": (0.0000007, 4096), "d": (0.0300000011, 12288)}, ("y", "p"): {"c": (2e-9, 4096)}}
        ),
        "b": Machine({("x", "q"): {}}),
        "h": object(),
    }
    store = SimpleNamespace(list=lambda kind, copy: stored[kind])
    return SimpleNamespace(now=lambda: NOW, api=SimpleNamespace(store=store), node=machines.__getitem__)


def names(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in found["items"]]


def test_a_node_in_nanocores_and_kibibytes(cluster: Any) -> None:
    """The amounts have no shorter canonical form. Source: metrics-server, resource.Quantity of nanocores and bytes."""
    meta = {"name": "a", "labels": {"of": "a"}, **TIMES}
    expected = {"kind": "NodeMetrics", **VERSION, "metadata": meta, **STAMP}
    assert usage_of(cluster, "nodes", "", "a") == {**expected, "usage": {"cpu": "1500000001n", "memory": "1028Ki"}}


def test_a_pod_with_a_usage_per_container(cluster: Any) -> None:
    containers = [
        {"name": "c", "usage": {"cpu": "700n", "memory": "4Ki"}},
        {"name": "d", "usage": {"cpu": "30000001n", "memory": "12Ki"}},
    ]
    meta = {"name": "p", "namespace": "x", "labels": {"app": "web"}, **TIMES}
    expected = {"kind": "PodMetrics", **VERSION, "metadata": meta, **STAMP, "containers": containers}
    assert usage_of(cluster, "pods", "x", "p") == expected
    other = usage_of(cluster, "pods", "y", "p")
    assert other["metadata"]["namespace"] == "y"
    assert other["containers"] == [{"name": "c", "usage": {"cpu": "2n", "memory": "4Ki"}}]
    gone = usage_of(cluster, "pods", "x", "q")
    assert not gone["metadata"].get("labels") and gone["containers"] == [], "the pod's object has been deleted"


def test_lists(cluster: Any) -> None:
    nodes = usage_list(cluster, "nodes")
    assert {**nodes, "items": []} == {"kind": "NodeMetricsList", **VERSION, "metadata": {}, "items": []}
    assert names(nodes) == [("", "a"), ("", "b")]
    pods = usage_list(cluster, "pods")
    assert {**pods, "items": []} == {"kind": "PodMetricsList", **VERSION, "metadata": {}, "items": []}
    assert names(pods) == [("x", "p"), ("y", "p"), ("x", "q")]
    assert names(usage_list(cluster, "pods", "x")) == [("x", "p"), ("x", "q")]
    assert names(usage_list(cluster, "pods", "z")) == []
    web = usage_list(cluster, "pods", matches=lambda obj: obj["metadata"]["labels"].get("app") == "web")
    assert names(web) == [("x", "p")]


@pytest.mark.parametrize(
    ("plural", "namespace", "name", "shown"),
    [
        ("nodes", "", "h", "h"),
        ("nodes", "", "x", "x"),
        ("pods", "y", "q", "y/q"),
        ("pods", "x", "z", "x/z"),
    ],
)
def test_objects_without_a_usage_are_not_found(
    cluster: Any, plural: str, namespace: str, name: str, shown: str
) -> None:
    with pytest.raises(StatusError) as raised:
        usage_of(cluster, plural, namespace, name)
    error = raised.value
    assert (error.code, error.reason) == (404, "NotFound")
    assert error.message == f'{plural}.metrics.k8s.io "{shown}" not found'
