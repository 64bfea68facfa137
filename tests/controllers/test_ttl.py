"""The larger a cluster, the longer its kubelets keep what they have read."""

from __future__ import annotations

from kitlib.controllers.ttl import ANNOTATION
from tests.controllers.builders import hollow


def test_the_annotation_follows_the_number_of_nodes() -> None:
    cluster = hollow(100)

    def seconds(name: str) -> str:
        return cluster.get("Node", name).metadata.annotations[ANNOTATION]

    assert seconds("node-1") == "0"
    cluster.add_nodes([{"name": "one-more"}])
    assert seconds("one-more") == "15"
    assert seconds("node-1") == "0", "a node is looked at when it changes"
    cluster.patch("Node", "node-1", {"metadata": {"annotations": {ANNOTATION: "7"}}})
    assert seconds("node-1") == "15"
    for number in range(2, 13):
        cluster.delete("Node", f"node-{number}")
    cluster.patch("Node", "node-1", {"metadata": {"labels": {"a": "b"}}})
    assert seconds("node-1") == "15", "with 90 nodes the larger limit still holds"
    cluster.delete("Node", "node-13")
    cluster.patch("Node", "node-1", {"metadata": {"labels": {"a": "c"}}})
    assert seconds("node-1") == "0"
