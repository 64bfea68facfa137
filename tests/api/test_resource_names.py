"""Kinds of resource names."""

from __future__ import annotations

import pytest

from kitlib.api.resource_names import is_extended, is_huge_page, is_native


@pytest.mark.parametrize(
    ("name", "huge", "native", "extended"),
    [
        ("cpu", False, True, False),
        ("hugepages-2Mi", True, True, False),
        ("kubernetes.io/x", False, True, False),
        ("node.kubernetes.io/x", False, True, False),
        ("example.com/gpu", False, False, True),
        ("requests.example.com/gpu", False, False, False),
        ("example.com/" + "x" * 63, False, False, True),
        ("example.com/" + "x" * 64, False, False, False),
        ("example.com/", False, False, False),
        ("a" * 244 + "/x", False, False, True),
        ("a" * 245 + "/x", False, False, False),
    ],
)
def test_kinds(name: str, huge: bool, native: bool, extended: bool) -> None:
    """Source: helper.IsHugePageResourceName, IsNativeResource, IsExtendedResourceName."""
    assert (is_huge_page(name), is_native(name), is_extended(name)) == (huge, native, extended)
