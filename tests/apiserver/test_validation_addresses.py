"""Addresses and blocks of addresses: strict since 1.36, except where they stood before; and what is warned of."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.errors import Invalid
from kitlib.api.names import is_valid_cidr, is_valid_ip
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.validation import validate
from kitlib.apiserver.validation.networking import validate_service_cidr_update
from kitlib.apiserver.validation.warnings.kinds import warnings_of

ZEROS, MAPPED = "must not have leading 0s", "must not be an IPv4-mapped IPv6 address"


def manifest(kind: str, api_version: str, /, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **copy.deepcopy(fields)}


def service(**spec: Any) -> dict[str, Any]:
    return manifest("Service", "v1", spec={"ports": [{"port": 80}], **spec})


def policy(cidr: str) -> dict[str, Any]:
    peers = [{"ipBlock": {"cidr": cidr}}]
    return manifest("NetworkPolicy", "networking.k8s.io/v1", spec={"podSelector": {}, "ingress": [{"from": peers}]})


def slice_of(address_type: str, address: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"addressType": address_type, "endpoints": [{"addresses": [address]}]}
    return manifest("EndpointSlice", "discovery.k8s.io/v1", **fields)


def problems(data: dict[str, Any]) -> list[str]:
    """What the API server says to a new object."""
    obj = set_defaults(from_dict(data, strict=True))
    if data["kind"] not in ("IPAddress", "ServiceCIDR", "VolumeAttachment"):
        obj.metadata.namespace = "default"
    return [str(error) for error in validate(obj)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", ()),
        ("::1", ()),
        ("FE80:0::1", ()),
        ("10.00.0.1", (ZEROS,)),
        ("010.0.0.1", (ZEROS,)),
        ("::ffff:10.0.0.1", (MAPPED,)),
        ("10.0.0", ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)),
    ],
)
def test_an_address_has_one_reading(text: str, expected: tuple[str, ...]) -> None:
    """Source: validation.IsValidIPForLegacyField with strictValidation, as StrictIPCIDRValidation is on in 1.36."""
    assert is_valid_ip(text) == expected
    if expected in ((ZEROS,), (MAPPED,)):
        assert is_valid_ip(text, {text}) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.0/8", ()),
        ("2001:DB8::/32", ()),
        ("10.1.0.0/8", ("must not have bits set beyond the prefix length",)),
        ("10.0.0.0/08", ("must not have leading 0s in IP or prefix length",)),
        ("10.00.0.0/8", ("must not have leading 0s in IP or prefix length",)),
        ("::ffff:10.0.0.0/104", ("must not have an IPv4-mapped IPv6 address",)),
        ("10.0.0.0", ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)),
    ],
)
def test_a_block_has_one_reading(text: str, expected: tuple[str, ...]) -> None:
    """Source: validation.IsValidCIDRForLegacyField with strictValidation."""
    assert is_valid_cidr(text) == expected


def test_what_stood_there_before_strictness_may_stay() -> None:
    """Source: KEP-4858: an update is not refused for a value that it does not bring."""
    api = APIServer()
    with pytest.raises(Invalid, match="must not have bits set beyond the prefix length"):
        api.create(from_dict(policy("10.0.0.5/8")))
    stored = api.create(from_dict(policy("10.0.0.0/8")))
    stored.spec.ingress[0].from_[0].ip_block.cidr = "10.0.0.5/8"
    changed = to_dict(api.store.update(stored))
    changed["metadata"]["labels"] = {"a": "b"}
    changed = to_dict(api.update(from_dict(changed)))
    assert changed["metadata"]["labels"] == {"a": "b"}
    changed["spec"]["ingress"][0]["from"][0]["ipBlock"]["cidr"] = "10.0.0.6/8"
    with pytest.raises(Invalid, match="must not have bits set beyond the prefix length"):
        api.update(from_dict(changed))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (slice_of("IPv4", "::1:2"), ['endpoints[0].addresses[0]: Invalid value: "::1:2": must be an IPv4 address']),
        (slice_of("FQDN", ""), ["endpoints[0].addresses[0]: Required value"]),
        (
            slice_of("FQDN", "host"),
            [
                'endpoints[0].addresses[0]: Invalid value: "host": should be a domain with at least two segments '
                "separated by dots"
            ],
        ),
        (
            service(internalTrafficPolicy=""),
            ['spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"'],
        ),
        (
            service(ipFamilies=["IPv4", "IPv6"]),
            [
                "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' "
                "when multiple IP families are specified"
            ],
        ),
        (
            service(clusterIP="fd00::1"),
            ['spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster'],
        ),
        (
            service(clusterIPs=["10.96.0.9"]),
            ['spec.clusterIPs: Invalid value: ["10.96.0.9"]: must be empty when `clusterIP` is not specified'],
        ),
        (service(clusterIP="None", ipFamilies=["IPv6", "IPv4"]), []),
        (
            manifest("IPAddress", "networking.k8s.io/v1", spec={"parentRef": {"group": "A", "resource": "services"}}),
            [
                'metadata.name: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                'spec.parentRef.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case '
                "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
                r"'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*"
                "[a-z0-9])?)*')",
                "spec.parentRef.name: Required value",
            ],
        ),
        (manifest("ServiceCIDR", "networking.k8s.io/v1"), ["spec.cidrs: Required value: at least one CIDR required"]),
        (
            manifest("ServiceCIDR", "networking.k8s.io/v1", spec={"cidrs": ["2001:DB8::/64"]}),
            ['spec.cidrs[0]: Invalid value: "2001:DB8::/64": must be in canonical form ("2001:db8::/64")'],
        ),
        (
            manifest("ServiceCIDR", "networking.k8s.io/v1", spec={"cidrs": ["10.0.0.0/16", "10.1.0.0/16"]}),
            [
                'spec.cidrs: Invalid value: ["10.0.0.0/16","10.1.0.0/16"]: may specify no more than one IP '
                "for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
        ),
    ],
)
def test_addresses_in_objects(data: dict[str, Any], expected: list[str]) -> None:
    """Source: ValidateService, initIPFamilyFields, validateEndpoints, ValidateIPAddress, ValidateServiceCIDR."""
    assert problems(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (service(), []),
        (
            service(externalIPs=["2001:DB8::1"]),
            [
                "spec.externalIPs is deprecated",
                'spec.externalIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
                '("2001:db8::1")',
            ],
        ),
        (
            service(clusterIP="None", loadBalancerIP="10.0.0.010", sessionAffinity="ClientIP"),
            [
                "spec.loadBalancerIP is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
                'spec.loadBalancerIP: non-standard IP address "10.0.0.010" will be considered invalid in a future '
                'Kubernetes release: use "10.0.0.10"',
            ],
        ),
        (
            service(externalName="a.example", trafficDistribution="PreferClose"),
            [
                'spec.externalName is ignored when spec.type is not "ExternalName"',
                'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
            ],
        ),
        (
            policy("2001:DB8::1/64"),
            [
                'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "2001:DB8::1/64" is ambiguous in this context '
                '(should be "2001:db8::/64" or "2001:db8::1/128"?)'
            ],
        ),
        (
            policy("2001:DB8::/64"),
            [
                'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical '
                'format ("2001:db8::/64")'
            ],
        ),
        (
            slice_of("IPv6", "FE80::1"),
            [
                'endpoints[0].addresses[0]: IPv6 address "FE80::1" should be in RFC 5952 canonical format ("fe80::1")',
            ],
        ),
        (slice_of("FQDN", "a.example"), ["addressType: FQDN endpoints are deprecated"]),
        (
            manifest("Node", "v1", spec={"podCIDR": "FD00::/64", "externalID": "i"}),
            [
                "spec.externalID: this field is deprecated, and is unused by Kubernetes",
                'spec.podCIDRs[0]: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")',
            ],
        ),
    ],
)
def test_other_readings_and_forms_are_warned_of(data: dict[str, Any], expected: list[str]) -> None:
    """Source: GetWarningsForService, GetWarningsForIP, GetWarningsForCIDR."""
    assert warnings_of(from_dict(data)) == expected


@pytest.mark.parametrize(
    ("blocks", "fields"),
    [
        (["10.0.0.0/16"], []),
        (["10.0.0.0/16", "fd00::/64"], []),
        (["10.1.0.0/16"], ["spec.cidrs[0]"]),
        (["10.0.0.0/16", "10.1.0.0/16"], ["spec.cidrs"]),
        (["10.0.0.0/16", "junk"], ["spec.cidrs[1]"]),
        ([], ["spec.cidrs"]),
    ],
)
def test_a_service_cidr_gains_a_family(blocks: list[str], fields: list[str]) -> None:
    """Source: ValidateServiceCIDRUpdate."""
    old, new = (
        from_dict(manifest("ServiceCIDR", "networking.k8s.io/v1", spec={"cidrs": cidrs}))
        for cidrs in (["10.0.0.0/16"], blocks)
    )
    old.metadata.resource_version = new.metadata.resource_version = "1"
    assert [error.field for error in validate_service_cidr_update(new, old)] == fields
