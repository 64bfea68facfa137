"""The two fields for the source of a claim's content."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.claim_data_sources import prepare_data_sources
from kitlib.api.persistent_volume import PersistentVolumeClaimSpec
from kitlib.api.serialize import from_dict, to_dict

CLAIM = {"kind": "PersistentVolumeClaim", "name": "c"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
OTHER = {"apiGroup": "example.com", "kind": "Thing", "name": "t"}
ELSEWHERE = {**CLAIM, "namespace": "n"}


def prepared(spec: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    made = from_dict(spec, PersistentVolumeClaimSpec)
    prepare_data_sources(made, None if old is None else from_dict(old, PersistentVolumeClaimSpec))
    return {key: value for key, value in to_dict(made).items() if key in ("dataSource", "dataSourceRef")}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"dataSource": CLAIM}, {"dataSource": CLAIM, "dataSourceRef": CLAIM}),
        ({"dataSource": SNAPSHOT}, {"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}),
        ({"dataSource": OTHER}, {}),
        ({"dataSourceRef": OTHER}, {"dataSource": OTHER, "dataSourceRef": OTHER}),
        ({"dataSource": CLAIM, "dataSourceRef": SNAPSHOT}, {"dataSource": CLAIM, "dataSourceRef": SNAPSHOT}),
        ({"dataSource": OTHER, "dataSourceRef": OTHER}, {"dataSource": OTHER, "dataSourceRef": OTHER}),
        ({"dataSourceRef": ELSEWHERE}, {}),
        ({"dataSource": CLAIM, "dataSourceRef": ELSEWHERE}, {"dataSource": CLAIM, "dataSourceRef": CLAIM}),
    ],
)
def test_a_missing_field_is_filled_in_and_what_is_not_allowed_is_dropped(
    spec: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Source: DropDisabledFields, EnforceDataSourceBackwardsCompatibility, NormalizeDataSources."""
    assert prepared(spec) == expected


def test_a_source_that_a_stored_claim_has_stays() -> None:
    assert prepared({"dataSource": OTHER}, {"dataSource": OTHER}) == {"dataSource": OTHER, "dataSourceRef": OTHER}
    assert prepared({"dataSourceRef": ELSEWHERE}, {"dataSourceRef": ELSEWHERE}) == {"dataSourceRef": ELSEWHERE}
    assert prepared({"dataSource": OTHER}, {}) == {}
