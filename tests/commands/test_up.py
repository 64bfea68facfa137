"""`kitlib up` takes KubeletConfigurations and machines from files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.commands import up

CONFIGURATION = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
maxPods: 17
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: nginx}]}
"""
MACHINES = """
- {name: big, cpus: 8, memory: 16Gi, labels: {zone: a}}
- {name: small, cpus: 2, memory: 2Gi, kubelet: {maxPods: 5}}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: third, labels: {zone: c}}
status: {capacity: {cpu: "3", memory: 3Gi, pods: "9"}}
"""


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    up.add(parser.add_subparsers())
    return parser.parse_args(["up", *arguments])


def offered(cluster: Any, resource: str) -> dict[str, str]:
    return {node.name: str(node.status.allocatable[resource]) for node in cluster.nodes}


@pytest.mark.parametrize("among_manifests", [True, False])
def test_a_kubelet_configuration_holds_for_all_nodes(tmp_path: Path, among_manifests: bool) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(f"{POD}---{CONFIGURATION}" if among_manifests else CONFIGURATION)
    arguments = [str(file)] if among_manifests else ["--kubelet-config", str(file)]
    with up._cluster(options("--nodes", "2", *arguments)) as cluster:
        assert offered(cluster, "pods") == {"node-1": "17", "node-2": "17"}
        assert '"static' in cluster.node("node-1").checkpoint().replace("\\", "")


def test_the_configuration_is_no_object_of_the_cluster(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(f"{POD}---{CONFIGURATION}")
    objects = up._objects(str(file))
    assert objects is not None
    assert [one["kind"] for one in objects] == ["Pod"]
    file.write_text(POD)
    assert up._objects(str(file)) is None  # applied as it is


def test_machines_are_made_as_a_file_says(tmp_path: Path) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(f"{MACHINES}---{NODE}")
    with up._cluster(options("--machines", str(file))) as cluster:
        assert offered(cluster, "pods") == {"big": "110", "small": "5", "third": "9"}
        assert [node.metadata.labels.get("zone") for node in cluster.nodes] == ["a", None, "c"]


def test_two_configurations_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(f"{CONFIGURATION}---{CONFIGURATION}")
    with pytest.raises(KitError, match="KubeletConfiguration: only one is allowed for all nodes, got 2 in"):
        up._kubelet_configuration(options("--kubelet-config", str(file)))


def test_a_machine_must_be_a_specification_or_a_node(tmp_path: Path) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(POD)
    with pytest.raises(KitError, match="must be a list of nodes or Node manifests"):
        up._machines(str(file))


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


def test_components_that_another_program_runs_are_left_out() -> None:
    manager, scheduler = up.COMPONENTS
    with up._cluster(options("--without", manager)) as cluster:
        cluster.apply(DEPLOYMENT)
        cluster.apply(POD)
        cluster.apply(DEFINITION)
        cluster.advance(5)
        assert cluster.list("ReplicaSet") == []
        assert [pod.status.phase for pod in cluster.list("Pod")] == ["Running"]
        conditions = cluster.get("CustomResourceDefinition", "things.example.com").status.conditions
        assert {"Established", "NamesAccepted"} <= {
            one.type for one in conditions
        }  # of the API server, not of the manager
    with up._cluster(options("--without", scheduler)) as cluster:
        cluster.apply(DEPLOYMENT)
        cluster.advance(5)
        assert [(pod.status.phase, pod.spec.node_name) for pod in cluster.list("Pod")] == [("Pending", "")]
