"""The namespace for node pods: what it grants, and that its policy lets the kit's own pods through and no other."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.cel.compiler import Compiler
from kitlib.cel.library import ANY, budget
from kitlib.cel.parser import parse
from kitlib.cluster import Cluster
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.kubernetes.manifest import Owner, PodOptions, control_pod, node_pod
from kitlib.workshop.nodes_namespace import NodesNamespace

IMAGE = "registry.example/kitlib-node:1"
NAMESPACE = NodesNamespace(image=IMAGE, learners=10, nodes=2, cpus=2, memory="1Gi", deadline=3600)
OPTIONS = PodOptions(image=IMAGE, deadline=3600)
NODE = node_pod("p", "node-1", MachineInfo.declare(2, "1Gi"), OPTIONS, Owner("host/1:2"))
SYSTEMD = node_pod("p", "node-1", MachineInfo.declare(2, "1Gi"), OPTIONS, Owner("host/1:2"), systemd=True)
CONTROL = control_pod("p", OPTIONS, Owner("host/1:2"))


def refusals(pod: dict[str, Any]) -> list[str]:
    """What the policy says, as the API server evaluates it."""
    found = []
    for text, message in NAMESPACE.rules():
        _, run = Compiler(text).compiled(parse(text), {"object": ANY})
        budget.left = 10_000
        if run({"object": pod}) is not True:
            found.append(message)
    return found


@pytest.mark.parametrize("pod", [NODE, SYSTEMD, CONTROL], ids=["a node", "with systemd", "a control plane"])
def test_the_policy_lets_the_kits_own_pods_through(pod: dict[str, Any]) -> None:
    assert refusals(pod) == []


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda spec: spec["containers"].append({"name": "b", "image": IMAGE}), "one container"),
        (lambda spec: spec.update(initContainers=[{"name": "i", "image": IMAGE}]), "one container"),
        (lambda spec: spec["containers"][0].update(image="busybox"), f"only the image {IMAGE}"),
        (lambda spec: spec["containers"][0].update(command=["/bin/sh"]), "own program"),
        (lambda spec: spec["containers"][0]["args"].append("-c"), "own program"),
        (lambda spec: spec["volumes"].append({"name": "h", "hostPath": {"path": "/"}}), "no volumes"),
        (lambda spec: spec.update(hostNetwork=True), "no namespace of its machine's"),
        (lambda spec: spec.update(hostPID=True), "no namespace of its machine's"),
        (lambda spec: spec["containers"][0]["securityContext"].update(privileged=True), "not privileged"),
        (lambda spec: spec["containers"][0]["securityContext"].update(procMount="Unmasked"), "not privileged"),
        (
            lambda spec: spec["containers"][0]["securityContext"]["capabilities"]["add"].append("SYS_MODULE"),
            "the capabilities of a node at most",
        ),
        (lambda spec: spec.update(automountServiceAccountToken=True), "no service account token"),
        (lambda spec: spec.pop("activeDeadlineSeconds"), "ends after 3600 seconds"),
        (lambda spec: spec.update(activeDeadlineSeconds=86400), "ends after 3600 seconds"),
        (lambda spec: spec["containers"][0]["resources"]["limits"].pop("memory"), "limits of CPU and memory"),
    ],
)
def test_the_policy_refuses_any_other_pod(change: Change, says: str) -> None:
    pod = deepcopy(NODE)
    change(pod["spec"])
    (said,) = refusals(pod)
    assert says in said


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
        pod["spec"]["hostNetwork"] = True
        with pytest.raises(KitError, match=r"with binding 'kitlib-nodes' denied request: .*namespace of its machine's"):
            cluster.apply(pod)
        assert len(cluster.pods(NAMESPACE.name)) == 10 * 3


def test_the_rights_are_those_that_nodes_need_and_no_others() -> None:
    role, binding = (one for one in NAMESPACE.manifests() if one["kind"] in ("Role", "RoleBinding"))
    assert {rule["resources"][0]: rule["verbs"] for rule in role["rules"]} == {
        "pods": ["create", "get", "list", "delete"],
        "pods/attach": ["get", "create"],
        "pods/log": ["get"],
    }
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "kitlib-hub", "name": "kitlib-learner"}]


def test_the_command_prints_the_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--namespace", "rooms", "--node-image", IMAGE, "--learners", "200", "--for", "group:learners"]
    assert cli.main(["workshop", *words]) == 0
    found = {one["kind"]: one for one in yaml.safe_load_all(capsys.readouterr().out)}
    assert found["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert found["ResourceQuota"]["spec"]["hard"]["pods"] == "800"
    assert found["RoleBinding"]["subjects"][0]["name"] == "learners"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"learners": 0}, "learners: must be at least 1"),
        ({"memory": "much"}, "memory: "),
        ({"subjects": ("robot:x",)}, "subject 'robot:x'"),
    ],
)
def test_a_namespace_that_cannot_be_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(KitError, match=says):
        NodesNamespace(**wrong)
