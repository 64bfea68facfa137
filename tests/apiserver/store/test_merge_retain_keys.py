"""Fields of which a change keeps only what the manifest names."""

from typing import Any

import pytest

from kitlib.apiserver.store.merge import strategic_patch, three_way

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "another strategy drops the defaults of the old one": (
        {"strategy": ROLLING},
        {"strategy": {"type": "Recreate"}},
        {"strategy": {"type": "Recreate"}},
    ),
    "the same strategy keeps them": (
        {"strategy": ROLLING},
        {"strategy": {"type": "RollingUpdate"}},
        {"strategy": ROLLING},
    ),
    "a volume of another type replaces the one that a patch put there": (
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "configMap": {"name": "c"}}]},
        {"volumes": [{"name": "v", "configMap": {"name": "c"}}]},
    ),
    "other fields keep what was added": ({"spec": {"a": 1}}, {"spec": {"b": 2}}, {"spec": {"a": 1, "b": 2}}),
}


KINDS = {"strategy": {"apiVersion": "apps/v1", "kind": "Deployment"}, "volumes": {"apiVersion": "v1", "kind": "Pod"}}
"""Field of `spec` -> the object that has it."""


@pytest.mark.parametrize(("current", "new", "expected"), CASES.values(), ids=CASES.keys())
def test_three_way(current: dict[str, Any], new: dict[str, Any], expected: dict[str, Any]) -> None:
    kind = next((head for field, head in KINDS.items() if field in new), {})
    assert three_way({}, {**kind, "spec": new}, {**kind, "spec": current}) == {**kind, "spec": expected}


def test_a_part_that_names_a_kind_is_no_object_of_that_kind() -> None:
    """Lists in a custom resource are replaced, also where a whole Pod stands in one of its fields."""

    def wrapped(image: str) -> dict[str, Any]:
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": image, "image": image}]}}
        return {"apiVersion": "x.example/v1", "kind": "Wrapped", "template": pod}

    assert three_way({}, wrapped("b"), wrapped("a")) == wrapped("b")
    assert strategic_patch(wrapped("a"), {"template": wrapped("b")["template"]}) == wrapped("b")
