"""Waiting for what does not come: the error names the pods and says what is in their way."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes.plan import NodePlan


class Nodeless(RealTimeCluster):
    def _make_node(self, one: NodePlan) -> Any:
        pytest.fail(f"{one.name}: no node was asked for")


def test_what_is_in_the_way_is_told() -> None:
    cluster = Nodeless(ClusterOptions.of(0, release="1.36"))
    for number in range(7):
        container = {"name": "c", "image": "x"}
        spec = {"containers": [container]} | ({"schedulingGates": [{"name": "a/b"}]} if number == 0 else {})
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec})
    with pytest.raises(KitError) as caught:
        cluster.wait(lambda c: False, 0.01)
    text = str(caught.value)
    assert "timed out after 0.01 s waiting for the condition; default/p0 is Pending: " in text
    assert "default/p1 is Pending: no nodes available to schedule pods" in text
    assert "; 2 more pods do not run; " in text
    assert "FailedScheduling (p6): no nodes available" in text


def test_without_a_pod_only_the_time_is_told() -> None:
    with pytest.raises(KitError, match=r"^timed out after 0\.01 s waiting for the condition$"):
        Nodeless(ClusterOptions.of(0, release="1.36")).wait(lambda c: False, 0.01)


def test_a_condition_must_be_a_function() -> None:
    cluster: Any = Nodeless(ClusterOptions.of(0, release="1.36"))
    with pytest.raises(KitError, match=r"^wait: condition: Invalid value: 'pod': must be a function of the cluster"):
        cluster.wait("pod", "web")
