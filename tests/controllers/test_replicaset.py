"""ReplicaSets and ReplicationControllers: adoption, release, which pods go, retries."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.controllers.pods_to_delete import POD_DELETION_COST, ranked_for_deletion
from tests.controllers.builders import hollow, names, pod, template, told, workload

NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


def made(name: str, node: str = "n1", phase: str = "Running", ready: bool = True, **more: object) -> Pod:
    since = (NOW - timedelta(seconds=float(str(more.get("since", 1000))))).isoformat()
    state = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
    restarts = [{"name": "c", "restartCount": more.get("restarts", 0)}]
    meta = {"name": name, "uid": name, "annotations": {POD_DELETION_COST: str(more.get("cost", 0))}}
    status = {"phase": phase, "conditions": [state], "containerStatuses": restarts}
    data = {"metadata": meta, "spec": {"nodeName": node}, "status": status}
    found: Pod = from_dict(data, Pod)
    return found


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param(made("a", node=""), made("b"), id="without a node before with one"),
        pytest.param(made("a", phase="Pending"), made("b", phase="Unknown"), id="Pending before Unknown"),
        pytest.param(made("a", phase="Unknown"), made("b"), id="Unknown before Running"),
        pytest.param(made("a", ready=False), made("b"), id="not ready before ready"),
        pytest.param(made("a", cost=-1), made("b", cost=5), id="lower cost first"),
        pytest.param(made("a", since=10), made("b", since=9000), id="ready for a shorter time, by magnitude"),
        pytest.param(made("a", restarts=3), made("b", restarts=1), id="more restarts first"),
        pytest.param(made("a", ready=False, cost=9), made("b", cost=-9), id="readiness counts more than cost"),
    ],
)
def test_which_pod_is_deleted_first(first: Pod, last: Pod) -> None:
    for pods in ([first, last], [last, first]):
        assert [one.name for one in ranked_for_deletion(pods, pods, NOW)] == [first.name, last.name]


def test_the_node_with_more_pods_of_the_same_owner_loses_one_first() -> None:
    pods = [made("a", node="n1"), made("b", node="n2"), made("c", node="n2")]
    assert ranked_for_deletion(pods, pods, NOW)[-1].name == "a"


def test_pods_that_match_are_adopted_counted_and_released_again() -> None:
    cluster = hollow()
    cluster.apply([pod("bare"), workload("ReplicaSet", replicas=2)])
    assert len(cluster.pods()) == 2
    assert [ref.name for ref in cluster.pod("bare").metadata.owner_references] == ["web"]
    cluster.patch("Pod", "bare", {"metadata": {"labels": {"app": "other"}}})
    assert cluster.pod("bare").metadata.owner_references == []
    assert len(cluster.pods()) == 3, "the released pod is replaced"


def test_surplus_adopted_pods_are_deleted() -> None:
    cluster = hollow()
    cluster.apply([pod("a"), pod("b"), pod("c"), workload("ReplicaSet", replicas=1)])
    assert len(cluster.pods()) == 1


def test_a_replication_controller_keeps_its_pods_and_its_typed_status() -> None:
    cluster = hollow()
    spec = {"replicas": 2, "selector": {"app": "old"}, "template": template("old")}
    cluster.apply([{"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old"}, "spec": spec}])
    cluster.delete("Pod", names(cluster)[0])
    status = cluster.get("rc", "old").status
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (2, 2, 2)


def test_min_ready_seconds_delay_availability() -> None:
    cluster = hollow()
    cluster.apply([workload("ReplicaSet", replicas=1, minReadySeconds=10)])
    assert "availableReplicas" not in cluster.get("rs", "web").status
    cluster.advance(11)
    assert cluster.get("rs", "web").status["availableReplicas"] == 1


def test_refused_pods_are_tried_again_and_their_events_are_combined() -> None:
    cluster = hollow()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    cluster.apply([quota, workload("ReplicaSet", replicas=3)])
    cluster.advance(600)
    refused = [message for reason, message in told(cluster, "ReplicaSet") if reason == "FailedCreate"]
    combined = Counter(message.startswith("(combined from similar events): ") for message in refused)
    assert combined == {False: 9, True: 1}
    assert all("is forbidden: exceeded quota: q, requested: pods=1" in message for message in refused)
    assert refused[0].startswith('Error creating: pods "web-')
