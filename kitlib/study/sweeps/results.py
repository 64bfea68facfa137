"""The rows of a sweep with their provenance, as plain data or as a pandas frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from kitlib.api.errors import KitError
from kitlib.study.sweeps import record
from kitlib.study.sweeps.grid import RELEASE, SEED
from kitlib.study.sweeps.record import Provenance
from kitlib.study.sweeps.row import SweepRow

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Results:
    """The results of a sweep.

    Attributes:
        rows: the rows in the grid's order; after a cancellation, those that were computed.
        total: number of points of the grid.
        provenance: the scenario, and the version that computed it.
        note: why the sweep ran in one process although several were possible; "" = no note.
    """

    rows: Sequence[SweepRow]
    total: int
    provenance: Provenance
    note: str = ""

    @classmethod
    def read(cls, file: str | Path) -> Results:
        """Return the contents of a results file, also of another version of kitlib.

        Raises:
            KitError: the file cannot be read, or is no results file.
        """
        provenance, rows = record.read(Path(file))
        return cls(rows, len(rows), provenance)

    @property
    def complete(self) -> bool:
        """Whether every point has a row."""
        return len(self.rows) == self.total

    @property
    def errors(self) -> list[SweepRow]:
        """The rows of points that ended in an error."""
        return [row for row in self.rows if row.error]

    @property
    def parameters(self) -> list[str]:
        """The names of the grid's parameters, in order."""
        return list(dict.fromkeys(name for row in self.rows for name in row.point))

    @property
    def columns(self) -> list[str]:
        """The names of the measured values, in order."""
        return list(dict.fromkeys(name for row in self.rows for name in row.values))

    def table(self) -> list[dict[str, Any]]:
        """Return a flat mapping for each row: parameters, measured values (None after an error), the error."""
        columns, parameters = self.columns, self.parameters
        return [
            {
                **{name: row.point.get(name) for name in parameters},
                **{name: row.values.get(name) for name in columns},
                "error": row.error,
            }
            for row in self.rows
        ]

    def mean(self, column: str, *by: str) -> dict[Any, float]:
        """Return the mean of a measured number for each value, or tuple of values, of parameters; errors are left out.

        Raises:
            KitError: a column or parameter is unknown, or the column does not hold numbers.
        """
        return {place: fmean(found) for place, found in self._grouped(column, by)}

    def share(self, column: str, *by: str) -> dict[Any, dict[Any, float]]:
        """Return the frequency of each measured value, 0 to 1, for each value of parameters; errors are left out.

        Raises:
            KitError: a column or parameter is unknown.
        """
        made: dict[Any, dict[Any, float]] = {}
        for place, found in self._grouped(column, by, numbers=False):
            made[place] = {one: found.count(one) / len(found) for one in dict.fromkeys(found)}
        return made

    def frame(self) -> pd.DataFrame:
        """Return a pandas frame with a row for each point.

        Its columns are parameters, release and seed, measured values, error, seconds and provenance. The whole
        provenance is in its `attrs`.
        """
        import msgspec
        import pandas as pd

        made = pd.DataFrame(self.table(), columns=[*self.parameters, *self.columns, "error"])
        made["seconds"] = [row.seconds for row in self.rows]
        for name, value in ((RELEASE, self.provenance.release), (SEED, None)):
            if name not in made:
                made[name] = value
        made["kitlib"], made["scenario_hash"] = self.provenance.kitlib, self.provenance.scenario_hash[:12]
        made.attrs = msgspec.to_builtins(self.provenance)
        return made

    def _grouped(self, column: str, by: Sequence[str], *, numbers: bool = True) -> Iterator[tuple[Any, list[Any]]]:
        for name, known in ((column, self.columns), *((one, self.parameters) for one in by)):
            if name not in known:
                raise KitError(f"no column {name!r}; valid values: {', '.join(known) or 'none'}")
        groups: dict[Any, list[Any]] = {}
        for row in self.rows:
            if row.error or column not in row.values:
                continue
            value = row.values[column]
            if numbers and (not isinstance(value, int | float) or isinstance(value, bool)):
                raise KitError(f"column {column!r}: must hold numbers, has {value!r}")
            place = tuple(_hashable(row.point.get(name)) for name in by)
            groups.setdefault(place[0] if len(by) == 1 else place, []).append(_hashable(value))
        yield from groups.items()

    def __repr__(self) -> str:
        errors = f", {len(self.errors)} with an error" if self.errors else ""
        count = f"{self.total:,} points" if self.complete else f"{len(self.rows):,} of {self.total:,} points"
        note = f" ({self.note})" if self.note else ""
        return f"Sweep of {self.provenance.scenario}: {count}{errors}{note}"


def _hashable(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)
