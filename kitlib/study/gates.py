"""The feature gates of 1.34 to 1.37 that affect scheduling or enforcement, and the kit's support of each.

`gates.json` holds the stages of each gate, where 1.37's stage was read, and the reason why a gate is left out. The
modules that follow a gate, and the tests that name it, are found by a search of the code. `python -m
kitlib.study.gates` prints the page [Feature gates](../docs/gates.md).

Source: pkg/features/kube_features.go of 1.36.2; the scheduler's gate table of 1.37; pages and changes as each row says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kitlib.api.release import RELEASES, Release

FIRST, LAST = 34, 37
_ROOT = Path(__file__).parents[1]
_NOT_FOLLOWED = ("release_table.py", "gates.py", "compare.py")


@dataclass(frozen=True)
class Stage:
    """A gate's stage from one minor version on."""

    since: int
    name: str
    on: bool
    locked: bool

    def __str__(self) -> str:
        return f"{self.name}, {'on' if self.on else 'off'}{', locked' if self.locked else ''}"


@dataclass(frozen=True)
class Gate:
    """A feature gate.

    Attributes:
        name: the gate's name.
        stages: oldest first.
        source: the source of the stage in 1.37; "" = not read.
        note: the open questions about 1.37.
        left_out: why the kit does not follow it; "" = it does.
        where: the module that follows it under a composed name; "" = the module uses the gate's name.
        subject: the subject of the gate; "" = its name says it or nothing changes in 1.37.
    """

    name: str
    stages: tuple[Stage, ...]
    source: str = ""
    note: str = ""
    left_out: str = ""
    where: str = ""
    subject: str = ""

    def stage(self, minor: int) -> Stage | None:
        """Return the stage in a minor version; None = the gate did not exist."""
        return next((stage for stage in reversed(self.stages) if stage.since <= minor), None)


@cache
def gates() -> dict[str, Gate]:
    """Return the gates of the table by name."""
    data: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "gates.json").read_text(encoding="utf-8"))
    return {
        name: Gate(
            name,
            tuple(Stage(*row) for row in one["stages"]),
            one.get("source37", ""),
            one.get("note", ""),
            one.get("leftOut", ""),
            one.get("where", ""),
            one.get("subject", ""),
        )
        for name, one in data.items()
    }


def changed(before: Release, after: Release) -> list[Gate]:
    """Return the gates whose default differs between two releases, also those that the kit leaves out."""

    def on(gate: Gate, release: Release) -> bool:
        stage = gate.stage(release.minor)
        return stage is not None and stage.on

    return [gate for gate in gates().values() if on(gate, before) != on(gate, after)]


def followers(name: str) -> list[str]:
    """Return the modules of the kit that check a gate, as paths below `kitlib/`."""
    return [path for path, text in _sources() if f'"{name}"' in text]


@cache
def _sources() -> tuple[tuple[str, str], ...]:
    found = sorted(path for path in _ROOT.rglob("*.py") if path.name not in _NOT_FOLLOWED)
    return tuple((path.relative_to(_ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in found)


def page(tests: Iterable[Path], root: Path) -> str:
    """Return the page of all gates.

    Args:
        tests: files of tests, as paths below the root; of those that name a gate the first is named.
        root: the root of the repository.
    """
    known = [(path, (root / path).read_text(encoding="utf-8")) for path in tests if path.name != "test_gates.py"]
    lines = [
        "# Feature gates of 1.34 to 1.37",
        "",
        "This page lists the feature gates that affect scheduling or enforcement. Each row shows the stage and the",
        "default of a feature gate in each release, the module of the kit that uses the feature gate, and a test. If",
        "the kit does not use a feature gate, the row states the reason. The stages for 1.34 to 1.36 come from the",
        "source of 1.36.2. Only parts of the source of 1.37 were available; the last column names the source of the",
        "stage in 1.37.",
        "`python -m kitlib.study.gates` generates this page.",
        "",
        f"| gate | {' | '.join(f'1.{minor}' for minor in range(FIRST, LAST + 1))} | in the kit | test | 1.37 |",
        f"|{'---|' * (LAST - FIRST + 5)}",
    ]
    lines += [_row(gate, known) for gate in gates().values()]
    return "\n".join(lines) + "\n"


def _row(gate: Gate, tests: list[tuple[Path, str]]) -> str:
    stages = [str(gate.stage(minor) or "–") for minor in range(FIRST, LAST + 1)]
    shown = ["″" if i and stage == stages[i - 1] != "–" else stage for i, stage in enumerate(stages)]
    modules = [gate.where] if gate.where else followers(gate.name)[:2]
    where = gate.left_out or ", ".join(f"`{path}`" for path in modules)
    tested = next((path.as_posix() for path, text in tests if gate.name in text), "")
    read = "; ".join(part for part in (gate.source, gate.note) if part)
    return f"| {gate.name} | {' | '.join(shown)} | {where} | {f'`{tested}`' if tested else ''} | {read} |"


def problems() -> Iterator[str]:
    """Return the differences between the table and the releases, and gates that no module follows without a reason."""
    for name, gate in gates().items():
        if not (gate.left_out or gate.where or followers(name)):
            yield f"{name}: no module asks for it, and no reason is given"
        for release in map(Release, RELEASES):
            stage = gate.stage(release.minor)
            if release.minor < FIRST or stage is None or not release.knows(name):
                continue
            if release.enabled(name) != stage.on:
                yield f"{name}: {release} has {release.enabled(name)}, the table {stage}"


if __name__ == "__main__":
    here = _ROOT.parent
    print(page(sorted(path.relative_to(here) for path in (here / "tests").rglob("test_*.py")), here), end="")
