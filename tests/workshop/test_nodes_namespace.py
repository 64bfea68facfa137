"""The namespace for node pods: the granted rights and the bounds (the policy itself: test_node_pod_policy)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.kubernetes.manifest import PodOptions, PodOwner, node_pod
from kitlib.workshop.nodes_namespace import NodesNamespace

IMAGE = "registry.example/kitlib-node:1"
NAMESPACE = NodesNamespace(image=IMAGE, nodes=2, cpus=2, memory="1Gi", deadline=3600)
OPTIONS = PodOptions(image=IMAGE, deadline=3600, machines="required")
NODE = node_pod("p", "node-1", MachineInfo.declare(2, "1Gi"), OPTIONS, PodOwner("host/1:2"))


def test_the_namespace_bounds_what_its_pods_use_and_takes_nodes_up_to_the_last() -> None:
    """The kit's own API server obeys the quota and the limits, and its nodes' pods fit into them exactly."""
    kinds = (
        "Namespace",
        "ResourceQuota",
        "LimitRange",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    )
    with Cluster.simulated(0) as cluster:
        cluster.apply([one for one in NAMESPACE.manifests() if one["kind"] in kinds])
        for number in range(NAMESPACE.pods):
            pod = deepcopy(NODE)
            pod["metadata"] |= {"name": f"kitlib-{number}", "namespace": NAMESPACE.name}
            cluster.apply(pod)
        pod["metadata"]["name"] = "one-too-many"
        with pytest.raises(KitError, match="exceeded quota: kitlib-nodes"):
            cluster.apply(pod)
        with pytest.raises(KitError, match="minimum memory usage per Container is 1Mi, but request is 0"):
            evil = deepcopy(pod)
            for kind in ("limits", "requests"):
                evil["spec"]["containers"][0]["resources"][kind] |= {"memory": "0"}
            cluster.apply(evil)
        pod["spec"]["hostNetwork"] = True
        with pytest.raises(KitError, match=r"with binding 'kitlib-nodes' denied request: .*own network namespace"):
            cluster.apply(pod)
        assert len(cluster.pods(NAMESPACE.name)) == 3


def test_the_rights_are_those_that_nodes_need_and_no_others() -> None:
    role, binding = (one for one in NAMESPACE.manifests() if one["kind"] in ("Role", "RoleBinding"))
    assert {rule["resources"][0]: rule["verbs"] for rule in role["rules"]} == {
        "pods": ["create", "get", "list", "delete"],
        "pods/attach": ["get", "create"],
        "pods/log": ["get"],
    }
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "kitlib-hub", "name": "kitlib-learner"}]


def test_the_command_prints_the_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--namespace", "rooms", "--node-image", IMAGE, "--nodes", "7", "--for", "group:learners"]
    assert cli.main(["workshop", *words]) == 0
    found = {one["kind"]: one for one in yaml.safe_load_all(capsys.readouterr().out)}
    assert found["Namespace"]["metadata"]["name"] == "rooms" and "ServiceAccount" not in found
    assert found["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert found["ResourceQuota"]["spec"]["hard"]["pods"] == "8"
    assert found["RoleBinding"]["subjects"][0]["name"] == "learners"


def test_each_seat_of_a_hub_has_an_account_and_a_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    """A learner can neither read nor delete the nodes of another one."""
    assert cli.main(["workshop", "--namespace", "rooms", "--learners", "3", "--hub", "class"]) == 0
    found = list(yaml.safe_load_all(capsys.readouterr().out))
    spaces = [one["metadata"]["name"] for one in found if one["kind"] == "Namespace"]
    assert spaces == [f"rooms-{number}" for number in range(1, 6)]  # three learners, and two in reserve
    accounts = [one["metadata"] for one in found if one["kind"] == "ServiceAccount"]
    assert accounts == [{"name": f"kitlib-learner-{number}", "namespace": "class"} for number in range(1, 6)]
    bound = {one["metadata"]["namespace"]: one["subjects"] for one in found if one["kind"] == "RoleBinding"}
    assert [[one["name"] for one in bound[space]] for space in spaces] == [[one["name"]] for one in accounts]
    labels = [one["metadata"]["labels"]["kitlib.dev/node-pods"] for one in found if one["kind"] == "Namespace"]
    assert labels == ["rooms"] * 5
    selectors = [
        one["spec"]["matchConstraints"]["namespaceSelector"]
        for one in found
        if one["kind"] == "ValidatingAdmissionPolicy"
    ]
    assert selectors == [{"matchLabels": {"kitlib.dev/node-pods": "rooms"}}] * 4


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"nodes": 0}, "nodes: must be at least 1"),
        ({"subjects": ()}, "subjects: must have at least one"),
        ({"memory": "much"}, "memory: "),
        ({"subjects": ("robot:x",)}, "subject 'robot:x'"),
    ],
)
def test_a_namespace_that_cannot_be_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(KitError, match=says):
        NodesNamespace(**wrong)
