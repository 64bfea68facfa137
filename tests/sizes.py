"""How much a test tries: a sample in the README's test command, all of it in `.ci/run nightly` (KITLIB_NIGHTLY=1)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

NIGHTLY = bool(os.environ.get("KITLIB_NIGHTLY"))
SAMPLED = 5
"""The default suite tries one of so many examples of a property."""


def examples(nightly: int) -> int:
    """Return the number of examples of a property: so many by night, a fifth of them (at least 10) by default."""
    return nightly if NIGHTLY else max(nightly // SAMPLED, 10)


def sampled(cases: Sequence[Any], every: int, marker: pytest.MarkDecorator) -> list[Any]:
    """Return the cases as parameters; all but each `every`-th are left to the stage of the gate that runs the marker.

    Args:
        cases: values made by `pytest.param`.
        every: 2 or more.
        marker: a marker that the default suite leaves out, as `pytest.mark.thorough`.
    """
    return [
        case if index % every == 0 else pytest.param(*case.values, id=case.id, marks=(*case.marks, marker))
        for index, case in enumerate(cases)
    ]
