"""A controller is loaded with the first object that needs it, and works as if it had run from the start."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.controllers.descriptors import CONTROLLERS, ControllerDescriptor
from kitlib.controllers.manager import ControllerManager
from tests.controllers.builders import hollow, workload

TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize("one", CONTROLLERS, ids=lambda one: str(one.name))
def test_a_descriptor_names_its_controller(one: ControllerDescriptor) -> None:
    assert one.load().name == one.name


@pytest.mark.parametrize("one", [one for one in CONTROLLERS if one.starts], ids=lambda one: str(one.name))
def test_a_controller_watches_what_starts_it(one: ControllerDescriptor) -> None:
    watched = ControllerManager(Cluster.simulated(0).api, [one]).controller(one.name).handlers().keys()
    assert one.starts.keys() & watched  # the release may lack the gate of some


def running(cluster: Any) -> set[str]:
    return {controller.name for controller in cluster.controllers._running if controller is not None}


def test_a_kind_that_a_scene_lacks_has_no_controller() -> None:
    cluster = hollow()
    before = running(cluster)
    assert {"namespace-controller", "node-controller"} <= before
    assert "deployment-controller" not in before and "replicaset-controller" not in before
    cluster.apply(workload("ReplicaSet", "web", 1))
    assert running(cluster) == before | {"replicaset-controller"}


def test_a_controller_that_starts_late_knows_the_objects_that_were_there() -> None:
    cluster = hollow()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"app": "a"}},
        "spec": TEMPLATE["spec"],
    }
    cluster.apply(pod)
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}
    cluster.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": spec})
    assert [one.name for one in cluster.pods()] == ["p"]  # adopted, none is made
    assert cluster.pod("p").metadata.owner_references[0].name == "r"


def test_a_taint_that_evicts_starts_the_eviction() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": TEMPLATE["spec"]})
    assert "taint-eviction-controller" not in running(cluster)
    node = cluster.list("Node")[0].metadata.name
    cluster.patch("Node", node, {"spec": {"taints": [{"key": "gone", "effect": "NoExecute"}]}})
    assert "taint-eviction-controller" in running(cluster)
    cluster.advance(60)
    assert cluster.pods() == []
