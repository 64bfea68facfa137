"""Fields of which a change keeps only what the manifest names."""

from typing import Any

import pytest

from kitlib.api.apps import DeploymentSpec
from kitlib.api.core import PodSpec
from kitlib.cluster.store.merge import three_way

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


@pytest.mark.parametrize(("current", "new", "expected"), CASES.values(), ids=CASES.keys())
def test_three_way(current: dict[str, Any], new: dict[str, Any], expected: dict[str, Any]) -> None:
    type_ = DeploymentSpec if "strategy" in new else PodSpec if "volumes" in new else None
    assert three_way({}, new, current, type_) == expected
