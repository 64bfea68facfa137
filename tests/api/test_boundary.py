"""How deeply a JSON text is nested is known before it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.boundary import MAX_DEPTH, bracket_depth
from tests.sizes import examples

SHALLOW = '{"a": 1},' * MAX_DEPTH
"""As many brackets as make a text worth a look."""
texts = st.text(alphabet='[]{}"\\a, ', max_size=12)
values = st.recursive(texts | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner))


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@settings(max_examples=examples(150))
@given(values)
def test_brackets_in_texts_are_no_levels(value: Any) -> None:
    text = f"[{SHALLOW}{json.dumps(value)}]"
    assert bracket_depth(text.encode()) == max(2, 1 + depth(value))


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 4 * MAX_DEPTH])
def test_every_level_counts(levels: int) -> None:
    assert bracket_depth(b"[" * levels + b'"[[[["' + b"]" * levels) == levels
