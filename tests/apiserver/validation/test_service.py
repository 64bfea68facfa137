"""Services: families, addresses and node ports of the cluster, then ports, affinity, balancers and traffic."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Service
from kitlib.api.names import CIDR_TEXT, IP_TEXT, LABEL_TEXT, QUALIFIED_TEXT, SUBDOMAIN_TEXT, VALUE_TEXT
from kitlib.apiserver.validation import service as module
from tests.apiserver.validation.told import named, told

PORT = {"port": 80, "protocol": "TCP", "targetPort": 80}
REACHABLE = ("NodePort", "LoadBalancer")
ONLY_BALANCERS = "Forbidden may only be used when `type` is 'LoadBalancer'"
RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def service(
    type_: str = "ClusterIP", *ports: dict[str, Any], notes: dict[str, str] | None = None, **spec: Any
) -> Service:
    whole: dict[str, Any] = {"type": type_, "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}
    if type_ != "ExternalName":
        whole["ports"] = [{**PORT, **port} for port in ports or ({},)]
    if type_ in REACHABLE:
        whole["externalTrafficPolicy"] = "Cluster"
    return named(Service, "a", "n", spec={**whole, **spec}, metadata={"annotations": notes or {}})


def errors(made: Service, old: Service | None = None) -> list[str]:
    found = module.validate_service(made) if old is None else module.validate_service_update(made, old)
    return [text.removeprefix("spec.") for text in told(found)]


@pytest.mark.parametrize("type_", ["ClusterIP", "NodePort", "LoadBalancer"])
def test_valid_services(type_: str) -> None:
    made = service(type_)
    assert errors(made) == errors(made, made) == []


def test_types_and_names() -> None:
    """The name is a DNS label since 1.36. Source: ValidateServiceCreate, ValidateServiceName."""
    types = 'type NotSupported supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
    assert errors(service("x")) == [types]
    assert errors(service("")) == ["type Required"]
    wrong = service()
    wrong.metadata.name, wrong.metadata.namespace = "A", ""
    assert errors(wrong) == [f"metadata.name Invalid {LABEL_TEXT}", "metadata.namespace Required"]


# The cluster allocates these.


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (["10.96.0.1"], ""),
        (["10.96.255.254"], ""),
        (["10.96.0.0"], "10.96.0.0"),
        (["10.96.255.255"], "10.96.255.255"),
        (["10.95.255.255"], "10.95.255.255"),
        (["10.97.0.0"], "10.97.0.0"),
        (["None"], ""),
    ],
)
def test_addresses_are_in_the_clusters_range(addresses: list[str], expected: str) -> None:
    """Network and broadcast address are never allocated. Source: allocIPs, Allocator.allocateService."""
    text = (
        f"clusterIPs Invalid failed to allocate IP {expected}: the provided IP ({expected}) is not in the valid range. "
        "The range of valid IPs is 10.96.0.0/16"
    )
    made = service(clusterIP=addresses[0], clusterIPs=addresses)
    assert errors(made) == ([text] if expected else [])
    assert errors(made, made) == [], "an update allocates no address"
    if addresses != ["None"]:
        once = service("ExternalName", externalName="a.b")
        assert errors(made, once) == ([text] if expected else []), "unless it was an ExternalName"


TWO = ["10.96.0.1", "fd00::1"]
DUAL = "this cluster is not configured for dual-stack services"
MULTIPLE = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}, []),
        ({"ipFamilyPolicy": "PreferDualStack"}, []),
        ({"ipFamilyPolicy": "RequireDualStack"}, [f"ipFamilyPolicy Invalid {DUAL}"]),
        ({"ipFamilies": ["IPv6"]}, ["ipFamilies[0] Invalid not configured on this cluster"]),
        (
            {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"},
            [f"ipFamilyPolicy Invalid {DUAL}", "ipFamilies[1] Invalid not configured on this cluster"],
        ),
        ({"ipFamilies": ["IPv4", "IPv6"]}, [f"ipFamilyPolicy Invalid {MULTIPLE} IP families are specified"]),
        (
            {"clusterIP": TWO[0], "clusterIPs": TWO, "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
            [
                f"ipFamilyPolicy Invalid {MULTIPLE} cluster IPs are specified",
                f"ipFamilyPolicy Invalid {MULTIPLE} IP families are specified",
            ],
        ),
        (
            {"clusterIP": TWO[0], "clusterIPs": TWO, "ipFamilyPolicy": "PreferDualStack"},
            ["clusterIPs[1] Invalid IPv6 is not configured on this cluster"],
        ),
        (
            {"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]},
            ["clusterIPs[0] Invalid IPv6 is not configured on this cluster"],
        ),
        (
            {"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"], "ipFamilies": ["IPv6"]},
            ["ipFamilies[0] Invalid not configured on this cluster"],
        ),
        ({"clusterIP": "x", "clusterIPs": ["x"]}, [f"clusterIPs[0] Invalid {IP_TEXT}"]),
    ],
)
def test_families_of_a_cluster_with_one(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: initIPFamilyFields."""
    assert errors(service(**fields)) == expected


