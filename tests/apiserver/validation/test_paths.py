"""Paths inside containers and volumes."""

from __future__ import annotations

import pytest

from kitlib.apiserver.validation.paths import validate_local_descending_path, validate_local_non_reserved_path

RELATIVE, BACK, RESERVED = "must be a relative path", "must not contain '..'", "must not start with '..'"


@pytest.mark.parametrize(
    ("path", "descending", "reserved"),
    [
        ("a/b", [], []),
        ("", [], []),
        ("..a", [], [RESERVED]),
        ("a..b/..c", [], []),
        ("..", [BACK], [RESERVED]),
        ("../a", [BACK], []),
        ("a/../b", [BACK], []),
        ("/a", [RELATIVE], []),
        ("/..", [RELATIVE, BACK], []),
        ("...", [], [RESERVED]),
    ],
)
def test_paths(path: str, descending: list[str], reserved: list[str]) -> None:
    """Source: validateLocalDescendingPath, ValidateLocalNonReservedPath."""
    told = [str(error) for error in validate_local_descending_path(path, "f")]
    assert [text.rpartition(": ")[2] for text in told] == descending
    more = [str(error) for error in validate_local_non_reserved_path(path, "f")]
    assert [text.rpartition(": ")[2] for text in more] == [*descending, *reserved]
