"""Charts of a sweep's results: a heat map over two parameters, one map per value of a third, and frequencies.

Rows are flat mappings from `Results.table()`. The rows of one cell (seeds, other parameters) are averaged; rows with
an `error` are excluded, and their cells show the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from kitlib.api.errors import KitError
from kitlib.charts.base import Chart, Row
from kitlib.charts.matrix import matrix
from kitlib.charts.style import BLUE, FAINT, series_marker

if TYPE_CHECKING:
    import plotly.graph_objects as go

_SCALE = ((0, FAINT), (1, BLUE))
"""From faint to blue; a static picture mixes them with the ground, so that ink is legible on every colour."""
MAX_PANELS = 12
Cells = dict[tuple[Any, Any], tuple[float | None, int]]
"""(x, y) -> mean (None = only errors), number of rows with an error."""


def heat_map(rows: Sequence[Row], x: str, y: str, value: str, *, unit: str = "") -> Chart:
    """Return a chart of the mean of a measured number in each cell of two parameters.

    Args:
        rows: rows with parameters, measured values and `error`.
        x: parameter on the x axis.
        y: parameter on the y axis.
        value: the measured number.
        unit: unit of the numbers in the sentence; "" = none.

    Raises:
        KitError: a column does not exist, or a value is not a number.
    """
    _check(rows, (x, y, value))
    across, down = _values(rows, x), _values(rows, y)
    cells = _cells(rows, x, y, value)

    def draw() -> go.Figure:
        figure = _matrix(across, down, cells, x, y, value, _top([cells]))
        figure.update_xaxes(type="category", title={"text": x}, showgrid=False)
        figure.update_yaxes(type="category", title={"text": y}, showgrid=False)
        figure.update_layout(height=150 + 34 * max(2, len(down)))
        return figure

    columns: dict[str, Sequence[Any]] = {
        x: [one for _ in down for one in across],
        y: [one for one in down for _ in across],
        f"mean {value}": [cells.get((a, b), (None, 0))[0] for b in down for a in across],
        "errors": [cells.get((a, b), (None, 0))[1] for b in down for a in across],
    }
    return Chart(_words(f"{value} by {x} and {y}"), _sentence({"": cells}, (x, y), value, unit), columns, draw)


def small_multiples(rows: Sequence[Row], x: str, y: str, value: str, panel: str, *, unit: str = "") -> Chart:
    """Return a chart with one heat map for each value of a third parameter, side by side, with a common colour scale.

    Args:
        rows: rows with parameters, measured values and `error`.
        x: parameter on the x axis.
        y: parameter on the y axis.
        value: the measured number.
        unit: unit of the numbers in the sentence; "" = none.
        panel: the third parameter; at most 12 values.

    Raises:
        KitError: as for `heat_map`, or too many panels.
    """
    _check(rows, (x, y, value, panel))
    across, down, panels = _values(rows, x), _values(rows, y), _values(rows, panel)
    if len(panels) > MAX_PANELS:
        raise KitError(f"{panel}: has {len(panels)} values, but a chart can have at most {MAX_PANELS} panels")
    each = {one: _cells([row for row in rows if _label(row[panel]) == one], x, y, value) for one in panels}

    def draw() -> go.Figure:
        from plotly.subplots import make_subplots

        wide = min(len(panels), 4)
        high = -(-len(panels) // wide)
        titles = [f"{panel} {one}" for one in panels]
        figure = make_subplots(rows=high, cols=wide, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.06)
        for place, cells in enumerate(each.values()):
            for trace in _matrix(across, down, cells, x, y, value, _top(each.values())).data:
                figure.add_trace(trace, row=place // wide + 1, col=place % wide + 1)
        figure.update_xaxes(type="category", showgrid=False)
        figure.update_yaxes(type="category", showgrid=False, autorange="reversed")
        figure.update_yaxes(title={"text": y}, row=1, col=1)
        for column in range(1, wide + 1):
            figure.update_xaxes(title={"text": x}, row=high, col=column)
        figure.update_layout(height=120 + high * (60 + 34 * max(2, len(down))))
        return figure

    flat = [(one, a, b, *cells.get((a, b), (None, 0))) for one, cells in each.items() for b in down for a in across]
    names = (panel, x, y, f"mean {value}", "errors")
    return Chart(
        _words(f"{value} by {x} and {y}, for each {panel}"),
        _sentence({f"{panel} {one}": cells for one, cells in each.items()}, (x, y), value, unit),
        {name: [row[i] for row in flat] for i, name in enumerate(names)},
        draw,
    )


def share_bars(rows: Sequence[Row], x: str, value: str) -> Chart:
    """Return a chart of the frequency of each measured value in percent, one bar for each value of a parameter.

    Args:
        rows: rows with parameters, measured values and `error`.
        x: the parameter.
        value: the measured value: names, or few distinct numbers.

    Raises:
        KitError: a column does not exist.
    """
    _check(rows, (x, value))
    good = [row for row in rows if not row.get("error")]
    places, kinds = _values(good, x), _values(good, value)
    counts = {(place, kind): 0 for place in places for kind in kinds}
    for row in good:
        counts[_label(row[x]), _label(row[value])] += 1
    totals = {place: sum(counts[place, kind] for kind in kinds) for place in places}
    percent = {one: 100 * count / totals[one[0]] for one, count in counts.items()}

    def draw() -> go.Figure:
        import plotly.graph_objects as go

        figure = go.Figure()
        for i, kind in enumerate(kinds):
            figure.add_bar(
                x=places,
                y=[percent[place, kind] for place in places],
                name=kind or "none",
                text=[f"{percent[place, kind]:.0f}%" if percent[place, kind] >= 5 else "" for place in places],
                marker=series_marker(i),
            )
        figure.update_xaxes(type="category", title={"text": x})
        figure.update_layout(barmode="stack", yaxis={"title": {"text": "percent"}, "range": [0, 100]})
        return figure

    most = []
    for place in places:
        kind = max(kinds, key=lambda one: percent[place, one])
        most.append(f"{x} {place}: {kind or 'none'} {percent[place, kind]:.0f}%")
    return Chart(
        _words(f"How often each {value} came"),
        f"Most often, {'; '.join(most[:6])}{'; …' if len(most) > 6 else ''}.",
        {
            x: [place for place in places for _ in kinds],
            value: [kind for _ in places for kind in kinds],
            "percent": [percent[place, kind] for place in places for kind in kinds],
        },
        draw,
    )


def _matrix(
    across: Sequence[str], down: Sequence[str], cells: Cells, x: str, y: str, value: str, top: tuple[float, float]
) -> go.Figure:
    found = [[cells.get((a, b), (None, 0)) for a in across] for b in down]
    return matrix(
        down,
        across,
        [[mean for mean, _ in row] for row in found],  # type: ignore[misc]
        [[_text(mean, errors) for mean, errors in row] for row in found],
        _SCALE,
        f"{x} %{{x}}, {y} %{{y}}: {value} %{{text}}",
        zmin=top[0],
        zmax=top[1],
    )


def _text(mean: float | None, errors: int) -> str:
    number = "" if mean is None else f"{mean:.3g}" if abs(mean) < 1000 else f"{mean:.0f}"
    return f"{number} ({errors} ✗)".strip() if errors else number


def _cells(rows: Sequence[Row], x: str, y: str, value: str) -> Cells:
    numbers: dict[tuple[str, str], list[float]] = {}
    errors: dict[tuple[str, str], int] = {}
    for row in rows:
        place = _label(row[x]), _label(row[y])
        found = numbers.setdefault(place, [])
        if row.get("error"):
            errors[place] = errors.get(place, 0) + 1
            continue
        measured = row[value]
        if measured is None:
            continue
        if not isinstance(measured, int | float):
            raise KitError(f"column {value!r}: must hold numbers, has {measured!r}")
        found.append(float(measured))
    return {place: (fmean(found) if found else None, errors.get(place, 0)) for place, found in numbers.items()}


def _top(every: Any) -> tuple[float, float]:
    """Return the ends of the colour scale: the smallest and the largest mean of all panels."""
    means = [mean for cells in every for mean, _ in cells.values() if mean is not None] or [0.0]
    low, high = min(min(means), 0.0), max(means)
    return low, high if high > low else low + 1.0


def _sentence(every: Mapping[str, Cells], names: tuple[str, str], value: str, unit: str) -> str:
    flat = [(mean, where, place) for where, cells in every.items() for place, (mean, _) in cells.items()]
    known = [(mean, where, place) for mean, where, place in flat if mean is not None]
    errors = sum(count for cells in every.values() for _, count in cells.values())
    bad = f" {errors} {'point' if errors == 1 else 'points'} ended in an error." if errors else ""
    if not known:
        return f"No value of {value} was measured.{bad}"

    def said(one: tuple[float, str, tuple[str, str]]) -> str:
        mean, where, place = one
        at = ", ".join([*([where] if where else []), *(f"{n} {v}" for n, v in zip(names, place, strict=True))])
        return f"{mean:.3g}{f' {unit}' if unit else ''} ({at})"

    least, most = min(known, key=lambda one: one[0]), max(known, key=lambda one: one[0])
    if least[0] == most[0]:
        return f"Mean {value} is {least[0]:.3g}{f' {unit}' if unit else ''} everywhere.{bad}"
    return f"Mean {value} goes from {said(least)} to {said(most)}.{bad}"


def _words(text: str) -> str:
    """Return a title with the underscores of column names replaced by spaces."""
    return text.replace("_", " ")


def _check(rows: Sequence[Row], names: Sequence[str]) -> None:
    if not rows:
        raise KitError("rows: must have at least one row")
    for name in names:
        if name not in rows[0]:
            raise KitError(f"no column {name!r}; valid values: {', '.join(map(str, rows[0]))}")


def _values(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(_label(row[name]) for row in rows))


def _label(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
