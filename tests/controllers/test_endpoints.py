"""Endpoints and EndpointSlices of Services, by the addresses of the selected pods."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kitlib.api.core import EndpointAddress, EndpointPort, EndpointSubset
from kitlib.api.serialize import to_dict
from kitlib.controllers.endpoints import MAX_ENDPOINTS, repacked, truncate
from tests.controllers.builders import hollow, pod

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


def subset(ips: str, ports: str, not_ready: str = "") -> EndpointSubset:
    """Addresses and ports by their last digits and numbers."""
    return EndpointSubset(
        addresses=[EndpointAddress(ip=f"10.0.0.{one}") for one in ips],
        not_ready_addresses=[EndpointAddress(ip=f"10.0.0.{one}") for one in not_ready],
        ports=[EndpointPort(name=f"p{port}", port=int(port), protocol="TCP") for port in ports.split()],
    )


def shown(subsets: list[EndpointSubset]) -> set[tuple[str, str, str]]:
    return {
        (
            "".join(one.ip[-1] for one in found.addresses),
            "".join(one.ip[-1] for one in found.not_ready_addresses),
            " ".join(sorted(str(port.port) for port in found.ports)),
        )
        for found in subsets
    }


PACKED = {
    "the same ports": ([subset("2", "80 90"), subset("1", "80 90")], {("12", "", "80 90")}),
    "a port in common": (
        [subset("1", "80 90"), subset("2", "81 90")],
        {("1", "", "80"), ("2", "", "81"), ("12", "", "90")},
    ),
    "without ports": ([subset("1", ""), subset("", "", "2")], {("1", "2", "")}),
    "the same address with other ports": ([subset("1", "80"), subset("1", "90")], {("1", "", "80 90")}),
    "ready by one port only": ([subset("1", "80"), subset("", "90", "1")], {("1", "", "80"), ("", "1", "90")}),
}


@pytest.mark.parametrize(("given", "wanted"), PACKED.values(), ids=PACKED.keys())
def test_ports_that_the_same_addresses_offer_stand_together(given, wanted) -> None:
    """The rule of RepackSubsets."""
    assert shown(repacked(given)) == wanted


def test_the_ports_of_a_subset_stand_in_the_order_of_their_hashes() -> None:
    """As every cluster shows those of its DNS Service. Source: LessEndpointPort."""
    ports = [("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP")]
    made = EndpointSubset(
        addresses=[EndpointAddress(ip="10.0.0.1")],
        ports=[EndpointPort(name=name, port=port, protocol=protocol) for name, port, protocol in ports],
    )
    (found,) = repacked([made])
    assert [port.name for port in found.ports] == ["dns-tcp", "dns", "metrics"]


@pytest.mark.parametrize(
    ("ready", "others", "kept"),
    [
        ([600, 400], [0, 0], [(600, 0), (400, 0)]),
        ([600, 100], [300, 100], [(600, 225), (100, 75)]),
        ([1500, 500], [9, 9], [(750, 0), (250, 0)]),
    ],
)
def test_a_thousand_addresses_are_kept_those_that_are_ready_first(ready, others, kept) -> None:
    """The rule of truncateEndpoints: in proportion to the sizes of the subsets."""
    address = EndpointAddress(ip="10.0.0.1")
    subsets = [
        EndpointSubset(addresses=[address] * a, not_ready_addresses=[address] * b)
        for a, b in zip(ready, others, strict=True)
    ]
    found, truncated = truncate(subsets)
    assert [(len(one.addresses), len(one.not_ready_addresses)) for one in found] == kept
    assert truncated == (sum(ready) + sum(others) > MAX_ENDPOINTS)


def test_the_time_of_the_last_change_is_that_of_what_changed() -> None:
    """The rule of ComputeEndpointLastChangeTriggerTime: a pod that goes is no change that has a time."""
    cluster, key = hollow(), "endpoints.kubernetes.io/last-change-trigger-time"

    def times() -> list[str | None]:
        found = [cluster.get("endpoints", "web"), *cluster.list("EndpointSlice")]
        return [one.metadata.annotations.get(key) for one in found]

    cluster.apply(SERVICE)
    assert times() == ["2026-01-05T08:00:00Z"] * 2
    cluster.advance(60)
    container = {"name": "c", "image": "app:1", "ports": [{"name": "http", "containerPort": 8080}]}
    cluster.apply(pod("p0", containers=[container]))
    found = cluster.pod("p0")
    found.status.pod_ip = "10.0.0.1"
    for condition in found.status.conditions:
        condition.last_transition_time = cluster.now() + timedelta(seconds=1)
    cluster.api.update_status(found)
    cluster.settle()
    assert times() == ["2026-01-05T08:01:01Z"] * 2
    cluster.delete("Pod", "p0")
    cluster.settle()
    assert times() == [None, None]


def test_only_a_service_without_an_address_is_called_headless() -> None:
    cluster = hollow()
    label = "service.kubernetes.io/headless"
    labelled = {**SERVICE, "metadata": {"name": "web", "labels": {label: "yes"}}}
    headless = {**SERVICE, "metadata": {"name": "less"}, "spec": {**SERVICE["spec"], "clusterIP": "None"}}
    cluster.apply([labelled, headless])
    for kind in ("Endpoints", "EndpointSlice"):
        found = {one.name[:3]: one.metadata.labels.get(label) for one in cluster.list(kind)}
        assert found == {"web": None, "les": ""}


def test_a_slice_keeps_its_name_when_its_ports_change() -> None:
    """The rule of finalize: the placeholder becomes the slice of the first pods."""
    cluster = hollow()
    cluster.apply(SERVICE)
    (placeholder,) = cluster.list("EndpointSlice")
    assert placeholder.ports == [] and placeholder.endpoints == []
    container = {"name": "c", "image": "app:1", "ports": [{"name": "http", "containerPort": 8080}]}
    cluster.apply(pod("p0", containers=[container]))
    found = cluster.pod("p0")
    found.status.pod_ip = "10.0.0.1"
    cluster.api.update_status(found)
    cluster.settle()
    (filled,) = cluster.list("EndpointSlice")
    assert filled.name == placeholder.name and [port.port for port in filled.ports] == [8080]


@pytest.mark.parametrize(
    ("distribution", "hints"),
    [
        (None, None),
        ("PreferClose", {"forZones": [{"name": "a"}]}),
        ("PreferSameZone", {"forZones": [{"name": "a"}]}),
        ("PreferSameNode", {"forZones": [{"name": "a"}], "forNodes": [{"name": "node-1"}]}),
    ],
)
def test_hints_say_where_an_endpoint_should_be_used(distribution: str | None, hints: Any) -> None:
    """The rule of trafficdist.ReconcileHints: endpoints that are not ready have none."""
    cluster = with_addresses(True, False)
    for node in cluster.nodes:
        cluster.patch("Node", node.name, {"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}})
    cluster.patch("Service", "web", {"spec": {"trafficDistribution": distribution}})
    cluster.settle()
    (found,) = cluster.list("EndpointSlice")
    ready, other = found.endpoints
    assert (to_dict(ready.hints) if ready.hints else None) == (
        hints and {**hints, **({"forNodes": [{"name": ready.node_name}]} if "forNodes" in hints else {})}
    )
    assert other.hints is None


def test_a_sidecar_s_named_port_is_found() -> None:
    """The rule of FindPort."""
    cluster = hollow()
    sidecar = {"name": "s", "image": "s:1", "restartPolicy": "Always", "ports": [{"name": "http", "containerPort": 81}]}
    cluster.apply([SERVICE, pod("p0", initContainers=[sidecar])])
    found = cluster.pod("p0")
    found.status.pod_ip = "10.0.0.1"
    cluster.api.update_status(found)
    cluster.settle()
    assert [port.port for port in cluster.get("endpoints", "web").subsets[0].ports] == [81]


def test_endpoints_written_by_hand_are_mirrored_for_a_service_without_a_selector() -> None:
    """The rules of endpointslicemirroring: labels and annotations are kept, families have slices of their own."""
    cluster = hollow()
    addresses = [{"ip": "192.0.2.1", "hostname": "db"}, {"ip": "2001:db8::1"}]
    written = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "db", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "subsets": [
            {
                "addresses": addresses,
                "notReadyAddresses": [{"ip": "192.0.2.2"}],
                "ports": [{"name": "sql", "port": 5432}],
            }
        ],
    }
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}}
    cluster.apply([written])
    assert cluster.list("EndpointSlice") == [], "there is no such Service"
    cluster.apply([service])

    def slices() -> dict[str, list[tuple[str, bool | None]]]:
        return {
            one.address_type: [(endpoint.addresses[0], endpoint.conditions.ready) for endpoint in one.endpoints]
            for one in cluster.list("EndpointSlice")
        }

    assert slices() == {"IPv4": [("192.0.2.1", True), ("192.0.2.2", False)], "IPv6": [("2001:db8::1", True)]}
    one = next(one for one in cluster.list("EndpointSlice") if one.address_type == "IPv4")
    assert one.metadata.labels == {
        "a": "b",
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert one.metadata.annotations == {"c": "d"} and one.metadata.owner_references[0].kind == "Endpoints"
    assert (one.ports[0].name, one.ports[0].port, one.endpoints[0].hostname) == ("sql", 5432, "db")
    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    cluster.patch("Endpoints", "db", {"metadata": {"labels": skip}})
    assert slices() == {}
    cluster.patch("Endpoints", "db", {"metadata": {"labels": dict.fromkeys(skip)}})
    assert set(slices()) == {"IPv4", "IPv6"}
    cluster.delete("Endpoints", "db")
    assert slices() == {}
