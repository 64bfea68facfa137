"""Services, new and changed: what a cluster of one family with the usual ranges cannot give, and what stays."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.errors import Invalid
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.validation import validate

MODE, HINTS = "service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"
RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def service(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    meta = {"name": "x", "namespace": "default", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}], **spec}}


def problems(data: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    made, before = (None if one is None else set_defaults(from_dict(one, strict=True)) for one in (data, old))
    assert made is not None
    return [str(error) for error in validate(made, before)]


def ports(*pairs: tuple[int, str, int]) -> list[dict[str, Any]]:
    return [
        {"name": f"p{i}", "port": port, "protocol": protocol, "nodePort": node_port}
        for i, (port, protocol, node_port) in enumerate(pairs)
    ]


OUTSIDE = "is not in the valid range. The range of valid IPs is 10.96.0.0/16"
TAKEN = "spec.ports[1].nodePort: Invalid value: 30080: provided port is already allocated"
NEW: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the first address of the range is the network's": (
        service(clusterIP="10.96.0.0"),
        [
            'spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided IP '
            f"(10.96.0.0) {OUTSIDE}"
        ],
    ),
    "the last one is for broadcasts": (
        service(clusterIP="10.96.255.255"),
        [
            'spec.clusterIPs: Invalid value: ["10.96.255.255"]: failed to allocate IP 10.96.255.255: the provided IP '
            f"(10.96.255.255) {OUTSIDE}"
        ],
    ),
    "the last but one is an address like others": (service(clusterIP="10.96.255.254"), []),
    "one node port for two ports": (
        service(type="NodePort", ports=ports((80, "TCP", 30080), (81, "TCP", 30080))),
        [TAKEN],
    ),
    "one node port for two ports of different protocols": (
        service(type="NodePort", ports=ports((80, "TCP", 30080), (81, "UDP", 30080))),
        [TAKEN],
    ),
    "one node port for both protocols of a port": (
        service(type="NodePort", ports=ports((80, "TCP", 30080), (80, "UDP", 30080))),
        [],
    ),
    "the kubelet's port may be balanced": (service(type="LoadBalancer", ports=[{"port": 10250}]), []),
    "the old and the new annotation of topology differ": (
        service({MODE: "Auto", HINTS: "Disabled"}),
        [
            f'metadata.annotations[{MODE}]: Invalid value: "Auto": must match annotations[{HINTS}] when both are '
            "specified"
        ],
    ),
    "ways to distribute traffic are listed as upstream lists them": (
        service(trafficDistribution="Far"),
        [
            'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameZone", '
            '"PreferSameNode"'
        ],
    ),
}


@pytest.mark.parametrize(("data", "expected"), NEW.values(), ids=NEW.keys())
def test_a_new_service(data: dict[str, Any], expected: list[str]) -> None:
    assert problems(data) == expected


FIXED: dict[str, Any] = {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "ipFamilies": ["IPv4"]}
LOCAL = {**FIXED, "type": "LoadBalancer", "externalTrafficPolicy": "Local"}
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "another family": (
        service(**FIXED),
        service(clusterIP="", ipFamilies=["IPv6"]),
        ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
    ),
    "the only address is taken away": (
        service(**FIXED),
        service(ipFamilies=["IPv4"]),
        ["spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset"],
    ),
    "the port of the health check stays": (
        service(**LOCAL, healthCheckNodePort=30001),
        service(**LOCAL, healthCheckNodePort=30002),
        ["spec.healthCheckNodePort: Forbidden: field is immutable"],
    ),
    "a node port outside the range": (
        service(**FIXED, type="NodePort", ports=ports((80, "TCP", 30080))),
        service(**FIXED, type="NodePort", ports=ports((80, "TCP", 80))),
        [
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid "
            "ports is 30000-32767"
        ],
    ),
    "source ranges in the old annotation stay as they were": (
        service({RANGES: "10.0.0.1/8"}, **FIXED, type="LoadBalancer"),
        service({RANGES: "10.0.0.1/8"}, **FIXED, type="LoadBalancer"),
        [],
    ),
    "and are checked all together where one changes": (
        service({RANGES: "10.0.0.1/8"}, **FIXED, type="LoadBalancer"),
        service({RANGES: "10.0.0.1/8,10.0.0.0/8"}, **FIXED, type="LoadBalancer"),
        [
            f'metadata.annotations[{RANGES}]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix '
            "length"
        ],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), CHANGED.values(), ids=CHANGED.keys())
def test_a_change(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert problems(new, old) == expected


def test_a_headless_service_for_both_families_may_keep_one() -> None:
    """Source: initIPFamilyFields: the policy says it clearly enough."""
    api = APIServer()
    stored = to_dict(api.create(from_dict(service(clusterIP="None"))))
    assert stored["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    stored["spec"]["ipFamilies"] = ["IPv4"]
    with pytest.raises(Invalid) as refused:
        api.update(from_dict(stored))
    assert [str(error) for error in refused.value.errors] == [
        "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary IP "
        "family"
    ]
    stored["spec"] |= {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"}
    assert api.update(from_dict(stored)).spec.ip_families == ["IPv4"]
