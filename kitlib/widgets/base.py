"""What all widgets share: controls above, a plotly figure, one sentence, the table behind it, and an orderly end.

A widget file holds its controls, one `chart()` that turns the controls' values into a `kitlib.charts.Chart` by calling
the pure rooms, and its layout; everything that a learner can see or hear beyond that (live region, table, still
picture, error text, closing when the cell is run again) is done here once.
"""

from __future__ import annotations

import html
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets as ipw
import plotly.graph_objects as go

from kitlib.api.errors import KitError
from kitlib.charts.base import Chart

_by_cell: weakref.WeakValueDictionary[str, KitWidget] = weakref.WeakValueDictionary()


class KitWidget(ipw.VBox):
    """Base of the kit's widgets.

    Subclasses call `super().__init__(controls)`, then `self.refresh()`, and implement `chart()`. A control's change
    calls `refresh`; a `KitError` or `ValueError` raised by `chart()` is shown as a sentence beside the controls, and
    the last good picture stays.

    Attributes:
        title: the widget's name, read by screen readers.
    """

    title = "widget"

    def __init__(self, controls: Iterable[ipw.Widget]) -> None:
        self._controls = list(controls)
        self._chart: Chart | None = None
        self._closers: list[Callable[[], None]] = []
        self._picture = go.FigureWidget()
        self._message = ipw.HTML()
        self._sentence = ipw.HTML()
        self._table = ipw.HTML()
        details = ipw.Accordion(children=[self._table], titles=("The table behind the picture",), selected_index=None)
        super().__init__([*self._controls, self._message, self._picture, self._sentence, details])
        self.add_class("kitlib-widget")
        self._close_the_widget_this_cell_made_before()

    # ---- for subclasses

    def chart(self) -> Chart:
        """The chart for the controls' present values."""
        raise TypeError(f"{type(self).__name__} does not say what it shows: it must define chart()")

    def on_close(self, closer: Callable[[], None]) -> None:
        """Register something to end (a node's stream, a timer) when the widget closes or its cell runs again."""
        self._closers.append(closer)

    # ---- what the learner sees

    def refresh(self, _change: Any = None) -> None:
        """Compute the chart anew and show it; on bad input say what is wrong and keep the last picture."""
        try:
            chart = self.chart()
        except (KitError, ValueError) as error:
            self.say(str(error))
            return
        self.say("")
        self.show(chart)

    def show(self, chart: Chart) -> None:
        """Put `chart` on the screen: changed traces only, then the sentence and the table."""
        self._chart = chart
        repaint(self._picture, chart.figure())
        self._sentence.value = f'<p role="status" aria-live="polite">{html.escape(chart.sentence)}</p>'
        self._table.value = chart.table_html()

    def say(self, problem: str) -> None:
        """Show a problem beside the controls, or clear it with an empty string."""
        text = f'<p role="alert" style="border-left:3px solid #D55E00;padding-left:.6em">{html.escape(problem)}</p>'
        self._message.value = text if problem else ""

    @property
    def sentence(self) -> str:
        """What the picture shows, in one sentence."""
        return self._chart.sentence if self._chart else ""

    @property
    def problem(self) -> str:
        """The message shown beside the controls, empty where there is none."""
        return self._message.value

    def frame(self) -> Any:
        """The data behind the picture as a pandas frame."""
        return self._shown().frame()

    def figure(self) -> go.Figure:
        """The picture as a plain plotly figure, for a document or for saving."""
        return self._shown().figure()

    def _shown(self) -> Chart:
        if self._chart is None:
            self._chart = self.chart()
        return self._chart

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(**options) or {})
        if self._chart is not None:  # what GitHub and nbviewer show, where no kernel is
            bundle["text/html"] = f"<figure>{self._chart.svg()}</figure>{self._chart.table_html(limit=20)}"
            bundle["text/plain"] = f"{self.title}: {self._chart.sentence}"
        return bundle

    # ---- the end

    def close(self) -> None:
        """End the node streams and timers of this widget, then the widget itself."""
        while self._closers:
            self._closers.pop()()
        super().close()

    def _close_the_widget_this_cell_made_before(self) -> None:
        cell = _executing_cell()
        if not cell:
            return
        key = f"{cell}/{type(self).__name__}"
        before = _by_cell.get(key)
        if before is not None:
            before.close()
        _by_cell[key] = self


def repaint(picture: go.FigureWidget, figure: go.Figure) -> None:
    """Bring `picture` to what `figure` shows with one message to the page: traces in place where their kinds agree."""
    new = figure.to_plotly_json()
    same = [t.type for t in picture.data] == [t["type"] for t in new["data"]]
    with picture.batch_update():
        if not same:
            picture.data = []
            picture.add_traces(list(figure.data))
        else:
            for old, trace in zip(picture.data, new["data"], strict=True):
                old.update(trace, overwrite=False)
        picture.layout.update(figure.layout.to_plotly_json(), overwrite=False)


def labelled(widget: ipw.Widget, name: str, help_text: str = "") -> ipw.Widget:
    """Give a control its visible name, and its tooltip for those who hover or use a screen reader."""
    widget.description = name
    if hasattr(widget, "tooltip"):
        widget.tooltip = help_text or name
    widget.style.description_width = "initial"
    return widget


def _executing_cell() -> str:
    """The id of the notebook cell being run; empty outside a notebook."""
    try:
        from IPython import get_ipython
    except ImportError:
        return ""
    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return ""
    parent = kernel.get_parent("shell") or {}
    return str(parent.get("metadata", {}).get("cellId", ""))
