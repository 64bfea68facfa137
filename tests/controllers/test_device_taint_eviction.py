"""NoExecute taints on devices delete the pods that use them; rules say how far that is."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import NoMatch
from kitlib.api.release import Release
from kitlib.lab.devices import DRIVER, allocated, claims, device, device_class, device_request, device_slice
from kitlib.lab.devices import resource_claim as claim_of
from tests.controllers.builders import hollow, names, pod, told

RULES = Release("1.36", {"DRADeviceTaintRules": True})
NOT_AGAIN = "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."


def rule(effect: str = "NoExecute", name: str = "r", **selector: str) -> dict[str, Any]:
    spec = {"deviceSelector": selector, "taint": {"key": "broken", "effect": effect}}
    kind = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def tolerating(seconds: int | None = None) -> dict[str, Any]:
    """A request whose devices may be broken, for so long."""
    made = device_request("gpu", tolerate="broken")
    made["tolerations"][0]["effect"] = "NoExecute"
    if seconds is not None:
        made["tolerations"][0]["tolerationSeconds"] = seconds
    return made


def cluster_with(*requests: dict[str, Any], release: Release | str = RULES) -> Any:
    """Node node-1 has four devices; pods p0, p1 … have a claim each."""
    made = hollow(1, release=release)
    devices = [device(f"d{i}") for i in range(4)]
    pods = [pod(f"p{i}", resourceClaims=claims(f"c{i}")) for i in range(len(requests))]
    wanted = [claim_of(f"c{i}", request) for i, request in enumerate(requests)]
    made.apply([device_class(), device_slice("node-1", *devices), *wanted, *pods])
    assert all(allocated(made).values())
    return made


def condition(cluster: Any) -> tuple[str, str, str]:
    found = cluster.api.store.get("DeviceTaintRule", "r").status.conditions[0]
    return found.status, found.reason, found.message


def test_pods_go_at_once_or_when_their_toleration_ends():
    cluster = cluster_with(device_request("gpu"), tolerating(4), tolerating())
    cluster.apply([rule(driver=DRIVER)])
    assert names(cluster) == ["p1", "p2"]
    assert ("DeviceTaintManagerEviction", "Marking for deletion") in told(cluster, "Pod")
    cluster.advance(3)
    assert names(cluster) == ["p1", "p2"]
    cluster.advance(2)
    assert names(cluster) == ["p2"]


def test_a_rule_that_goes_in_time_cancels_the_eviction():
    cluster = cluster_with(tolerating(10))
    cluster.apply([rule()])
    cluster.advance(5)
    cluster.delete("DeviceTaintRule", "r")
    cluster.advance(20)
    assert names(cluster) == ["p0"]
    assert ("DeviceTaintManagerEviction", "Cancelling deletion") in told(cluster, "Pod")


def test_a_driver_that_taints_its_device_evicts_too():
    cluster = cluster_with(device_request("gpu"), device_request("gpu"), release="1.36")
    used = allocated(cluster)["c0"].rpartition("/")[2]
    devices = [device(f"d{i}", taint="broken=yes:NoExecute" if f"d{i}" == used else "") for i in range(4)]
    cluster.apply([device_slice("node-1", *devices)])
    assert names(cluster) == ["p1"]


@pytest.mark.parametrize(
    ("selector", "left"),
    [
        ({}, []),
        ({"driver": DRIVER, "pool": "node-1", "device": "d0"}, ["p1"]),
        ({"pool": "node-2"}, ["p0", "p1"]),
        ({"driver": "other.example.com"}, ["p0", "p1"]),
    ],
)
def test_a_rule_is_about_the_devices_that_fit_in_all_of_its_selector(selector: dict[str, str], left: list[str]):
    cluster = cluster_with(device_request("gpu"), device_request("gpu"))
    assert allocated(cluster) == {"c0": "node-1/d0", "c1": "node-1/d1"}
    cluster.apply([rule(**selector)])
    assert names(cluster) == left


def test_a_rule_keeps_new_pods_from_its_devices_until_it_goes():
    cluster = cluster_with()
    cluster.apply([rule("NoSchedule", pool="node-1")])
    cluster.apply([claim_of("c0", device_request("gpu")), pod("p0", resourceClaims=claims("c0"))])
    assert allocated(cluster) == {"c0": ""}
    cluster.delete("DeviceTaintRule", "r")
    cluster.advance(30)
    assert allocated(cluster) == {"c0": "node-1/d0"}


def test_a_rules_condition_says_how_far_its_eviction_is():
    cluster = cluster_with(device_request("gpu"), tolerating(15))
    cluster.apply([rule()])
    assert condition(cluster)[:2] == ("True", "PodsPendingEviction")
    cluster.advance(11)
    pending = "1 pod needs to be evicted in 1 namespace. 1 pod evicted since starting the controller."
    assert condition(cluster) == ("True", "PodsPendingEviction", pending)
    cluster.advance(30)
    assert names(cluster) == []
    assert condition(cluster) == ("False", "Completed", "2 pods evicted since starting the controller.")


@pytest.mark.parametrize(
    ("effect", "reason", "message"),
    [
        ("NoSchedule", "OtherEffect", "Eviction only happens for the NoExecute effect."),
        (
            "None",
            "NoEffect",
            "4 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the "
            f"effect was NoExecute. {NOT_AGAIN}",
        ),
    ],
)
def test_a_rule_that_evicts_nothing_says_why(effect: str, reason: str, message: str):
    cluster = cluster_with(device_request("gpu"))
    cluster.apply([rule(effect)])
    assert names(cluster) == ["p0"]
    assert condition(cluster) == ("False", reason, message)


def test_without_the_gate_there_is_no_such_kind():
    cluster = cluster_with(release="1.36")
    with pytest.raises(NoMatch, match="DeviceTaintRule"):
        cluster.apply([rule()])


@pytest.mark.parametrize(
    ("release", "version", "served"),
    [
        (RULES, "v1beta2", True),
        (RULES, "v1", False),
        ("1.37", "v1", True),
        ("1.37", "v1beta2", True),
        (Release("1.35", {"DRADeviceTaintRules": True}), "v1beta2", False),
    ],
)
def test_rules_are_served_in_the_versions_of_the_release(release: Release | str, version: str, served: bool) -> None:
    cluster = hollow(1, release=release)
    one = {**rule(driver=DRIVER), "apiVersion": f"resource.k8s.io/{version}"}
    if served:
        cluster.apply([one])
        assert cluster.api.store.get("DeviceTaintRule", "r").spec.taint.key == "broken"
    else:
        with pytest.raises(NoMatch, match="DeviceTaintRule"):
            cluster.apply([one])
