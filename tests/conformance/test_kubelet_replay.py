"""The replay of observed timelines: every action of the format is done to the kit's node."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.conformance._kubelet_inputs import Attempt, attempts, hand_written
from kitlib.conformance.kubelet_dynamics import FILES, check
from kitlib.conformance.runner import read_cases
from tests.conformance.test_vectors import VECTORS

RESOURCES = {"requests": {"cpu": "200m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "100Mi"}}
ID = "containerd://4b1c"
POD_CGROUP, CONTAINER_CGROUP = "dyn/kubepods/pod77", "dyn/kubepods/pod77/4b1c"


@pytest.fixture(scope="module")
def observed() -> dict[str, Any]:
    cases = [case for _, case in read_cases(VECTORS / "kubelet_dynamics.jsonl.gz")]
    return next(case for case in cases if case["case"] == "v1-classes")


def case(observed: dict[str, Any], *actions: dict[str, Any], seen: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """The machine and settings of an observed case with other actions, and what was seen of its pod."""
    made = copy.deepcopy(observed)
    starting = next(e for e in made["timeline"] if e.get("reason") == "Starting")
    timeline = [starting, *({"kind": "action", **one} for one in actions), *seen]
    made["timeline"] = sorted(timeline, key=lambda entry: entry["t"])
    return made


def create(t: float = 4.0, **more: Any) -> dict[str, Any]:
    return {"t": t, "what": "create p", "resources": [RESOURCES], **more}


def status(t: float, **container: Any) -> dict[str, Any]:
    one = {"name": "c0", "containerID": ID, "restartCount": 0, **container}
    return {"kind": "pod", "pod": "p", "t": t, "deletion": None, "grace": None, "status": {"containerStatuses": [one]}}


def run(case: dict[str, Any]) -> dict[str, Any]:
    found = check(case)["timeline"]
    assert isinstance(found, dict)
    return found


def reasons(found: dict[str, Any]) -> list[str]:
    return [event[1] for event in found["events"].get("p", ())]


END = {"t": 60.0, "what": "end"}


def test_a_resize_that_the_node_cannot_offer_is_refused_by_the_api_server(observed: dict[str, Any]) -> None:
    wanted = {kind: {"cpu": "64050m", "memory": "100Mi"} for kind in ("requests", "limits")}
    found = run(case(observed, create(), {"t": 9.0, "what": "resize p", "resources": [wanted]}, END))
    assert found["refused"] == [
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: '
        "cpu, requested: 64050, allocatable: 1800"
    ]
    assert "ResizeStarted" not in reasons(found)


def test_a_quota_written_by_hand_into_the_pods_cgroup_makes_a_resize_fail(observed: dict[str, Any]) -> None:
    by_hand = [
        {"t": 9.0, "what": "write by hand", "cgroup": CONTAINER_CGROUP, "file": "cpu.cfs_quota_us", "value": "10000"},
        {"t": 9.5, "what": "write by hand", "cgroup": POD_CGROUP, "file": "cpu.cfs_quota_us", "value": "10000"},
    ]
    wanted = {kind: {"cpu": "200m", "memory": "150Mi"} for kind in ("requests", "limits")}
    seen = (
        status(5.0, state={"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
        {"kind": "cgroup-made", "cgroup": CONTAINER_CGROUP, "t": 5.0},
    )
    found = run(
        case(observed, create(), *by_hand, {"t": 12.0, "what": "resize p", "resources": [wanted]}, END, seen=seen)
    )
    assert reasons(found)[-2:] == ["ResizeStarted", "ResizeError"]
    assert found["events"]["p"][-1][2].endswith('"generation":2,"error":…')
    assert found["statuses"]["p"][-1]["conditions"]["PodResizeInProgress"] == ["True", "Error", "…"]


def test_a_process_that_was_killed_for_memory_ends_its_container_with_its_own_code(observed: dict[str, Any]) -> None:
    ended = {
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:00:03Z",
        "exitCode": 5,
        "reason": "OOMKilled",
        "containerID": ID,
    }
    again = {"containerID": "containerd://2", "restartCount": 1, "lastState": {"terminated": ended}}
    seen = (
        status(5.0, state={"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
        status(8.0, state={"terminated": ended}),
        status(20.0, state={"running": {"startedAt": "2026-01-01T00:00:13Z"}}, **again),
    )
    timeline = case(observed, create(), END, seen=seen)
    assert attempts("p", timeline["timeline"]) == {"c0": [Attempt(3.0, 5, True), Attempt(None)]}
    found = run(timeline)
    shown = found["statuses"]["p"][-1]["containerStatuses"][0]
    assert shown["lastState"] == {"terminated": {"reason": "OOMKilled", "exitCode": 5}}
    assert (shown["restartCount"], list(shown["state"])) == (1, ["running"])


def test_a_pod_that_ends_by_itself_is_not_started_again(observed: dict[str, Any]) -> None:
    ended = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:03Z", "exitCode": 0}
    over = status(8.0, state={"terminated": {**ended, "reason": "Completed", "containerID": ID}})
    over["status"]["phase"] = "Succeeded"
    found = run(case(observed, create(), END, seen=(over,)))
    assert found["statuses"]["p"][-1]["phase"] == "Succeeded"


def test_a_static_pod_whose_file_is_written_anew_is_another_pod(observed: dict[str, Any]) -> None:
    more = {kind: {"cpu": "300m", "memory": "100Mi"} for kind in ("requests", "limits")}
    actions = (create(), {"t": 12.0, "what": "edit p", "resources": [more]}, END)
    found = run(case(observed, *actions) | {"standalone": True})
    assert (found["events"], found["conditions"]) == ({}, [])
    assert [one["resources"]["limits"]["cpu"] for one in (s["containerStatuses"][0] for s in found["statuses"]["p"])
            if "resources" in one][-1] == "300m"  # fmt: skip


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"what": "x", "cgroup": "a/b", "file": "pids.max", "value": 3}, ("a/b", "pids.max", "3")),
        ({"what": "777 into cpu.shares of kubepods"}, ("dyn/kubepods", "cpu.shares", "777")),
        ({"what": "delete p"}, None),
    ],
)
def test_a_value_written_by_hand_stands_in_the_action_or_is_the_next_that_was_seen(action: Any, expected: Any) -> None:
    seen = {"kind": "file", "t": 5.2, "cgroup": "dyn/kubepods", "file": "cpu.shares", "value": "777"}
    assert hand_written({"t": 5.0, **action}, [seen], FILES) == expected