HEADLESS: dict[str, Any] = {"clusterIP": "None", "clusterIPs": ["None"]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ipFamilies": ["IPv4", "IPv6"]}, []),
        ({"ipFamilies": ["IPv6"]}, []),
        ({"ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "RequireDualStack"}, []),
        (
            {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
            [f"ipFamilyPolicy Invalid {MULTIPLE} IP families are specified"],
        ),
        (
            {"ipFamilies": ["IPv4", "IPv6"], "selector": {"a": "b"}},
            [f"ipFamilyPolicy Invalid {MULTIPLE} IP families are specified"],
        ),
        ({"ipFamilies": ["IPv6"], "selector": {"a": "b"}}, ["ipFamilies[0] Invalid not configured on this cluster"]),
    ],
)
def test_a_headless_service_without_selector_has_any_family(fields: dict[str, Any], expected: list[str]) -> None:
    assert errors(service(**HEADLESS, **fields)) == expected


def ports(*listed: tuple[int, str, int]) -> list[dict[str, Any]]:
    """Return ports from number, protocol and node port, each with a name."""
    return [
        {"name": f"p{i}", "port": port, "protocol": protocol, "nodePort": node}
        for i, (port, protocol, node) in enumerate(listed)
    ]


OUT = "Invalid provided port is not in the valid range. The range of valid ports is 30000-32767"
TAKEN = "Invalid provided port is already allocated"


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([(80, "TCP", 30000)], []),
        ([(80, "TCP", 32767)], []),
        ([(80, "TCP", 29999)], [f"ports[0].nodePort {OUT}"]),
        ([(80, "TCP", 32768)], [f"ports[0].nodePort {OUT}"]),
        ([(80, "TCP", 0), (81, "TCP", 1)], [f"ports[1].nodePort {OUT}"]),
        ([(80, "TCP", 1), (81, "TCP", 2)], [f"ports[0].nodePort {OUT}"]),
        ([(53, "TCP", 30053), (53, "UDP", 30053)], []),
        ([(53, "TCP", 0), (53, "UDP", 30053)], []),
        ([(53, "TCP", 0), (53, "UDP", 1)], [f"ports[0].nodePort {OUT}"]),
        ([(53, "TCP", 30053), (54, "UDP", 30053)], [f"ports[1].nodePort {TAKEN}"]),
        ([(53, "TCP", 30053), (53, "UDP", 30054), (54, "UDP", 30054)], [f"ports[2].nodePort {TAKEN}"]),
    ],
)
def test_requested_node_ports(listed: list[tuple[int, str, int]], expected: list[str]) -> None:
    """Ports with one number share a node port. Source: initNodePorts, findRequestedNodePort."""
    for type_ in REACHABLE:
        assert errors(service(type_, *ports(*listed))) == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([(80, "TCP", 1)], []),
        ([(80, "TCP", 1), (81, "TCP", 2)], [f"ports[1].nodePort {OUT}"]),
        ([(80, "TCP", 30001), (81, "UDP", 30001)], []),
        ([(80, "TCP", 0)], []),
    ],
)
def test_node_ports_of_an_update(listed: list[tuple[int, str, int]], expected: list[str]) -> None:
    """A stored node port is not asked for again. Source: updateNodePorts."""
    assert errors(service("NodePort", *ports(*listed)), service("NodePort", *ports((80, "TCP", 1)))) == expected


def test_allocation_comes_first() -> None:
    wrong: dict[str, Any] = {"sessionAffinity": "", "selector": {"a": "?"}}
    assert errors(service("NodePort", {"nodePort": 1}, **wrong)) == [f"ports[0].nodePort {OUT}"]
    other = [f"selector Invalid {VALUE_TEXT}", "sessionAffinity Required"]
    assert errors(service("NodePort", {"nodePort": 30000}, **wrong)) == other


