"""The waits between restarts and between pulls of an image, second by second."""

from __future__ import annotations

import pytest

from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.backoff import BackOff, restart_back_off


def test_waits_between_restarts_double_up_to_the_longest() -> None:
    one, at, waits = BackOff(), 0.0, []
    for _ in range(8):
        started, at = at, at + 1
        one.ended(started, at, 10, 300)
        waits.append(one.wait)
        assert one.not_before == at + one.wait
        at = one.not_before
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]


@pytest.mark.parametrize(("ran", "wait"), [(599.0, 20.0), (600.0, 0.0)])
def test_ten_minutes_of_running_forget_the_failures(ran: float, wait: float) -> None:
    one = BackOff()
    for _ in range(2):
        one.ended(0, 1, 10, 300)
    one.ended(0, ran, 10, 300)
    assert one.wait == wait


@pytest.mark.parametrize(
    ("before", "at", "failures", "wait"),
    [(None, 5.0, 3, 0.0), (0.0, 39.0, 3, 40.0), (0.0, 40.0, 3, 0.0), (0.0, 600.0, 3, 0.0), (0.0, 5.0, 0, 0.0)],
    ids=["the first end", "within the back-off", "at its end", "ten minutes later", "no failure before"],
)
def test_a_container_that_the_kubelet_kills_waits_only_within_the_back_off_of_the_end_before(
    before: float | None, at: float, failures: int, wait: float
) -> None:
    one = BackOff(failures=failures)
    one.killed(before, at, 10, 300)
    assert (one.wait, one.not_before) == (wait, at + wait)


def test_waits_between_pulls_double_up_to_five_minutes() -> None:
    one, waits = BackOff(), []
    for _ in range(7):
        one.pull_failed(100)
        waits.append(one.wait)
        assert one.not_before == 100 + one.wait
    assert waits == [10, 20, 40, 80, 160, 300, 300]


def test_a_container_that_cannot_be_started_is_tried_again_after_ten_seconds() -> None:
    one = BackOff()
    one.start_failed(5)
    assert (one.wait, one.not_before) == (0, 15)


@pytest.mark.parametrize(
    ("gates", "settings", "waits"),
    [
        ({}, {}, (10, 300)),
        ({"ReduceDefaultCrashLoopBackOffDecay": True, "KubeletCrashLoopBackOffMax": False}, {}, (1, 60)),
        ({"ReduceDefaultCrashLoopBackOffDecay": False}, {"crash_loop_back_off_max": 5.0}, (5, 5)),
    ],
)
def test_the_first_and_the_longest_wait_follow_gates_and_settings(
    gates: dict[str, bool], settings: dict[str, float], waits: tuple[float, float]
) -> None:
    release = Release("1.34", gates) if gates else Release("1.34")
    assert restart_back_off(KubeletSettings(**settings), release) == waits
