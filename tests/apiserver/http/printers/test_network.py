"""Rows of Services, endpoints and routes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.apiserver.http.printers import network

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2024-01-01T11:55:00Z"}


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({}, {}, ["ClusterIP", "<none>", "<none>", "<none>", "<none>"]),
        (
            {"clusterIP": "10.0.0.1", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}], "selector": {"a": "b"}},
            {},
            ["ClusterIP", "10.0.0.1", "<none>", "80/TCP,53/UDP", "a=b"],
        ),
        (
            {"type": "NodePort", "clusterIPs": ["10.0.0.1", "::1"], "ports": [{"port": 80, "nodePort": 30000}]},
            {},
            ["NodePort", "10.0.0.1", "<none>", "80:30000/TCP", "<none>"],
        ),
        (
            {"type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.1.1.1"]},
            {},
            ["ExternalName", "<none>", "a.b", "<none>", "<none>"],
        ),
        ({"type": "LoadBalancer"}, {}, ["LoadBalancer", "<none>", "<pending>", "<none>", "<none>"]),
        (
            {"type": "LoadBalancer", "externalIPs": ["3.3.3.3"]},
            {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "h"}, {"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]}},
            ["LoadBalancer", "<none>", "1.1.1.1,2.2.2.2,h,3.3.3.3", "<none>", "<none>"],
        ),
        ({"externalIPs": ["2.2.2.2", "1.1.1.1"]}, {}, ["ClusterIP", "<none>", "2.2.2.2,1.1.1.1", "<none>", "<none>"]),
    ],
)
def test_services(spec: dict[str, Any], status: dict[str, Any], cells: list[Any]) -> None:
    """Source: printService, getServiceExternalIP."""
    kind, address, external, ports, selector = cells
    found = network.print_service({"metadata": META, "spec": spec, "status": status}, NOW)
    assert found == ["x", kind, address, external, ports, "5m", selector]


def subset(addresses: list[str], *ports: int) -> dict[str, Any]:
    return {"addresses": [{"ip": ip} for ip in addresses], "ports": [{"port": port} for port in ports]}


@pytest.mark.parametrize(
    ("subsets", "shown"),
    [
        ([], "<none>"),
        ([subset(["10.0.0.1", "10.0.0.2"], 80)], "10.0.0.1:80,10.0.0.2:80"),
        ([subset(["::1"], 80)], "[::1]:80"),
        ([subset(["10.0.0.1"])], "10.0.0.1"),
        ([subset(["10.0.0.1", "10.0.0.2"], 80, 81)], "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more..."),
        ([subset(["a", "b"], 1), subset(["c"], 2)], "a:1,b:1,c:2"),
        ([{"notReadyAddresses": [{"ip": "10.0.0.1"}]}], ""),
    ],
)
def test_endpoints(subsets: list[Any], shown: str) -> None:
    """Source: formatEndpoints."""
    assert network.print_endpoints({"metadata": META, "subsets": subsets}, NOW) == ["x", shown, "5m"]


@pytest.mark.parametrize(
    ("ports", "addresses", "cells"),
    [
        ([], [], ["<unset>", "<unset>"]),
        ([{"port": 80}, {"name": "n"}, {}], [["a"]], ["80,n,*", "a"]),
        ([{"port": 0}], [["a", "b"], ["c", "d"]], ["0", "a,b,c + 1 more..."]),
    ],
)
def test_endpoint_slices(ports: list[Any], addresses: list[list[str]], cells: list[str]) -> None:
    slice_: dict[str, Any] = {"metadata": META, "addressType": "IPv4", "ports": ports}
    slice_["endpoints"] = [{"addresses": some} for some in addresses]
    assert network.print_endpoint_slice(slice_, NOW) == ["x", "IPv4", *cells, "5m"]


def rules(*hosts: str) -> list[dict[str, str]]:
    return [{"host": host} if host else {} for host in hosts]


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({}, ["<none>", "*", "", "80"]),
        ({"rules": rules("")}, ["<none>", "*", "", "80"]),
        ({"ingressClassName": "c", "rules": rules("a", "b", "c"), "tls": [{}]}, ["c", "a,b,c", "", "80, 443"]),
        ({"rules": rules("a", "b", "c", "d", "e")}, ["<none>", "a,b,c + 2 more...", "", "80"]),
        ({"rules": rules("a", "", "b")}, ["<none>", "a,b", "", "80"]),
    ],
)
def test_ingresses(spec: dict[str, Any], cells: list[str]) -> None:
    """Source: printIngress, formatHosts."""
    assert network.print_ingress({"metadata": META, "spec": spec}, NOW) == ["x", *cells, "5m"]
    status = {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"ip": "1.1.1.1"}]}}
    assert network.print_ingress({"metadata": META, "spec": spec, "status": status}, NOW)[3] == "1.1.1.1,2.2.2.2"


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        (None, "<none>"),
        ({"kind": "K", "name": "n"}, "K/n"),
        ({"kind": "K", "name": "n", "apiGroup": "a.b"}, "K.a.b/n"),
    ],
)
def test_ingress_classes(parameters: dict[str, str] | None, shown: str) -> None:
    found = network.print_ingress_class({"metadata": META, "spec": {"controller": "c", "parameters": parameters}}, NOW)
    assert found == ["x", "c", shown, "5m"]


def test_network_policies() -> None:
    spec = {"podSelector": {"matchLabels": {"a": "b"}}}
    assert network.print_network_policy({"metadata": META, "spec": spec}, NOW) == ["x", "a=b", "5m"]
    assert network.print_network_policy({"metadata": META, "spec": {"podSelector": {}}}, NOW)[1] == "<none>"
