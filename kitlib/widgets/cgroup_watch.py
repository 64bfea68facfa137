"""Usage of cgroups against their limits, live: memory, CPU, throttling, up to ten times a second.

On a real node the files are read in real time. On a simulated one each reading first advances the clock, so the speed
can be chosen, and the widget opens with the readings of half a minute. Pause stops reading; plus and minus zoom. The
table and the sentence are updated once a second, so that a screen reader can follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as ipw

from kitlib.advisor.forecast import kills_in
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.charts.usage import UsageMark, usage_chart
from kitlib.cluster.nodes.host_load import HostMeter
from kitlib.cluster.nodes.metrics import METRICS, Meter, MetricReading, lines_after, name_of_path
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.cm.cgroup_tree import Cgroup
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.live_picture import LivePicture
from kitlib.widgets._parts.nodes import Passing, node_of

_CHOICES = {"memory": "Memory", "cpu": "CPU", "throttled": "Throttled CFS periods"}
_WINDOWS = {"memory": 30, "cpu": 30, "throttled": 5}
"""Metric -> initially visible seconds; few for throttling, so that each period has a visible cell."""
_GONE = MetricReading(None)
_TITLES = {"memory": "Memory", "cpu": "CPU", "throttled": "What its quota does: one cell for each reading"}


class CgroupWatch(KitWidget):
    """A lane for each of a node's cgroups.

    Args:
        source: a cluster, or a node of one.
        node: the node's name; "" = the cluster's only or first node.
        metric: "memory", "cpu" or "throttled".
        level: "container", "pod", "qos" or "kubepods".
        rate: readings per second, at most 10.
        start: whether to start reading at once (in a notebook).
        ran: seconds of readings before the widget is shown, on a simulated clock; 0 = none.
    """

    title = "Cgroup watch"
    try_this = "which of them meets its limit? Press Start and see what happens then."

    def __init__(
        self,
        source: Any,
        node: str = "",
        *,
        metric: str = "memory",
        level: str = "container",
        rate: float = 10,
        start: bool = False,
        ran: float = 30,
    ) -> None:
        if not 0 < rate <= 10:
            raise KitError(f"rate: must be greater than 0 and at most 10 readings per second, got {rate!r}")
        self._node, self._passing = node_of(source, node), Passing(source)
        self._meter, self._host = Meter(self._node, metric), HostMeter([self._node])
        self._source = source
        self._disturbed, self._silent = "", False
        self.rate = rate
        self._series: tuple[str, ...] = ()
        picture = LivePicture(unit=METRICS[metric], heading=_TITLES[metric], window=float(_WINDOWS[metric]))
        self.metric = labelled(
            ipw.Dropdown(options=[(_CHOICES[m], m) for m in METRICS], value=metric, layout={"width": "18em"}), "what"
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
            ipw.SelectionSlider(
                options=[2, 5, 10, 30, 60, 120, 300, 600], value=_WINDOWS[metric], layout={"width": "18em"}
            ),
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
        self._log = self._last_line()
        self._run_before(ran if self._passing.virtual else 0)
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
        self.live.marks, self.live.limits = [], {}
        self.window.value = _WINDOWS[self.metric.value]
        self.live.unit, self.live.heading = METRICS[self.metric.value], _TITLES[self.metric.value]
        self.sample(passing=False)
        self.refresh()

    # ---- what is measured and shown

    def _run_before(self, seconds: float) -> None:
        """Advance the simulated clock before the first display, so that there are readings to show."""
        self._silent = True
        step = 0.1 if self.metric.value == "throttled" else 0.5
        self.sample()
        for _ in range(round(seconds / step)):
            self._passing.on(step)
            self.sample()
        self._silent = False
        self.refresh()

    def sample(self, passing: bool = True) -> None:
        """Take a reading: advance a simulated clock, read the files, send the values to the page."""
        if passing and self._beat_is_on():
            self._passing.on(self.speed.value / self.rate)
        now = self._passing.seconds
        readings = self._meter.read(self._cgroups(), now)
        names = tuple(dict.fromkeys([*self._series, *readings]))
        if names != self._series:
            begun, self._series = bool(self._series), names
            (self.live.rename if begun else self.live.reset)(names)  # a new pod adds a lane, the others are kept
        known = {name: limit for name, limit in self.live.limits.items() if name in names and name not in readings}
        limits = known | {name: reading.limit for name, reading in readings.items() if reading.limit is not None}
        if limits != self.live.limits:
            self.live.limits = limits
        requests = self._requests()
        if requests != self.live.requests:
            self.live.requests = requests
        self._notice_kills(now)
        shown = [readings.get(name, _GONE) for name in names]
        self.live.add(now, [one.value for one in shown], [one.parts for one in shown])
        self._notice_host()
        if self._silent:
            return
        if not self._beat_is_on() or self._beat.beats % max(1, round(self.rate)) == 0:
            self.refresh()

    def _requests(self) -> dict[str, float]:
        """Return the requests of the displayed containers for the metric's resource, in its unit."""
        if self.level.value != "container" or self.metric.value == "throttled":
            return {}
        found = {}
        for pod in self._pods():
            for container in pod.spec.containers:
                name = f"{pod.key.removeprefix('default/')}/{container.name}"
                asked = container.resources.requests.get(self.metric.value)
                if asked is not None and name in self._series:
                    found[name] = asked.milli_value() / 1000 if self.metric.value == "cpu" else float(asked.value())
        return found

    def _last_line(self) -> str:
        log = self._node.kernel_log()
        return log[-1] if log else ""

    def _notice_kills(self, now: float) -> None:
        """Mark the series in which the kernel killed a process since the last reading."""
        log = self._node.kernel_log()
        new = kills_in(lines_after(log, self._log))
        self._log = log[-1] if log else ""
        if not new:
            return
        tree, pods = self._node.desired(), self._pods()
        names = dict.fromkeys(name_of_path(path, pods, tree) for _, path in new)
        marks = [{"time": now, "name": name, "words": "killed 137", "sign": "end"} for name in names]
        self.live.marks = [*self.live.marks, *marks][-200:]

    def _pods(self) -> list[Pod]:
        return list(self._source.pods()) if hasattr(self._source, "pods") else []

    def _notice_host(self) -> None:
        """Check about once a second whether other processes of the host reduced the CPU time of the cgroups."""
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
            marks=[
                UsageMark(round(mark["time"], 1), f"{mark['name']}: {mark['words']}", "end")
                for mark in self.live.marks
                if mark["name"] in self._series
            ],
            unit=METRICS[self.metric.value],
            title=f"{_TITLES[self.metric.value]} over time",
        )

    def paint(self, chart: Chart) -> None:
        """Do nothing: the lines were sent when they were read."""

    def table(self, chart: Chart) -> str:
        """Return the last readings; `frame()` has all of them."""
        return self._chart_of(list(self.live.samples)[-10:]).table_html()
