"""What `kubectl explain` shows of the fields that the kit enforces and schedules by."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.openapi import document, field_descriptions
from kitlib.apiserver.http.resources import ResourceTable


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    table = ResourceTable([])
    found: dict[str, Any] = {}
    for group, version in table.group_versions():
        for name, schema in document(table, group, version)["components"]["schemas"].items():
            found.setdefault(name.rpartition(".")[2], {}).update(schema.get("properties", {}))
    return found


def test_every_description_is_of_a_field_that_is_served(schemas: dict[str, Any]) -> None:
    wanted = field_descriptions()
    assert len(wanted) >= 250
    for name, text in wanted.items():
        type_, _, field = name.partition(".")
        assert schemas.get(type_, {}).get(field, {}).get("description") == text, name


@pytest.mark.parametrize(
    ("type_", "field", "what"),
    [
        ("ResourceRequirements", "limits", "cpu.max"),
        ("ResourceRequirements", "requests", "cpu.weight"),
        ("PodSpec", "tolerations", "TaintToleration"),
        ("NodeStatus", "allocatable", "eviction threshold"),
    ],
)
def test_a_description_says_who_enforces_the_field(schemas: Any, type_: str, field: str, what: str) -> None:
    assert what in schemas[type_][field]["description"]
