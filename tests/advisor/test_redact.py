"""Names made meaningless: whole names only, the same everywhere, also where they are joined to others."""

import pytest

from kitlib.advisor.redact import Redactor
from kitlib.study.scenario import node_of, pod_of


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
