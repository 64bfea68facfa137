"""The cluster of the measurements in which no two pods are alike."""

from __future__ import annotations

import json

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.scheduler.incremental.batch import OpportunisticBatch
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.unlike_pods import node_manifest, pod_manifest, printed


def _pod(i: int) -> Pod:
    return from_dict(pod_manifest(i), Pod)


def test_no_two_pods_have_the_same_requests_labels_affinity_or_tolerations() -> None:
    specs = [pod_manifest(i)["spec"] for i in range(200)]
    assert len({json.dumps(spec["containers"]) for spec in specs}) == 200
    assert len({json.dumps(spec["affinity"]["nodeAffinity"]) for spec in specs}) == 200
    assert len({json.dumps(spec["tolerations"]) for spec in specs}) == 200
    assert len({json.dumps(pod_manifest(i)["metadata"]["labels"]) for i in range(200)}) == 200


def test_the_batch_knows_none_of_them_from_an_earlier_one() -> None:
    scheduler = Scheduler([from_dict(node_manifest(i, 3), Node) for i in range(20)])
    batch = OpportunisticBatch(scheduler.context)
    assert [batch.like(_pod(i), scheduler.profile) for i in range(120)] == [None] * 120
    again = deepcopy(_pod(0))
    again.metadata.name = "again"
    assert batch.like(again, scheduler.profile) is not None


def test_each_of_them_is_kept_from_some_nodes_and_has_a_choice_among_others() -> None:
    scheduler = Scheduler([from_dict(node_manifest(i, 3), Node) for i in range(100)])
    for i in range(60):
        decision = scheduler.schedule(_pod(i))
        assert decision.suggested_host, decision.message
        assert 1 < len(decision.feasible) < 90


def test_a_printed_pod_has_the_size_of_one_that_kubectl_prints() -> None:
    manifest = printed(pod_manifest(3, node="node-00001"))
    assert len(json.dumps(manifest)) > 4_000
    pod: Pod = from_dict(manifest, Pod)
    assert (pod.status.phase, pod.spec.node_name, pod.spec.affinity) == ("Running", "node-00001", _pod(3).spec.affinity)
