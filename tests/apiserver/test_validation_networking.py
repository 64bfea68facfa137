"""Single mutations of network policies, ingress classes and endpoints: what the API server says to each."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

PORT = "must be between 1 and 65535, inclusive"
BASES: dict[str, dict[str, Any]] = {
    "NetworkPolicy": {
        "apiVersion": "networking.k8s.io/v1",
        "spec": {
            "podSelector": {},
            "ingress": [{"ports": [{"port": 80}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        },
    },
    "IngressClass": {
        "apiVersion": "networking.k8s.io/v1",
        "spec": {"controller": "a.example/c", "parameters": {"kind": "K", "name": "n"}},
    },
    "EndpointSlice": {
        "apiVersion": "discovery.k8s.io/v1",
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"name": "a", "port": 80}],
    },
    "Endpoints": {"apiVersion": "v1", "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
    "StorageClass": {"apiVersion": "storage.k8s.io/v1", "provisioner": "a.example/p"},
    "CSIDriver": {"apiVersion": "storage.k8s.io/v1", "spec": {"tokenRequests": [{"audience": "a"}]}},
    "Lease": {"apiVersion": "coordination.k8s.io/v1", "spec": {}},
    "ControllerRevision": {"apiVersion": "apps/v1", "data": {"a": 1}, "revision": 1},
    "VolumeAttachment": {
        "apiVersion": "storage.k8s.io/v1",
        "spec": {"attacher": "a.example", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    },
    "HorizontalPodAutoscaler": {
        "apiVersion": "autoscaling/v2",
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    },
}
CLUSTER = ("IngressClass", "StorageClass", "CSIDriver", "VolumeAttachment")
BLOCK, FROM = "spec.ingress.0.from.0.ipBlock", "spec.ingress[0].from[0]"
CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
CASES: list[tuple[str, str, Any, list[str]]] = [
    ("NetworkPolicy", BLOCK, {"cidr": ""}, [f"{FROM}.ipBlock.cidr: Required value"]),
    ("NetworkPolicy", BLOCK, {"cidr": "10.0.0.0"}, [f'{FROM}.ipBlock.cidr: Invalid value: "10.0.0.0": {CIDR}']),
    ("NetworkPolicy", f"{BLOCK}.except", ["10.1.0.0/16"], []),
    (
        "NetworkPolicy",
        f"{BLOCK}.except",
        ["11.0.0.0/16"],
        [f'{FROM}.ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`'],
    ),
    (
        "NetworkPolicy",
        f"{BLOCK}.except",
        ["10.0.0.0/8"],
        [f'{FROM}.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`'],
    ),
    ("NetworkPolicy", "spec.ingress.0.from", [{}], [f"{FROM}: Required value: must specify a peer"]),
    (
        "NetworkPolicy",
        "spec.ingress.0.ports.0.port",
        0,
        [f"spec.ingress[0].ports[0].port: Invalid value: 0: {PORT}"],
    ),
    (
        "NetworkPolicy",
        "spec.ingress.0.ports.0.endPort",
        79,
        ["spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`"],
    ),
    (
        "NetworkPolicy",
        "spec.ingress.0.ports.0",
        {"port": "web", "endPort": 90},
        ["spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric"],
    ),
    (
        "NetworkPolicy",
        "spec.ingress.0.ports.0.protocol",
        "ICMP",
        [
            'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
        ],
    ),
    (
        "NetworkPolicy",
        "spec.policyTypes",
        ["Ingress", "Egress", "Ingress"],
        [
            'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two '
            "policyTypes",
        ],
    ),
    ("NetworkPolicy", "spec.policyTypes", ["Ingress", "Ingress"], []),
    ("IngressClass", "spec.controller", "", ["spec.controller: Required value"]),
    (
        "IngressClass",
        "spec.controller",
        "c",
        ['spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
    ("IngressClass", "spec.parameters.kind", "", ["spec.parameters.kind: Required value: kind is required"]),
    (
        "IngressClass",
        "spec.parameters.scope",
        "World",
        ['spec.parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"'],
    ),
    (
        "IngressClass",
        "spec.parameters.scope",
        "Namespace",
        ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ),
    (
        "IngressClass",
        "spec.parameters.namespace",
        "n",
        ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ),
    ("EndpointSlice", "addressType", "", ["addressType: Required value"]),
    (
        "EndpointSlice",
        "addressType",
        "IP",
        ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'],
    ),
    (
        "EndpointSlice",
        "endpoints.0.addresses",
        [],
        ["endpoints[0].addresses: Required value: must contain at least 1 address"],
    ),
    (
        "EndpointSlice",
        "endpoints.0.addresses",
        ["127.0.0.1"],
        [
            'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, '
            "::1/128)"
        ],
    ),
    (
        "EndpointSlice",
        "ports",
        [{"name": "a", "port": 1}, {"name": "a", "port": 2}],
        ['ports[1].name: Duplicate value: "a"'],
    ),
    (
        "EndpointSlice",
        "ports.0.protocol",
        "X",
        ['ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
    ),
    (
        "Endpoints",
        "subsets.0.addresses",
        [],
        ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    ),
    (
        "Endpoints",
        "subsets.0.ports",
        [{"port": 1, "name": "a"}, {"port": 2}],
        ["subsets[0].ports[1].name: Required value"],
    ),
    ("Endpoints", "subsets.0.ports.0.port", 0, [f"subsets[0].ports[0].port: Invalid value: 0: {PORT}"]),
    ("StorageClass", "provisioner", "", ["provisioner: Required value"]),
    (
        "StorageClass",
        "reclaimPolicy",
        "Recycle",
        ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    ),
    (
        "StorageClass",
        "volumeBindingMode",
        "Later",
        ['volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"'],
    ),
    ("StorageClass", "parameters", {"": "a"}, ['parameters: Invalid value: "": field can not be empty.']),
    (
        "StorageClass",
        "allowedTopologies",
        [{"matchLabelExpressions": [{"key": "z"}]}],
        ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
    ),
    (
        "CSIDriver",
        "spec.tokenRequests.0.expirationSeconds",
        599,
        [
            "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 "
            "minutes"
        ],
    ),
    (
        "CSIDriver",
        "spec.tokenRequests",
        [{"audience": "a"}, {"audience": "a"}],
        ['spec.tokenRequests[1].audience: Duplicate value: "a"'],
    ),
    (
        "CSIDriver",
        "spec.fsGroupPolicy",
        "Always",
        [
            'spec.fsGroupPolicy: Unsupported value: "Always": supported values: "File", "None", '
            '"ReadWriteOnceWithFSType"',
        ],
    ),
    (
        "Lease",
        "spec.leaseDurationSeconds",
        0,
        ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    ),
    (
        "Lease",
        "spec.leaseTransitions",
        -1,
        ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
    ),
    (
        "IngressClass",
        "spec.controller",
        "A/\x00",
        [
            'spec.controller: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            r"'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*"
            "[a-z0-9])?)*')",
            r'spec.controller: Invalid value: "\x00": Invalid path (regex used for validation is '
            r"'[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')",
        ],
    ),
    ("IngressClass", "spec.controller", "", ["spec.controller: Required value"]),
    (
        "VolumeAttachment",
        "spec.attacher",
        "-",
        [
            'spec.attacher: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            r"'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*"
            "[a-z0-9])?)*')"
        ],
    ),
    (
        "HorizontalPodAutoscaler",
        "spec.minReplicas",
        0,
        [
            "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero "
            "replicas",
        ],
    ),
    (
        "HorizontalPodAutoscaler",
        "spec.minReplicas",
        -1,
        ["spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"],
    ),
    ("ControllerRevision", "data", None, ["data: Required value: data is mandatory"]),
    ("ControllerRevision", "revision", -1, ["revision: Invalid value: -1: must be greater than or equal to 0"]),
]


def problems(kind: str, path: str = "", value: Any = None) -> list[str]:
    data = copy.deepcopy({"kind": kind, "metadata": {"name": "x"}, **BASES[kind]})
    if path:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        functools.reduce(lambda part, step: part[step], steps, data)[last] = value
    obj = set_defaults(from_dict(data, strict=True))
    obj.metadata.namespace = "" if kind in CLUSTER else "default"
    return [str(error) for error in validate(obj)]


@pytest.mark.parametrize("kind", BASES)
def test_a_sound_object_is_accepted(kind: str) -> None:
    assert problems(kind) == []


@pytest.mark.parametrize(("kind", "path", "value", "expected"), CASES)
def test_one_change_is_answered_as_upstream_does(kind: str, path: str, value: Any, expected: list[str]) -> None:
    assert problems(kind, path, value) == expected


def test_before_1_37_an_autoscaler_may_not_ask_for_no_replica() -> None:
    with Release("1.36").following():
        found = problems("HorizontalPodAutoscaler", "spec.minReplicas", 0)
    assert found[0] == "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"
