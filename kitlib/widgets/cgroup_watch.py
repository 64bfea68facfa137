"""Usage of cgroups against their limits, live: memory, CPU, throttling, up to ten times a second.

On a real node the files are read as time goes by; on a simulated one each reading first lets time pass, so that the
speed can be chosen. Pause stops reading; plus and minus zoom. The table and the sentence are renewed once a second, so
that a screen reader can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as ipw

from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.charts.usage import usage_chart
from kitlib.cluster.nodes.host_load import HostMeter
from kitlib.cluster.nodes.metrics import METRICS, Meter
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.cm.cgroup_tree import Cgroup
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.live_picture import LivePicture
from kitlib.widgets._parts.nodes import Passing, node_of

_TITLES = {"memory": "Memory", "cpu": "CPU", "throttled": "Throttled CFS periods"}


class CgroupWatch(KitWidget):
    """Live lines of a node's cgroups.

    Args:
        source: a cluster, or a node of one.
        node: its name, where the cluster has several.
        metric: "memory", "cpu" or "throttled".
        level: "container", "pod", "qos" or "kubepods".
        rate: readings a second, up to 10.
        start: whether it begins at once (in a notebook).
    """

    title = "Cgroup watch"
    try_this = "press Start and see which line meets its limit."

    def __init__(
        self,
        source: Any,
        node: str = "",
        *,
        metric: str = "memory",
        level: str = "container",
        rate: float = 10,
        start: bool = False,
    ) -> None:
        if not 0 < rate <= 10:
            raise KitError(f"rate: {rate!r}: between 0 and 10 readings a second are possible")
        self._node, self._passing = node_of(source, node), Passing(source)
        self._meter, self._host = Meter(self._node, metric), HostMeter([self._node])
        self._disturbed = ""
        self.rate = rate
        self._series: tuple[str, ...] = ()
        picture = LivePicture(unit=METRICS[metric], heading=_TITLES[metric])
        self.metric = labelled(
            ipw.Dropdown(options=[(_TITLES[m], m) for m in METRICS], value=metric, layout={"width": "18em"}), "what"
        )
        levels = [("containers", "container"), ("pods", "pod"), ("QoS classes", "qos"), ("all pods", "kubepods")]
        self.level = labelled(ipw.Dropdown(options=levels, value=level, layout={"width": "14em"}), "of")
        self.play = labelled(
            ipw.ToggleButton(value=False, icon="play", layout={"width": "max-content"}), "Start", "start and pause"
        )
        self.speed = labelled(ipw.Dropdown(options=[("1×", 1), ("5×", 5), ("20×", 20)], value=1), "speed")
        self.speed.layout.width = "9em"
        self.speed.layout.display = "" if self._passing.virtual else "none"
        self.window = labelled(
            ipw.SelectionSlider(options=[2, 5, 10, 30, 60, 120, 300, 600], value=30, layout={"width": "18em"}),
            "seconds seen",
        )
        self.metric.observe(self._begin_anew, "value")
        self.level.observe(self._begin_anew, "value")
        self.play.observe(self._switch, "value")
        self.window.observe(self._zoom, "value")
        row = ipw.HBox([self.play, self.metric, self.level, self.window, self.speed])
        row.add_class("kitlib-row")
        self.live = picture
        super().__init__([row], picture=picture)
        self._beat = self.ticker(self.sample, 1 / rate)
        self.sample()
        if start:
            self.play.value = True

    # ---- what the learner does

    def _switch(self, change: Any) -> None:
        self.play.description, self.play.icon = ("Pause", "pause") if change["new"] else ("Start", "play")
        self.let_run(self._beat, self.play)
        if not change["new"]:
            self.refresh()

    def _zoom(self, change: Any) -> None:
        self.live.window = float(change["new"])

    def _begin_anew(self, _change: Any) -> None:
        self._meter = Meter(self._node, self.metric.value)
        self._series = ()
        self.live.unit, self.live.heading = METRICS[self.metric.value], _TITLES[self.metric.value]
        self.sample(passing=False)
        self.refresh()

    # ---- what is measured and shown

    def sample(self, passing: bool = True) -> None:
        """One reading: lets time pass where it must be moved, reads the files, sends the values to the page."""
        if passing and self._beat_is_on():
            self._passing.on(self.speed.value / self.rate)
        now = self._passing.seconds
        readings = self._meter.read(self._cgroups(), now)
        names = tuple(dict.fromkeys([*self._series, *readings]))
        if names != self._series:
            old = list(self.live.samples) if self._series else []
            self._series = names
            self.live.reset(names)
            for time, values in old:  # a pod has come: the lines so far stay
                self.live.samples.append((time, values))
            self.live.send_history()
        limits = {name: reading.limit for name, reading in readings.items() if reading.limit is not None}
        if limits != self.live.limits:
            self.live.limits = limits
        self.live.add(now, [readings[name].value if name in readings else None for name in names])
        self._notice_host()
        if not self._beat_is_on() or self._beat.beats % max(1, round(self.rate)) == 0:
            self.refresh()

    def _notice_host(self) -> None:
        """Check about once a second whether other processes took the CPU time that the lines show to be missing."""
        if self._passing.virtual or self.metric.value == "memory":
            self._disturbed = ""
        elif not self._beat_is_on() or self._beat.beats % max(1, round(self.rate)) == 0:
            load = self._host.load()
            self._disturbed = load.sentence if load is not None else ""

    def _beat_is_on(self) -> bool:
        return hasattr(self, "_beat") and self._beat.running

    def _cgroups(self) -> Sequence[Cgroup]:
        found: list[Cgroup] = self._node.desired().of_kind(self.level.value)
        return found

    def origin(self) -> Origin:
        return self._node.origin

    def chart(self) -> Chart:
        chart = self._chart_of(list(self.live.samples))
        return replace(chart, sentence=f"{chart.sentence} {self._disturbed}".rstrip())

    def _chart_of(self, samples: list[tuple[float, tuple[float | None, ...]]]) -> Chart:
        lines = {
            name: [values[i] if i < len(values) else None for _, values in samples]
            for i, name in enumerate(self._series)
        }
        return usage_chart(
            [round(time, 3) for time, _ in samples],
            lines,
            limits=self.live.limits,
            unit=METRICS[self.metric.value],
            title=f"{_TITLES[self.metric.value]} over time",
        )

    def paint(self, chart: Chart) -> None:
        """The lines were sent as they were read."""

    def table(self, chart: Chart) -> str:
        """The last readings only: the whole is in `frame()`."""
        return self._chart_of(list(self.live.samples)[-10:]).table_html()
