"""Sweeps to try and to change: what maxSkew costs, which score strategy packs best, who is killed first.

    examples()                            # their names
    example("max-skew").sweep().run()

Each is a file of plain data in `sweeps/`; see `kitlib.study.sweeps.definition`.
"""

from __future__ import annotations

from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.study.sweeps.definition import SweepDefinition

FOLDER = Path(__file__).parent / "sweeps"


def examples() -> list[str]:
    """Return the names of the examples, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def example(name: str) -> SweepDefinition:
    """Return an example by its name.

    Raises:
        KitError: no example has this name; the message lists the valid ones.
    """
    if name not in examples():
        raise KitError(f"no sweep {name!r}; valid values: {', '.join(examples())}")
    return SweepDefinition.read(FOLDER / f"{name}.yaml")
