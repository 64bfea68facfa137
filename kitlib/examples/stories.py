"""The scheduler's stories as scenarios: spreading with node affinity, minDomains, gates, quotas, requests and limits.

    stories()                        # their names
    story("affinity-and-skew").decide("1.23").explain()

Each is a file of plain data in `stories/`; see `kitlib.study.scenario.Scenario.of`.
"""

from __future__ import annotations

from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.study.scenario import Scenario

FOLDER = Path(__file__).parent / "stories"


def stories() -> dict[str, str]:
    """Return the title of every story by name, in the order of the files' numbers."""
    return {name: story(name).title for name in sorted(path.stem for path in FOLDER.glob("*.yaml"))}


def story(name: str) -> Scenario:
    """Return a story by its name, with or without its number.

    Raises:
        KitError: no story has this name; the message lists the valid ones.
    """
    for path in sorted(FOLDER.glob("*.yaml")):
        if name in (path.stem, path.stem.partition("-")[2]):
            return Scenario.read(path)
    known = ", ".join(path.stem.partition("-")[2] for path in sorted(FOLDER.glob("*.yaml")))
    raise KitError(f"no story {name!r}; valid values: {known}")
