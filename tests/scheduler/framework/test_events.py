"""Cluster events: which registration matches which event, and which events an update makes."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_DELETE,
    EVENTS_BY_LABEL,
    EVERYTHING,
    FORCE_ACTIVATE,
    NODE,
    NODE_ADD,
    POD,
    PVC,
    STORAGE_CLASS,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD,
    UNSCHEDULED_POD_UPDATE,
    WILDCARD,
    ActionType,
    ClusterEvent,
    changes_of,
    is_itself,
    is_scaled_down,
    node_change_events,
    pod_change_events,
    uid_of,
)

ADD, DELETE, UPDATE, ALL = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE, ActionType.ALL
LABEL, TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT
POD_LABEL = ActionType.UPDATE_POD_LABEL


def test_an_update_is_every_kind_of_update_and_all_is_everything() -> None:
    """Source: kube-scheduler framework ActionType, where every kind is one bit."""
    kinds = [one for one in ActionType if one.name and one.name.startswith("UPDATE_")]
    assert len(kinds) == 12 and all(one.bit_count() == 1 for one in kinds)
    together = ActionType(0)
    for one in kinds:
        together |= one
    assert together == UPDATE and ADD | DELETE | UPDATE == ALL


@pytest.mark.parametrize(
    ("registered", "happened", "matches"),
    [
        ((NODE, ADD), (NODE, ADD), True),
        ((NODE, ADD), (NODE, DELETE), False),
        ((NODE, ADD), (PVC, ADD), False),
        ((NODE, ADD | LABEL), (NODE, LABEL), True),
        ((NODE, ADD | LABEL), (NODE, TAINT), False),
        ((NODE, UPDATE), (NODE, TAINT), True),
        # a general update matches only a registration for every kind of update
        ((NODE, LABEL), (NODE, UPDATE), False),
        ((NODE, UPDATE), (NODE, UPDATE), True),
        ((NODE, ALL), (NODE, UPDATE), True),
        # the comparison is one of integers: larger bits of the event do not match a smaller registration
        ((NODE, LABEL), (NODE, LABEL | TAINT), False),
        ((NODE, LABEL | TAINT), (NODE, LABEL | TAINT), True),
        ((NODE, TAINT | ADD), (NODE, LABEL | ADD), True),
        ((POD, POD_LABEL), (ASSIGNED_POD, POD_LABEL), True),
        ((POD, POD_LABEL), (UNSCHEDULED_POD, POD_LABEL), True),
        ((POD, POD_LABEL), (NODE, POD_LABEL), False),
        ((ASSIGNED_POD, ADD), (UNSCHEDULED_POD, ADD), False),
        ((WILDCARD, ADD), (NODE, ADD), True),
        ((WILDCARD, ADD), (NODE, DELETE), False),
        ((WILDCARD, ALL), (NODE, UPDATE), True),
        ((NODE, ALL), (WILDCARD, ALL), False),
    ],
)
def test_a_registration_matches_an_event(
    registered: tuple[str, ActionType], happened: tuple[str, ActionType], matches: bool
) -> None:
    """Source: framework.MatchClusterEvents."""
    assert ClusterEvent(*registered).covers(ClusterEvent(*happened)) is matches


def test_only_all_actions_of_all_resources_are_the_wildcard() -> None:
    assert ClusterEvent(WILDCARD, ALL).is_wildcard and UNSCHEDULABLE_TIMEOUT.is_wildcard
    assert not ClusterEvent(WILDCARD, UPDATE).is_wildcard
    assert not ClusterEvent(NODE, ALL).is_wildcard
    assert ((ClusterEvent(WILDCARD, ALL), None),) == EVERYTHING


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (NODE_ADD, "NodeAdd"),
        (ASSIGNED_POD_DELETE, "AssignedPodDelete"),
        (ClusterEvent(UNSCHEDULED_POD, POD_LABEL), "UnschedulablePodUpdatePodLabel"),
        (ClusterEvent(NODE, UPDATE), "NodeUpdate"),
        (ClusterEvent(NODE, ALL), "NodeAll"),
        (ClusterEvent(STORAGE_CLASS, ADD), "StorageClassAdd"),
        (ClusterEvent(NODE, TAINT | ADD), "NodeAdd|UpdateNodeTaint"),
        (UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
        (FORCE_ACTIVATE, "ForceActivate"),
    ],
)
def test_a_label_is_the_resource_and_the_action(event: ClusterEvent, label: str) -> None:
    assert event.label == label
    assert EVENTS_BY_LABEL.get(label, event) == event


def test_labels_are_unique() -> None:
    assert all(event.label == label for label, event in EVENTS_BY_LABEL.items())
    assert {"NodeUpdateNodeTaint", "CSINodeDelete", "ResourceSliceUpdate"} <= EVENTS_BY_LABEL.keys()


def pod(node: str = "", requests: dict[str, str] | None = None, **fields: Any) -> Pod:
    meta = {"name": "p", "namespace": "d", "uid": "u", "labels": fields.pop("labels", {})}
    spec = {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests or {}}}], **fields}
    status = spec.pop("status", {})
    return from_dict({"metadata": meta, "spec": spec, "status": status}, Pod)


CLAIM = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "x"}]}
EXTENDED = {"extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": []}}
GATE, OTHER = {"name": "g"}, {"name": "h"}
TOLERATION = {"key": "k", "operator": "Exists"}


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (pod(), pod(), "Update"),
        (pod(), pod(labels={"a": "1"}), "UpdatePodLabel"),
        (pod(requests={"cpu": "2"}), pod(requests={"cpu": "1"}), "UpdatePodScaleDown"),
        (pod(requests={"cpu": "1"}), pod(requests={"cpu": "2"}), "Update"),
        (pod(schedulingGates=[GATE]), pod(), "UpdatePodSchedulingGatesEliminated"),
        (pod(schedulingGates=[GATE, OTHER]), pod(schedulingGates=[OTHER]), "Update"),
        (pod(), pod(tolerations=[TOLERATION]), "UpdatePodToleration"),
        (pod(tolerations=[TOLERATION]), pod(tolerations=[{**TOLERATION, "key": "j"}]), "Update"),
        (pod(), pod(status=CLAIM), "UpdatePodGeneratedResourceClaim"),
        (pod(), pod(status=EXTENDED), "UpdatePodGeneratedResourceClaim"),
        (pod(status=EXTENDED), pod(status=EXTENDED), "Update"),
        (
            pod(requests={"cpu": "2"}, schedulingGates=[GATE]),
            pod(requests={"cpu": "1"}, labels={"a": "1"}, tolerations=[TOLERATION], status=CLAIM),
            "UpdatePodLabel UpdatePodScaleDown UpdatePodSchedulingGatesEliminated UpdatePodToleration "
            "UpdatePodGeneratedResourceClaim",
        ),
    ],
)
def test_the_events_of_a_pods_update(old: Pod, new: Pod, labels: str) -> None:
    """Source: framework.PodSchedulingPropertiesChange, with its order."""
    assert [event.label for event in pod_change_events(new, old)] == [
        f"UnschedulablePod{one}" for one in labels.split()
    ]


def test_an_update_belongs_to_an_assigned_pod_if_the_new_version_has_a_node() -> None:
    assert [event.resource for event in pod_change_events(pod("n"), pod())] == [ASSIGNED_POD]
    assert pod_change_events(pod(), pod("n")) == [UNSCHEDULED_POD_UPDATE]


@pytest.mark.parametrize(
    ("old", "new", "smaller"),
    [
        ({"cpu": "1"}, {"cpu": "1000m"}, False),
        ({"cpu": "1"}, {"cpu": "999m"}, True),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2"}, True),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1"}, True),
        ({"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}, False),
        ({}, {}, False),
    ],
)
def test_a_pod_is_scaled_down_if_any_request_is_smaller_or_gone(
    old: dict[str, str], new: dict[str, str], smaller: bool
) -> None:
    assert is_scaled_down(pod(requests=new), pod(requests=old)) is smaller


def node(**fields: Any) -> Node:
    meta = {"name": "n", "labels": fields.pop("labels", {}), "annotations": fields.pop("annotations", {})}
    return from_dict({"metadata": meta, "spec": fields.pop("spec", {}), "status": fields}, Node)


def condition(status: str, **more: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": status, **more}]


TAINTED = {"taints": [{"key": "k", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        (node(), node(), ""),
        (node(), node(capacity={"cpu": "1"}), ""),
        (node(), node(allocatable={"cpu": "1"}), "Allocatable"),
        (node(allocatable={"cpu": "1"}), node(allocatable={"cpu": "1000m"}), ""),
        (node(), node(labels={"a": ""}), "Label"),
        (node(), node(annotations={"a": ""}), "Annotation"),
        (node(), node(spec=TAINTED), "Taint"),
        (node(spec={"unschedulable": True}), node(), "Taint"),
        (node(), node(spec={"unschedulable": True}), ""),
        (node(conditions=condition("True")), node(conditions=condition("False")), "Condition"),
        (node(conditions=condition("True")), node(conditions=condition("True", reason="x")), ""),
        (node(), node(conditions=condition("True")), "Condition"),
        (node(), node(declaredFeatures=["A"]), "DeclaredFeature"),
        (
            node(spec={"unschedulable": True}),
            node(spec=TAINTED, allocatable={"cpu": "1"}, labels={"a": ""}, annotations={"a": ""}),
            "Taint Allocatable Label Taint Annotation",
        ),
    ],
)
def test_the_events_of_a_nodes_update(old: Node, new: Node, labels: str) -> None:
    """Source: framework.NodeSchedulingPropertiesChange, with its order."""
    assert [event.label for event in node_change_events(new, old)] == [f"NodeUpdateNode{one}" for one in labels.split()]


def test_registrations_of_additions_and_updates() -> None:
    assert changes_of(NODE, PVC) == [(ClusterEvent(NODE, ADD | UPDATE), None), (ClusterEvent(PVC, ADD | UPDATE), None)]
    assert changes_of() == []


def test_a_pod_is_itself_by_its_uid_or_else_by_its_key() -> None:
    mine, other, unnamed = pod(), pod(), pod()
    other.metadata.uid = "v"
    unnamed.metadata.uid = ""
    assert (uid_of(mine), uid_of(unnamed)) == ("u", "d/p")
    assert is_itself(mine, None, pod(labels={"a": ""}))
    assert not is_itself(mine, mine, other)
    assert not is_itself(mine, mine, None)
    assert not is_itself(mine, None, node())
