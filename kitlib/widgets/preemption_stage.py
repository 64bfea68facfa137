"""A pod with a higher priority comes to a full cluster: the victims on each node, and the nominated node's use.

PreemptionStage()
PreemptionStage("preemption-never")
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import Invalid
from kitlib.api.meta import LabelSelector, ObjectMeta
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import RELEASES, Release
from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.validation import validate_pod_create
from kitlib.charts.base import Chart
from kitlib.charts.preemption import preemption_chart
from kitlib.charts.scene import Area, Box, Mark, Scene, Token
from kitlib.cluster import Cluster
from kitlib.study.replay import Frame, Replay
from kitlib.study.scenario import Scenario
from kitlib.views.board import candidate_rows
from kitlib.views.log import log_html
from kitlib.widgets._parts.base import Field, KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.pod_board import by_priority, capacities, cpu_of, cpu_text, node_box
from kitlib.widgets._parts.scenarios import scenario_of, story_html

HELP = "Arrow keys walk over the pods; the most important stands first. A pod is as wide as its cpu request."
LEGEND = (
    Mark("a pod on its node", "ok"),
    Mark("the pod that wants in", "new"),
    Mark("must leave", sign="⏏"),
    Mark("its room is kept for it", "new", "promised"),
)


class PreemptionStage(KitWidget):
    """Nodes with their pods, the incoming pod, and the victims on each candidate node.

    Args:
        scenario: a story's name, a YAML file, a Scenario, or a cluster as it is now; its pod in question is the
            incoming pod.
        release: release of the scheduler.
        exit_after_s: seconds that a victim takes to terminate.
    """

    title = "Preemption stage"
    try_this = "say which pod must leave, then press Step and see."

    def __init__(
        self,
        scenario: Scenario | Cluster | Path | str = "preemption",
        *,
        release: Release | str | None = None,
        exit_after_s: float = 5.0,
    ) -> None:
        self._scenario, self._exit_after_s = scenario_of(scenario), exit_after_s
        followed = Release.of(release)
        pod = self._scenario.question
        asked = pod.spec.containers[0].resources.requests.get("cpu")
        self.priority = labelled(
            ipw.IntSlider(pod.spec.priority or 0, min=-100, max=max(1000, pod.spec.priority or 0)), "its priority"
        )
        self.cpu = Field(
            ipw.Text(str(asked) if asked is not None else "0", layout={"width": "12em"}), "its cpu request"
        )
        self.policy = labelled(
            ipw.Dropdown(
                options=["PreemptLowerPriority", "Never"],
                value=pod.spec.preemption_policy or "PreemptLowerPriority",
                layout={"width": "24em"},
            ),
            "preemptionPolicy",
        )
        groups = sorted({p.metadata.labels["app"] for p in self._scenario.pods if "app" in p.metadata.labels})
        self.budget = labelled(
            ipw.Dropdown(
                options=[("nobody", ""), *((f"app={name}", name) for name in groups)],
                value="",
                layout={"width": "20em"},
            ),
            "a budget protects",
            "a PodDisruptionBudget that allows no disruption",
        )
        self.release = labelled(
            ipw.Dropdown(options=RELEASES, value=followed.name, layout={"width": "11em"}), "release"
        )
        self.again = self.button("From the start", self._begin, icon="refresh")
        self.board = BoardPicture("Pods on their nodes", self._on_act, help=HELP, more=True)
        self.board.observe(self._moved, "position")
        self._log, self._painting = ipw.HTML(), False
        self._log.add_class("kitlib-scroll")
        self._capacity = capacities(self._scenario.nodes)
        self.play: Replay | None = None
        for control in (self.priority, self.cpu.control, self.policy, self.budget, self.release):
            control.observe(self._other, "value")
        rows = [
            ipw.HBox([self.priority, self.cpu, self.policy]),
            ipw.HBox([self.budget, self.release, self.again]),
        ]
        for row in rows:
            row.add_class("kitlib-row")
        told = ipw.HTML(story_html(self._scenario))
        told.add_class("kitlib-sentence")
        self.pictures = (self.board, self._log)
        super().__init__([told], picture=ipw.VBox([self.board, *rows, self._log]))
        self.act(self._begin)

    # ---- what the learner does

    def _other(self, _change: Any) -> None:
        self.act(self._begin)

    def _on_act(self, act: dict[str, Any]) -> None:
        if act["act"] == "step":
            self.act(self.step)

    def step(self) -> None:
        """Play the next event."""
        assert self.play is not None
        before = len(self.play.frames)
        self.play.step()
        self._all = list(self.play.frames)
        self.board.more = len(self._all) > before

    def _moved(self, change: Any) -> None:
        if not self._painting and self.play is not None:
            self.act(lambda: self._stand_at(change["new"]))

    def _stand_at(self, place: int) -> None:
        assert self.play is not None
        while len(self.play.frames) - 1 > place:
            self.play.back()
        while len(self.play.frames) - 1 < place and self.play.can_go_on:
            self.play.forward()

    def _begin(self) -> None:
        """Play the scenario with the controls' pod; the first step is the first cycle."""
        pod = deepcopy(self._scenario.question)
        pod.spec.priority, pod.spec.preemption_policy = self.priority.value, self.policy.value
        try:
            pod.spec.containers[0].resources.requests["cpu"] = Quantity.parse(self.cpu.value)
        except ValueError as error:
            self.cpu.say(str(error))
            raise
        errors = validate_pod_create(pod)
        self.cpu.say(str(errors[0]) if errors else "")
        if errors:
            raise Invalid("Pod", pod.name, errors)
        others = dict(self._scenario.others)
        if self.budget.value:
            others["budgets"] = [_budget(self.budget.value)]
        pods = [pod if one is self._scenario.question else one for one in self._scenario.pods]
        self._question = pod
        scenario = replace(self._scenario, pods=pods, others=others)
        self.play = Replay(scenario, self.release.value, exit_after_s=self._exit_after_s)
        self._all = list(self.play.frames)
        self.board.more = True

    # ---- what the learner sees

    def chart(self) -> Chart:
        if self.play is None:  # the requested pod is invalid; `act` has shown the error
            raise ValueError(self.cpu.problem)
        now, decision = self.play.now, self.play.last_decision
        self._log.value = log_html(now.log)
        candidates = candidate_rows(decision) if decision is not None else []
        nominated = decision.nominated if decision is not None else ""
        chart = preemption_chart(candidates, nominated)
        words = [f"At {now.seconds:g} s: {now.what.rstrip('.')}."]
        if now.decision is not None and now.decision.post_filter is not None:
            words.append(now.decision.explain().splitlines()[-1])
        return replace(chart, sentence=" ".join(words))

    def paint(self, chart: Chart) -> None:
        assert self.play is not None
        self._painting = True
        try:
            scenes = [self._scene(frame) for frame in self._all]
            self.board.bring(scenes, LEGEND, position=len(self.play.frames) - 1)
        finally:
            self._painting = False

    def _scene(self, now: Frame) -> Scene:
        decision = now.decision
        victims = {pod.key for pod in decision.victims} if decision is not None else set()
        nodes = []
        for name, pods in now.placed.items():
            capacity = self._capacity.get(name, 0)
            mine = [pod for pod in now.waiting if pod.status.nominated_node_name == name]
            promised = {pod.name: cpu_of(pod) for pod in mine}
            nodes.append(
                node_box(name, capacity, by_priority(pods), lambda pod, size: self._token(pod, size, victims), promised)
            )
        waits = [pod for pod in now.waiting if not pod.status.nominated_node_name]
        waiting = [self._token(pod, None, set()) for pod in waits]
        areas = [
            Area("waits", "Waits", [Box("queue", "pods that wait", waiting)], wide="100%"),
            Area("nodes", "Nodes", nodes, wide="22em"),
        ]
        return Scene(areas, now.what, now.seconds)

    def _token(self, pod: Pod, size: float | None, victims: set[str]) -> Token:
        words = f"priority {pod.spec.priority or 0}, requests {cpu_text(cpu_of(pod))}"
        leaves = pod.metadata.deletion_timestamp is not None or pod.key in victims
        kind = "new" if pod.key == self._question.key else "ok"
        note = f"priority {pod.spec.priority or 0}"
        more = ": must leave, ends after its grace" if leaves else ""
        return Token(pod.name, pod.name, note, kind, "victim" if leaves else "", size, words + more, True)


def _budget(app: str) -> PodDisruptionBudget:
    made = PodDisruptionBudget(metadata=ObjectMeta(name=f"keep-{app}", namespace="default"))
    made.spec.selector = LabelSelector(match_labels={"app": app})
    made.status.disruptions_allowed = 0
    return made
