"""The quick reader reads a text as PyYAML does, or leaves it to PyYAML."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api import serialize_fast
from kitlib.api.yaml_reader import yaml_documents
from tests.sizes import examples

pytest.importorskip("ryml")

keys = st.text(alphabet="abcxyzYN.-/", min_size=1, max_size=8).filter(lambda key: not key.startswith(("-", ".")))
words = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["yes", "No", "on", "~", "null", "0755", "1_000", "1e3", "0x1f", "10.0.0.1", "1:30", ".5", "a: b"]),
    st.sampled_from(
        ["2026-01-01T00:00:00Z", "2026-01-01", "- x", "#x", "a #b", "&a", "*a", "!x", "|", ">", "{", "[1]"]
    ),
    st.sampled_from(["1.36", "500m", "8", "-1", "line\nline", "tail\n", " lead", "tab\t", "é", "'", '"', "%x", "@x"]),
)
plain = st.recursive(
    st.one_of(words, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=12,
)


def slowly(text: str) -> list[Any]:
    return list(yaml_documents(text))


@settings(max_examples=examples(300))
@given(st.lists(st.dictionaries(keys, plain, min_size=1, max_size=4), min_size=1, max_size=3))
def test_what_is_read_quickly_is_what_pyyaml_reads(data: list[dict[str, Any]]) -> None:
    text = yaml.safe_dump_all(data)
    before, serialize_fast.LARGE = serialize_fast.LARGE, 0
    try:
        found = serialize_fast.documents(text)
    finally:
        serialize_fast.LARGE = before
    assert found is None or found == slowly(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: yes",
        "a: 0755",
        "a: 1_000",
        "a: 1e3",
        "a: ~",
        "a: &x 1",
        "- *x",
        "a: !!str 1",
        "<<: {a: 1}",
        "a: .inf",
        "- On",
    ],
)
def test_what_parsers_read_differently_is_left_to_pyyaml(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialize_fast, "LARGE", 0)
    assert serialize_fast.documents(text) is None


def test_a_small_text_is_left_to_pyyaml() -> None:
    assert serialize_fast.documents("a: 1") is None
