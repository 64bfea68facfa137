"""How long a pod waits after its failures."""

from __future__ import annotations

import pytest

from kitlib.scheduler.queue.backoff import Backoff

ALIGNED, EXACT = Backoff(), Backoff(aligned=False)


@pytest.mark.parametrize(("count", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (60, 10)])
def test_the_wait_doubles_up_to_the_longest(count: int, seconds: int) -> None:
    """Source: backoffQueue.calculateBackoffDuration."""
    assert ALIGNED.calculate_backoff_duration(count) == seconds * 1000


@pytest.mark.parametrize(("longest", "waits"), [(4000, [1000, 2000, 4000, 4000]), (5000, [1000, 2000, 4000, 5000])])
def test_a_wait_may_be_exactly_the_longest(longest: int, waits: list[int]) -> None:
    assert [Backoff(max_ms=longest).calculate_backoff_duration(count) for count in range(1, 5)] == waits


@pytest.mark.parametrize(
    ("rule", "expires", "now", "waits", "flushed"),
    [
        (ALIGNED, 2000, 2999, True, 3000),
        (ALIGNED, 2000, 3000, False, 3000),
        (ALIGNED, 2000, 3001, False, 4000),
        (EXACT, 2500, 2499, True, 3000),
        (EXACT, 2500, 2500, False, 3000),
        (EXACT, None, 0, False, 0),
    ],
)
def test_with_windows_a_pod_waits_for_the_end_of_its_window(
    rule: Backoff, expires: int | None, now: int, waits: bool, flushed: int
) -> None:
    """Source: backoffQueue.isPodBackingoff, alignToWindow; the flush runs once a second."""
    assert (rule.is_waiting(expires, now), rule.flush_due_ms(expires, now)) == (waits, flushed)


def test_the_end_of_a_wait_is_cut_to_its_window() -> None:
    assert (ALIGNED.expires_ms(2, 1234), EXACT.expires_ms(2, 1234)) == (3000, 3234)
    assert ALIGNED.expires_ms(0, 1234) is None and Backoff(max_ms=0).expires_ms(3, 1234) is None