# Updates.


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("SingleStack", []),
        ("PreferDualStack", ["ipFamilyPolicy Invalid must be 'SingleStack' to release the secondary IP family"]),
    ],
)
def test_a_family_is_released(policy: str, expected: list[str]) -> None:
    old = service(ipFamilies=["IPv4", "IPv6"], ipFamilyPolicy="PreferDualStack", clusterIP=TWO[0], clusterIPs=TWO)
    new = service(ipFamilies=["IPv4"], ipFamilyPolicy=policy, clusterIP=TWO[0], clusterIPs=TWO[:1])
    text = "ipFamilyPolicy Invalid must be 'SingleStack' to release the secondary cluster IP"
    assert errors(new, old) == ([text, *expected] if expected else [])
    assert errors(old, old) == [], "PreferDualStack stays as it is"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a", "a", []),
        ("a", "b", ["Invalid may not change once set"]),
        ("a", None, ["Invalid may not change once set"]),
        (None, "a", ["Invalid may not change once set"]),
    ],
)
def test_the_class_of_a_balancer(before: str | None, after: str | None, expected: list[str]) -> None:
    """Source: validateLoadBalancerClassField."""
    old, new = (service("LoadBalancer", loadBalancerClass=name) for name in (before, after))
    assert errors(new, old) == [f"loadBalancerClass {text}" for text in expected]
    assert errors(new, service("NodePort")) == []
    assert errors(service(), old) == []
    wrong = service(loadBalancerClass="a")
    assert errors(wrong) == [f"loadBalancerClass {ONLY_BALANCERS}"]
    assert errors(wrong, wrong) == [f"loadBalancerClass {ONLY_BALANCERS}"] * 2, "told twice"
    found = errors(service("LoadBalancer", loadBalancerClass="a_"))
    assert found == [f"loadBalancerClass Invalid name part {QUALIFIED_TEXT}"]


def balanced(number: int, policy: str = "Local", **fields: Any) -> Service:
    return service("LoadBalancer", healthCheckNodePort=number, externalTrafficPolicy=policy, **fields)


def test_the_node_port_of_health_checks() -> None:
    """Source: validateServiceExternalTrafficFieldsUpdate, apiservice.NeedsHealthCheck."""
    assert errors(balanced(30001), balanced(30001)) == errors(balanced(30001), balanced(0, "Cluster")) == []
    assert errors(balanced(30002), balanced(30001)) == ["healthCheckNodePort Forbidden field is immutable"]
    text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    assert errors(balanced(30001, "Cluster")) == [f"healthCheckNodePort Invalid {text}"]
    made = service("NodePort", healthCheckNodePort=30001, externalTrafficPolicy="Local")
    assert errors(made) == [f"healthCheckNodePort Invalid {text}"]
    assert errors(balanced(65535)) == []
    for number in (-1, 65536):
        assert errors(balanced(number)) == ["healthCheckNodePort Invalid must be between 1 and 65535, inclusive"]


def test_metadata_and_addresses_of_an_update() -> None:
    old = service(clusterIP="10.96.0.1", clusterIPs=["10.96.0.1"], ipFamilies=["IPv4"])
    new = service(clusterIP="10.96.0.2", clusterIPs=["10.96.0.2"], ipFamilies=["IPv4"])
    new.metadata.name = "b"
    assert errors(new, old) == [
        "metadata.name Invalid field is immutable",
        "clusterIPs[0] Invalid may not change once set",
    ]


# The object.


@pytest.mark.parametrize(
    ("mode", "hints", "wrong"),
    [(None, None, False), ("a", None, False), (None, "a", False), ("a", "a", False), ("a", "b", True)],
)
def test_annotations_about_topology(mode: str | None, hints: str | None, wrong: bool) -> None:
    names = ("service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints")
    notes = {name: value for name, value in zip(names, (mode, hints), strict=True) if value is not None}
    text = f"metadata.annotations[{names[0]}] Invalid must match annotations[{names[1]}] when both are specified"
    assert errors(service(notes=notes)) == ([text] if wrong else [])


def test_services_without_ports_or_addresses() -> None:
    """Source: validateService."""
    assert errors(service(ports=[])) == ["ports Required"]
    assert errors(service(ports=[], **HEADLESS)) == []
    for type_ in REACHABLE:
        text = f"clusterIPs[0] Invalid may not be set to 'None' for {type_} services"
        assert errors(service(type_, **HEADLESS)) == [text]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"externalName": "a.b"}, []),
        ({"externalName": "a.b."}, []),
        ({}, ["externalName Required"]),
        ({"externalName": "."}, ["externalName Required"]),
        ({"externalName": "a.b.."}, [f"externalName Invalid {SUBDOMAIN_TEXT}"]),
        (
            {
                "externalName": "A",
                "clusterIP": "x",
                "clusterIPs": ["x"],
                "ipFamilies": ["x"],
                "ipFamilyPolicy": "SingleStack",
            },
            [
                *(
                    f"{name} Forbidden may not be set for ExternalName services"
                    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
                ),
                f"externalName Invalid {SUBDOMAIN_TEXT}",
            ],
        ),
    ],
)
def test_external_names(fields: dict[str, Any], expected: list[str]) -> None:
    assert errors(service("ExternalName", **fields)) == expected


