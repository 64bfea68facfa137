"""A container's state: starts, ends and restarts, as the API shows them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api.core import Container
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import Ended

AT = datetime(2026, 1, 1, tzinfo=UTC)
SHOWN = "2026-01-01T00:00:00Z"


def state() -> ContainerState:
    return ContainerState(Container(name="c", image="x"), "id")


def ended(code: int, *, oom: bool = False, message: str = "") -> Ended:
    return Ended(id="id", code=code, oom=oom, at=5.0, message=message)


@pytest.mark.parametrize(
    ("code", "oom", "reason"), [(0, False, "Completed"), (1, False, "Error"), (137, True, "OOMKilled")]
)
def test_an_end_has_its_reason(code: int, oom: bool, reason: str) -> None:
    one = state()
    one.started(1.0, AT)
    one.exited(ended(code, oom=oom, message="words"), AT)
    assert one.ended == {
        "exitCode": code,
        "reason": reason,
        "startedAt": SHOWN,
        "finishedAt": SHOWN,
        "message": "words",
    }
    assert (one.alive, one.running, one.ended_at) == (False, {}, 5.0)
    assert (one.succeeded, one.exit_code) == (code == 0, code)


@pytest.mark.parametrize(("code", "reason"), [(0, "Completed"), (137, "Error")])
def test_a_container_that_the_kubelet_ends(code: int, reason: str) -> None:
    one = state()
    one.started(1.0, AT)
    one.stopped(AT, code)
    assert (one.ended["reason"], one.ended["exitCode"], one.alive) == (reason, code, False)


def test_a_restart_counts_and_keeps_the_end_before_it() -> None:
    one = state()
    one.started(1.0, AT)
    assert (one.restarts, one.last) == (0, {})
    one.exited(ended(1), AT)
    before = one.ended
    one.back_off.pulls, one.problem, one.removed = 3, ("a", "b"), True
    one.started(9.0, AT)
    assert (one.restarts, one.last, one.ended) == (1, {"terminated": before}, {})
    assert (one.back_off.pulls, one.problem, one.removed, one.since) == (0, ("", ""), False, 9.0)


def test_before_the_first_start_it_counts_as_failed_and_neither_started_nor_ready() -> None:
    one = state()
    assert (one.exit_code, one.succeeded, one.started_once, one.has_started, one.is_ready) == (
        1,
        False,
        False,
        False,
        False,
    )
    one.started(1.0, AT)
    assert (one.exit_code, one.succeeded, one.started_once, one.has_started, one.is_ready) == (
        1,
        False,
        True,
        True,
        True,
    )
