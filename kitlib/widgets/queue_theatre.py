"""The scheduling queue on a clock: pods in activeQ, backoffQ, unschedulable and gated, and what moves them.

QueueTheatre()
QueueTheatre("gates", release="1.26")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import Invalid
from kitlib.api.release import RELEASES, Release
from kitlib.api.validation import validate_pod_create
from kitlib.charts.base import Chart
from kitlib.charts.queues import queue_chart
from kitlib.study.replay import QUEUES, Replay
from kitlib.study.scenario import Scenario, node_of, pod_of
from kitlib.views.log import log_html
from kitlib.widgets._parts.base import Field, KitWidget, labelled
from kitlib.widgets._parts.grid import Grid
from kitlib.widgets._parts.scenarios import scenario_of

_START: dict[str, Any] = {
    "nodes": [{"name": "node-1", "cpu": 2}, {"name": "node-2", "cpu": 2}],
    "pods": [
        {"name": "small", "cpu": "500m"},
        {"name": "large", "cpu": 3},
        {"name": "urgent", "cpu": 1, "priority": 100},
        {"name": "not-ready", "cpu": 1, "spec": {"schedulingGates": [{"name": "example.com/quota"}]}},
    ],
}
HELP = "One row a queue, the next pod first; below them the nodes with the pods that were placed."


class QueueTheatre(KitWidget):
    """Four queues and the nodes, a clock that is stepped, and pods and nodes that come and go.

    Args:
        scenario: a story's name, a YAML file, a Scenario, or None for two small nodes and four pods.
        release: whose queue.
    """

    title = "Queue theatre"

    def __init__(self, scenario: Scenario | Path | str | None = None, *, release: Release | str | None = None) -> None:
        self._scenario = Scenario.of(_START) if scenario is None else scenario_of(scenario)
        followed = Release.of(release)
        self.release = labelled(
            ipw.Dropdown(options=RELEASES, value=followed.name, layout={"width": "11em"}), "release"
        )
        self.step = self.button("Step", self._play("step"), "the next thing that happens", "step-forward")
        self.back = self.button("Back", self._play("back"), "as if it had not happened", "step-backward")
        self.second = self.button("1 s", self._play("wait", 1), "let a second pass", "clock-o")
        self.minute = self.button("1 min", self._play("wait", 60), "let a minute pass", "clock-o")
        self.again = self.button("From the start", self._begin, icon="refresh")
        self.name = Field(ipw.Text("pod-1", layout={"width": "14em"}), "new pod")
        self.cpu = Field(ipw.Text("1", layout={"width": "8em"}), "cpu")
        self.priority = labelled(ipw.BoundedIntText(0, min=-1000, max=1_000_000_000, layout=_NARROW), "priority")
        self.gated = labelled(ipw.Checkbox(False, indent=False, layout={"width": "8em"}), "gated")
        self.add = self.button("Add pod", self._add_pod, icon="plus")
        self.pod = labelled(ipw.Dropdown(options=[], layout={"width": "18em"}), "pod")
        self.ungate = self.button("Remove its gates", lambda: self._to_picked("remove_gates"))
        self.delete = self.button("Delete it", lambda: self._to_picked("delete_pod"), icon="trash")
        self.node = self.button("Add a node of 4 CPUs", self._add_node, icon="plus")
        self.grid = Grid("Queues and nodes", help=HELP)
        self._log = ipw.HTML()
        self.play = Replay(self._scenario, followed.name)
        rows = [
            ipw.HBox([self.step, self.back, self.second, self.minute, self.again, self.release]),
            ipw.HBox([self.name, self.cpu, self.priority, self.gated, self.add]),
            ipw.HBox([self.pod, self.ungate, self.delete, self.node]),
        ]
        for row in rows:
            row.add_class("kitlib-row")
        self.release.observe(lambda _: self.act(self._begin), "value")
        super().__init__([*rows, self.grid, self._log])
        self.refresh()

    # ---- what the learner does

    def _begin(self) -> None:
        self.play = Replay(self._scenario, self.release.value)

    def _play(self, what: str, *arguments: float) -> Callable[[], None]:
        def action() -> None:
            getattr(self.play, what)(*arguments)

        return action

    def _to_picked(self, what: str) -> None:
        if not self.pod.value:
            raise ValueError("there is no pod to choose")
        getattr(self.play, what)(self.pod.value)

    def _add_pod(self) -> None:
        self.name.say("")
        self.cpu.say("")
        spec = {"schedulingGates": [{"name": "example.com/quota"}]} if self.gated.value else {}
        entry = {"name": self.name.value, "priority": self.priority.value, "spec": spec, "cpu": self.cpu.value}
        pod = self._made(entry)
        for error in validate_pod_create(pod):
            (self.name if error.field.startswith("metadata") else self.cpu).say(str(error))
            raise Invalid("Pod", pod.name, [error])
        self.play.add_pod(pod)
        self.name.control.value = f"pod-{len(self.play.pods) + 1}"

    def _made(self, entry: dict[str, Any]) -> Pod:
        try:
            return pod_of(entry)
        except ValueError as error:
            self.cpu.say(str(error))
            raise

    def _add_node(self) -> None:
        self.play.add_node(node_of({"name": f"node-{len(self.play.nodes) + 1}", "cpu": 4}))

    # ---- what the learner sees

    def chart(self) -> Chart:
        now = self.play.now
        waiting = {pod.name: pod for pod in self.play.pods}
        queued = [
            [self._cell(name, waiting.get(name), place) for place, name in _placed(now.queues[q])] for q in QUEUES
        ]
        stand = [
            [(pod.name, f"{pod.name} stands on {node}", "ok") for pod in pods] for node, pods in now.placed.items()
        ]
        rows = [*queued, *stand]
        widest = max([1, *(len(cells) for cells in rows)])
        padded = [cells + [("", "empty", "absent")] * (widest - len(cells)) for cells in rows]
        self.grid.fill([*QUEUES, *now.placed], [str(i + 1) for i in range(widest)], padded)
        names = [pod.key for pod in self.play.pods]
        if list(self.pod.options) != names:
            before = self.pod.value
            self.pod.options = names
            self.pod.value = before if before in names else names[0] if names else None
        self._log.value = log_html(now.log)
        self.back.disabled = len(self.play.frames) == 1
        chart = queue_chart([frame.row() for frame in self.play.frames])
        return replace(chart, sentence=f"Last: {now.what.rstrip('.')}. {chart.sentence}")

    def _cell(self, name: str, pod: Pod | None, place: int) -> tuple[str, str, str]:
        priority = pod.spec.priority or 0 if pod is not None else 0
        said = [c.message for c in pod.status.conditions if c.type == "PodScheduled"] if pod is not None else []
        gates = [gate.name for gate in pod.spec.scheduling_gates] if pod is not None else []
        why = [f"waits for {', '.join(gates)}"] if gates else said
        return name, ", ".join([name, f"number {place}", f"priority {priority}", *why]), "no" if said else "score"


def _placed(names: Any) -> list[tuple[int, str]]:
    return list(enumerate(names, start=1))


_NARROW = {"width": "13em"}
