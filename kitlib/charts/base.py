"""A chart has three representations of its data: a picture, the frame behind it, and a descriptive sentence.

A notebook shows the static picture (SVG in the colours of its theme, with the table behind it). It needs no script, so
GitHub, VS Code and Colab show it too. `figure()` returns a plotly figure for a document or for zooming.

The functions of this package take plain data (dicts, lists, numbers with their unit in the name) and return a `Chart`.
Screen readers, terminals and pages without JavaScript show the sentence and the frame.
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
"""An entry of plain data: field name -> value."""


@dataclass(frozen=True)
class Chart:
    """A figure that is built on demand, its data as columns, and its meaning in one sentence.

    Args:
        title: the subject in a few words.
        sentence: the chart's message, understandable without the picture.
        columns: column name (with its unit) -> values; all of the same length.
        draw: returns the figure; called at most once per `figure()` call.
        plain: returns the figure as plain data, which is much faster than plotly's objects; None = not available.
        picture: returns the static picture as SVG text; None = it is made from the figure.
        fitted: returns the static picture for a width in pixels; None = `picture` has a fixed width.
    """

    title: str
    sentence: str
    columns: Mapping[str, Sequence[Any]]
    draw: Callable[[], go.Figure]
    plain: Callable[[], dict[str, Any]] | None = None
    picture: Callable[[], str] | None = None
    fitted: Callable[[int], str] | None = None

    def frame(self) -> pd.DataFrame:
        """Return the chart's data as a pandas frame, one row per mark."""
        import pandas as pd

        return pd.DataFrame({name: list(values) for name, values in self.columns.items()})

    def figure(self) -> go.Figure:
        """Return a new plotly figure in the house style, with the sentence as its description."""
        from kitlib.charts.quick_start import quick_start
        from kitlib.charts.style import dress

        quick_start()
        figure = self.draw()
        dress(figure, title=self.title, sentence=self.sentence)
        return figure

    def spec(self) -> dict[str, Any]:
        """Return the figure as plain data for plotly.js; faster than `figure`."""
        from kitlib.charts.style import dress_spec

        made: dict[str, Any] = self.plain() if self.plain is not None else self.draw().to_plotly_json()
        return dress_spec(made, title=self.title, sentence=self.sentence)

    def svg(self, width: int = 720) -> str:
        """Return the figure as a static picture (SVG text) that needs no JavaScript and follows the page's theme.

        Args:
            width: width in pixels, for a picture that can be drawn for any width.
        """
        if self.fitted is not None:
            return self.fitted(width)
        if self.picture is not None:
            return self.picture()
        from kitlib.charts.static import to_svg

        return to_svg(self.figure())

    def page_svg(self) -> str:
        """Return the static picture for a page of any width: HTML with a layout for each of several widths."""
        from kitlib.charts.svg import LAYOUTS, fitting

        return self.svg() if self.fitted is None else fitting({width: self.fitted(width) for width in LAYOUTS})

    def table_html(self, limit: int = 200) -> str:
        """Return the frame as a plain HTML table of at most `limit` rows, with the sentence as its caption."""
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
            "text/html": framed(self.page_svg(), self.sentence, self.table_html()),
        }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
