"""StorageClasses, CSIDrivers, CSINodes, capacities and attachments."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.names import QUALIFIED_TEXT, SUBDOMAIN_TEXT
from kitlib.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from kitlib.apiserver.validation import storage
from tests.apiserver.validation.told import named, told


def cls(**fields: Any) -> StorageClass:
    return named(StorageClass, **{"provisioner": "a.b/c", "volumeBindingMode": "Immediate", **fields})


def term(**expressions: list[str]) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": key, "values": values} for key, values in expressions.items()]}


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (cls(), []),
        (cls(provisioner=""), ["provisioner Required"]),
        (cls(provisioner="A.B/-"), [f"provisioner Invalid name part {QUALIFIED_TEXT}"]),
        (cls(reclaimPolicy="Recycle"), ['reclaimPolicy NotSupported supported values: "Delete", "Retain"']),
        (cls(volumeBindingMode=None), ["volumeBindingMode Required"]),
        (
            cls(volumeBindingMode="x"),
            ['volumeBindingMode NotSupported supported values: "Immediate", "WaitForFirstConsumer"'],
        ),
        (cls(parameters={f"k{i}": "" for i in range(512)}), []),
        (cls(parameters={f"k{i}": "" for i in range(513)}), ["parameters TooLong may not be more than 512 bytes"]),
        (cls(parameters={"": "x"}), ["parameters Invalid field can not be empty."]),
        (cls(parameters={"a": "x" * (256 * 1024 - 1)}), []),
        (cls(parameters={"a": "x" * (256 * 1024)}), ["parameters TooLong may not be more than 262144 bytes"]),
        (cls(allowedTopologies=[term(a=["1", "2"])]), []),
        (cls(allowedTopologies=[term(a=[])]), ["allowedTopologies[0].matchLabelExpressions[0].values Required"]),
        (
            cls(allowedTopologies=[term(a=["1", "1"])]),
            ["allowedTopologies[0].matchLabelExpressions[0].values[1] Duplicate"],
        ),
        (
            cls(allowedTopologies=[term(a=["1", "2"]), term(a=["2", "1"])]),
            ["allowedTopologies[1].matchLabelExpressions Duplicate"],
        ),
    ],
)
def test_storage_classes(made: StorageClass, errors: list[str]) -> None:
    """Source: ValidateStorageClass."""
    assert told(storage.validate_storage_class(made)) == errors


IN_SECRETS = "serviceAccountTokenInSecrets"


def test_a_storage_class_hardly_changes() -> None:
    old = cls(parameters={"a": "b"}, reclaimPolicy="Delete")
    assert told(storage.validate_storage_class_update(old, old)) == []
    new = cls(
        parameters={"a": "c"}, reclaimPolicy="Retain", provisioner="x.y/z", volumeBindingMode="WaitForFirstConsumer"
    )
    assert told(storage.validate_storage_class_update(new, old)) == [
        "parameters Forbidden updates to parameters are forbidden.",
        "provisioner Forbidden updates to provisioner are forbidden.",
        "reclaimPolicy Forbidden updates to reclaimPolicy are forbidden.",
        "volumeBindingMode Invalid field is immutable",
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        (
            {"fsGroupPolicy": "x"},
            ['fsGroupPolicy NotSupported supported values: "File", "None", "ReadWriteOnceWithFSType"'],
        ),
        (
            {
                "tokenRequests": [
                    {"audience": "a", "expirationSeconds": 600},
                    {"audience": "b", "expirationSeconds": 2**32},
                ]
            },
            [],
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 599}]},
            ["tokenRequests[0].expirationSeconds Invalid may not specify a duration less than 10 minutes"],
        ),
        (
            {"tokenRequests": [{"audience": "a", "expirationSeconds": 2**32 + 1}]},
            ["tokenRequests[0].expirationSeconds Invalid may not specify a duration larger than 2^32 seconds"],
        ),
        ({"tokenRequests": [{"audience": "a"}, {"audience": "a"}]}, ["tokenRequests[1].audience Duplicate"]),
        (
            {"volumeLifecycleModes": ["Persistent", "x"]},
            ['volumeLifecycleModes NotSupported supported values: "Persistent", "Ephemeral"'],
        ),
        ({"nodeAllocatableUpdatePeriodSeconds": 10}, []),
        (
            {"nodeAllocatableUpdatePeriodSeconds": 9},
            ["nodeAllocatableUpdatePeriodSeconds Invalid must be greater than or equal to 10 seconds"],
        ),
        (
            {"serviceAccountTokenInSecrets": False},
            [f"{IN_SECRETS} Invalid {IN_SECRETS} is set but no tokenRequests are specified"],
        ),
    ],
)
def test_csi_drivers(spec: dict[str, Any], errors: list[str]) -> None:
    """Source: validateCSIDriverSpec."""
    made = named(CSIDriver, spec=spec)
    assert [text.removeprefix("spec.") for text in told(storage.validate_csi_driver(made))] == errors
    assert [text.removeprefix("spec.") for text in told(storage.validate_csi_driver_update(made, made))] == errors


def test_a_csi_driver_keeps_its_kind() -> None:
    old = named(CSIDriver, spec={"attachRequired": True, "volumeLifecycleModes": ["Persistent"]})
    new = named(
        CSIDriver, spec={"attachRequired": False, "volumeLifecycleModes": ["Ephemeral"], "podInfoOnMount": True}
    )
    assert told(storage.validate_csi_driver_update(new, old)) == [
        "spec.attachedRequired Invalid field is immutable",
        "spec.volumeLifecycleModes Invalid field is immutable",
    ]


def driver(name: str = "d", **fields: Any) -> dict[str, Any]:
    return {"name": name, "nodeID": "n", **fields}


@pytest.mark.parametrize(
    ("drivers", "errors"),
    [
        ([driver(nodeID="n" * 256)], []),
        ([driver(nodeID="n" * 257)], ["nodeID Invalid must be 256 characters or less"]),
        ([driver(nodeID="")], ["nodeID Required"]),
        ([driver(allocatable={"count": -1})], ["allocatable.count Invalid must be greater than or equal to 0"]),
        ([driver(topologyKeys=["a", "a"])], ["spec.drivers[0] Duplicate"]),
        ([driver("x" * 64)], ["name TooLong may not be more than 63 bytes"]),
    ],
)
def test_csi_nodes(drivers: list[Any], errors: list[str]) -> None:
    """Source: validateCSINodeDriver."""
    found = told(storage.validate_csi_node(named(CSINode, spec={"drivers": drivers})))
    assert [text.removeprefix("spec.drivers[0].") for text in found] == errors


def test_drivers_of_a_node() -> None:
    twice = named(CSINode, spec={"drivers": [driver(), driver()]})
    assert told(storage.validate_csi_node(twice)) == ["spec.drivers[1].name Duplicate"]
    old = named(CSINode, spec={"drivers": [driver(allocatable={"count": 1})]})
    grown = named(CSINode, spec={"drivers": [driver(allocatable={"count": 2}), driver("e")]})
    assert told(storage.validate_csi_node_update(grown, old)) == []
    moved = named(CSINode, spec={"drivers": [driver(nodeID="m")]})
    assert told(storage.validate_csi_node_update(moved, old)) == ["spec.drivers Invalid field is immutable"]
    assert told(storage.validate_csi_node_update(named(CSINode), old)) == []


def test_capacities() -> None:
    def made(**fields: Any) -> CSIStorageCapacity:
        return named(CSIStorageCapacity, "a", "n", **{"storageClassName": "s", "capacity": "0", **fields})

    assert told(storage.validate_csi_storage_capacity(made())) == []
    assert told(storage.validate_csi_storage_capacity(made(storageClassName="", capacity="-1"))) == [
        f"storageClassName Invalid {SUBDOMAIN_TEXT}",
        "capacity Invalid must be greater than or equal to 0",
    ]
    new = made(storageClassName="t", nodeTopology={"matchLabels": {"a": "b"}})
    assert told(storage.validate_csi_storage_capacity_update(new, made())) == [
        "nodeTopology Invalid field is immutable",
        "storageClassName Invalid field is immutable",
    ]


def test_attributes_classes() -> None:
    made = named(VolumeAttributesClass, driverName="d", parameters={"a": "b"})
    assert told(storage.validate_volume_attributes_class(made)) == []
    empty = named(VolumeAttributesClass)
    assert told(storage.validate_volume_attributes_class(empty)) == [
        "driverName Required",
        "parameters Required must contain at least one key/value pair",
    ]
    other = named(VolumeAttributesClass, driverName="e", parameters={"a": "c"})
    assert told(storage.validate_volume_attributes_class_update(other, made)) == [
        "driverName Forbidden updates to driverName are forbidden.",
        "parameters Forbidden updates to parameters are forbidden.",
    ]


def attachment(source: Any, attacher: str = "d") -> VolumeAttachment:
    return named(VolumeAttachment, spec={"attacher": attacher, "nodeName": "n", "source": source})


ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
INLINE = {"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ({"persistentVolumeName": "v"}, []),
        ({"inlineVolumeSpec": INLINE}, []),
        ({}, [f"spec.source Required {ONE}"]),
        ({"persistentVolumeName": "v", "inlineVolumeSpec": INLINE}, [f"spec.source Forbidden {ONE}"]),
        (
            {"inlineVolumeSpec": {**INLINE, "storageClassName": "s"}},
            [
                "spec.source.inlineVolumeSpec.storageClassName Forbidden may not be specified in the context of inline "
                "volumes"
            ],
        ),
    ],
)
def test_attachments(source: Any, errors: list[str]) -> None:
    """Source: ValidateVolumeAttachment."""
    made = attachment(source)
    assert told(storage.validate_volume_attachment(made)) == errors
    assert told(storage.validate_volume_attachment_update(made, made)) == errors


def test_new_attachments_are_checked_more_strictly() -> None:
    odd = attachment({"persistentVolumeName": "A"}, "D_")
    assert told(storage.validate_volume_attachment(odd)) == [
        f"spec.attacher Invalid {SUBDOMAIN_TEXT}",
        f"spec.source.persistentVolumeName Invalid {SUBDOMAIN_TEXT}",
    ]
    assert told(storage.validate_volume_attachment_update(odd, odd)) == []
    assert told(storage.validate_volume_attachment_update(attachment({"persistentVolumeName": "b"}), odd)) == [
        "spec Invalid field is immutable"
    ]
