"""The scheduling queue with a clock: pods in activeQ, backoffQ, unschedulable and gated, and their moves.

QueueTheatre()
QueueTheatre("gates", release="1.26")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import Invalid
from kitlib.api.release import RELEASES, Release
from kitlib.apiserver.validation import validate_pod_create
from kitlib.charts.base import Chart
from kitlib.charts.queues import queue_chart
from kitlib.charts.scene import Area, Box, Mark, Scene, Token
from kitlib.cluster import Cluster
from kitlib.study.replay import QUEUES, Frame, Replay
from kitlib.study.scenario import Scenario, node_of, pod_of
from kitlib.views.log import log_html
from kitlib.widgets._parts.base import Field, KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.pod_board import by_priority, capacities, cpu_of, cpu_text, node_box
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
MOVES = 6
"""Maximum number of pods that the picture names as moved by one step."""
_KIND = {"Scheduled": "new", "FailedScheduling": "warn", "Preempted": "bad"}
HELP = "Arrow keys walk over the pods; what stands behind one is said below."
LEGEND = (
    Mark("waits; the next one first", "queue"),
    Mark("was refused", "warn"),
    Mark("stands on a node, as wide as its cpu request", "ok"),
)
_LANES = {
    "activeQ": "tried next, by priority",
    "backoffQ": "waits a moment before it is tried again",
    "unschedulable": "waits until something changes that may help",
    "gated": "not ready: it has a scheduling gate",
}


class QueueTheatre(KitWidget):
    """Four queues and the nodes, a clock that advances in steps, and pods and nodes that come and go.

    Args:
        scenario: a story's name, a YAML file, a Scenario, a cluster as it is now, or None for two small nodes and four
            pods.
        release: release of the scheduler.
    """

    title = "Queue theatre"
    try_this = "press Step until large is refused, then add a node and see where it goes."

    def __init__(
        self, scenario: Scenario | Cluster | Path | str | None = None, *, release: Release | str | None = None
    ) -> None:
        self._scenario = Scenario.of(_START) if scenario is None else scenario_of(scenario)
        followed = Release.of(release)
        self.release = labelled(
            ipw.Dropdown(options=RELEASES, value=followed.name, layout={"width": "11em"}), "release"
        )
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
        self.board = BoardPicture("Queues and nodes", self._on_act, help=HELP, more=True)
        self.board.observe(self._moved, "position")
        self._log, self._painting = ipw.HTML(), False
        self._log.add_class("kitlib-scroll")
        self._capacity = capacities([*self._scenario.nodes, *self._scenario.later])
        self.play = Replay(self._scenario, followed.name)
        self._all = list(self.play.frames)
        rows = [
            ipw.HBox([self.second, self.minute, self.again, self.release]),
            ipw.HBox([self.name, self.cpu, self.priority, self.gated, self.add]),
            ipw.HBox([self.pod, self.ungate, self.delete, self.node]),
        ]
        for row in rows:
            row.add_class("kitlib-row")
        self.release.observe(lambda _: self.act(self._begin), "value")
        self.pictures = (self.board, self._log)
        super().__init__([], picture=ipw.VBox([self.board, *rows, self._log]))
        self.refresh()

    # ---- what the learner does

    def _begin(self) -> None:
        self.play = Replay(self._scenario, self.release.value)
        self._capacity = capacities([*self._scenario.nodes, *self._scenario.later])
        self._note()

    def _on_act(self, act: dict[str, Any]) -> None:
        if act["act"] == "step":
            self.act(self._play("step"))

    def _moved(self, change: Any) -> None:
        if not self._painting:
            self.act(lambda: self._stand_at(change["new"]))

    def _stand_at(self, place: int) -> None:
        """Go to the player's position; later events can be played again."""
        while len(self.play.frames) - 1 > place:
            self.play.back()
        while len(self.play.frames) - 1 < place and self.play.can_go_on:
            self.play.forward()

    def _play(self, what: str, *arguments: float) -> Callable[[], None]:
        def action() -> None:
            before = len(self.play.frames)
            getattr(self.play, what)(*arguments)
            self._note()
            self.board.more = what != "step" or len(self.play.frames) > before

        return action

    def _note(self) -> None:
        """Store all frames, so that the player can go back and forth."""
        self._all = list(self.play.frames)
        self.board.more = True

    def _to_picked(self, what: str) -> None:
        if not self.pod.value:
            raise ValueError("there is no pod to choose")
        getattr(self.play, what)(self.pod.value)
        self._note()

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
        self._note()
        self.name.control.value = f"pod-{len(self.play.pods) + 1}"

    def _made(self, entry: dict[str, Any]) -> Pod:
        try:
            return pod_of(entry)
        except ValueError as error:
            self.cpu.say(str(error))
            raise

    def _add_node(self) -> None:
        node = node_of({"name": f"node-{len(self.play.nodes) + 1}", "cpu": 4})
        self._capacity.update(capacities([node]))
        self.play.add_node(node)
        self._note()

    # ---- what the learner sees

    def chart(self) -> Chart:
        now = self.play.now
        names = [pod.key for pod in self.play.pods]
        if list(self.pod.options) != names:
            before = self.pod.value
            self.pod.options = names
            self.pod.value = before if before in names else names[0] if names else None
        self._log.value = log_html(now.log)
        chart = queue_chart([frame.row() for frame in self.play.frames])
        return replace(chart, sentence=f"Last: {now.what.rstrip('.')}. {chart.sentence}")

    def paint(self, chart: Chart) -> None:
        waiting = {pod.name: pod for pod in self.play.pods}
        self._painting = True
        try:
            pairs = zip([None, *self._all], self._all, strict=False)
            scenes = [self._scene(frame, waiting, moves(before, frame) if before else []) for before, frame in pairs]
            self.board.bring(scenes, LEGEND, position=len(self.play.frames) - 1)
        finally:
            self._painting = False

    def _scene(self, frame: Frame, known: dict[str, Pod], moved: Sequence[Move]) -> Scene:
        lanes = [
            Box(
                name,
                name,
                [self._waiting(pod, known.get(pod), place) for place, pod in enumerate(frame.queues[name], start=1)],
                _LANES[name],
            )
            for name in QUEUES
        ]
        nodes = [
            node_box(name, self._capacity.get(name, 0), by_priority(pods), lambda pod, size: _placed(pod, size))
            for name, pods in frame.placed.items()
        ]
        steps = [_arrow(move) for move in moved[:MOVES]]
        more = f"and {len(moved) - MOVES} more" if len(moved) > MOVES else "" if steps else "no pod"
        areas = [
            Area("queue", "Scheduling queue", lanes),
            Area("moves", "This step moves", [Box("moves", "", steps, more)], wide="100%"),
            Area("nodes", "Nodes", nodes, wide="22em"),
        ]
        return Scene(areas, frame.what, frame.seconds)

    def _waiting(self, name: str, pod: Pod | None, place: int) -> Token:
        priority = pod.spec.priority or 0 if pod is not None else 0
        said = [c.message for c in pod.status.conditions if c.type == "PodScheduled"] if pod is not None else []
        gates = [gate.name for gate in pod.spec.scheduling_gates] if pod is not None else []
        why = [f"waits for {', '.join(gates)}"] if gates else said
        note = cpu_text(cpu_of(pod)) if pod is not None else ""
        note += f", priority {priority}" if priority else ""
        words = ", ".join([f"number {place}", f"priority {priority}", *why])
        return Token(name, name, note, "warn" if said and not gates else "queue", words=words, still=True)


