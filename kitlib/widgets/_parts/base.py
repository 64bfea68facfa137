"""The common base of all widgets: controls, a picture, one sentence, the table behind it, and cleanup.

A widget's file has its controls, its layout, and a `chart()` that turns the controls' values into a
`kitlib.charts.Chart` by calling pure functions. This module provides everything else that a learner sees or hears:
live region, table, static picture, error text, and closing when the cell is run again.
"""

from __future__ import annotations

import gc
import html
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import ipywidgets as ipw

from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.cluster.nodes.origin import COMPUTED, Origin
from kitlib.cluster.shared import packed
from kitlib.widgets._parts.accessibility import Access
from kitlib.widgets._parts.beside_cells import answer_beside_cells
from kitlib.widgets._parts.chart_picture import ChartPicture
from kitlib.widgets._parts.drawn_picture import DrawnPicture
from kitlib.widgets._parts.field import Field, labelled
from kitlib.widgets._parts.ticker import Ticker
from kitlib.widgets.shared import Recorder, scene_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["ChartPicture", "Field", "KitWidget", "Ticker", "labelled"]

_turn = threading.RLock()
"""Serializes controls: messages of the page may be processed in a subshell's thread while a cell runs."""
_made_by: dict[str, tuple[str, weakref.WeakSet[KitWidget]]] = {}
"""Cell -> (its last run, the widgets of that run)."""


class KitWidget(ipw.VBox):
    """Base of the kit's widgets.

    Subclasses call `super().__init__(controls)`, then `self.refresh()`, and implement `chart()`. A change of a control
    calls `refresh`. A `KitError` or `ValueError` from `chart()` is shown as a sentence beside the controls, and the
    last valid picture remains.

    Args:
        controls: the controls from top to bottom.
        picture: widget that replaces the plotly figure; `paint(chart)` must then update it.
        table_open: whether the table is open initially.

    Attributes:
        title: the widget's name, its heading.
        try_this: the suggested first action, one line.
        pictures: the parts of `picture` that show data, if it contains controls too; () = all of it.
        unshared: labels of controls that a link cannot set, and whose content is never put into one.
        made_with: the arguments of the constructor.
        aria_live: "polite" = a new sentence is read out; "off" while it changes continuously.
    """

    title = "widget"
    try_this = ""
    aria_live = "polite"
    pictures: tuple[ipw.Widget, ...] = ()
    unshared: tuple[str, ...] = ()
    made_with: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
    _closers: list[Callable[[], None]] = []

    def __init__(
        self, controls: Iterable[ipw.Widget], *, picture: ipw.Widget | None = None, table_open: bool = False
    ) -> None:
        _spare_the_collector()
        answer_beside_cells()
        self._controls = list(controls)
        self._chart: Chart | None = None
        self._closers: list[Callable[[], None]] = []
        self._picture = picture if picture is not None else ChartPicture()
        self._message, self._sentence, self._table = ipw.HTML(), ipw.HTML(), ipw.HTML()
        self._origin = ipw.HTML()
        named = {"say": self._message, "sentence": self._sentence, "table": self._table, "origin": self._origin}
        for name, part in named.items():
            part.add_class(f"kitlib-{name}")
        self._access = Access(self._shared_state, title=self.title)
        self._details = ipw.Accordion(
            children=[self._table],
            titles=("The table behind the picture",),
            selected_index=0 if table_open else None,
        )
        self._head = ipw.HTML(_heading(self.title, self.try_this))
        self._head.add_class("kitlib-head")
        parts = [self._message, self._picture, self._sentence, self._details, self._origin, self._access]
        super().__init__([self._head, *self._controls, *parts])
        self.add_class("kitlib-widget")
        self._recorder = Recorder(self)
        self._close_what_this_cell_made_before()

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        made = super().__new__(cls, *arguments, **keywords)
        made.made_with = (arguments, keywords)
        return made

    # ---- for subclasses

    def chart(self) -> Chart:
        """Return the chart for the controls' current values."""
        raise TypeError(f"{type(self).__name__} does not say what it shows: it must define chart()")

    def origin(self) -> Origin:
        """Return the origin of the values; for a widget that shows a node or a cluster, its origin."""
        return COMPUTED

    def paint(self, chart: Chart) -> None:
        """Update the picture to show `chart`."""
        if isinstance(self._picture, ChartPicture):
            self._picture.bring(chart.spec())
        elif isinstance(self._picture, DrawnPicture):
            self._picture.show(chart)

    def table(self, chart: Chart) -> str:
        """Return the table behind the picture as HTML."""
        return chart.table_html()

    def on_close(self, closer: Callable[[], None]) -> None:
        """Register the cleanup of a node's stream or a timer, for when the widget closes or its cell runs again."""
        self._closers.append(closer)

    def ticker(self, action: Callable[[], None], seconds: float) -> Ticker:
        """Return a repeated action; it ends with the widget, and its errors are shown as sentences."""

        def failed(error: Exception) -> None:
            self.say(str(error) if isinstance(error, KitError | ValueError) else f"{type(error).__name__}: {error}")

        def beat() -> None:
            with _turn:
                action()

        made = Ticker(beat, seconds, failed)
        self.on_close(made.stop)
        return made

    def let_run(self, beat: Ticker, toggle: ipw.ToggleButton) -> None:
        """Start or stop a ticker as a toggle says; no sentence is read out while it runs.

        If it cannot run, the toggle is reset and the reason is shown.
        """
        self.aria_live = "off" if toggle.value else "polite"
        try:
            (beat.start if toggle.value else beat.stop)()
        except KitError as error:  # first the toggle, since its observers may refresh and clear the message
            toggle.value = False
            self.wrong(error)

    def button(self, name: str, action: Callable[[], None], help_text: str = "", icon: str = "") -> ipw.Button:
        """Return a button that calls `action`, then refreshes; errors are shown beside the controls."""
        made = ipw.Button(description=name, tooltip=help_text or name, icon=icon, layout={"width": "max-content"})
        made.layout.max_width = "100%"
        made.on_click(lambda _: self.act(action))
        return made

    def act(self, action: Callable[[], None]) -> None:
        """Call an action of the learner, then refresh."""
        with _turn:
            try:
                action()
            except (KitError, ValueError) as error:
                self.wrong(error)
                return
            self.refresh()

    def wrong(self, error: Exception) -> None:
        """Show an error beside the controls; a widget with fields shows it beside the field in question."""
        self.say(str(error))

    # ---- what the learner sees

    def refresh(self, _change: Any = None) -> None:
        """Compute and show the chart; on invalid input show the error and keep the last picture."""
        with _turn:
            try:
                chart = self.chart()
            except (KitError, ValueError) as error:
                self.wrong(error)
                self._stale(self._chart is not None)
                return
            self.say("")
            self._stale(False)
            self.show(chart)

    def _stale(self, stale: bool) -> None:
        """Dim the parts that still show the values before a rejected one."""
        self._access.stale = stale
        for part in (*(self.pictures or (self._picture,)), self._sentence, self._details):
            (part.add_class if stale else part.remove_class)("kitlib-stale")

    def show(self, chart: Chart) -> None:
        """Show `chart`: the changes of the picture, then the sentence and the table."""
        self._chart = chart
        self._recorder.listen()
        self.paint(chart)
        self._sentence.value = f'<p role="status" aria-live="{self.aria_live}">{html.escape(chart.sentence)}</p>'
        self._table.value = self.table(chart)
        self._access.sentence = chart.sentence
        self._origin.value = f'<p class="kitlib-muted">{html.escape(str(self.origin()))}</p>'

    def say(self, problem: str) -> None:
        """Show a problem beside the controls; an empty string clears it."""
        self._message.value = f'<p role="alert">{html.escape(problem)}</p>' if problem else ""

    @property
    def sentence(self) -> str:
        """The content of the picture in one sentence."""
        return self._chart.sentence if self._chart else ""

    @property
    def problem(self) -> str:
        """The message shown beside the controls; "" = none."""
        return self._message.value

    def _shared_state(self) -> str:
        return packed(scene_of(self, self._recorder))

    def frame(self) -> Any:
        """Return the data behind the picture as a pandas frame."""
        return self._shown().frame()

    def figure(self) -> go.Figure:
        """Return the picture as a plain plotly figure, for a document or for saving."""
        return self._shown().figure()

    def _shown(self) -> Chart:
        if self._chart is None:
            self._chart = self.chart()
        return self._chart

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(**options) or {})
        if self._chart is not None:  # for GitHub and nbviewer, which have no kernel
            with suppress(ImportError):  # only the static picture needs plotly, which may be missing in a browser
                bundle["text/html"] = f"<figure>{self._chart.svg()}</figure>{self._chart.table_html(limit=20)}"
            bundle["text/plain"] = f"{self.title}: {self._chart.sentence}"
        return bundle

    # ---- the end

    def close(self) -> None:
        """Close the node streams and timers of this widget, then the widget itself with all its parts.

        ipywidgets keeps every part that is not closed until the kernel ends, and the page keeps its model.
        """
        while self._closers:
            self._closers.pop()()
        parts = _held_by(self)
        super().close()
        for part in parts:
            part.close()

    def _close_what_this_cell_made_before(self) -> None:
        cell, run = _executing_cell()
        if not cell:
            return
        before = _made_by.get(cell)
        if before is None or before[0] != run:
            for widget in list(before[1]) if before else ():
                widget.close()
            before = _made_by[cell] = (run, weakref.WeakSet())
        before[1].add(self)


