"""A board of one scheduling cycle, a row per node, a column per plugin, that is stepped forwards and back.

SchedulerBoard("affinity-and-skew", release="1.23")
SchedulerBoard(cluster.explain(pod))
SchedulerBoard(cluster)
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import TERMINAL_PHASES
from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES, Release
from kitlib.charts.base import Chart
from kitlib.charts.preemption import preemption_chart
from kitlib.charts.scheduler_board import filter_board, score_bars
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.origin import COMPUTED, Origin
from kitlib.scheduler.decision import Decision
from kitlib.study.scenario import Scenario
from kitlib.study.stepper import Stepper
from kitlib.views.board import HELP, candidate_rows, decision_board
from kitlib.views.decision import decision_html, shown_nodes
from kitlib.widgets._parts.base import ChartPicture, KitWidget, labelled
from kitlib.widgets._parts.cluster_scenario import scenario_of_cluster
from kitlib.widgets._parts.grid import Act, Grid
from kitlib.widgets._parts.live_cluster import computed_of, live_cluster
from kitlib.widgets._parts.scenarios import ScenarioPicker, story_html


class SchedulerBoard(KitWidget):
    """The verdict of each plugin on each node, then the scores as bars.

    A story of the kit opens at the first filter, because the learner is asked for its outcome; anything else opens at
    the last step.

    Args:
        shown: a Decision, a Scenario, a cluster (its waiting pods, else all), a YAML file, a story's name, or None for
            a choice of stories.
        release: the release of a scenario; a Decision has its own; None = a cluster's own, else the latest.
    """

    title = "Scheduler board"
    try_this = "step through the cycle and say before each step which nodes stay."

    def __init__(
        self, shown: Decision | Scenario | Cluster | Path | str | None = None, *, release: Release | str | None = None
    ) -> None:
        self.decision: Decision | None = None
        self._steps: Stepper | None = None
        self._fixed = shown if isinstance(shown, Decision) else None
        self.cluster: Any = live_cluster(shown)
        self._picker = ScenarioPicker(None if isinstance(shown, Decision) else shown)
        self.story = self._picker.control
        followed = Release.of(release if self.cluster is None or release is not None else self.cluster.release)
        self.release = labelled(
            ipw.Dropdown(options=RELEASES, value=followed.name, layout={"width": "11em"}), "release"
        )
        self.pod = labelled(ipw.Dropdown(options=[], layout={"width": "20em"}), "pod")
        self.step = labelled(ipw.IntSlider(1, min=1, max=1, layout={"width": "26em"}), "step", "of the cycle")
        self.back = self.button("Back", lambda: self._walk("back"), "one step back", "step-backward")
        self.forward = self.button("Forward", lambda: self._walk("forward"), "one step on", "step-forward")
        self.grid = Grid("Nodes and plugins", help=HELP, on_act=self._on_act)
        self._bars, self._setting = ChartPicture(), False
        walk = ipw.HBox([self.back, self.step, self.forward])
        self.look = self.button("Look again", self._look, "read pods and nodes of the cluster now", "refresh")
        choice = ipw.HBox([self.release, self.pod, *([self.look] if self.cluster is not None else [])])
        for row in (walk, choice):
            row.add_class("kitlib-row")
        if self._fixed is not None:
            self.story.layout.display = choice.layout.display = "none"
        self._told = ipw.HTML()
        self._told.add_class("kitlib-sentence")
        super().__init__([self.story, self._told, choice, walk, self.grid], picture=ipw.VBox([self._bars]))
        self._list_pods()
        self._begin()
        self.story.observe(self._other_story, "value")
        self.release.observe(self._begin, "value")
        self.pod.observe(self._begin, "value")
        self.step.observe(self._slid, "value")

    # ---- what the learner does

    def _list_pods(self) -> None:
        if self._fixed is not None:
            return
        if self.cluster is not None:
            names = self._names_of(self.cluster)
            first = self.pod.value if self.pod.value in names else names[0] if names else None
            told = ""
        else:
            scenario = self._picker.scenario
            names, first = [pod.name for pod in scenario.waiting], scenario.question.name
            told = story_html(scenario)
        self._setting = True
        try:
            self.pod.options = names
            self.pod.value = first
        finally:
            self._setting = False
        self._told.value = told

    def _names_of(self, cluster: Cluster) -> list[str]:
        """Return the pods of a cluster that wait for a node; if there are none, all that have not ended."""
        pods = [pod for pod in cluster.pods() if pod.status.phase not in TERMINAL_PHASES]
        return [pod.key for pod in pods if not pod.spec.node_name] or [pod.key for pod in pods]

    def _look(self) -> None:
        self._list_pods()
        self._decide()

    def _other_story(self, _change: Any) -> None:
        self._steps = None  # a new story opens at its first step
        self._list_pods()
        self._begin()

    def _begin(self, _change: Any = None) -> None:
        """Make the decision; the last step is shown if it was shown before."""
        if self._setting:
            return
        self.act(self._decide)

    def _decide(self) -> None:
        asks = self._fixed is None and self._picker.asks
        ended = _done(self._steps) if self._steps is not None else not asks
        self.decision = self._fixed or self._decided()
        self._steps = Stepper(self.decision)
        count = len(self._steps.steps)
        self._steps.position = count - 1 if ended else _first_filter(self._steps)
        self._setting = True
        try:
            self.step.max = count
            self.step.value = self._steps.position + 1
        finally:
            self._setting = False

    def _decided(self) -> Decision:
        name, release = self.pod.value, self.release.value
        if self.cluster is None:
            return self._picker.scenario.of_pod(name).decide(release)
        if name is None:
            raise KitError("this cluster has no pod to schedule: apply a pod, then press Look again")
        if release != self.cluster.release.name:
            return scenario_of_cluster(self.cluster, name).decide(release)
        namespace, _, pod = name.partition("/")
        found: Decision = self.cluster.explain(pod, namespace)
        return found

    def _walk(self, way: str) -> None:
        if self._steps is None:
            return
        getattr(self._steps, way)()
        self._setting = True
        try:
            self.step.value = self._steps.position + 1
        finally:
            self._setting = False

    def _slid(self, _change: Any) -> None:
        if not self._setting and self._steps is not None:
            self._steps.position = self.step.value - 1
            self.refresh()

    def _on_act(self, act: Act) -> None:
        self.grid.selected = [act.row, act.column]

    @property
    def reason(self) -> str:
        """The text of the current cell."""
        row, column = self.grid.selected
        return self.grid.hint(row, column)

    # ---- what the learner sees

    def origin(self) -> Origin:
        return COMPUTED if self.cluster is None else computed_of(self.cluster)

    def chart(self) -> Chart:
        decision, steps = self.decision, self._steps
        if decision is None or steps is None:
            raise KitError("this cluster has no pod to schedule: apply a pod, then press Look again")
        known = steps.steps[: steps.position + 1]
        board = decision_board(decision, known)
        self.grid.show(board)
        self.grid.help = board.help
        self.back.disabled = steps.position == 0
        self.forward.disabled = steps.position == len(steps.steps) - 1
        chart = self._picture_of(decision, steps)
        step = steps.current
        who = f"{step.point} {step.plugin}".strip()
        words = [f"Step {steps.position + 1} of {len(steps.steps)}, {who}: {step.text.rstrip('.')}."]
        if steps.position == len(steps.steps) - 1:
            words.append(decision.message if decision.message else chart.sentence)
        return replace(chart, sentence=" ".join(words))

    def _picture_of(self, decision: Decision, steps: Stepper) -> Chart:
        """Return bars of scores, candidates if preemption was tried, or the filters."""
        known = {(step.point, step.plugin) for step in steps.steps[: steps.position + 1]}
        nodes = shown_nodes(decision)
        scored = decision.scores
        self._bare = False
        if scored is not None and any(point == "Score" for point, _ in known):
            places = {decision.nodes[row]: i for i, row in enumerate(scored.rows)}
            shown = [node for node in nodes if node in places]
            weighted = {
                name: [int(normal[places[node]]) * scored.weights[name] for node in shown]
                for name, normal in scored.normalized.items()
                if ("Score", name) in known
            }
            return score_bars(shown, weighted, decision.best)
        if decision.post_filter is not None and decision.post_filter.candidates and _done(steps):
            return preemption_chart(candidate_rows(decision), decision.nominated)
        self._bare = True
        rows = [row for row in decision.filter_rows() if ("Filter", row["plugin"]) in known]
        plugins = list(dict.fromkeys(row["plugin"] for row in rows))
        return filter_board(nodes, plugins, {(r["node"], r["plugin"]): (r["code"], r["reasons"]) for r in rows})

    def paint(self, chart: Chart) -> None:
        """Show the bars of scores or candidates below the board; the board itself shows the filters."""
        self._picture.layout.display = "none" if self._bare else ""
        if not self._bare:
            self._bars.show(chart)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**options)
        if self.decision is not None:
            bundle["text/html"] = decision_html(self.decision)
        return bundle


def _first_filter(steps: Stepper) -> int:
    """Return the place of the first step with a mark on the board; 0 if no filter runs."""
    return next((place for place, step in enumerate(steps.steps) if step.point == "Filter"), 0)


def _done(steps: Stepper) -> bool:
    return steps.position == len(steps.steps) - 1
