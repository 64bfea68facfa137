"""The sums of a pod's requests and limits: init containers, sidecars, pod-level amounts, overhead, resizes."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.podresources import (
    aggregate_container_requests,
    field_path,
    is_pod_level_resources_set,
    is_resize_deferred,
    pod_limits,
    pod_requests,
)
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict

NEWEST = Release("1.36")


def container(name: str, cpu: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "x", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}, **fields}


def pod(containers: list[Any], inits: list[Any] = [], status: Any = None, **spec: Any) -> Pod:  # noqa: B006
    made: Pod = from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": containers, "initContainers": inits, **spec},
            "status": status or {},
        }
    )
    return made


def sidecar(name: str, cpu: str) -> dict[str, Any]:
    return container(name, cpu, restartPolicy="Always")


@pytest.mark.parametrize(
    ("containers", "inits", "milli"),
    [
        ([container("a", "1"), container("b", "500m")], [], 1500),
        ([container("a", "1")], [container("i", "3")], 3000),
        ([container("a", "1")], [container("i", "500m")], 1000),
        ([container("a", "1")], [sidecar("s", "500m")], 1500),
        ([container("a", "1")], [sidecar("s", "500m"), container("i", "2")], 2500),
        ([container("a", "1")], [container("i", "2"), sidecar("s", "500m")], 2000),
        ([container("a", "1")], [sidecar("s", "1"), sidecar("t", "1")], 3000),
    ],
    ids=[
        "containers add up",
        "a larger init container decides",
        "a smaller init container does not",
        "a sidecar adds to the containers",
        "a sidecar adds to later init containers",
        "a sidecar does not add to earlier ones",
        "sidecars add up",
    ],
)
def test_what_a_pod_requests(containers: list[Any], inits: list[Any], milli: int) -> None:
    """Source: component-helpers AggregateContainerRequests."""
    made = pod(containers, inits)
    assert pod_requests(made)["cpu"].milli_value() == milli
    assert pod_limits(made)["cpu"].milli_value() == milli
    assert aggregate_container_requests(made)["cpu"].milli_value() == milli


def test_overhead_is_added_to_requests_and_to_limits_that_exist() -> None:
    made = pod([container("a", "1")], overhead={"cpu": "100m", "memory": "1Mi"})
    assert {name: str(amount) for name, amount in pod_requests(made).items()} == {"cpu": "1100m", "memory": "1Mi"}
    assert {name: str(amount) for name, amount in pod_limits(made).items()} == {"cpu": "1100m"}
    assert str(pod_requests(made, exclude_overhead=True)["cpu"]) == "1"


def test_pod_level_amounts_replace_the_sum() -> None:
    made = pod([container("a", "1")], resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}})
    assert is_pod_level_resources_set(made)
    assert (str(pod_requests(made)["cpu"]), str(pod_limits(made)["cpu"])) == ("2", "3")
    assert str(pod_requests(made, skip_pod_level=True)["cpu"]) == "1"
    assert str(pod_requests(made, release=Release("1.31"))["cpu"]) == "1"


def status(name: str, allocated: str, actual: str) -> dict[str, Any]:
    return {
        "name": name,
        "allocatedResources": {"cpu": allocated},
        "resources": {"requests": {"cpu": actual}},
        "image": "x",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
    }


@pytest.mark.parametrize(
    ("init", "init_status", "milli"),
    [
        (container("i", "2"), status("i", "9", "9"), 2000),
        (sidecar("i", "2"), status("i", "3", "2"), 4000),
        (sidecar("i", "2"), status("i", "2", "5"), 6000),
        (sidecar("i", "2"), status("i", "1", "1"), 3000),
    ],
    ids=[
        "an init container that ends is not resized: its request counts",
        "a sidecar counts with what is allocated",
        "a sidecar counts with what it has",
        "a sidecar counts with what it should have",
    ],
)
def test_during_a_resize_the_largest_amount_of_containers_and_sidecars_counts(
    init: dict[str, Any], init_status: dict[str, Any], milli: int
) -> None:
    """Source: component-helpers determineEffectiveRequests."""
    seen = {"containerStatuses": [status("a", "1", "1")], "initContainerStatuses": [init_status]}
    made = pod([container("a", "1")], [init], seen)
    assert pod_requests(made, use_status=True, release=NEWEST)["cpu"].milli_value() == milli


@pytest.mark.parametrize(("reason", "milli"), [("Infeasible", 1000), ("Deferred", 4000)])
def test_the_amounts_of_an_infeasible_resize_do_not_count(reason: str, milli: int) -> None:
    pending = {"type": "PodResizePending", "status": "True", "reason": reason}
    made = pod([container("a", "4")], status={"containerStatuses": [status("a", "1", "1")], "conditions": [pending]})
    assert pod_requests(made, use_status=True, release=NEWEST)["cpu"].milli_value() == milli


def test_events_name_the_place_of_a_container() -> None:
    made = pod([container("a", "1")], [container("i", "1")])
    assert field_path(made, made.spec.containers[0]) == "spec.containers{a}"
    assert field_path(made, made.spec.init_containers[0]) == "spec.initContainers{i}"


@pytest.mark.parametrize(
    ("conditions", "deferred"),
    [
        ([], False),
        ([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}], False),
        ([{"type": "PodResizePending", "status": "True", "reason": "Deferred"}], True),
        ([{"type": "Ready", "status": "True", "reason": "Deferred"}], False),
    ],
)
def test_a_resize_is_deferred(conditions: list[dict[str, str]], deferred: bool) -> None:
    assert is_resize_deferred(pod([container("a", "1")], status={"conditions": conditions})) is deferred
