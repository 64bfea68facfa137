"""Names made meaningless: whole names only, the same everywhere, also where they are joined to others."""

import json

import pytest

from kitlib.advisor.redact import Redactor, visible
from kitlib.study.scenario import node_of, pod_of
from tests.advisor.dumps import dump, node, pod


@pytest.fixture
def redactor():
    nodes = [
        node_of({"name": "worker", "labels": {"example.com/role": "front-end"}}),
        node_of({"name": "worker.west.example", "taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]}),
    ]
    return Redactor([*nodes, pod_of({"name": "shop-db", "namespace": "acme", "labels": {"app": "shop"}})])


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("it goes to worker", "it goes to node-1"),
        ("it goes to worker.", "it goes to node-1."),
        ("worker, worker.west.example", "node-1, node-2"),
        ("worker-2 is another", "worker-2 is another"),
        ("my-worker is another", "my-worker is another"),
        ("acme/shop-db", "namespace-1/pod-1"),
        ("worker.west", "node-1.west"),
        ("add a node like worker: it goes to worker-more", "add a node like node-1: it goes to node-1-more"),
        ("had untolerated taint {team: blue}", "had untolerated taint {key-2: value-2}"),
        ("drop nodeSelector example.com/role=front-end", "drop nodeSelector key-1=value-1"),
        ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("0/3 nodes are available: 3 Insufficient cpu.", "0/3 nodes are available: 3 Insufficient cpu."),
    ],
)
def test_whole_names_give_way(redactor, text, hidden):
    assert redactor.text(text) == hidden


def test_without_names_nothing_changes():
    assert Redactor([]).text("worker goes") == "worker goes"


def test_names_that_a_pod_refers_to_are_hidden_although_their_objects_were_not_read() -> None:
    spec = {
        "priorityClassName": "payroll-first",
        "priority": 7,
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "payroll-data"}}],
        "containers": [{"name": "payroll-app", "image": "registry.acme.example/payroll:1"}],
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "payroll-7d9", "uid": "u", "controller": True}
    listed = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
    found = dump(node("n1"), pod("p", spec=spec, meta={"ownerReferences": [owner]}), listed=listed)
    hidden = Redactor(found.objects)
    text = "payroll-app of payroll-7d9 waits for payroll-data: registry.acme.example/payroll:1 payroll-first"
    assert "payroll" not in hidden.text(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b]0;x\x07b", "a\\u001b]0;x\\u0007b"), ("abc\u202edef", "abc\\u202edef"), ("a\n\tb é", "a\n\tb é")],
    ids=["escape sequence", "direction", "plain"],
)
def test_texts_of_a_cluster_cannot_control_the_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text
