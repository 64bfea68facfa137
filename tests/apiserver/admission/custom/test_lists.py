"""Sets and maps of custom objects."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.admission.custom.lists import validate_lists
from kitlib.apiserver.admission.custom.values import validate_values

TEXT = {"type": "string"}
SET = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}
ITEM = {"type": "object", "properties": {"name": TEXT, "port": {"type": "integer"}, "tags": SET}}
MAP = {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]}
SCHEMA = {
    "type": "object",
    "properties": {"tags": SET, "ports": MAP, "plain": {"type": "array", "items": TEXT}},
    "additionalProperties": SET,
}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"tags": ["a", "b"], "plain": ["a", "a"]}, []),
        ({"tags": ["a", "b", "a", "a"]}, ['tags[2]: Duplicate value: "a"', 'tags[3]: Duplicate value: "a"']),
        ({"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]}, []),
        (
            {"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 1, "tags": ["t"]}]},
            ["ports[1]: Duplicate value: "],
        ),
        ({"ports": [{"name": "x", "tags": ["t", "t"]}]}, ['ports[0].tags[1]: Duplicate value: "t"']),
        ({"more": ["a", "a"]}, ['[more][1]: Duplicate value: "a"']),
    ],
)
def test_what_stands_twice_is_named(data: dict[str, Any], told: list[str]) -> None:
    found = [str(error) for error in validate_lists(data, SCHEMA)]
    assert len(found) == len(told) and all(map(str.startswith, found, told))


def test_what_stood_twice_before_may_stay() -> None:
    twice = {"tags": ["a", "a"]}
    assert [error.field for error in validate_values(SCHEMA, twice)] == ["tags[1]"]
    assert validate_values(SCHEMA, {**twice, "plain": ["x"]}, twice) == []
