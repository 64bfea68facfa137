"""A sweep in a file: scenario, grid, seeds, metrics and which picture shows it; data alone.

scenario: {nodes: [...], pods: [...]}      # see `template`, or a scenario of kitlib's own as module:function
grid: {maxSkew: [1, 2, 5], zones: [2, 3]}
seeds: 20
metric: [pending, zone_skew]
chart: {x: maxSkew, y: zones, value: pending}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from kitlib.api.boundary import not_utf8
from kitlib.api.convert import convert, in_words
from kitlib.api.errors import KitError, shortened
from kitlib.api.serialize import load_data
from kitlib.study.sweeps.sweep import Sweep


class ChartOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The chart of a sweep's results.

    Attributes:
        x: a parameter.
        value: a measured column.
        y: a second parameter; "" = a bar chart of the values' frequencies.
        panel: a third parameter, with a panel for each of its values; "" = none.
    """

    x: str
    value: str
    y: str = ""
    panel: str = ""


class SweepDefinition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sweep as read from a file; its attributes are the arguments of `sweep`."""

    scenario: dict[str, Any] | str
    grid: dict[str, Any] | list[Any] = {}
    seeds: int | list[int] = 0
    metric: str | list[str] | dict[str, str] | None = None
    chart: ChartOf | None = None

    @classmethod
    def read(cls, path: Path) -> SweepDefinition:
        """Return a sweep from a YAML or JSON file.

        Raises:
            KitError: the file cannot be read, a field is unknown, or it names a function outside kitlib.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise KitError(f"{path}: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise KitError(f"{path}: {not_utf8(error)}") from None
        data = load_data(text, path.name)
        if data is None:
            raise KitError(
                f"{path}: the file is empty; a sweep must have scenario, grid and metric (see kitlib/docs/sweeps.md)"
            )
        try:
            found = convert(data, cls)
        except msgspec.ValidationError as error:
            place, problem = in_words(error)
            raise KitError(f"{path}: {place or 'the file'}: {shortened(problem, 300)}") from None
        metrics = found.metric if isinstance(found.metric, list) else [found.metric]
        metrics = [*found.metric.values()] if isinstance(found.metric, dict) else metrics
        for one in (found.scenario, *metrics):
            if isinstance(one, str) and ":" in one and not one.startswith("kitlib."):
                raise KitError(
                    f"{path}: {shortened(one, 80)!r}: a sweep file can name only functions of kitlib; call "
                    "study.sweep(…) in Python to use your own function"
                )
        return found

    def sweep(self) -> Sweep:
        """Return the sweep after checking it.

        Raises:
            KitError: the grid, the scenario or the metric is invalid.
        """
        return Sweep(self.scenario, self.grid, self.metric, seeds=self.seeds)
