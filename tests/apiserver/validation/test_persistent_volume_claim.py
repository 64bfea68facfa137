"""PersistentVolumeClaims: modes, size, classes, data sources, and the few changes of a stored one."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import PersistentVolumeClaim, PersistentVolumeClaimTemplate
from kitlib.api.names import LABEL_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import persistent_volume_claim as claims
from tests.apiserver.validation.told import named, part, told

ANNOTATION = "volume.beta.kubernetes.io/storage-class"
ONCE = "ReadWriteOncePod"
MODES = 'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
IMMUTABLE = "spec Forbidden spec is immutable after creation except resources.requests and volumeAttributesClassName"


def spec(size: str | None = "1Gi", **fields: Any) -> dict[str, Any]:
    requests = {} if size is None else {"storage": size}
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": requests}, **fields}


def claim(made: dict[str, Any], **fields: Any) -> PersistentVolumeClaim:
    return named(PersistentVolumeClaim, "a", "n", spec=made, **fields)


def errors(made: dict[str, Any]) -> list[str]:
    return told(claims.validate_persistent_volume_claim(claim(made)))


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"], []),
        (["ReadWriteOnce", "ReadWriteOnce"], []),
        ([ONCE], []),
        ([ONCE, ONCE], []),
        ([], ["spec.accessModes Required at least 1 access mode is required"]),
        (["x", "ReadWriteOnce", ""], [f"spec.accessModes NotSupported {MODES}"] * 2),
        (
            ["ReadOnlyMany", ONCE],
            ["spec.accessModes Forbidden may not use ReadWriteOncePod with other access modes"],
        ),
        ([ONCE, "x"], [f"spec.accessModes NotSupported {MODES}"]),
    ],
)
def test_access_modes(modes: list[str], expected: list[str]) -> None:
    """An unknown mode is no other mode. Source: ValidatePersistentVolumeClaimSpec."""
    assert errors(spec(accessModes=modes)) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1", []),
        ("500m", []),
        (None, ["Required"]),
        ("0", ["Invalid must be greater than zero"]),
        ("-1", ["Invalid must be greater than zero"]),
    ],
)
def test_the_size(size: str | None, expected: list[str]) -> None:
    assert errors(spec(size)) == [f"spec.resources[storage] {text}" for text in expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"storageClassName": "", "volumeAttributesClassName": ""}, []),
        ({"storageClassName": "a.b", "volumeAttributesClassName": "c", "volumeMode": "Block"}, []),
        ({"volumeMode": "Filesystem"}, []),
        ({"volumeMode": ""}, ['spec.volumeMode NotSupported supported values: "Block", "Filesystem"']),
        (
            {"storageClassName": "A", "volumeMode": "block", "volumeAttributesClassName": "B"},
            [
                f"spec.storageClassName Invalid {SUBDOMAIN_TEXT}",
                'spec.volumeMode NotSupported supported values: "Block", "Filesystem"',
                f"spec.volumeAttributesClassName Invalid {SUBDOMAIN_TEXT}",
            ],
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "x"}]}, "accessModes": []},
            [
                "spec.accessModes Required at least 1 access mode is required",
                "spec.selector.matchExpressions[0].operator Invalid not a valid selector operator",
            ],
        ),
    ],
)
def test_classes_modes_and_selector(fields: dict[str, Any], expected: list[str]) -> None:
    assert errors(spec(**fields)) == expected


CLAIM = {"kind": "PersistentVolumeClaim", "name": "a"}
SNAPSHOT = {"kind": "VolumeSnapshot", "name": "a", "apiGroup": "snapshot.storage.k8s.io"}
DEFAULT = "Invalid must be 'PersistentVolumeClaim' when referencing the default apiGroup"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (CLAIM, []),
        (SNAPSHOT, []),
        ({**CLAIM, "apiGroup": ""}, []),
        ({"kind": "Pod", "name": "a"}, [f" {DEFAULT}"]),
        ({"kind": "Pod", "name": "a", "apiGroup": ""}, [f" {DEFAULT}"]),
        ({}, [".name Required", ".kind Required", f" {DEFAULT}"]),
        ({**CLAIM, "apiGroup": "A"}, [f".apiGroup Invalid {SUBDOMAIN_TEXT}"]),
    ],
)
def test_a_data_source(source: dict[str, Any], expected: list[str]) -> None:
    """Source: validateDataSource, validateDataSourceRef."""
    for name in ("dataSource", "dataSourceRef"):
        fields: dict[str, Any] = {name: source}
        assert errors(spec(**fields)) == [f"spec.{name}{text}" for text in expected]


@pytest.mark.parametrize(
    ("source", "reference", "expected"),
    [
        (CLAIM, CLAIM, []),
        (SNAPSHOT, SNAPSHOT, []),
        (CLAIM, {**CLAIM, "namespace": ""}, []),
        (None, {**CLAIM, "namespace": "m"}, []),
        (None, {**CLAIM, "namespace": "M"}, [f"spec.dataSourceRef.namespace Invalid {LABEL_TEXT}"]),
        (CLAIM, {**CLAIM, "name": "b"}, ["spec Invalid must match dataSourceRef"]),
        (SNAPSHOT, {**SNAPSHOT, "kind": "x"}, ["spec Invalid must match dataSourceRef"]),
        (SNAPSHOT, {**SNAPSHOT, "apiGroup": "x"}, ["spec Invalid must match dataSourceRef"]),
        (
            CLAIM,
            {**CLAIM, "namespace": "m"},
            ["spec Invalid may not be specified when dataSourceRef.namespace is specified"],
        ),
        (
            CLAIM,
            {**CLAIM, "name": "b", "namespace": "m"},
            ["spec Invalid may not be specified when dataSourceRef.namespace is specified"],
        ),
    ],
)
def test_both_data_sources(source: Any, reference: Any, expected: list[str]) -> None:
    assert errors(spec(dataSource=source, dataSourceRef=reference)) == expected


def test_metadata_and_templates() -> None:
    unnamed = part(PersistentVolumeClaim, metadata={"name": "A"}, spec=spec(None))
    assert told(claims.validate_persistent_volume_claim(unnamed)) == [
        f"metadata.name Invalid {SUBDOMAIN_TEXT}",
        "metadata.namespace Required",
        "spec.resources[storage] Required",
    ]
    template = part(PersistentVolumeClaimTemplate, metadata={"labels": {"a": "b"}}, spec=spec())
    assert claims.validate_persistent_volume_claim_template(template, "t") == []
    template = part(PersistentVolumeClaimTemplate, metadata={"name": "a"}, spec=spec(None))
    found = told(claims.validate_persistent_volume_claim_template(template, "t"))
    assert found[0].startswith("t.metadata.name Forbidden ")
    assert found[1:] == ["t.spec.resources[storage] Required"]


def changed(
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    phase: str = "Bound",
    status: dict[str, Any] | None = None,
    notes: tuple[str | None, str | None] = (None, None),
) -> list[str]:
    """Return the first line of each error of an update.

    Args:
        before: the stored specification.
        after: the new specification.
        phase: the phase of both.
        status: further fields of the status.
        notes: the storage class in the annotation, before and after.
    """
    old, new = (
        claim(
            made,
            status={"phase": phase, **(status or {})},
            **({"metadata": {"annotations": {ANNOTATION: note}}} if note is not None else {}),
        )
        for made, note in zip((before, after), notes, strict=True)
    )
    found = told(claims.validate_persistent_volume_claim_update(new, old))
    return [text.partition("\n")[0].removesuffix(" for bound claims") for text in found]


def test_a_claim_is_given_its_volume_once() -> None:
    """Source: ValidatePersistentVolumeClaimUpdate."""
    for phase in ("Pending", "Bound"):
        assert changed(spec(), spec(volumeName="v"), phase=phase) == []
        assert changed(spec(volumeName="v"), spec(volumeName="w"), phase=phase) == [IMMUTABLE]
        assert changed(spec(volumeName="v"), spec(), phase=phase) == [IMMUTABLE]


SHRUNK = "spec.resources.requests.storage Forbidden field can not be less than status.capacity"


@pytest.mark.parametrize(
    ("phase", "before", "after", "capacity", "expected"),
    [
        ("Bound", "1Gi", "2Gi", "1Gi", []),
        ("Pending", "1Gi", "2Gi", "1Gi", [IMMUTABLE]),
        ("Bound", "3Gi", "2Gi", "1Gi", []),
        ("Bound", "3Gi", "2Gi", "2Gi", [SHRUNK]),
        ("Bound", "3Gi", "2Gi", "3Gi", [SHRUNK]),
        ("Bound", "3Gi", "2Gi", None, []),
        ("Bound", "1Gi", "1Gi", "2Gi", []),
        ("Pending", "3Gi", "2Gi", "2Gi", [IMMUTABLE, SHRUNK]),
    ],
)
def test_a_bound_claim_grows(phase: str, before: str, after: str, capacity: str | None, expected: list[str]) -> None:
    """A failed expansion may be taken back as far as above the capacity. Source: RecoverVolumeExpansionFailure."""
    status = {"capacity": {"storage": capacity}} if capacity is not None else {}
    assert changed(spec(before), spec(after), phase=phase, status=status) == expected


def test_other_fields_never_change() -> None:
    assert changed(spec(), spec(accessModes=[ONCE])) == [IMMUTABLE]
    assert changed(spec(storageClassName="a"), spec(storageClassName="b")) == [IMMUTABLE]
    assert changed(spec(storageClassName="a"), spec()) == [IMMUTABLE]
    found = changed(spec(volumeMode="Block"), spec(volumeMode="Filesystem"))
    assert found == [IMMUTABLE, "volumeMode Invalid field is immutable"], "the path has no spec"


@pytest.mark.parametrize(
    ("notes", "after", "expected"),
    [
        ((None, None), "a", []),
        ((None, None), "", []),
        (("a", "a"), "a", []),
        (("a", None), "a", []),
        (("a", "a"), "b", [IMMUTABLE]),
        (("a", "b"), "a", [f"metadata.annotations.{ANNOTATION} Invalid field is immutable"]),
        (("a", "b"), None, [f"metadata.annotations.{ANNOTATION} Invalid field is immutable"]),
        (("a", None), None, [f"metadata.annotations.{ANNOTATION} Invalid field is immutable"]),
        ((None, "a"), None, [f"metadata.annotations.{ANNOTATION} Invalid field is immutable"]),
        (("a", "a"), None, []),
    ],
)
def test_a_claim_without_a_class_is_given_one(
    notes: tuple[str | None, str | None], after: str | None, expected: list[str]
) -> None:
    """The class of the annotation moves to the field, or the default class is set later.

    Source: validateStorageClassUpgradeFromAnnotation, validateStorageClassUpgradeFromNil.
    """
    assert changed(spec(), spec(storageClassName=after), notes=notes) == expected


@pytest.mark.parametrize(
    ("phase", "after", "current", "expected"),
    [
        ("Bound", "b", None, []),
        ("Bound", "b", "a", []),
        ("Bound", None, None, []),
        ("Bound", "", None, []),
        ("Bound", None, "a", ["update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"]),
        (
            "Bound",
            "",
            "a",
            ["update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"],
        ),
        ("Pending", "b", None, [""]),
    ],
)
def test_the_class_of_attributes(phase: str, after: str | None, current: str | None, expected: list[str]) -> None:
    before, new = spec(volumeAttributesClassName="a"), spec(volumeAttributesClassName=after)
    found = changed(before, new, phase=phase, status={"currentVolumeAttributesClassName": current})
    assert found == [f"spec.volumeAttributesClassName Forbidden {text}" if text else IMMUTABLE for text in expected]


def test_an_update_is_a_valid_claim() -> None:
    """Metadata is checked as that of an update, then as that of a new object."""
    old = claim(spec())
    new = part(PersistentVolumeClaim, metadata={"name": "b", "namespace": "n"}, spec=spec("0"))
    found = told(claims.validate_persistent_volume_claim_update(new, old))
    assert found[:2] == [
        "metadata.name Invalid field is immutable",
        "spec.resources[storage] Invalid must be greater than zero",
    ]
