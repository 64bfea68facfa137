"""Deployments: rollouts, proportional scaling, revisions, conditions, the progress deadline."""

from __future__ import annotations

import pytest

from kitlib.api.apps import Deployment, ReplicaSet
from kitlib.api.serialize import from_dict
from kitlib.controllers.deployment.util import (
    MAX_REPLICAS,
    get_proportion,
    new_rs_new_replicas,
    resolve_fenceposts,
)
from tests.controllers.builders import conditions, hollow, image, names, told, workload


def deployment(replicas: int, surge: int | str = "25%", unavailable: int | str = "25%") -> Deployment:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    found: Deployment = from_dict(workload("Deployment", replicas=replicas, strategy=strategy), Deployment)
    return found


def replica_set(replicas: int, before: int = 0) -> ReplicaSet:
    found: ReplicaSet = from_dict(workload("ReplicaSet", replicas=replicas), ReplicaSet)
    if before:
        found.metadata.annotations[MAX_REPLICAS] = str(before)
    return found


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "pods"),
    [
        (10, "25%", "25%", (3, 2)),
        (3, "25%", "25%", (1, 0)),
        (4, 0, "50%", (0, 2)),
        (1, "0%", "25%", (0, 1)),
        (5, 2, 0, (2, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailable_down_and_both_are_never_zero(replicas, surge, unavailable, pods):
    assert resolve_fenceposts(deployment(replicas, surge, unavailable)) == pods


@pytest.mark.parametrize(
    ("replicas", "surge", "new", "old", "size"),
    [
        (10, 0, 0, 10, 0),
        (10, 2, 0, 10, 2),
        (10, 2, 0, 8, 4),
        (10, 20, 6, 0, 10),
        (5, 2, 2, 7, 2),
    ],
)
def test_the_new_set_grows_as_far_as_the_surge_allows(replicas, surge, new, old, size):
    newest = replica_set(new)
    assert new_rs_new_replicas(deployment(replicas, surge), [newest, replica_set(old)], newest) == size


@pytest.mark.parametrize(
    ("size", "before", "replicas", "to_add", "added", "share"),
    [
        (5, 10, 20, 10, 0, 5),  # twice as many pods in all: this set's part of them
        (3, 10, 20, 10, 8, 2),  # no more than is left to add
        (6, 12, 6, -6, 0, -3),
        (4, 10, 0, -10, 0, -4),
        (0, 10, 20, 10, 0, 0),
    ],
)
def test_a_set_gets_its_share_of_the_pods_to_add_or_remove(size, before, replicas, to_add, added, share):
    assert get_proportion(replica_set(size, before), deployment(replicas, 0), to_add, added) == share


def test_scaling_in_the_middle_of_a_rollout_is_spread_over_old_and_new_sets():
    cluster = hollow(1, cpus=4)
    request = {"requests": {"cpu": "500m"}}
    spec = workload("Deployment", replicas=4, strategy={"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}})
    spec["spec"]["template"]["spec"]["containers"][0]["resources"] = request
    cluster.apply([spec])
    # The new version does not fit anywhere, so the rollout is stuck with 3 old and 3 new pods.
    patch = image(2)
    patch["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9"}}
    cluster.patch("Deployment", "web", patch)
    sizes = [one.spec.replicas for one in cluster.list("ReplicaSet")]
    assert sizes == [3, 3]
    cluster.scale("Deployment", "web", 8)
    assert [one.spec.replicas for one in cluster.list("ReplicaSet")] == [5, 5]


def test_a_rollout_numbers_revisions_keeps_conditions_and_forgets_old_sets():
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=2, revisionHistoryLimit=1)])
    for tag in (2, 3):
        cluster.patch("Deployment", "web", image(tag))
    found = cluster.get("Deployment", "web")
    assert found.metadata.annotations["deployment.kubernetes.io/revision"] == "3"
    assert conditions(found.status) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    assert len(cluster.list("ReplicaSet")) == 2
    cluster.patch("Deployment", "web", image(2))
    back = next(one for one in cluster.list("ReplicaSet") if one.spec.replicas)
    assert back.metadata.annotations["deployment.kubernetes.io/revision"] == "4"
    assert back.metadata.annotations["deployment.kubernetes.io/revision-history"] == "2"


def test_a_deployment_that_does_not_progress_in_time_says_so():
    cluster = hollow(1, cpus=1)
    spec = workload("Deployment", replicas=1, progressDeadlineSeconds=20)
    spec["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    cluster.apply([spec])
    cluster.advance(15)
    assert conditions(cluster.get("Deployment", "web").status)["Progressing"] == ("True", "ReplicaSetUpdated")
    cluster.advance(15)
    status = cluster.get("Deployment", "web").status
    assert conditions(status)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    assert conditions(status)["Available"] == ("False", "MinimumReplicasUnavailable")


def test_a_paused_deployment_counts_no_updated_pods_and_rolls_when_it_is_resumed():
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=3)])
    cluster.patch("Deployment", "web", {"spec": {"paused": True}})
    cluster.patch("Deployment", "web", image(2))
    status = cluster.get("Deployment", "web").status
    assert conditions(status)["Progressing"] == ("Unknown", "DeploymentPaused")
    assert "updatedReplicas" not in status and status["replicas"] == 3
    cluster.patch("Deployment", "web", {"spec": {"paused": None}})
    status = cluster.get("Deployment", "web").status
    assert status["updatedReplicas"] == 3 and conditions(status)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_recreate_starts_the_new_set_silently_when_the_old_pods_are_gone():
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=2, strategy={"type": "Recreate"})])
    cluster.patch("Deployment", "web", image(2))
    scaled = [message.split(" replica set")[0] for reason, message in told(cluster, "Deployment")]
    assert scaled == ["Scaled up", "Scaled down", "Scaled up"]
    assert {one.spec.containers[0].image for one in cluster.pods()} == {"app:2"}


def test_a_refused_pod_is_a_replica_failure_of_the_deployment():
    cluster = hollow()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    cluster.apply([quota, workload("Deployment", replicas=2)])
    assert conditions(cluster.get("Deployment", "web").status)["ReplicaFailure"] == ("True", "FailedCreate")


@pytest.mark.parametrize(("release", "counted"), [("1.34", [None, None]), (None, [1, 1])])
def test_pods_on_their_way_out_are_counted(release: str | None, counted: list[int | None]) -> None:
    """The rule of DeploymentReplicaSetTerminatingReplicas; without any such pod the count is 0, not left out."""
    cluster = hollow(1, release=release)
    cluster.apply(workload("Deployment", replicas=2))
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    cluster.patch("Pod", names(cluster)[0], held)
    cluster.advance(1)

    def terminating() -> list[int | None]:
        return [cluster.list(kind)[0].status.get("terminatingReplicas") for kind in ("ReplicaSet", "Deployment")]

    assert terminating() == [None if one is None else 0 for one in counted]
    cluster.delete("Pod", names(cluster)[0])
    cluster.advance(60)
    assert len(cluster.pods()) == 3
    assert terminating() == counted
