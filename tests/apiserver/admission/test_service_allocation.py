"""Services get addresses and node ports, keep them over updates, and may not take those of others."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from kitlib.api.core import Service
from kitlib.api.errors import Invalid
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.validation.service import NODE_PORTS, SERVICE_CIDR
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster


def service(name: str, **spec: Any) -> Service:
    body = {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}
    found: Service = from_dict(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": body},
        Service,
    )
    return found


@pytest.fixture
def cluster() -> SimulatedCluster:
    return Cluster.simulated(1, kubelets=False)


def made(cluster: SimulatedCluster, name: str, **spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = to_dict(cluster.api.create(service(name, **spec)))["spec"]
    return found


def test_a_service_gets_an_address_of_the_range_and_its_family(cluster: SimulatedCluster) -> None:
    found = made(cluster, "web")
    assert ipaddress.ip_address(found["clusterIP"]) in SERVICE_CIDR
    assert found["clusterIPs"] == [found["clusterIP"]]
    assert (found["ipFamilies"], found["ipFamilyPolicy"], found["type"]) == (["IPv4"], "SingleStack", "ClusterIP")


def test_no_two_services_have_the_same_address(cluster: SimulatedCluster) -> None:
    addresses = [made(cluster, f"web-{i}")["clusterIP"] for i in range(50)]
    assert len(set(addresses)) == 50


@pytest.mark.parametrize(
    ("sentence", "spec", "expected"),
    [
        ("headless has none", {"clusterIP": "None"}, ("None", ["None"], ["IPv4"], "SingleStack")),
        (
            "headless without a selector may have both families",
            {"clusterIP": "None", "selector": {}},
            ("None", ["None"], ["IPv4", "IPv6"], "RequireDualStack"),
        ),
        ("a given one is taken", {"clusterIP": "10.96.0.77"}, ("10.96.0.77", ["10.96.0.77"], ["IPv4"], "SingleStack")),
        (
            "preferring two families is content with one",
            {"clusterIP": "10.96.0.78", "ipFamilyPolicy": "PreferDualStack"},
            ("10.96.0.78", ["10.96.0.78"], ["IPv4"], "PreferDualStack"),
        ),
        ("an external name has none", {"type": "ExternalName", "externalName": "a.b"}, (None, None, None, None)),
    ],
)
def test_addresses(cluster: SimulatedCluster, sentence: str, spec: dict[str, Any], expected: tuple[Any, ...]) -> None:
    found = made(cluster, "web", **spec)
    fields = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    assert tuple(found.get(field) or None for field in fields) == expected, sentence


def test_the_address_of_another_service_is_refused(cluster: SimulatedCluster) -> None:
    made(cluster, "one", clusterIP="10.96.0.10")
    with pytest.raises(Invalid) as refused:
        made(cluster, "two", clusterIP="10.96.0.10")
    given = 'spec.clusterIPs: Invalid value: ["10.96.0.10"]: '
    text = f"{given}failed to allocate IP 10.96.0.10: provided IP is already allocated"
    assert text in str(refused.value)
    cluster.api.delete(Service, "one", "default")
    assert made(cluster, "two", clusterIP="10.96.0.10")["clusterIP"] == "10.96.0.10"


def test_node_ports_are_allocated_and_a_protocol_shares_the_number(cluster: SimulatedCluster) -> None:
    ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}, {"name": "m", "port": 9}]
    tcp, udp, metrics = (port["nodePort"] for port in made(cluster, "dns", type="NodePort", ports=ports)["ports"])
    assert tcp == udp != metrics and {tcp, metrics} <= set(NODE_PORTS)


def test_the_node_port_of_another_service_is_refused(cluster: SimulatedCluster) -> None:
    made(cluster, "one", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    with pytest.raises(Invalid) as refused:
        made(cluster, "two", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    assert "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated" in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "count"),
    [({"type": "LoadBalancer"}, 1), ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, 0), ({}, 0)],
)
def test_which_types_have_node_ports(cluster: SimulatedCluster, spec: dict[str, Any], count: int) -> None:
    assert sum(bool(port.get("nodePort")) for port in made(cluster, "web", **spec)["ports"]) == count


def test_without_node_ports_there_is_still_one_for_the_health_check(cluster: SimulatedCluster) -> None:
    """Source: allocHealthCheckNodePort, which asks for the policy only."""
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "externalTrafficPolicy": "Local"}
    assert made(cluster, "web", **spec)["healthCheckNodePort"] in NODE_PORTS


def test_a_node_port_that_is_named_must_be_free_though_none_is_allocated(cluster: SimulatedCluster) -> None:
    named = [{"port": 80, "nodePort": 30080}]
    made(cluster, "one", type="NodePort", ports=named)
    with pytest.raises(Invalid, match="provided port is already allocated"):
        made(cluster, "two", type="LoadBalancer", allocateLoadBalancerNodePorts=False, ports=named)


def test_an_update_that_names_no_address_keeps_it_with_its_node_port(cluster: SimulatedCluster) -> None:
    before = made(cluster, "web", type="NodePort")
    after = to_dict(cluster.api.update(service("web", type="NodePort", selector={"app": "other"})))["spec"]
    kept = ("clusterIP", "clusterIPs", "ports", "ipFamilies", "ipFamilyPolicy")
    assert {field: after[field] for field in kept} == {field: before[field] for field in kept}


def test_another_type_drops_node_ports_then_addresses_and_gets_them_again(cluster: SimulatedCluster) -> None:
    first = made(cluster, "web", type="NodePort")
    plain = cluster.api.update(service("web", type="ClusterIP", ports=first["ports"]))
    assert plain.spec.cluster_ip == first["clusterIP"] and not plain.spec.ports[0].node_port
    named = cluster.api.update(service("web", type="ExternalName", externalName="a.b"))
    assert (named.spec.cluster_ip, named.spec.cluster_ips, named.spec.ip_families) == ("", [], [])
    assert cluster.api.update(service("web")).spec.cluster_ip


def test_an_older_client_changes_the_one_address_that_it_knows() -> None:
    """Source: normalizeClusterIPs: the list follows the single field, and then it has changed."""
    api = APIServer()
    made = api.create(from_dict({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
                                 "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}}))  # fmt: skip
    made.spec.cluster_ip = "10.96.0.10"
    with pytest.raises(Invalid) as refused:
        api.update(made)
    assert [str(error) for error in refused.value.errors] == [
        'spec.clusterIPs[0]: Invalid value: ["10.96.0.10"]: may not change once set'
    ]


def test_node_ports_stay_with_the_names_of_ports() -> None:
    """Source: patchAllocatedValues: the number of the port may have changed."""
    api = APIServer()
    spec = {"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}
    data = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
    before = {port.name: port.node_port for port in api.create(from_dict(data)).spec.ports}
    spec["ports"] = [{"name": "b", "port": 80}, {"name": "a", "port": 82}]
    assert {port.name: port.node_port for port in api.update(from_dict(data)).spec.ports} == before


def test_what_a_type_does_not_have_goes_only_where_it_was_not_changed() -> None:
    """Source: dropTypeDependentFields."""
    api = APIServer()
    spec = {"type": "LoadBalancer", "loadBalancerClass": "a.example/b", "externalTrafficPolicy": "Local",
            "ports": [{"port": 80}]}  # fmt: skip
    data = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
    made = api.create(from_dict(data))
    made.spec.type = "ClusterIP"
    made.spec.load_balancer_class = "a.example/c"
    with pytest.raises(Invalid, match=r"spec\.loadBalancerClass: Forbidden: may only be used when `type`"):
        api.update(made)
    made.spec.load_balancer_class = "a.example/b"
    now = api.update(made).spec
    assert (now.load_balancer_class, now.external_traffic_policy, now.health_check_node_port) == (None, "", 0)
    assert [port.node_port for port in now.ports] == [0]
