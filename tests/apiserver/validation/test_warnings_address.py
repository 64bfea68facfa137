"""Warnings about addresses, and about the kinds that contain them."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Endpoints, Node, Service
from kitlib.api.networking import EndpointSlice, NetworkPolicy
from kitlib.apiserver.validation.warnings import address
from tests.apiserver.validation.told import named

FUTURE = "will be considered invalid in a future Kubernetes release: use"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("10.0.0.1", ""),
        ("fd00::1", ""),
        ("x", ""),
        ("010.0.0.1", f'f: non-standard IP address "010.0.0.1" {FUTURE} "10.0.0.1"'),
        ("::ffff:1.2.3.4", f'f: non-standard IP address "::ffff:1.2.3.4" {FUTURE} "1.2.3.4"'),
        ("FD00::1", 'f: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'),
        ("fd00:0::1", 'f: IPv6 address "fd00:0::1" should be in RFC 5952 canonical format ("fd00::1")'),
    ],
)
def test_addresses(text: str, warning: str) -> None:
    """Source: GetWarningsForIP."""
    assert list(address.ip_warnings(text, "f")) == ([warning] if warning else [])


def ambiguous(text: str, network: str, host: str) -> str:
    return f'f: CIDR value "{text}" is ambiguous in this context (should be "{network}" or "{host}"?)'


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("10.0.0.0/8", []),
        ("fd00::/64", []),
        ("x", []),
        ("10.0.0.1/8", [ambiguous("10.0.0.1/8", "10.0.0.0/8", "10.0.0.1/32")]),
        ("10.0.0.0/08", [f'f: non-standard CIDR value "10.0.0.0/08" {FUTURE} "10.0.0.0/8"']),
        ("010.0.0.0/8", [f'f: non-standard CIDR value "010.0.0.0/8" {FUTURE} "10.0.0.0/8"']),
        (
            "010.0.0.1/8",
            [
                ambiguous("010.0.0.1/8", "10.0.0.0/8", "10.0.0.1/32"),
                f'f: non-standard CIDR value "010.0.0.1/8" {FUTURE} "10.0.0.0/8"',
            ],
        ),
        ("FD00::/64", ['f: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")']),
        ("FD00::1/64", [ambiguous("FD00::1/64", "fd00::/64", "fd00::1/128")]),
    ],
)
def test_networks(text: str, warnings: list[str]) -> None:
    """Source: GetWarningsForCIDR."""
    assert list(address.cidr_warnings(text, "f")) == warnings


OLD = "010.0.0.1"


def old(field: str) -> str:
    return f'{field}: non-standard IP address "{OLD}" {FUTURE} "10.0.0.1"'


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({"type": "ClusterIP", "clusterIP": "10.0.0.1"}, []),
        ({"clusterIP": OLD, "clusterIPs": [OLD, OLD]}, [old("spec.clusterIPs[0]"), old("spec.clusterIPs[1]")]),
        ({"clusterIP": OLD}, [old("spec.clusterIPs[0]")]),
        ({"externalIPs": [OLD]}, ["spec.externalIPs is deprecated", old("spec.externalIPs[0]")]),
        ({"loadBalancerIP": OLD}, [old("spec.loadBalancerIP")]),
        (
            {"loadBalancerSourceRanges": ["10.0.0.0/08"]},
            [f'spec.loadBalancerSourceRanges[0]: non-standard CIDR value "10.0.0.0/08" {FUTURE} "10.0.0.0/8"'],
        ),
        (
            {
                "type": "ClusterIP",
                "clusterIP": "None",
                "loadBalancerIP": "1.1.1.1",
                "externalIPs": ["1.1.1.1"],
                "sessionAffinity": "ClientIP",
            },
            [
                "spec.loadBalancerIP is ignored for headless services",
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
                "spec.externalIPs is deprecated",
            ],
        ),
        ({"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "None"}, []),
        (
            {"type": "ExternalName", "externalIPs": ["1.1.1.1"], "externalName": "a"},
            ["spec.externalIPs is deprecated", 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
        (
            {"type": "ClusterIP", "externalName": "a"},
            ['spec.externalName is ignored when spec.type is not "ExternalName"'],
        ),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
        ({"trafficDistribution": "PreferSameZone"}, []),
    ],
)
def test_services(spec: dict[str, Any], warnings: list[str]) -> None:
    """Source: GetWarningsForService."""
    assert list(address.service_warnings(named(Service, spec={"sessionAffinity": "None", **spec}))) == warnings


def test_the_annotation_of_hints() -> None:
    hints = "service.kubernetes.io/topology-aware-hints"
    made = named(Service, metadata={"annotations": {hints: "auto"}}, spec={"sessionAffinity": "None"})
    text = f"annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode instead"
    assert list(address.service_warnings(made)) == [text]


def test_endpoints() -> None:
    subsets = [{"addresses": [{"ip": "1.1.1.1"}, {"ip": OLD}], "notReadyAddresses": [{"ip": OLD}]}]
    expected = [old("subsets[0].addresses[1].ip"), old("subsets[0].notReadyAddresses[0].ip")]
    assert list(address.endpoints_warnings(named(Endpoints, subsets=subsets))) == expected
    label = "endpoints.kubernetes.io/managed-by"
    own = named(Endpoints, subsets=subsets, metadata={"labels": {label: "endpoint-controller"}})
    assert list(address.endpoints_warnings(own)) == []


@pytest.mark.parametrize(
    ("manager", "kind", "warned"),
    [
        ("", "IPv4", True),
        ("mine", "IPv4", True),
        ("endpointslice-controller.k8s.io", "IPv4", False),
        ("endpointslicemirroring-controller.k8s.io", "IPv4", False),
        ("", "FQDN", False),
    ],
)
def test_endpoint_slices(manager: str, kind: str, warned: bool) -> None:
    labels = {"labels": {"endpointslice.kubernetes.io/managed-by": manager}}
    made = named(EndpointSlice, addressType=kind, endpoints=[{"addresses": ["1.1.1.1", OLD]}], metadata=labels)
    assert list(address.endpoint_slice_warnings(made)) == ([old("endpoints[0].addresses[1]")] if warned else [])


def test_policies_and_nodes() -> None:
    block = {"ipBlock": {"cidr": "10.0.0.1/8", "except": ["10.0.0.0/08"]}}
    found = list(address.network_policy_warnings(named(NetworkPolicy, spec={
        "ingress": [{"from": [{}, block]}], "egress": [{"to": [block]}],
    })))  # fmt: skip
    assert [text.partition(": ")[0] for text in found] == [
        "spec.ingress[0].from[1].ipBlock.cidr",
        "spec.ingress[0].from[1].ipBlock.except[0]",
        "spec.egress[0].to[0].ipBlock.cidr",
        "spec.egress[0].to[0].ipBlock.except[0]",
    ]
    node = named(Node, spec={"externalID": "x", "podCIDRs": ["10.0.0.0/8", "FD00::/64"]})
    assert [text.partition(": ")[0] for text in address.node_warnings(node)] == ["spec.externalID", "spec.podCIDRs[1]"]
    one = named(Node, spec={"podCIDR": "10.0.0.1/8"})
    assert [text.partition(": ")[0] for text in address.node_warnings(one)] == ["spec.podCIDRs[0]"]
    assert list(address.node_warnings(named(Node))) == []
