"""Rows of nodes, volumes, quotas, events, roles and other kinds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.apiserver.http.printers import others

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
CREATED = "2024-01-01T11:55:00Z"
META = {"name": "x", "creationTimestamp": CREATED}


def row(printer: Any, metadata: Any = None, **fields: Any) -> list[Any]:
    found: list[Any] = printer({"metadata": {**META, **(metadata or {})}, **fields}, NOW)
    return found


ROLE = "node-role.kubernetes.io/"


@pytest.mark.parametrize(
    ("labels", "spec", "conditions", "status", "roles"),
    [
        ({}, {}, [], "Unknown", "<none>"),
        ({}, {}, [{"type": "Ready", "status": "True"}], "Ready", "<none>"),
        ({}, {}, [{"type": "Ready", "status": "Unknown"}], "NotReady", "<none>"),
        ({}, {"unschedulable": True}, [{"type": "Ready", "status": "True"}], "Ready,SchedulingDisabled", "<none>"),
        ({f"{ROLE}b": "", f"{ROLE}a": "", "kubernetes.io/role": "c"}, {}, [], "Unknown", "a,b,c"),
        ({ROLE: "", "kubernetes.io/role": ""}, {}, [], "Unknown", "<none>"),
    ],
)
def test_nodes(labels: dict[str, str], spec: Any, conditions: list[Any], status: str, roles: str) -> None:
    """Source: printNode, findNodeRoles."""
    found = row(others.print_node, {"labels": labels}, spec=spec, status={"conditions": conditions})
    assert found[:4] == ["x", status, roles, "5m"]
    assert found[4:] == ["", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]


def test_addresses_of_a_node() -> None:
    addresses = [{"type": "InternalIP", "address": str(i)} for i in range(2)] + [{"type": "ExternalIP", "address": "e"}]
    info = {"kubeletVersion": "v", "osImage": "o", "kernelVersion": "k", "containerRuntimeVersion": "c"}
    found = row(others.print_node, status={"addresses": addresses, "nodeInfo": info})
    assert found[4:] == ["v", "0", "e", "o", "k", "c"]


LATER = "2024-01-01T11:59:00Z"


@pytest.mark.parametrize(
    ("event", "last", "first", "count"),
    [
        ({"firstTimestamp": CREATED, "lastTimestamp": LATER, "count": 3}, "60s", "5m", 3),
        ({"eventTime": CREATED}, "5m", "5m", 1),
        ({"eventTime": CREATED, "series": {"lastObservedTime": LATER, "count": 4}}, "60s", "5m", 4),
        ({}, "<unknown>", "<unknown>", 1),
    ],
)
def test_the_times_of_an_event(event: dict[str, Any], last: str, first: str, count: int) -> None:
    """Source: printEvent."""
    found = row(others.print_event, **event)
    assert (found[0], found[7], found[8], found[9]) == (last, first, count, "x")


def test_the_texts_of_an_event() -> None:
    old = {"involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"}, "source": {"component": "c", "host": "h"}}
    texts = {"type": "Normal", "reason": "R", "message": " m "}
    assert row(others.print_event, **old, **texts)[1:7] == ["Normal", "R", "pod/p", "f", "c, h", "m"]
    new = {"regarding": {"kind": "Pod"}, "reportingController": "c", "note": "n"}
    assert row(others.print_event, **new)[3:7] == ["pod", "", "c", "n"]


def test_volumes() -> None:
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "n", "name": "c"},
        "storageClassName": "s",
        "volumeAttributesClassName": "v",
        "volumeMode": "Block",
    }
    found = row(others.print_persistent_volume, spec=spec, status={"phase": "Bound", "reason": "r"})
    assert found == ["x", "1Gi", "RWO", "Retain", "Bound", "n/c", "s", "v", "r", "5m", "Block"]
    gone = row(others.print_persistent_volume, {"deletionTimestamp": CREATED}, status={"phase": "Bound"})
    assert gone == ["x", "0", "", "", "Terminating", "", "", "<unset>", "", "5m", "<unset>"]
    beta = {"annotations": {"volume.beta.kubernetes.io/storage-class": ""}}
    assert row(others.print_persistent_volume, beta, spec=spec)[6] == ""


def test_claims() -> None:
    spec = {"volumeName": "v", "storageClassName": "s", "volumeMode": "Filesystem"}
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"]}
    printer = others.print_persistent_volume_claim
    assert row(printer, spec=spec, status=status) == [
        "x",
        "Bound",
        "v",
        "1Gi",
        "RWX",
        "s",
        "<unset>",
        "5m",
        "Filesystem",
    ]
    assert row(printer, spec={}, status={**status, "phase": "Pending"})[:5] == ["x", "Pending", "", "", ""]
    assert row(printer, {"deletionTimestamp": CREATED}, spec=spec)[1] == "Terminating"


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        ({}, "x"),
        ({"storageclass.kubernetes.io/is-default-class": "true"}, "x (default)"),
        ({"storageclass.beta.kubernetes.io/is-default-class": "true"}, "x (default)"),
        ({"storageclass.kubernetes.io/is-default-class": "yes"}, "x"),
    ],
)
def test_storage_classes(annotations: dict[str, str], name: str) -> None:
    found = row(others.print_storage_class, {"annotations": annotations}, provisioner="p")
    assert found == [name, "p", "Delete", "Immediate", False, "5m"]
    given = {"reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": True}
    assert row(others.print_storage_class, **given)[2:5] == ["Retain", "WaitForFirstConsumer", True]


def test_quotas() -> None:
    status = {"hard": {"pods": "5", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3"}}
    assert row(others.print_resource_quota, status=status) == ["x", "cpu: 0/1, pods: 3/5", "limits.cpu: 0/2", "5m"]


def test_role_bindings() -> None:
    subjects = [
        {"kind": "User", "name": "u"},
        {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
        {"kind": "Group", "name": "g"},
        {"kind": "User", "name": "v"},
    ]
    found = row(others.print_role_binding, roleRef={"kind": "Role", "name": "r"}, subjects=subjects)
    assert found == ["x", "Role/r", "5m", "u, v", "g", "n/s"]


def test_definitions() -> None:
    versions = [
        {"name": "v2", "served": True, "storage": True},
        {"name": "v1", "served": True},
        {"name": "v0", "served": False},
    ]
    spec = {"scope": "Namespaced", "group": "g", "versions": versions, "names": {"kind": "K", "shortNames": ["a", "b"]}}
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    found = row(others.print_definition, spec=spec, status=established)
    assert found == ["x", "Namespaced", "v1,v2(storage)", CREATED, "g", "K", "a,b", True]
    assert row(others.print_definition, spec=spec)[-1] is False


@pytest.mark.parametrize(
    ("status", "deleted", "state"),
    [
        ({}, False, "pending"),
        ({}, True, "deleted"),
        ({"allocation": {"a": 1}}, False, "allocated"),
        ({"allocation": {"a": 1}, "reservedFor": [{}]}, False, "allocated,reserved"),
        ({"allocation": {"a": 1}, "reservedFor": [{}]}, True, "deleted,allocated,reserved"),
    ],
)
def test_resource_claims(status: dict[str, Any], deleted: bool, state: str) -> None:
    """Source: resourceClaimState."""
    meta = {"deletionTimestamp": CREATED} if deleted else {}
    assert row(others.print_resource_claim, meta, status=status) == ["x", state, "5m"]


@pytest.mark.parametrize(
    ("spec", "node"),
    [({"nodeName": "n"}, "n"), ({"allNodes": True}, "<all>"), ({"nodeSelector": {"a": 1}}, "<some>"), ({}, "")],
)
def test_resource_slices(spec: dict[str, Any], node: str) -> None:
    found = row(others.print_resource_slice, spec={**spec, "driver": "d", "pool": {"name": "p"}})
    assert found == ["x", node, "d", "p", "5m"]


def test_csi_drivers() -> None:
    assert row(others.print_csi_driver) == ["x", True, False, False, "<unset>", False, "Persistent", "5m"]
    spec = {
        "attachRequired": False,
        "podInfoOnMount": True,
        "storageCapacity": True,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "requiresRepublish": True,
        "volumeLifecycleModes": ["Ephemeral", "Persistent"],
    }
    assert row(others.print_csi_driver, spec=spec)[1:7] == [False, True, True, "a,b", True, "Ephemeral,Persistent"]


@pytest.mark.parametrize(
    ("printer", "fields", "cells"),
    [
        (others.print_namespace, {"status": {"phase": "Active"}}, ["Active", "5m"]),
        (others.print_secret, {"data": {"a": "", "b": ""}, "type": "t"}, ["t", 2, "5m"]),
        (others.print_secret, {}, ["Opaque", 0, "5m"]),
        (others.print_config_map, {"data": {"a": ""}, "binaryData": {"b": ""}}, [2, "5m"]),
        (others.print_priority_class, {"value": 5, "globalDefault": True}, [5, True, "5m", "PreemptLowerPriority"]),
        (others.print_priority_class, {"preemptionPolicy": "Never"}, [0, False, "5m", "Never"]),
        (others.print_creation_time, {}, [CREATED]),
        (others.print_lease, {"spec": {"holderIdentity": "h"}}, ["h", "5m"]),
        (others.print_runtime_class, {"handler": "h"}, ["h", "5m"]),
        (others.print_csi_node, {"spec": {"drivers": [{}, {}]}}, [2, "5m"]),
        (
            others.print_volume_attachment,
            {
                "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
                "status": {"attached": True},
            },
            ["a", "v", "n", True, "5m"],
        ),
        (others.print_volume_attachment, {}, ["", "", "", False, "5m"]),
        (others.print_name_and_age, {}, ["5m"]),
    ],
)
def test_other_rows(printer: Any, fields: dict[str, Any], cells: list[Any]) -> None:
    assert row(printer, **fields) == ["x", *cells]
