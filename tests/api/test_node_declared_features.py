"""Tests of the features that a node declares by release and gates, and of those that pods and updates need."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PodSpec
from kitlib.api.node_declared_features import discover, mapped, missing, required_to_schedule, required_to_update
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict

RESTART, USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
ON_BY_DEFAULT = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    RESTART,
]


def spec(**fields: Any) -> PodSpec:
    made: PodSpec = from_dict({"containers": [{"name": "c", "image": "i"}], **fields}, PodSpec)
    return made


def restarting(action: str) -> PodSpec:
    rule = {"action": action, "exitCodes": {"operator": "In", "values": [1]}}
    return spec(initContainers=[{"name": "i", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}])


@pytest.mark.parametrize(
    ("release", "gates", "runtime", "expected"),
    [
        ("1.35", {"NodeDeclaredFeatures": True}, (), []),
        ("1.36", {}, (), ON_BY_DEFAULT),
        ("1.37", {}, (), ON_BY_DEFAULT),
        ("1.36", {"NodeDeclaredFeatures": False}, (), []),
        ("1.36", {RESTART: False}, (), ON_BY_DEFAULT[:3]),
        ("1.36", {USERS: True}, (), ON_BY_DEFAULT),
        ("1.36", {USERS: True}, (USERS,), [*ON_BY_DEFAULT, USERS]),
        ("1.37", {"DRAOptionalNodeOperations": True}, (), ["DRAOptionalNodeOperations", *ON_BY_DEFAULT]),
    ],
)
def test_a_kubelet_declares_the_features_of_its_release_and_gates(
    release: str, gates: dict[str, bool], runtime: tuple[str, ...], expected: list[str]
) -> None:
    assert discover(Release(release, gates), runtime) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (spec(), []),
        (restarting("Restart"), []),
        (restarting("RestartAllContainers"), [RESTART]),
        (spec(hostNetwork=True, hostUsers=False), [USERS]),
        (spec(hostNetwork=True, hostUsers=True), []),
        (spec(hostNetwork=True), []),
        (spec(hostUsers=False), []),
    ],
)
def test_a_pod_needs_what_its_fields_ask_for(pod: PodSpec, expected: list[str]) -> None:
    assert required_to_schedule(pod, Release("1.36")) == expected
    assert required_to_schedule(pod, Release("1.36", {"NodeDeclaredFeatures": False})) == []


def sized(limit: str) -> PodSpec:
    return spec(volumes=[{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": limit}}])


def init(cpu: str, policy: str | None = None) -> PodSpec:
    one = {"name": "i", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return spec(initContainers=[one | ({"restartPolicy": policy} if policy else {})])


@pytest.mark.parametrize(
    ("old", "new", "release", "expected"),
    [
        (spec(), spec(resources={"limits": {"cpu": "1"}}), "1.36", ["InPlacePodLevelResourcesVerticalScaling"]),
        (init("1"), init("2"), "1.36", ["InPlacePodVerticalScalingInitContainers"]),
        (init("1", "Always"), init("2", "Always"), "1.36", []),
        (sized("1Gi"), sized("2Gi"), "1.37", ["InPlacePodVerticalScalingMemoryBackedVolumes"]),
        (sized("1Gi"), sized("2Gi"), "1.36", []),
        (sized("1Gi"), sized("1024Mi"), "1.37", []),
    ],
)
def test_an_update_needs_what_it_changes(old: PodSpec, new: PodSpec, release: str, expected: list[str]) -> None:
    assert required_to_update(new, old, Release(release)) == expected


def test_a_list_that_is_not_sorted_loses_names_as_in_kubernetes() -> None:
    assert mapped([USERS, RESTART], Release("1.36")) == {USERS}
    assert mapped(["AFeatureOfTomorrow", RESTART, USERS, "Z"], Release("1.36")) == {RESTART, USERS}
    assert missing([RESTART, USERS], [USERS, RESTART], Release("1.36")) == [RESTART]
