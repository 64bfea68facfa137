"""The order of lists after a strategic merge patch: the patch's items come before those that only the server has."""

from __future__ import annotations

import pytest

from kitlib.apiserver.store.merge import strategic_patch


def order(current: str, patch: str) -> str:
    def containers(names: str) -> list[dict[str, str]]:
        return [{"name": name} for name in names]

    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers(current)}}
    merged = strategic_patch(pod, {"spec": {"containers": containers(patch)}})
    return "".join(one["name"] for one in merged["spec"]["containers"])


@pytest.mark.parametrize(
    ("current", "patch", "expected"),
    [
        ("a", "x", "xa"),  # a new item comes first
        ("abc", "b", "abc"),
        ("abc", "cb", "acb"),  # in the order of the patch; `a` stood before `c`
        ("abc", "cx", "abcx"),
        ("abc", "xb", "xabc"),
        ("", "xy", "xy"),
    ],
)
def test_a_merged_list_has_the_order_of_mergesortedslice(current: str, patch: str, expected: str) -> None:
    assert order(current, patch) == expected


def test_finalizers_are_merged_in_the_same_order() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"finalizers": ["a/b"]}}
    assert strategic_patch(pod, {"metadata": {"finalizers": ["x/y"]}})["metadata"]["finalizers"] == ["x/y", "a/b"]
