"""Endpoints and EndpointSlices of Services, by the addresses of the selected pods."""

from __future__ import annotations

from tests.cluster.controllers.builders import hollow, pod

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
}


def with_addresses(*ready: bool):
    cluster = hollow()
    container = {"name": "c", "image": "app:1", "ports": [{"name": "http", "containerPort": 8080}]}
    cluster.apply([SERVICE, *(pod(f"p{i}", containers=[container]) for i in range(len(ready))), pod("other", "x")])
    for i, state in enumerate(ready):
        found = cluster.pod(f"p{i}")
        found.status.pod_ip = f"10.0.0.{i + 1}"
        for condition in found.status.conditions:
            condition.status = str(state)
        cluster.api.update_status(found)
    cluster.settle()
    return cluster


def test_ready_and_unready_addresses_and_named_ports():
    (subset,) = with_addresses(True, False).get("endpoints", "web").subsets
    assert [one.ip for one in subset.addresses] == ["10.0.0.1"]
    assert [one.ip for one in subset.not_ready_addresses] == ["10.0.0.2"]
    assert [(port.name, port.port, port.protocol) for port in subset.ports] == [("http", 8080, "TCP")]


def test_a_slice_lists_every_endpoint_with_its_conditions():
    (found,) = with_addresses(True, False).list("EndpointSlice")
    states = {one.addresses[0]: (one.conditions.ready, one.conditions.serving) for one in found.endpoints}
    assert states == {"10.0.0.1": (True, True), "10.0.0.2": (False, False)}
    assert found.metadata.labels["kubernetes.io/service-name"] == "web"


def test_pods_without_an_address_are_no_endpoints():
    cluster = hollow()
    cluster.apply([SERVICE, {**pod("a"), "spec": {**pod("a")["spec"], "schedulingGates": [{"name": "wait"}]}}])
    assert cluster.get("endpoints", "web").subsets == []
    assert [one.endpoints for one in cluster.list("EndpointSlice")] == [[]]


def test_both_go_with_the_service():
    cluster = with_addresses(True)
    cluster.delete("Service", "web")
    assert cluster.list("Endpoints") == [] and cluster.list("EndpointSlice") == []


def test_every_namespace_has_its_default_service_account():
    cluster = hollow()
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    assert cluster.get("sa", "default", "shop").name == "default"
    cluster.delete("sa", "default", "shop")
    assert cluster.get("sa", "default", "shop").name == "default"
