"""The difference of two objects is a patch that makes the one into the other."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kitlib.apiserver.store.merge import strategic_patch
from kitlib.apiserver.store.merge_diff import strategic_diff

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web", "tier": "a"}, "finalizers": ["x/a", "x/b"]},
    "spec": {
        "containers": [
            {"name": "a", "image": "x:1", "resources": {"limits": {"cpu": "1"}}, "args": ["1", "2"]},
            {"name": "b", "image": "y:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        ],
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}


def changed(value: Any, random: Random) -> Any:
    """A value with fields and items taken away, changed, added, and in another order."""
    if isinstance(value, dict):
        kept = {key: changed(one, random) for key, one in value.items() if key == "name" or random.random() > 0.2}
        return {**kept, "added": {}} if random.random() < 0.2 and "name" not in value else kept
    if isinstance(value, list):
        kept = [changed(one, random) for one in value if random.random() > 0.2]
        if random.random() < 0.3:
            kept.append({"name": "new", "value": "3"} if any(isinstance(one, dict) for one in value) else "x/new")
        if random.random() < 0.3:
            random.shuffle(kept)
        return kept
    return f"{value}-2" if random.random() < 0.2 and value not in ("a", "b", "A", "B", "v") else value


@pytest.mark.parametrize("seed", range(60))
def test_a_difference_leads_from_the_one_to_the_other(seed: int) -> None:
    random = Random(seed)
    new = {**changed(POD, random), "apiVersion": "v1", "kind": "Pod"}
    patch = strategic_diff(POD, new)
    made = strategic_patch(POD, patch)
    finalizers = made.get("metadata", {}).get("finalizers"), new.get("metadata", {}).get("finalizers")
    assert (finalizers[0] and sorted(finalizers[0])) == (finalizers[1] and sorted(finalizers[1]))  # a set
    for one in (made, new):
        one.get("metadata", {}).pop("finalizers", None)
    assert made == new


def test_equal_objects_have_no_difference() -> None:
    assert strategic_diff(POD, POD) == {}


def test_a_changed_container_is_named_alone() -> None:
    new = {**POD, "spec": {**POD["spec"], "containers": [POD["spec"]["containers"][0], {"name": "b", "image": "y:2"}]}}
    patch = strategic_diff(POD, new)
    assert patch == {"spec": {"containers": [{"name": "b", "image": "y:2", "env": None}]}}
