"""Merging as server-side apply does it: what is joined, in which order, and what is replaced."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.structured_merge import merge

POD = {"apiVersion": "v1", "kind": "Pod"}


def containers(*names: str) -> dict[str, Any]:
    return {**POD, "spec": {"containers": [{"name": name} for name in names]}}


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        ("ab", "b", "ab"),
        ("ab", "c", "abc"),
        ("abc", "ca", "bca"),  # shared items as they are applied, the others where they were
        ("abc", "xb", "axbc"),
        ("", "ab", "ab"),
        ("ab", "", "ab"),
        ("abcd", "dxa", "bcdxa"),
    ],
)
def test_items_stand_in_the_order_in_which_they_are_applied(live: str, applied: str, expected: str) -> None:
    assert merge(containers(*live), containers(*applied)) == containers(*expected)


def test_items_with_a_key_are_merged_and_lists_without_are_replaced() -> None:
    live = {**POD, "spec": {"containers": [{"name": "a", "image": "x", "args": ["1"]}]}}
    applied = {**POD, "spec": {"containers": [{"name": "a", "args": ["2"]}]}}
    assert merge(live, applied)["spec"]["containers"] == [{"name": "a", "image": "x", "args": ["2"]}]


def test_an_item_that_stands_twice_becomes_the_one_that_is_applied() -> None:
    def env(*pairs: str) -> dict[str, Any]:
        return {**POD, "spec": {"containers": [{"name": "a", "env": [{"name": p[0], "value": p[1:]} for p in pairs]}]}}

    assert merge(env("aold", "aold", "bkept", "bkept"), env("anew")) == env("anew", "bkept", "bkept")


def test_sets_are_joined() -> None:
    live, applied = ({**POD, "metadata": {"finalizers": list(text)}} for text in ("ab", "cb"))
    assert merge(live, applied)["metadata"]["finalizers"] == ["a", "c", "b"]


def test_maps_are_merged_unless_they_are_one_field() -> None:
    live = {**POD, "metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {"nodeSelector": {"a": "1"}}}
    applied = {**POD, "metadata": {"labels": {"b": "2"}}, "spec": {"nodeSelector": {"b": "2"}}}
    made = merge(live, applied)
    assert made["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert made["spec"]["nodeSelector"] == {"b": "2"}
