"""A node's conditions and the events of a kubelet that starts, in the kubelet's words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.node_conditions import (
    PRESSURES,
    event_reason,
    first_conditions,
    first_events,
    pressure_condition,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("kind", PRESSURES)
@pytest.mark.parametrize("holds", [True, False])
def test_a_pressure_has_its_reason_its_message_and_its_event(kind: str, holds: bool) -> None:
    found, event = pressure_condition(kind, holds, NOW), event_reason(kind, holds)
    assert (found.type, found.status) == (kind, str(holds))
    resource = {"MemoryPressure": "memory", "DiskPressure": "disk", "PIDPressure": "PID"}[kind]
    assert resource in (found.message or "").replace("pids", "PID")
    assert (found.reason or "").removeprefix("Kubelet") == event.removeprefix("Node")
    assert found.last_transition_time == found.last_heartbeat_time == NOW


def test_a_node_that_starts_is_ready_without_pressure() -> None:
    found = {one.type: one.status for one in first_conditions(NOW)}
    assert found == {**dict.fromkeys(PRESSURES, "False"), "Ready": "True"}


@pytest.mark.parametrize(
    ("settings", "version", "enforced"),
    [
        ({}, 2, ["Updated Node Allocatable limit across pods"]),
        ({"cgroups_per_qos": False, "enforce_node_allocatable": ()}, 2, []),
        (
            {"enforce_node_allocatable": ("pods", "system-reserved"), "system_reserved_cgroup": "/sys"},
            1,
            ["Updated Node Allocatable limit across pods", "Updated limits on system reserved cgroup /sys"],
        ),
        (
            {"enforce_node_allocatable": ("pods", "kube-reserved-compressible"), "kube_reserved_cgroup": "/kube"},
            2,
            ["Updated Node Allocatable limit across pods", "Updated limits on kube reserved cgroup /kube"],
        ),
    ],
)
def test_a_kubelet_that_starts_tells_what_it_enforces(
    settings: dict[str, object], version: int, enforced: list[str]
) -> None:
    told = first_events("n", KubeletSettings(**settings), version)  # type: ignore[arg-type]
    assert [one.message for one in told if one.reason == "NodeAllocatableEnforced"] == enforced
    assert ("CgroupV1" in [one.reason for one in told]) is (version == 1)
    assert (told[0].reason, told[-1].reason) == ("Starting", "NodeReady")
    assert told[-1].message == "Node n status is now: NodeReady"