RANGE = "Invalid must be between 1 and 65535, inclusive"


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([{"port": 1, "targetPort": 65535}], []),
        ([{"port": 65535, "targetPort": "web", "name": "a", "appProtocol": "example.com/a"}], []),
        ([{"port": 0}], [f"ports[0].port {RANGE}"]),
        ([{"port": 65536, "targetPort": 0}], [f"ports[0].port {RANGE}", f"ports[0].targetPort {RANGE}"]),
        ([{"targetPort": "8"}], ["ports[0].targetPort Invalid must contain at least one letter (a-z)"]),
        ([{"name": "A"}], [f"ports[0].name Invalid {LABEL_TEXT}"]),
        ([{"port": 1}, {"port": 2, "name": "a"}], ["ports[0].name Required"]),
        ([{"port": 1, "name": "a"}, {"port": 2, "name": "a"}], ["ports[1].name Duplicate"]),
        ([{"protocol": ""}], ["ports[0].protocol Required"]),
        ([{"protocol": "tcp"}], ['ports[0].protocol NotSupported supported values: "SCTP", "TCP", "UDP"']),
        ([{"appProtocol": "_"}], [f"ports[0].appProtocol Invalid name part {QUALIFIED_TEXT}"]),
        ([{"name": "a"}, {"name": "b", "protocol": "UDP"}, {"name": "c"}], ["ports[2] Duplicate"]),
        ([{"nodePort": 30000}], ["ports[0].nodePort Forbidden may not be used when `type` is 'ClusterIP'"]),
    ],
)
def test_ports(listed: list[dict[str, Any]], expected: list[str]) -> None:
    """Source: validateServicePort, validateService."""
    assert errors(service("ClusterIP", *listed)) == expected


def test_pairs_of_protocol_and_node_port() -> None:
    """The message about two equal ports shows Go's ServicePort with the pair only."""
    made = service("NodePort", *ports((80, "TCP", 30001), (80, "TCP", 30001), (81, "TCP", 0), (82, "TCP", 0)))
    assert errors(made) == ["ports[1].nodePort Duplicate", "ports[1] Duplicate"]
    text = (
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,'
        '"NodePort":0}'
    )
    assert str(module.validate_service(made)[1]) == text


CONFIG = "sessionAffinityConfig"
WHEN = "Required when session affinity type is ClientIP"


@pytest.mark.parametrize(
    ("affinity", "config", "expected"),
    [
        ("None", None, []),
        ("ClientIP", {"clientIP": {"timeoutSeconds": 1}}, []),
        ("ClientIP", {"clientIP": {"timeoutSeconds": 86400}}, []),
        ("", {}, ["sessionAffinity Required"]),
        ("x", {}, ['sessionAffinity NotSupported supported values: "ClientIP", "None"']),
        ("None", {}, [f"{CONFIG} Forbidden must not be set when session affinity is None"]),
        ("ClientIP", None, [f"{CONFIG} {WHEN}"]),
        ("ClientIP", {}, [f"{CONFIG}.clientIP {WHEN}"]),
        ("ClientIP", {"clientIP": {}}, [f"{CONFIG}.clientIP.timeoutSeconds {WHEN}"]),
        *(
            (
                "ClientIP",
                {"clientIP": {"timeoutSeconds": seconds}},
                [f"{CONFIG}.clientIP.timeoutSeconds Invalid must be greater than 0 and less than 86400"],
            )
            for seconds in (-1, 0, 86401)
        ),
    ],
)
def test_session_affinity(affinity: str, config: Any, expected: list[str]) -> None:
    """Source: validateClientIPAffinityConfig, validateAffinityTimeout."""
    assert errors(service(sessionAffinity=affinity, sessionAffinityConfig=config)) == expected


