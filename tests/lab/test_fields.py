"""Fields of a manifest by name."""

import pytest

from kitlib.api.resource import Quantity
from kitlib.lab.fields import MISSING, get, put

POD = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "500m"}}}], "tolerations": [{"key": "k"}]},
}
CASES = [
    ("metadata.labels", {"app": "a"}),
    (
        "containers.main.resources.limits.cpu",
        Quantity("0.5"),
    ),
    ("tolerations.0.key", "k"),
    ("tolerations.1", MISSING),
    ("containers.other.resources", MISSING),
]


@pytest.mark.parametrize(("path", "value"), CASES)
def test_get(path, value):
    assert get(POD, path) == value
    assert get({"spec": {"template": POD}}, path) == value or path.startswith("metadata")


def test_put_makes_and_removes():
    made = {"spec": {"containers": [{"name": "main"}]}}
    put(made, "containers.main.resources.limits.cpu", "1")
    put(made, "containers.side", {"name": "side"})
    assert made["spec"]["containers"] == [{"name": "main", "resources": {"limits": {"cpu": "1"}}}, {"name": "side"}]
    put(made, "containers.main", None)
    assert [one["name"] for one in made["spec"]["containers"]] == ["side"]
