"""A document of a newer format is refused; an older one, and one that is no document, are left to their schema."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"format": 0},
        {"format": 2},
        {"format": "3"},
        [],
        b'{"format": 2}',
        b"[3]",
        b'{"format": 3',
        b"\xff",
        b"[" * 9_999,
    ],
    ids=lambda data: str(data)[:20],
)
def test_a_document_of_a_known_format_or_of_none_passes(data: Any) -> None:
    check_format(data, 2)


@pytest.mark.parametrize("data", [{"format": 3}, b'{"later": [1], "format": 3}'], ids=["data", "text"])
def test_a_newer_one_is_refused_with_the_way_out(data: Any) -> None:
    told = "room.json: format 3 is newer than 2, the newest that this kitlib reads: update kitlib"
    with pytest.raises(KitError) as error:
        check_format(data, 2, "room.json")
    assert str(error.value) == told


def test_the_field_may_have_another_name() -> None:
    with pytest.raises(KitError, match="format 2 is newer than 1"):
        check_format({"version": 2}, 1, field="version")
