"""The eviction thresholds of a node: available amounts, the next pods to be evicted, and the evicted pods.

Pods that use memory can be added, and time can be advanced (the kubelet checks every ten seconds). The order of
eviction differs from that of the OOM killer.
"""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.charts.base import Chart, Row
from kitlib.charts.eviction_gauge import eviction_gauge
from kitlib.charts.node_memory import memory_box
from kitlib.charts.scene import QOS_LEGEND, Area, Box, Line, Mark, Scene, Token
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.eviction_status import eviction_order, threshold_rows
from kitlib.cluster.nodes.metrics import NODE, oom_rows
from kitlib.cluster.nodes.origin import Origin
from kitlib.node.simulated.commands import workload_of
from kitlib.views.units import size
from kitlib.widgets._parts.base import KitWidget, Ticker, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.container_row import AmountField
from kitlib.widgets._parts.nodes import Passing, node_of
from kitlib.widgets._parts.story import Story


class EvictionGauge(KitWidget):
    """The thresholds of a node.

    Args:
        cluster: the cluster; None = a simulated one with a node of 1Gi that evicts below 200Mi.
        node: the node's name; "" = the cluster's only or first node.
        image: image of the added pods.
    """

    title = "Eviction gauge"
    try_this = "add pods until a threshold is met, and say who goes first."
    _beat: Ticker

    def __init__(self, cluster: Any = None, node: str = "", image: str = "registry.k8s.io/pause:3.10") -> None:
        if cluster is None:
            flags = ["--eviction-hard=memory.available<200Mi", "--eviction-soft=memory.available<300Mi"]
            flags.append("--eviction-soft-grace-period=memory.available=30s")
            cluster = Cluster.simulated(1, cpus=2, memory="1Gi", kubelet=flags)
        self.cluster, self.node, self._image = cluster, node_of(cluster, node), image
        self._passing, self._number = Passing(cluster), 0
        self.request = AmountField("requests", "memory", "memory request of the pod; empty = none")
        self.uses = AmountField("uses", "memory", "memory that its process takes")
        self.request.amount, self.uses.amount = "64Mi", "200Mi"
        self.priority = labelled(ipw.BoundedIntText(value=0, min=-1000, max=1000, step=100), "priority")
        self.priority.layout.width = "12em"
        self.add = self.button("Add the pod", self._add, "start it on the node", "plus")
        self.wait = self.button("Wait 10 s", lambda: self._wait(10), "the kubelet looks every ten seconds")
        self.live = labelled(
            ipw.ToggleButton(value=False, icon="play"), "Live", "let time pass and look twice a second"
        )
        self.live.observe(lambda _: self.let_run(self._beat, self.live), "value")
        first, second = ipw.HBox([self.request, self.uses, self.priority]), ipw.HBox([self.add, self.wait, self.live])
        for row in (first, second):
            row.add_class("kitlib-row")
        self._order = ipw.HTML()
        self._order.add_class("kitlib-sentence")
        self.board = BoardPicture("The node's memory and its thresholds")
        self.board.help = "A box is a pod, as wide as the memory that it uses; the named lines are eviction thresholds."
        self.story = Story(self.board)
        self._known: tuple[set[str], set[str], bool] = (set(), set(), False)
        super().__init__([first, second, self._order], picture=self.board)
        self._beat = self.ticker(self._tick, 0.5)
        self.refresh()

    # ---- what the learner does

    def _add(self) -> None:
        for field in (self.request, self.uses):
            field.say("")
        if not self.uses.amount:
            raise KitError("uses: specify the memory that the pod's process uses, for example 100Mi")
        requests = {"memory": self.request.amount} if self.request.amount else {}
        data = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"pod-{self._number + 1}",
                "annotations": {"kitlib.dev/workload.app": f"memory={self.uses.amount}"},
            },
            "spec": {
                "nodeName": self.node.name,
                **({"priorityClassName": self._priority_class()} if self.priority.value else {}),
                "containers": [{"name": "app", "image": self._image, "resources": {"requests": requests}}],
            },
        }
        pod: Pod = from_dict(data, Pod)
        workload_of(pod, pod.spec.containers[0])  # validate the amount before anything is created
        self.cluster.apply(pod)
        self._number += 1
        self._tell()
        made = self.cluster.pod(pod.name)
        if made.status.phase == "Failed":
            raise KitError(f"{made.name}: {made.status.message or made.status.reason}")

    def _priority_class(self) -> str:
        """Return a priority class with the selected value, created if missing, since pods cannot set a number."""
        value = self.priority.value
        name = f"priority-{value}" if value >= 0 else f"priority-minus-{-value}"
        data = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        self.cluster.apply({**data, "value": value})
        return name

    def _wait(self, seconds: int) -> None:
        for _ in range(seconds if self._passing.virtual else 1):
            self.cluster.advance(1 if self._passing.virtual else seconds)
            self._tell()
        self._tell(f"{seconds} s later.")

    def _tick(self) -> None:
        self._passing.on(1.0)
        self._tell()
        self.refresh()

    def _tell(self, always: str = "") -> None:
        """Add a moment to the story if a pod or the node has changed."""
        pods = [p for p in self.cluster.pods() if p.spec.node_name == self.node.name]
        there = {p.name for p in pods if p.status.phase != "Failed"}
        evicted = {p.name for p in pods if p.status.reason == "Evicted"}
        pressure = self._pressure()
        known, self._known = self._known, (there, evicted, pressure)
        said = [f"{name} starts." for name in sorted(there - known[0])]
        said += [f"{name} is evicted." for name in sorted(evicted - known[1])]
        said += [f"The node reports MemoryPressure={pressure}."] if pressure != known[2] else []
        if said or always:
            _, rows = self._look()
            self.story.tell(self._scene(rows), " ".join(said) or always, round(self._passing.seconds, 1))

    def wrong(self, error: Exception) -> None:
        """Show an error beside the amount in question, else beside the controls."""
        text = str(error)
        places = {"requests": self.request, "uses": self.uses}
        words = {"requests": "resources.requests", "uses": "kitlib.dev/workload"}
        for name, field in places.items():
            field.say(text if text.startswith(f"{name}:") or words[name] in text else "")
        self.say("" if any(field.problem for field in places.values()) else text)

    # ---- what is shown

    def _pressure(self) -> bool:
        conditions = {c.type: c.status for c in self.cluster.get("Node", self.node.name).status.conditions}
        return conditions.get("MemoryPressure") == "True"

    def _look(self) -> tuple[list[Pod], list[Row]]:
        """Return the node's pods in eviction order and its thresholds, and store the order and the evicted pods."""
        pods = [p for p in self.cluster.pods() if p.spec.node_name == self.node.name]
        order = eviction_order(self.node, pods)
        self._next = [pod.name for pod in order]
        self._evicted = [p.name for p in pods if p.status.reason == "Evicted"]
        return order, list(threshold_rows(self.node))

    def origin(self) -> Origin:
        return self.node.origin

    def chart(self) -> Chart:
        order, rows = self._look()
        said = [] if order else ["No pod runs here."]
        if self._evicted:
            said.append(f"Evicted so far: {', '.join(self._evicted)}.")
        if self._pressure():
            met = any(row["met"] for row in rows)
            why = "" if met else " No threshold is met any more: the condition stays for a while (5 minutes)."
            said.append(f"The node reports MemoryPressure.{why}")
        names = html.escape(", ".join(pod.name for pod in order))
        guess = f"<details><summary>The order of eviction (guess first)</summary><p>{names}</p></details>"
        self._order.value = (f"<p>{html.escape(' '.join(said))}</p>" if said else "") + (guess if order else "")
        self._rows = rows
        return eviction_gauge(rows)

    def paint(self, chart: Chart) -> None:
        legend = [*QOS_LEGEND, Mark("the node's own", "node"), Mark("evicted", sign="✗")]
        self.story.show(self._scene(self._rows), legend)

    def _scene(self, thresholds: list[Row]) -> Scene:
        memory = self.node.config.machine.memory
        shown = [
            {**row, "name": row["name"].partition("/")[0], "words": self._words(row["name"].partition("/")[0])}
            for row in oom_rows(self.node)
        ]
        places = {name: number for number, name in enumerate(sorted(str(row["name"]) for row in shown))}
        shown.sort(key=lambda row: (row["qos"] != NODE, places[str(row["name"])]))
        marks = []
        for row in thresholds:
            if str(row["signal"]).startswith("memory.available"):
                name = "soft" if "soft" in str(row["signal"]) else "hard"
                words = f"{name}: less than {size(int(row['threshold']))} left"
                marks.append(Line(1 - float(row["threshold"]) / memory, words, "bad" if row["met"] else ""))
        box = memory_box(self.node.name, memory, shown, marks=marks)
        gone = [Token(name, name, "Evicted", "bad", "dead", words="evicted", still=True) for name in self._evicted]
        areas = [Area("node", "", [box], wide="100%")]
        areas += [Area("evicted", "", [Box("evicted", "Evicted", gone)], wide="100%")] if gone else []
        return Scene(areas)

    def _words(self, name: str) -> str:
        place = self._next.index(name) + 1 if name in self._next else 0
        return f"number {place} in the order of eviction" if place else "of the node itself"
