"""What all fuzzers use."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def note(record_property: Any) -> Any:
    """Keeps the figures with the test's result."""

    def keep(figures: dict[str, float]) -> None:
        for name, value in figures.items():
            record_property(name, value)

    return keep
