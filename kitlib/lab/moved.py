"""Where questions and exercises of earlier releases are now: old progress files and old notebooks keep working."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")


@cache
def _all() -> dict[str, dict[str, str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def moved_from(notebook: str) -> Mapping[str, str]:
    """Return key -> the notebook that now has it, for the questions and exercises that left a notebook."""
    return _all().get(notebook, {})


def home_of(notebook: str, key: str) -> str:
    """Return the name of the notebook that has a question or exercise now.

    Args:
        notebook: the notebook's name in a progress file, of any release.
        key: the question's or exercise's name.
    """
    return moved_from(notebook).get(key, notebook)
