"""Names in files of users: without the number that orders the course, and of any release.

Progress files, rooms, certificates and tables name `make-it-guaranteed`, whatever number the lab has in this release.
Old files have the numbers, and questions under the notebooks that asked them then. Both are read as today's names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")
_NAMES = "names"
"""The table of the file for notebooks whose name without the number belongs to a lab."""


@cache
def _all() -> dict[str, dict[str, str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


@cache
def _by_plain_name() -> dict[str, dict[str, str]]:
    return {plain(old): keys for old, keys in _all().items()}


def plain(name: str) -> str:
    """Return the name that files of users have for a lab or notebook, given its name with or without its number."""
    return _all()[_NAMES].get(name) or re.sub(r"^\d+[a-z]?-", "", name)


def moved_from(notebook: str) -> Mapping[str, str]:
    """Return key -> the notebook that now has it, for the questions and exercises that left a notebook."""
    return _by_plain_name().get(plain(notebook), {})


def home_of(notebook: str, key: str) -> str:
    """Return the name, without number, of the notebook that has a question or exercise now; of a lab, its name.

    Args:
        notebook: the notebook's or lab's name in a progress file, of any release.
        key: the question's, exercise's or task's name.
    """
    return plain(moved_from(notebook).get(key, notebook))
