"""Tolerations that compare numbers, with the gate TaintTolerationComparisonOperators."""

from __future__ import annotations

import pytest

from kitlib.api.core import Taint, Toleration
from kitlib.api.release import Release
from kitlib.api.selectors import tolerates

ON = Release("1.36", {"TaintTolerationComparisonOperators": True})


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "-6", True),
        ("Lt", "5", "7", False),
        ("Gt", "-9223372036854775808", "9223372036854775807", True),
        ("Gt", "5", "9223372036854775808", False),
        ("Gt", "+5", "6", False),
        ("Gt", "05", "6", False),
        ("Gt", "-1", "-0", False),
        ("Lt", "5", "", False),
        ("Gt", "5", "six", False),
    ],
)
def test_a_toleration_compares_whole_numbers_in_canonical_form(
    operator: str, wanted: str, value: str, expected: bool
) -> None:
    toleration = Toleration(key="k", operator=operator, value=wanted)
    taint = Taint(key="k", value=value, effect="NoSchedule")
    assert tolerates(toleration, taint, ON) is expected
    assert tolerates(toleration, taint, Release("1.36")) is False
