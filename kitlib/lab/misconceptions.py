"""The misconception behind each question, for trainers: a common wrong answer and the belief behind it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")


@cache
def _all() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def behind(place: str, key: str) -> dict[str, str]:
    """Return wrong answer -> misconception of a question; empty if none is recorded.

    Args:
        place: a notebook's number, as "04", or a lab's, as "lab 04".
        key: the question's name there.
    """
    return dict(_all().get(place, {}).get(key, {}))


def notebooks() -> list[str]:
    """Return the numbers of the notebooks that have misconceptions, in order."""
    return [place for place in _all() if not place.startswith("lab ")]
