"""Leases that are computed when they are read."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

NAMESPACE = "kube-node-lease"


def renewals(cluster: Any) -> dict[str, float]:
    """Return of each node how many seconds ago its Lease was renewed."""
    found = cluster.list("Lease", NAMESPACE)
    return {one.name: (cluster.now() - one.spec.renew_time).total_seconds() for one in found}


@pytest.mark.parametrize("kubelets", [True, False], ids=["simulated", "hollow"])
def test_each_node_has_a_lease_as_a_kubelet_writes_it(kubelets: bool) -> None:
    cluster = Cluster.simulated(2, kubelets=kubelets)
    cluster.advance(27)
    assert renewals(cluster) == {"node-1": 7.0, "node-2": 7.0}
    lease, node = cluster.get("Lease", "node-1", NAMESPACE), cluster.get("Node", "node-1")
    assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("node-1", 40)
    (owner,) = lease.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid) == ("Node", "node-1", node.metadata.uid)
    cluster.add_nodes(1)
    cluster.advance(5)
    assert renewals(cluster) == {"node-1": 2.0, "node-2": 2.0, "node-3": 5.0}


def test_a_renewal_that_nobody_reads_is_no_change() -> None:
    cluster = Cluster.simulated(3)
    cluster.advance(1)
    version = cluster.api.store.version
    cluster.advance(300)
    cluster.list("Node"), cluster.list("Pod")
    assert cluster.api.store.version == version


def test_reading_gives_a_new_version_only_after_a_renewal() -> None:
    cluster = Cluster.simulated(1)
    first = cluster.get("Lease", "node-1", NAMESPACE)
    cluster.advance(9)
    assert cluster.get("Lease", "node-1", NAMESPACE) == first
    cluster.advance(1)
    second = cluster.get("Lease", "node-1", NAMESPACE)
    assert int(second.metadata.resource_version) > int(first.metadata.resource_version)
    assert second.metadata.uid == first.metadata.uid


@pytest.mark.parametrize("kind", ["Lease", None], ids=["of leases", "of all kinds"])
def test_a_watch_sees_renewals(kind: str | None) -> None:
    cluster = Cluster.simulated(1)
    cluster.list("Lease")
    watch = cluster.watch(kind)
    for _ in range(3):
        cluster.advance(10)
        (event,) = [event for event in watch if event.object.kind == "Lease"]
        assert (event.type, event.object.spec.renew_time) == ("MODIFIED", cluster.now())
    assert list(watch) == []


def test_a_lease_goes_with_its_node_and_comes_again_where_it_alone_is_deleted() -> None:
    cluster = Cluster.simulated(2)
    before = cluster.get("Lease", "node-1", NAMESPACE)
    cluster.delete("Lease", "node-1", NAMESPACE)
    again = cluster.get("Lease", "node-1", NAMESPACE)
    assert again.metadata.uid != before.metadata.uid
    cluster.delete("Node", "node-1")
    cluster.advance(1)
    assert set(renewals(cluster)) == {"node-2"}


def test_reading_leases_changes_nothing_else() -> None:
    """UIDs and generated names are the same as in a cluster without readers."""

    def made(look: bool) -> list[str]:
        cluster = Cluster.simulated(2, seed=3)
        if look:
            cluster.list("Lease")
        cluster.advance(30)
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        cluster.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w"}, "spec": spec})
        return [f"{pod.name} {pod.metadata.uid}" for pod in cluster.pods()]

    assert made(look=True) == made(look=False)


def test_a_dry_run_leaves_no_renewal() -> None:
    cluster = Cluster.simulated(1)
    cluster.list("Lease")
    cluster.advance(10)
    version = cluster.api.store.version
    with cluster.api.dry_run():
        cluster.api.store.list("Lease")
    assert cluster.api.store.version == version
    assert renewals(cluster) == {"node-1": 0.0}
