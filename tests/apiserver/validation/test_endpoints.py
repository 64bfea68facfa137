"""Endpoints and EndpointSlices."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Endpoints
from kitlib.api.names import IP_TEXT, LABEL_TEXT, SUBDOMAIN_TEXT
from kitlib.api.networking import EndpointSlice
from kitlib.apiserver.validation import endpoints
from tests.apiserver.validation.told import named, told

PORT = {"port": 80, "protocol": "TCP"}
LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"


def subsets(*listed: dict[str, Any]) -> Endpoints:
    return named(Endpoints, "a", "n", subsets=list(listed))


@pytest.mark.parametrize(
    ("subset", "errors"),
    [
        ({"addresses": [{"ip": "1.1.1.1"}], "ports": [PORT]}, []),
        ({"notReadyAddresses": [{"ip": "1.1.1.1"}]}, []),
        ({}, ["Required must specify `addresses` or `notReadyAddresses`"]),
        ({"addresses": [{"ip": "127.0.0.1"}]}, [f"addresses[0].ip Invalid {LOOPBACK}"]),
        (
            {"notReadyAddresses": [{"ip": "x", "hostname": "A", "nodeName": "B"}]},
            [
                f"notReadyAddresses[0].ip Invalid {IP_TEXT}",
                f"notReadyAddresses[0].hostname Invalid {LABEL_TEXT}",
                f"notReadyAddresses[0].nodeName Invalid {SUBDOMAIN_TEXT}",
                "notReadyAddresses[0].ip Invalid must be a valid IP address",
            ],
        ),
        (
            {"addresses": [{"ip": "1.1.1.1"}], "ports": [PORT, {**PORT, "name": "A"}]},
            ["ports[0].name Required", f"ports[1].name Invalid {LABEL_TEXT}"],
        ),
        (
            {"addresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 0, "protocol": "x"}]},
            [
                "ports[0].port Invalid must be between 1 and 65535, inclusive",
                'ports[0].protocol NotSupported supported values: "SCTP", "TCP", "UDP"',
            ],
        ),
    ],
)
def test_subsets(subset: dict[str, Any], errors: list[str]) -> None:
    """Source: validateEndpointSubsets."""
    made = subsets({"addresses": [{"ip": "1.1.1.1"}]}, subset)
    found = [
        text.removeprefix("subsets[1].").removeprefix("subsets[1] ")
        for text in told(endpoints.validate_endpoints(made))
    ]
    assert found == errors
    assert told(endpoints.validate_endpoints_update(made, made)) == []
    assert len(endpoints.validate_endpoints_update(made, subsets())) == len(errors)


def slice_(kind: str = "IPv4", ports: Any = (), *listed: Any, **fields: Any) -> EndpointSlice:
    return named(EndpointSlice, "a", "n", addressType=kind, ports=list(ports), endpoints=list(listed), **fields)


def one(address: str = "1.1.1.1", **fields: Any) -> dict[str, Any]:
    return {"addresses": [address], **fields}


def test_limits_of_a_slice() -> None:
    """Source: discovery maxEndpoints, maxAddresses, maxPorts, maxTopologyLabels, maxZoneHints."""
    assert told(endpoints.validate_endpoint_slice(slice_("IPv4", (), *[one()] * 1000))) == []
    many = slice_("IPv4", (), *[one()] * 1001)
    assert told(endpoints.validate_endpoint_slice(many)) == ["endpoints TooMany must have at most 1000 items"]
    wide = slice_("IPv4", (), {"addresses": ["1.1.1.1"] * 101})
    assert told(endpoints.validate_endpoint_slice(wide)) == [
        "endpoints[0].addresses TooMany must have at most 100 items"
    ]
    topology = {f"k{i}": "v" for i in range(17)}
    labelled = slice_("IPv4", (), one(deprecatedTopology=topology))
    assert told(endpoints.validate_endpoint_slice(labelled)) == [
        "endpoints[0].deprecatedTopology TooMany must have at most 16 items"
    ]
    zones = [{"name": f"z{i}"} for i in range(9)]
    hinted = slice_("IPv4", (), one(hints={"forZones": zones, "forNodes": zones[:8]}))
    assert told(endpoints.validate_endpoint_slice(hinted)) == [
        "endpoints[0].hints.forZones TooMany must have at most 8 items"
    ]


AT = "endpoints[0].addresses[0]"


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (slice_(), []),
        (slice_("FQDN", (), one("a.b")), []),
        (
            slice_("FQDN", (), one("a")),
            [f"{AT} Invalid should be a domain with at least two segments separated by dots"],
        ),
        (slice_("x", (), one("?")), ['addressType NotSupported supported values: "FQDN", "IPv4", "IPv6"']),
        (slice_("", (), one("?")), ["addressType Required"]),
        (slice_("IPv4", (), one("fd00::1")), [f"{AT} Invalid must be an IPv4 address"]),
        (slice_("IPv6", (), one("1.1.1.1")), [f"{AT} Invalid must be an IPv6 address"]),
        (slice_("IPv6", (), one("::1")), [f"{AT} Invalid {LOOPBACK}"]),
        (slice_("IPv4", (), one("01.1.1.1")), [f"{AT} Invalid must not have leading 0s"]),
        (slice_("IPv4", (), {}), ["endpoints[0].addresses Required must contain at least 1 address"]),
        (
            slice_("IPv4", (), one(nodeName="A", hostname="B")),
            [f"endpoints[0].nodeName Invalid {SUBDOMAIN_TEXT}", f"endpoints[0].hostname Invalid {LABEL_TEXT}"],
        ),
        (
            slice_("IPv4", (), one(hints={"forZones": [{"name": "a"}, {"name": "a"}, {}]})),
            ["endpoints[0].hints.forZones[1].name Duplicate", "endpoints[0].hints.forZones[2].name Required"],
        ),
        (slice_("IPv4", [PORT, {**PORT, "name": "a"}]), []),
        (slice_("IPv4", [PORT, PORT]), ["ports[1].name Duplicate"]),
        (
            slice_("IPv4", [{"name": "A", "port": 1}]),
            [f"ports[0].name Invalid {LABEL_TEXT}", "ports[0].protocol Required"],
        ),
        (
            slice_("IPv4", [{"protocol": "x"}]),
            ['ports[0].protocol NotSupported supported values: "SCTP", "TCP", "UDP"'],
        ),
    ],
)
def test_slices(made: EndpointSlice, errors: list[str]) -> None:
    """Source: ValidateEndpointSlice."""
    assert told(endpoints.validate_endpoint_slice(made)) == errors


def test_an_update_keeps_type_and_stored_addresses() -> None:
    old = slice_("IPv4", (), one("01.1.1.1"))
    assert told(endpoints.validate_endpoint_slice_update(old, old)) == []
    new = slice_("FQDN", (), one("a.b"))
    assert told(endpoints.validate_endpoint_slice_update(new, old)) == ["addressType Invalid field is immutable"]