def test_external_addresses() -> None:
    """A stored address need not fit newer rules, a special one must. Source: IsValidIPForLegacyField."""
    loopback = "Invalid may not be in the loopback range (127.0.0.0/8, ::1/128)"
    fields: dict[str, Any] = {"externalTrafficPolicy": "Cluster"}
    assert errors(service(externalIPs=["1.2.3.4", "fd00::1"], **fields)) == []
    wrong = service(externalIPs=["1.2.3.4", "x", "01.2.3.4", "127.0.0.1"], **fields)
    assert errors(wrong) == [
        f"externalIPs[1] Invalid {IP_TEXT}",
        "externalIPs[2] Invalid must not have leading 0s",
        f"externalIPs[3] {loopback}",
    ]
    assert errors(wrong, wrong) == [f"externalIPs[1] Invalid {IP_TEXT}", f"externalIPs[3] {loopback}"]


BITS = "Invalid must not have bits set beyond the prefix length"


def test_ranges_of_a_balancer() -> None:
    """The path of the field has a capital letter. Source: validateService."""
    good = service("LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8", " fd00::/8 "])
    assert errors(good) == []
    wrong = service("LoadBalancer", loadBalancerSourceRanges=["10.0.0.0/8", "x", " 10.0.0.1/8"])
    assert errors(wrong) == [
        f"LoadBalancerSourceRanges[1] Invalid {CIDR_TEXT}",
        f"LoadBalancerSourceRanges[2] {BITS}",
    ]
    stored = service("LoadBalancer", loadBalancerSourceRanges=["10.0.0.1/8 "])
    assert errors(wrong, stored) == [f"LoadBalancerSourceRanges[1] Invalid {CIDR_TEXT}"]
    made = service("NodePort", loadBalancerSourceRanges=["x"], notes={RANGES: "y"})
    assert errors(made) == [
        f"LoadBalancerSourceRanges {ONLY_BALANCERS}",
        f"LoadBalancerSourceRanges[0] Invalid {CIDR_TEXT}",
    ], "the annotation does not count beside the field"


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("10.0.0.0/8, fd00::/8", []),
        ("", []),
        (" ", []),
        ("10.0.0.1/8,x", [BITS, f"Invalid {CIDR_TEXT}"]),
        ("10.0.0.0/8,", [f"Invalid {CIDR_TEXT}"]),
    ],
)
def test_ranges_in_the_annotation(note: str, expected: list[str]) -> None:
    place, notes = f"metadata.annotations[{RANGES}]", {RANGES: note}
    texts = [f"{place} {text}" for text in expected]
    assert errors(service("LoadBalancer", notes=notes)) == texts
    assert errors(service(notes=notes)) == [f"{place} {ONLY_BALANCERS}", *texts]
    stored = service("LoadBalancer", notes=notes)
    assert errors(stored, stored) == [], "an unchanged annotation is not checked"
    assert errors(stored, service("LoadBalancer", notes={RANGES: "10.0.0.0/9"})) == texts


def test_node_ports_of_a_balancer() -> None:
    for value in (True, False):
        assert errors(service("LoadBalancer", allocateLoadBalancerNodePorts=value)) == []
        found = errors(service("NodePort", allocateLoadBalancerNodePorts=value))
        assert found == [f"allocateLoadBalancerNodePorts {ONLY_BALANCERS}"]


POLICIES = 'supported values: "Cluster", "Local"'


@pytest.mark.parametrize("type_", REACHABLE)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Cluster", []),
        ("Local", []),
        ("", ["externalTrafficPolicy Required"]),
        ("x", [f"externalTrafficPolicy NotSupported {POLICIES}"]),
    ],
)
def test_external_traffic(type_: str, policy: str, expected: list[str]) -> None:
    """Source: validateServiceExternalTrafficPolicy."""
    number = 30001 if (type_, policy) == ("LoadBalancer", "Local") else 0
    assert errors(service(type_, externalTrafficPolicy=policy, healthCheckNodePort=number)) == expected
    assert errors(service(externalIPs=["1.2.3.4"], externalTrafficPolicy=policy)) == expected
    text = "externalTrafficPolicy Invalid may only be set for externally-accessible services"
    assert errors(service(externalTrafficPolicy=policy)) == ([text] if policy else [])
    named_out: dict[str, Any] = {"externalName": "a.b", "externalIPs": ["1.2.3.4"]}
    found = errors(service("ExternalName", externalTrafficPolicy=policy, **named_out))
    assert found == ([text] if policy else [])


def test_internal_traffic_and_distribution() -> None:
    distributions = ("PreferClose", "PreferSameZone", "PreferSameNode")
    for policy in ("Cluster", "Local"):
        for distribution in (None, *distributions):
            assert errors(service(internalTrafficPolicy=policy, trafficDistribution=distribution)) == []
    assert errors(service(internalTrafficPolicy="", trafficDistribution="")) == [
        f"internalTrafficPolicy NotSupported {POLICIES}",
        'trafficDistribution NotSupported supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ]
