"""Names, lists and maps of devices."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.field_errors import Errors, invalid
from kitlib.api.names import C_IDENTIFIER_TEXT, LABEL_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import device_names as names
from tests.apiserver.validation.told import told

LONG_ID = "f TooLong may not be more than 32 bytes"
UNQUALIFIED = "f Invalid a fully qualified name must be a domain and a name separated by a slash"


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("a", []),
        ("a.b/c", []),
        ("", ["f Required"]),
        ("a/", [f"f Invalid {SUBDOMAIN_TEXT}"]),
        ("A/_", [f"f Invalid {SUBDOMAIN_TEXT}"] * 2),
        ("/".join(["a"] * 127), []),
        ("/".join(["a"] * 128), ["f TooLong may not be more than 253 bytes"]),
    ],
)
def test_a_pool(name: str, errors: list[str]) -> None:
    assert told(names.validate_pool_name(name, "f")) == errors


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("model", []),
        ("_m9", []),
        ("a.b/model", []),
        ("m" * 32, []),
        ("m" * 33, [LONG_ID]),
        ("9", [f"f Invalid {C_IDENTIFIER_TEXT}"]),
        ("a/b/c", ["f Invalid must not contain more than one slash"]),
        ("/m", ["f Invalid the domain must not be empty"]),
        ("a/", ["f Invalid the name must not be empty"]),
        ("/", ["f Invalid the domain must not be empty", "f Invalid the name must not be empty"]),
        (f"a/{'m' * 33}", [LONG_ID]),
        (f"{'a' * 64}/m", ["f TooLong may not be more than 63 bytes"]),
    ],
)
def test_a_qualified_name(name: str, errors: list[str]) -> None:
    """Source: validateQualifiedName, validateFullyQualifiedName."""
    assert told(names.validate_qualified_name(name, "f")) == errors
    more = [] if "/" in name else [UNQUALIFIED]
    assert told(names.validate_fully_qualified_name(name, "f")) == [*errors, *more]


def test_a_device() -> None:
    assert told(names.validate_device_name("gpu-0", "f")) == []
    assert told(names.validate_device_name("", "f")) == [f"f Invalid {LABEL_TEXT}"]
    assert told(names.validate_device_name("a.b", "f")) == ["f Invalid must not contain dots"]


def rule(value: Any, path: str) -> Errors:
    return [invalid(path, value, "no")] if value == "x" else []


@pytest.mark.parametrize(
    ("values", "of_slice", "of_set"),
    [
        ([], [], []),
        (["a", "b", "c"], [], []),
        (["a", "x"], ["f[1] Invalid no"], ["f[1] Invalid no"]),
        (["a", "b", "a"], [], ["f[2] Duplicate"]),
        (["x", "x"], ["f[0] Invalid no", "f[1] Invalid no"], ["f[0] Invalid no", "f[1] Invalid no", "f[1] Duplicate"]),
        (["x", "x", "x", "x"], ["f TooMany must have at most 3 items"], ["f TooMany must have at most 3 items"]),
    ],
)
def test_lists(values: list[str], of_slice: list[str], of_set: list[str]) -> None:
    """Source: validateSlice, validateSet."""
    assert told(names.validate_slice(values, 3, rule, "f")) == of_slice
    assert told(names.validate_set(values, 3, rule, lambda value: value, "f")) == of_set


def test_maps() -> None:
    """Source: validateMap, truncateIfTooLong."""
    long = "a" * 5 + "b" * 6
    found = names.validate_map({"x": "x", long: "x"}, None, rule, rule, "f", 8)
    assert told(found) == ["f Invalid no", "f[x] Invalid no", "f[aaa...bb] Invalid no"]
    assert told(names.validate_map({"a": "x", "b": "x"}, 1, rule, rule, "f")) == ["f TooMany must have at most 1 items"]
    assert told(names.validate_map({"a": "a", "b": "b"}, 2, rule, rule, "f")) == []
    exact = "k" * 96
    assert told(names.validate_map({exact: "x"}, 1, rule, rule, "f")) == [f"f[{exact}] Invalid no"]


@pytest.mark.parametrize(
    ("wanted", "failed", "errors"),
    [
        ([], [], []),
        (["a"], ["b"], []),
        (["a", "b", "c", "d"], ["e", "f", "g", "h"], []),
        (list("abcde"), ["f"], ["p.bindingConditions TooMany must have at most 4 items"]),
        (["a", "a"], ["b"], ["p.bindingConditions[1] Duplicate"]),
        (
            ["a"],
            ["b", "a"],
            ["p.bindingFailureConditions[1] Invalid bindingFailureConditions must not overlap with bindingConditions"],
        ),
        (
            [],
            ["a"],
            ["p.bindingConditions Invalid bindingConditions are required to use bindingFailureConditions"],
        ),
        (
            ["a"],
            [],
            ["p.bindingFailureConditions Invalid bindingFailureConditions are required to use bindingConditions"],
        ),
    ],
)
def test_binding_conditions(wanted: list[str], failed: list[str], errors: list[str]) -> None:
    """Source: validateDeviceBindingParameters."""
    assert told(names.validate_binding_conditions(wanted, failed, "p")) == errors
