"""Events, kernel log, kubelet steps and cgroup changes of a node on one time axis."""

from __future__ import annotations

from typing import Any

import ipywidgets as ipw

from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.charts.timeline import timeline_chart
from kitlib.cluster.chronicle import SOURCES, Chronicle
from kitlib.cluster.nodes.origin import Origin, origin_of
from kitlib.widgets._parts.base import KitWidget, Ticker, labelled
from kitlib.widgets._parts.drawn_picture import DrawnPicture
from kitlib.widgets._parts.nodes import Passing, node_of

_WORDS = {
    "event": "Kubernetes events",
    "kernel": "kernel log",
    "kubelet": "kubelet steps",
    "cgroup": "cgroup changes",
}
HELP = (
    "Dot: a step. Ring: a cgroup. Green: a pod is placed. Cross: killed or evicted. Arrow keys walk; the text is below."
)
SHOWN = 40
"""Maximum number of lines in the table; `frame()` has all of them."""


class Timeline(KitWidget):
    """The activity on a node.

    Args:
        cluster: the cluster.
        node: the node's name; "" = the cluster's only or first node.
    """

    title = "Timeline"
    try_this = "let ten seconds pass and read who did what, and in which order."
    _beat: Ticker

    def __init__(self, cluster: Any, node: str = "") -> None:
        if not hasattr(cluster, "events"):
            raise KitError(f"cluster: must be a cluster, got {type(cluster).__name__}")
        self._passing = Passing(cluster)
        shown = node_of(cluster, node)
        self._chronicle = Chronicle(cluster, shown)
        self._cluster = cluster
        self.sources = {name: labelled(ipw.Checkbox(value=True, indent=False), _WORDS[name]) for name in SOURCES}
        for box in self.sources.values():
            box.layout.width = "max-content"
            box.observe(self.refresh, "value")
        self.words = labelled(ipw.Text(placeholder="part of a name or text"), "only")
        self.words.observe(self.refresh, "value")
        self.look = self.button("Look now", lambda: None, "read what is new", "refresh")
        steps = [self._step_button(seconds) for seconds in (1, 10, 60)]
        self.live = labelled(
            ipw.ToggleButton(value=False, icon="play"), "Live", "let time pass and look twice a second"
        )
        self.live.observe(lambda _: self.let_run(self._beat, self.live), "value")
        first, second = ipw.HBox([self.look, *steps, self.live]), ipw.HBox([*self.sources.values(), self.words])
        for row in (first, second):
            row.add_class("kitlib-row")
        super().__init__([first, second], picture=DrawnPicture(help=HELP))
        self._beat = self.ticker(self._tick, 0.5)
        self.refresh()

    def _step_button(self, seconds: int) -> ipw.Button:
        return self.button(f"+{seconds} s", lambda: self._step(seconds), f"let {seconds} s pass")

    def _step(self, seconds: int) -> None:
        for _ in range(seconds):
            self._cluster.advance(1)
            self._chronicle.look(self._passing.seconds)

    def _tick(self) -> None:
        self._passing.on(0.5)
        self.refresh()

    def origin(self) -> Origin:
        return origin_of(self._cluster)

    def chart(self) -> Chart:
        self._chronicle.look(self._passing.seconds)
        wanted = self.words.value.strip().lower()
        entries = [
            entry
            for entry in self._chronicle.entries
            if self.sources[entry["source"]].value and wanted in f"{entry['object']} {entry['text']}".lower()
        ]
        return timeline_chart(entries, self._passing.seconds)

    def table(self, chart: Chart) -> str:
        """Return the newest lines as a table, the newest first."""
        columns = {name: list(reversed(values))[:SHOWN] for name, values in chart.columns.items()}
        count = len(chart.columns["seconds"])
        said = f"The newest {SHOWN} of {count}." if count > SHOWN else "The newest first."
        return Chart(chart.title, said, columns, chart.draw).table_html()
