"""Pages about the public interface: every package has pages, or a stated reason."""

from __future__ import annotations

from kitlib.lab.api_pages import PACKAGES
from tests.rooms import rooms

WITHOUT_PAGES = {
    "charts": "shown by widgets, which have pages",
    "commands": "the command line, described in docs/commands.md",
    "conformance": "run by `kitlib conformance`",
    "examples": "run by `kitlib demo`",
    "workshop": "written out by `kitlib workshop`",
}
"""A package -> where a user finds it instead."""


def test_every_package_has_pages_or_is_described_elsewhere() -> None:
    assert sorted([*PACKAGES, *WITHOUT_PAGES]) == rooms()
