"""The offsets that Go's base64 decoder reports; the table is the output of Go 1.26 for these texts."""

from __future__ import annotations

import pytest

from kitlib.api.go_base64 import corrupt_at


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", None),
        ("YWJj", None),
        ("YQ==", None),
        ("YWI=", None),
        ("Y\nQ\r=\n=\n", None),
        ("YQ", 0),
        ("YWJjYQ", 4),
        ("=", 0),
        ("Y=", 1),
        ("YWJj=", 4),
        ("YQ=", 3),
        ("YQ=\n", 4),
        ("YQ=a", 2),
        ("YQ==a", 4),
        ("YWI==", 4),
        ("YWJj-", 4),
        ("ä", 0),
        ("Yä==", 1),
    ],
)
def test_the_offset_of_invalid_base64(text: str, offset: int | None) -> None:
    """Source: encoding/base64 decodeQuantum, CorruptInputError."""
    assert corrupt_at(text.encode()) == offset
