"""The versions that a CustomResourceDefinition serves."""

from __future__ import annotations

import pytest

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.serialize import from_dict, to_dict

SPEC = {
    "group": "a.example",
    "names": {"plural": "things", "kind": "Thing"},
    "versions": [{"name": "v1", "served": True}, {"name": "v1beta1", "served": False}, {"name": "v2", "served": True}],
}


@pytest.mark.parametrize(
    ("group", "version", "kind", "expected"),
    [
        ("a.example", "v1", "Thing", True),
        ("a.example", "v2", "Thing", True),
        ("a.example", "v1beta1", "Thing", False),
        ("a.example", "v3", "Thing", False),
        ("b.example", "v1", "Thing", False),
        ("a.example", "v1", "Other", False),
    ],
)
def test_served_versions(group: str, version: str, kind: str, expected: bool) -> None:
    definition = from_dict({"spec": SPEC}, CustomResourceDefinition)
    assert definition.serves(group, version, kind) is expected


def test_names_with_initialisms_are_those_of_the_wire() -> None:
    version = {
        "name": "v1",
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}],
        "selectableFields": [{"jsonPath": ".a"}],
    }
    data = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"versions": [version]},
    }
    definition = from_dict(data, CustomResourceDefinition, strict=True)
    (found,) = definition.spec.versions
    assert found.schema is not None and found.schema.open_api_v3_schema == {"type": "object"}
    assert (found.additional_printer_columns[0].json_path, found.selectable_fields[0].json_path) == (".a", ".a")
    assert to_dict(definition)["spec"]["versions"] == [version]
