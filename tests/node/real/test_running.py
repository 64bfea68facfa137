"""Tests that a node remembers a bounded number of ended containers."""

from __future__ import annotations

from kitlib.node.real.running import Newest


def test_the_oldest_entries_are_forgotten() -> None:
    kept: Newest[str, int] = Newest(3)
    for number, name in enumerate("abcd"):
        kept[name] = number
    assert list(kept.items()) == [("b", 1), ("c", 2), ("d", 3)]


def test_what_is_written_again_counts_as_new() -> None:
    kept: Newest[str, int] = Newest(2)
    for number, name in enumerate("abac"):
        kept[name] = number
    assert kept == {"a": 2, "c": 3}
