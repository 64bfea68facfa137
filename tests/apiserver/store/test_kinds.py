"""Tests of the storage for each group and resource: kinds and plurals that built-in kinds or other groups have too."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.apiserver.admission.custom.definitions import custom, definition
from tests.controllers.builders import hollow, pod, workload

FOREIGN = [
    ("jobs", "Job", "batch.volcano.sh"),
    ("services", "Service", "serving.knative.dev"),
    ("pods", "Pod", "metrics.example.com"),
    ("nodes", "Node", "example.com"),
    ("replicasets", "ReplicaSet", "example.com"),
    ("persistentvolumeclaims", "PersistentVolumeClaim", "example.com"),
    ("events", "Event", "example.com"),
    ("storageclasses", "StorageClass", "example.com"),
]


@pytest.fixture
def cluster() -> Any:
    with Cluster.simulated(1) as made:
        yield made


def test_custom_kinds_of_one_plural_are_kept_apart(cluster: Any) -> None:
    groups = ("scheduling.volcano.sh", "scheduling.x-k8s.io")
    cluster.apply([definition("podgroups", "PodGroup", group) for group in groups])
    cluster.apply([custom("PodGroup", group, "pg", spec={"of": group}) for group in groups])
    for group in groups:
        found = cluster.get(f"podgroups.{group}", "pg")
        assert found.unknown_fields["spec"] == {"of": group}
    cluster.delete(f"podgroups.{groups[1]}", "pg")
    assert [one.name for one in cluster.list(f"podgroups.{groups[0]}")] == ["pg"]
    assert cluster.list(f"podgroups.{groups[1]}") == []


def test_objects_that_are_called_like_built_in_ones_reach_no_controller_and_no_scheduler() -> None:
    """Knative's Service, in place of the core one, stopped the scheduler for good."""
    cluster = hollow()
    cluster.apply([definition(plural, kind, group) for plural, kind, group in FOREIGN])
    cluster.apply([workload("Deployment", replicas=1)])
    odd = [custom(kind, group, "web", spec="odd", status=[1]) for _, kind, group in FOREIGN]
    cluster.apply(odd)
    cluster.apply(pod("later"))
    cluster.advance(60)
    assert all(one.spec.node_name for one in cluster.pods())
    assert not [one for one in cluster.list("Event") if one.reason in ("InternalError", "FailedScheduling")]
    for plural, _, group in FOREIGN:
        assert [one.name for one in cluster.list(f"{plural}.{group}")] == ["web"]
        assert "web" not in [one.name for one in cluster.list(plural)]
    cluster.delete("services.serving.knative.dev", "web")
    assert cluster.list("services.serving.knative.dev") == []


def test_the_plural_of_a_kind_is_what_its_definition_says(cluster: Any) -> None:
    cluster.apply(definition("datasheep", "DataSheep", "example.com"))
    cluster.apply(custom("DataSheep", "example.com"))
    assert [one.name for one in cluster.list("datasheep")] == ["x"]
    assert [one.name for one in cluster.list("DataSheep")] == ["x"]
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    cluster.apply({**quota, "spec": {"hard": {"count/datasheep.example.com": "1"}}})
    assert str(cluster.get("ResourceQuota", "q").status.used["count/datasheep.example.com"]) == "1"
    with pytest.raises(Exception, match=r"exceeded quota: q, requested: count/datasheep\.example\.com=1"):
        cluster.apply(custom("DataSheep", "example.com", "y"))


def test_a_kind_is_unknown_again_when_its_definition_has_not_been_stored(cluster: Any) -> None:
    with pytest.raises(Exception, match="no matches for kind"):
        cluster.apply([definition("lakes", "Lake", "example.com"), custom("Sea", "example.com")])
    with pytest.raises(LookupError, match="doesn't have a resource type 'lakes'"):
        cluster.list("lakes")
