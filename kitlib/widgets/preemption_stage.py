"""A more important pod comes to a full cluster: who must leave where, and how it gets its node two cycles later.

PreemptionStage()
PreemptionStage("preemption-never")
"""

from __future__ import annotations

import html
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
from kitlib.api.validation import validate_pod_create
from kitlib.charts.base import Chart
from kitlib.charts.preemption import preemption_chart
from kitlib.study.replay import Frame, Replay
from kitlib.study.scenario import Scenario
from kitlib.views.board import candidate_rows
from kitlib.views.log import log_html
from kitlib.widgets._parts.base import Field, KitWidget, labelled
from kitlib.widgets._parts.grid import Grid
from kitlib.widgets._parts.scenarios import scenario_of

HELP = "One row a node, one cell a pod, the most important first. Struck through: must leave. Dashed: promised."


class PreemptionStage(KitWidget):
    """Nodes with their pods, the pod that wants in, and what each candidate node would lose.

    Args:
        scenario: a story's name, a YAML file or a Scenario; its pod in question is the one that comes.
        release: whose scheduler decides.
        exit_after_s: how long a victim takes to end.
    """

    title = "Preemption stage"

    def __init__(
        self,
        scenario: Scenario | Path | str = "preemption",
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
        self.step = self.button("Step", lambda: self._do("step"), "the next thing that happens", "step-forward")
        self.back = self.button("Back", lambda: self._do("back"), "as if it had not happened", "step-backward")
        self.again = self.button("From the start", self._begin, icon="refresh")
        self.grid = Grid("Pods on their nodes", help=HELP)
        self._log, self._changed = ipw.HTML(), True
        self.play: Replay | None = None
        for control in (self.priority, self.cpu.control, self.policy, self.budget, self.release):
            control.observe(self._other, "value")
        rows = [
            ipw.HBox([self.priority, self.cpu, self.policy]),
            ipw.HBox([self.budget, self.release]),
            ipw.HBox([self.step, self.back, self.again]),
        ]
        for row in rows:
            row.add_class("kitlib-row")
        told = ipw.HTML(f"<p>{html.escape(self._scenario.text)}</p>")
        told.add_class("kitlib-sentence")
        super().__init__([told, *rows, self.grid, self._log])
        self.act(self._begin)

    # ---- what the learner does

    def _other(self, _change: Any) -> None:
        self.act(self._begin)

    def _do(self, what: str) -> None:
        assert self.play is not None
        getattr(self.play, what)()

    def _begin(self) -> None:
        """Play the scenario with the pod as the controls have it: the first cycle comes at once."""
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
        self.play.step()

    # ---- what the learner sees

    def chart(self) -> Chart:
        if self.play is None:  # the pod that is asked for cannot be: `act` has said why
            raise ValueError(self.cpu.problem)
        now, decision = self.play.now, self.play.last_decision
        self._fill(now)
        self._log.value = log_html(now.log)
        self.back.disabled = len(self.play.frames) == 1
        candidates = candidate_rows(decision) if decision is not None else []
        nominated = decision.nominated if decision is not None else ""
        chart = preemption_chart(candidates, nominated)
        words = [f"At {now.seconds:g} s: {now.what.rstrip('.')}."]
        if now.decision is not None and now.decision.post_filter is not None:
            words.append(now.decision.explain().splitlines()[-1])
        return replace(chart, sentence=" ".join(words))

    def _fill(self, now: Frame) -> None:
        decision = now.decision
        victims = {pod.key for pod in decision.victims} if decision is not None else set()
        rows = []
        for node, pods in now.placed.items():
            ordered = sorted(pods, key=lambda pod: (-(pod.spec.priority or 0), pod.name))
            cells = [self._cell(pod, victims) for pod in ordered]
            for name in now.promised.get(node, ()):
                cells.append((f"{name}\n(promised)", f"{name} is nominated to {node}: its room is kept", "promised"))
            rows.append(cells)
        widest = max((len(cells) for cells in rows), default=0)
        padded = [cells + [("", "nothing", "absent")] * (widest - len(cells)) for cells in rows]
        self.grid.fill(list(now.placed), [str(i + 1) for i in range(widest)], padded)

    def _cell(self, pod: Pod, victims: set[str]) -> tuple[str, str, str]:
        asked = pod.spec.containers[0].resources.requests.get("cpu", "nothing")
        words = f"{pod.name}, priority {pod.spec.priority or 0}, requests cpu {asked}"
        if pod.metadata.deletion_timestamp is not None or pod.key in victims:
            return f"{pod.name}\n{pod.spec.priority or 0}", f"{words}: must leave, ends after its grace", "victim"
        kind = "new" if pod.key == self._question.key else "ok"
        return f"{pod.name}\n{pod.spec.priority or 0}", words, kind


def _budget(app: str) -> PodDisruptionBudget:
    made = PodDisruptionBudget(metadata=ObjectMeta(name=f"keep-{app}", namespace="default"))
    made.spec.selector = LabelSelector(match_labels={"app": app})
    made.status.disruptions_allowed = 0
    return made