def _held_by(widget: ipw.Widget) -> list[ipw.Widget]:
    """Return the children, layouts and styles of a widget, recursively."""
    found: dict[int, ipw.Widget] = {}
    waiting = [widget]
    while waiting:
        for value in waiting.pop().trait_values().values():
            for one in value if isinstance(value, list | tuple) else (value,):
                if isinstance(one, ipw.Widget) and one is not widget and id(one) not in found:
                    found[id(one)] = one
                    waiting.append(one)
    return list(found.values())


def _heading(title: str, try_this: str) -> str:
    """Return the widget's title and its suggested first action as HTML."""
    line = f"<p>Try this: {html.escape(try_this)}</p>" if try_this else ""
    return f'<p class="kitlib-title" role="heading" aria-level="4">{html.escape(title)}</p>{line}'


@cache
def _spare_the_collector() -> None:
    """Exclude the objects of imported libraries from garbage collection, once.

    A full collection of a notebook's kernel otherwise takes a tenth of a second, in the middle of moving a slider.
    """
    gc.collect()
    gc.freeze()


def _executing_cell() -> tuple[str, str]:
    """Return the ID of the running notebook cell and of this run of it; empty outside a notebook."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return "", ""
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return "", ""
    # the channel is left out: ipykernel takes the shell's then, and other kernels (Pyodide's, xeus') know no channels
    parent: dict[str, Any] = getattr(kernel, "get_parent", dict)() or {}
    if parent.get("header", {}).get("msg_type") != "execute_request":
        return "", ""
    return str(parent.get("metadata", {}).get("cellId", "")), str(parent["header"].get("msg_id", ""))
