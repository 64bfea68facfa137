"""The condition AllContainersRestarting: while a rule restarts all containers, and its end."""

from __future__ import annotations

import pytest

from kitlib.kubelet.loop.restart_condition import restarting_condition


@pytest.mark.parametrize(
    ("phase", "restarting", "status", "reason"),
    [
        ("Running", True, "True", "RestartAllContainersStarted"),
        ("Running", False, "False", ""),
        ("Succeeded", True, "False", "PodCompleted"),
        ("Failed", True, "False", "PodFailed"),
    ],
)
def test_the_condition_follows_phase_and_restart(phase: str, restarting: bool, status: str, reason: str) -> None:
    found = restarting_condition(phase, restarting=restarting)
    assert (found.type, found.status, found.reason or "") == ("AllContainersRestarting", status, reason)
