"""Values as Go prints them inside messages."""

import pytest

from kitlib.api.go_values import go_quote


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("half way", '"half way"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("a\tb\nc\x07\x0b", r'"a\tb\nc\a\v"'),
        ("a\x00b\x7f", r'"a\x00b\x7f"'),
        ("é<", '"é<"'),
        ("\u00a0\u200b\U000e0001", r'"\u00a0\u200b\U000e0001"'),
    ],
)
def test_a_text_is_quoted_as_go_does(text: str, shown: str) -> None:
    """Source: strconv TestQuote: what is not printable is escaped with x, u or U, a few characters by their letter."""
    assert go_quote(text) == shown
