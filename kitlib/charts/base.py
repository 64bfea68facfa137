"""A chart is three faces of the same data: a picture, the frame behind it, and a sentence saying what it shows.

A notebook shows the still picture (SVG in the colours of its theme, with the table behind it): it needs no script, so
that GitHub, VS Code and Colab show the same. `figure()` makes a plotly figure for a document or for zooming.

Every function in this room takes plain data (dicts, lists, numbers with their unit in the name) and returns a `Chart`.
The sentence and the frame are what a screen reader, a terminal and a page without JavaScript show.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Row = Mapping[str, Any]
"""One entry of plain data: field name to value."""


@dataclass(frozen=True)
class Chart:
    """A figure built only when asked for, its data as columns, and its meaning in one sentence.

    Args:
        title: what is shown, in a few words.
        sentence: the chart's message, readable without the picture.
        columns: column name (with its unit) to values; all of the same length.
        draw: makes the figure; called at most once per `figure()` call.
        plain: makes the same as plain data, where that is known: making plotly's objects takes most of a figure's time.
        picture: makes the still picture as SVG text, where the chart has one of its own; else it is made of the figure.
        fitted: makes that picture for a width in pixels, where it can be drawn for any.
    """

    title: str
    sentence: str
    columns: Mapping[str, Sequence[Any]]
    draw: Callable[[], go.Figure]
    plain: Callable[[], dict[str, Any]] | None = None
    picture: Callable[[], str] | None = None
    fitted: Callable[[int], str] | None = None

    def frame(self) -> pd.DataFrame:
        """The chart's data as a pandas frame, one row a mark."""
        import pandas as pd

        return pd.DataFrame({name: list(values) for name, values in self.columns.items()})

    def figure(self) -> go.Figure:
        """A new plotly figure in the house style, with the sentence as its description."""
        from kitlib.charts.quick_start import quick_start
        from kitlib.charts.style import dress

        quick_start()
        figure = self.draw()
        dress(figure, title=self.title, sentence=self.sentence)
        return figure

    def spec(self) -> dict[str, Any]:
        """The same figure as plain data for plotly.js; quicker to make than a figure."""
        from kitlib.charts.style import dress_spec

        made: dict[str, Any] = self.plain() if self.plain is not None else self.draw().to_plotly_json()
        return dress_spec(made, title=self.title, sentence=self.sentence)

    def svg(self, width: int = 720) -> str:
        """The figure as a still picture (SVG text) that needs no JavaScript and follows the page's theme.

        Args:
            width: pixels, for a picture that can be drawn for any width.
        """
        if self.fitted is not None:
            return self.fitted(width)
        if self.picture is not None:
            return self.picture()
        from kitlib.charts.static import to_svg

        return to_svg(self.figure())

    def table_html(self, limit: int = 200) -> str:
        """The frame as a plain HTML table with the sentence as its caption; at most `limit` rows."""
        names = list(self.columns)
        rows = list(zip(*self.columns.values(), strict=True))
        head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows[:limit]
        )
        more = f"<p>{len(rows) - limit} more rows: see <code>.frame()</code>.</p>" if len(rows) > limit else ""
        return (
            f"<table><caption>{html.escape(self.sentence)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{more}"
        )

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        from kitlib.charts.svg import framed

        return {
            "text/plain": f"{self.title}: {self.sentence}",
            "text/html": framed(self.svg(), self.sentence, self.table_html()),
        }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
