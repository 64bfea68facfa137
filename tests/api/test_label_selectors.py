"""Label selectors as text: comparisons, sets, existence, errors."""

from __future__ import annotations

import pytest

from kitlib.api.label_selectors import parse_label_selector
from kitlib.api.selectors import SelectorError

LABELS = {"app": "web", "size": "12"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web,size>11", True),
        ("app in (web,db),!old", True),
        ("app notin (web)", False),
        ("old", False),
        ("size<12", False),
    ],
)
def test_a_selector_matches_labels(text: str, matches: bool) -> None:
    assert parse_label_selector(text)(LABELS) is matches


@pytest.mark.parametrize("text", ["app in web", "=x", "app=web,", "app>x", "a=b/c"])
def test_a_text_that_is_not_a_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="unable to parse requirement"):
        parse_label_selector(text)
