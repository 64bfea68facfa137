"""A cluster that is served has the Service by which pods of a real one reach the API server; others have none."""

from __future__ import annotations

from kitlib.api.core import Endpoints, Service
from kitlib.api.networking import EndpointSlice
from kitlib.cluster import Cluster


def test_a_served_cluster_has_it_once_and_its_controllers_leave_it_alone() -> None:
    with Cluster.simulated(1) as cluster:
        assert cluster.api.store.list(Service) == []
        for _ in range(2):
            cluster.api.enable_service_accounts("00" * 32, "-----BEGIN CERTIFICATE-----")
            cluster.advance(60)
        (service,) = cluster.api.store.list(Service)
        assert (service.key, service.spec.cluster_ip) == ("default/kubernetes", "10.96.0.1")
        assert service.spec.ports[0].port == 443
        (endpoints,) = cluster.api.store.list(Endpoints)
        (piece,) = cluster.api.store.list(EndpointSlice)
        (subset,) = endpoints.subsets
        assert [one.ip for one in subset.addresses] == piece.endpoints[0].addresses == ["172.18.0.1"]
        assert piece.ports[0].port == subset.ports[0].port == 6443
        assert piece.metadata.labels["kubernetes.io/service-name"] == "kubernetes"