@dataclass(frozen=True)
class Move:
    """A pod that a step moves.

    Attributes:
        pod: name of the pod.
        origin: the queue or node before the step; "new" = the pod has just come.
        target: the queue or node after the step; "gone" = the pod no longer exists.
        event: reason of the log entry that moved the pod, such as `NodeAdd`; "" = none is logged.
    """

    pod: str
    origin: str
    target: str
    event: str


def moves(before: Frame, after: Frame) -> list[Move]:
    """Return the pods whose queue or node differs between two frames, with the event that moved each."""
    old, new = _places(before), _places(after)
    entries = after.log[len(before.log) :]
    found = []
    for pod in dict.fromkeys([*old, *new]):
        if (was := old.get(pod, "new")) == (now := new.get(pod, "gone")):
            continue
        own = [entry.reason for entry in entries if entry.pod.rpartition("/")[2] == pod]
        # An event of a node or of another pod moves pods that have no log entry of their own.
        others = [entry.reason for entry in entries if entry.kind == "Queue"]
        found.append(Move(pod, was, now, (own or others or [""])[-1]))
    return found


def _places(frame: Frame) -> dict[str, str]:
    """Return each pod's queue or node."""
    queued = {pod: queue for queue, pods in frame.queues.items() for pod in pods}
    return queued | {pod.name: node for node, pods in frame.placed.items() for pod in pods}


def _arrow(move: Move) -> Token:
    """Return the arrow from a pod's old queue to its new one or its node, with the event below."""
    way = f"{move.pod}: {move.origin} → {move.target}"
    kind = _KIND.get(move.event, "queue")
    return Token(f"move {move.pod}", way, move.event, kind, words=f"{way} by {move.event or 'the clock'}", still=True)


def _placed(pod: Pod, size: float) -> Token:
    words = f"requests {cpu_text(cpu_of(pod))}, stands on {pod.spec.node_name}"
    return Token(pod.name, pod.name, cpu_text(cpu_of(pod)), "ok", "", size, words, True)


_NARROW = {"width": "13em"}
