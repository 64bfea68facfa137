"""The message about a pod that fits no node."""

from __future__ import annotations

from kitlib.api.release import Release
from kitlib.scheduler.framework.fit_error import fit_error

RELEASE = Release("1.36")


def test_reasons_are_sorted_as_text_with_their_numbers() -> None:
    """Source: FitError.Error, sortReasonsHistogram: 10 comes before 2."""
    reasons = {"Too many pods": 2, "Insufficient cpu": 10, "Insufficient memory": 2}
    assert fit_error(12, reasons, RELEASE) == (
        "0/12 nodes are available: 10 Insufficient cpu, 2 Insufficient memory, 2 Too many pods."
    )


def test_a_rejection_by_pre_filter_is_the_whole_message() -> None:
    assert fit_error(3, {"x": 1}, RELEASE, "no claim") == "0/3 nodes are available: no claim."
    assert fit_error(3, {}, RELEASE).startswith("0/3 nodes are available")
