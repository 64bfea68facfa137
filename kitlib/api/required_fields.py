"""Fields that Go writes even when they are empty: those without `omitempty`, and structs that are no pointers.

`encoding/json` omits an empty struct only for `omitzero`; `omitempty` has no effect on a struct. A ResourceClaim
without a status therefore has `status: {}`, and a JSON patch may add a field to it.

The table is data (`required_fields.txt`): a section for each package, a line for each type with `field=EMPTY TYPE`.
EMPTY is the empty value as JSON, missing for a field that is omitted. TYPE is the type of the field, missing if it has
no required field; `*` follows for a list, `{}` for a map. A type of another package has the package's name.

Source: struct tags of k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver at 1.36.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kitlib.api.type_tables import read_types

_FIELD = re.compile(r"([^ =]+)(?:=(\S+))?(?: ([\w.]+)((?:\*|\{\})*))?")


class _Type(NamedTuple):
    """The required fields of a type.

    Attributes:
        empty: the empty value by field; an empty struct is filled in turn.
        parts: the fields of types with required fields: the type by name, and the lists and maps around it.
    """

    empty: dict[str, Any]
    parts: dict[str, tuple[str, str]]


def complete(data: dict[str, Any]) -> dict[str, Any]:
    """Add the required fields of the kind to an object with apiVersion and kind, in place, and return it."""
    name = _type_of_kind(data["apiVersion"], data["kind"])
    if name:
        _fill(data, name)
    return data


def _fill(data: dict[str, Any], name: str) -> None:
    empty, parts = _type(name)
    for field, value in empty.items():
        if field not in data:
            data[field] = {} if value == {} else value
    # Objects have few of their type's fields, so the object's own are looked up.
    for field, value in data.items():
        if field in parts:
            part, shape = parts[field]
            if not shape:
                if type(value) is dict:
                    _fill(value, part)
            else:
                _fill_items(value, part, shape)


def _fill_items(value: Any, name: str, shape: str) -> None:
    """Add the required fields to the items of lists and maps around a type."""
    below = shape[1:] if shape[0] == "*" else shape[2:]
    items = value if type(value) is list else value.values() if type(value) is dict else ()
    for item in items:
        if below:
            _fill_items(item, name, below)
        elif type(item) is dict:
            _fill(item, name)


@lru_cache(maxsize=1)
def _lines() -> dict[str, str]:
    """Return type with package -> its fields as text."""
    return read_types("kitlib.api", "required_fields.txt")


@cache
def _type(name: str) -> _Type:
    package = name.rpartition(".")[0]
    empty: dict[str, Any] = {}
    parts = {}
    for field in _lines()[name].split("; "):
        match = _FIELD.fullmatch(field)
        assert match is not None, field
        key, value, part, shape = match.groups()
        if value is not None:
            empty[key] = json.loads(value)
        if part:
            parts[key] = part if "." in part else f"{package}.{part}", shape
    return _Type(empty, parts)


@cache
def _type_of_kind(api_version: str, kind: str) -> str:
    """Return the type of a kind, of another version if the table lacks this one; "" for an unknown kind."""
    group, _, version = api_version.rpartition("/")
    package = group.partition(".")[0] or "core"
    exact = f"{package}.{version}.{kind}"
    if exact in _lines():
        return exact
    others = (name for name in _lines() if name.startswith(f"{package}.") and name.endswith(f".{kind}"))
    return next(others, "")
