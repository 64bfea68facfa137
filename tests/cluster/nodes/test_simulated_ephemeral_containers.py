"""Ephemeral containers, as `kubectl debug` adds them: they run in the pod's cgroup, once, and count for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import Invalid
from kitlib.api.serialize import from_dict, to_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster


def pod(**spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}}
    made = {"containers": [{"name": "c", "image": "x", "resources": resources}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": made}


def debug(cluster: SimulatedCluster, *containers: dict[str, Any]) -> Pod:
    data = to_dict(cluster.pod("a"))
    data["spec"]["ephemeralContainers"] = [{"image": "busybox", **one} for one in containers]
    found = cluster.api.update_ephemeral_containers(from_dict(data))
    cluster.settle()
    return found


@pytest.mark.parametrize("version", [1, 2])
def test_it_runs_in_a_cgroup_of_its_own_below_the_pods(version: int) -> None:
    cluster = Cluster.simulated(1, cgroup_version=version)
    cluster.apply(pod())
    before = cluster.node().tree()
    debug(cluster, {"name": "debug", "targetContainerName": "c"})
    node, observed = cluster.node(), cluster.node().tree()
    (made,) = set(observed) - set(before)
    above = node.desired().of_kind("pod")[0].path
    assert made.startswith(f"{above}/")
    assert {"debug", "c"} == {one.container for one in node.desired().of_kind("container")}
    shares = {1: ("cpu.shares", "2"), 2: ("cpu.weight", "1")}[version]
    limit = {1: "memory.limit_in_bytes", 2: "memory.max"}[version]
    assert node.read(made, shares[0]) == shares[1]
    assert node.read(made, limit) == {1: "9223372036854771712", 2: "max"}[version]
    assert node.read(above, limit) == str(128 * 2**20)
    assert node.differences() == []


def test_its_status_is_shown_apart_and_it_makes_no_pod_unready() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod())
    debug(cluster, {"name": "debug"})
    status = cluster.pod("a").status
    (shown,) = status.ephemeral_container_statuses
    assert "running" in shown.state
    assert (shown.ready, shown.started, shown.restart_count) == (False, None, 0)
    assert [one.name for one in status.container_statuses] == ["c"]
    assert {c.type: c.status for c in status.conditions}["Ready"] == "True"
    fields = [e.involved_object.field_path for e in cluster.events("a") if e.reason == "Started"]
    assert fields[-1] == "spec.ephemeralContainers{debug}"


def test_it_is_not_restarted_whatever_the_pods_policy_says() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod(restartPolicy="Always"))
    debug(cluster, {"name": "debug", "command": ["sh", "-c", "sleep 1; exit 3"]})
    cluster.advance(30)
    (shown,) = cluster.pod("a").status.ephemeral_container_statuses
    assert (shown.state["terminated"]["exitCode"], shown.restart_count) == (3, 0)
    assert cluster.pod("a").status.phase == "Running"
    assert cluster.node().differences() == []


def test_it_starts_while_an_init_container_fails_again_and_again() -> None:
    cluster = Cluster.simulated(1)
    init = {"name": "i", "image": "x", "command": ["false"]}
    cluster.apply(pod(initContainers=[init]))
    cluster.advance(5)
    debug(cluster, {"name": "debug", "command": ["sleep", "60"]})
    cluster.advance(5)
    assert "running" in cluster.pod("a").status.ephemeral_container_statuses[0].state
    assert cluster.pod("a").status.phase == "Pending"


def test_it_ends_with_its_pod() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod())
    debug(cluster, {"name": "one"}, {"name": "two"})
    cluster.delete("pod", "a", grace=1)
    cluster.advance(5)
    assert not cluster.pods()
    assert not cluster.node().desired().of_kind("container")
    assert cluster.node().differences() == []


@pytest.mark.parametrize(
    ("containers", "message"),
    [
        ([], 'existing ephemeral containers "debug" may not be removed'),
        ([{"name": "debug", "image": "other"}], 'existing ephemeral containers "debug" may not be changed'),
        (
            [{"name": "debug"}, {"name": "b", "resources": {"limits": {"cpu": "1"}}}],
            "spec.ephemeralContainers[1].resources: Forbidden: cannot be set for an Ephemeral Container",
        ),
        (
            [{"name": "debug"}, {"name": "b", "ports": [{"containerPort": 80}]}],
            "spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container",
        ),
        (
            [{"name": "debug"}, {"name": "b", "livenessProbe": {"exec": {"command": ["true"]}}}],
            "spec.ephemeralContainers[1].livenessProbe: Forbidden: cannot be set for an Ephemeral Container",
        ),
        (
            [{"name": "debug"}, {"name": "b", "lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}],
            "spec.ephemeralContainers[1].lifecycle: Forbidden: cannot be set for an Ephemeral Container",
        ),
        ([{"name": "debug"}, {"name": "c"}], 'spec.ephemeralContainers[1].name: Duplicate value: "c"'),
        (
            [{"name": "debug"}, {"name": "b", "targetContainerName": "none"}],
            'spec.ephemeralContainers[1].targetContainerName: Not found: "none"',
        ),
    ],
)
def test_what_is_refused_changes_nothing(containers: list[dict[str, Any]], message: str) -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod())
    debug(cluster, {"name": "debug"})
    before = cluster.pod("a").metadata.resource_version
    with pytest.raises(Invalid) as caught:
        debug(cluster, *containers)
    assert message in str(caught.value)
    assert cluster.pod("a").metadata.resource_version == before


def test_only_ephemeral_containers_change_through_the_subresource() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod())
    data = to_dict(cluster.pod("a"))
    data["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "busybox"}]
    data["spec"]["containers"][0]["image"] = "other"
    data["metadata"]["labels"] = {"x": "y"}
    made = cluster.api.update_ephemeral_containers(from_dict(data))
    assert (made.spec.containers[0].image, made.metadata.labels) == ("x", {})
    assert made.metadata.generation == 2
