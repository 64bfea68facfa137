"""Patches of long lists take time in proportion: items are looked up, not looked for."""

from __future__ import annotations

from kitlib.apiserver.store.merge import strategic_patch

MANY = 20_000
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "finalizers": [f"a/f{n}" for n in range(MANY)]},
    "spec": {"containers": [{"name": f"c{n}", "image": "x"} for n in range(MANY)]},
}


def test_twenty_thousand_items_are_changed_added_removed_and_ordered() -> None:
    changed = [{"name": f"c{n}", "image": "y"} for n in range(MANY // 2, 2 * MANY)]
    gone = [{"name": f"c{n}", "$patch": "delete"} for n in range(MANY // 2)]
    order = [{"name": f"c{n}"} for n in reversed(range(MANY // 2, 2 * MANY))]
    patch = {
        "metadata": {"$deleteFromPrimitiveList/finalizers": [f"a/f{n}" for n in range(1, MANY)]},
        "spec": {"containers": [*changed, *gone], "$setElementOrder/containers": order},
    }
    made = strategic_patch(POD, patch)
    assert made["metadata"]["finalizers"] == ["a/f0"]
    assert made["spec"]["containers"] == list(reversed(changed))


def test_values_that_stand_already_are_not_added_again() -> None:
    patch = {"metadata": {"finalizers": [*POD["metadata"]["finalizers"], "a/new", "a/f0"]}}
    assert strategic_patch(POD, patch)["metadata"]["finalizers"] == [*POD["metadata"]["finalizers"], "a/new"]
