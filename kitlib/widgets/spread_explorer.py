"""Zones and nodes over which pods spread: pods, constraint and release can be changed; skew and verdicts follow.

SpreadExplorer()
SpreadExplorer("affinity-and-skew", release="1.23")
SpreadExplorer(cluster)
"""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES, Release
from kitlib.charts.base import Chart
from kitlib.charts.scene import Area, Box, Mark, Scene, Token
from kitlib.charts.spread import spread_chart
from kitlib.charts.spread_columns import lowest, rows_shown, skew_at
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.origin import COMPUTED, Origin
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.plugins.pod_topology_spread import ZONE
from kitlib.scheduler.plugins.spread_domains import HOSTNAME
from kitlib.study.scenario import Scenario
from kitlib.study.spread_stage import Spread, UndoHistory
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.cluster_scenario import next_pod, spread_of_cluster
from kitlib.widgets._parts.drawn_picture import DrawnPicture
from kitlib.widgets._parts.live_cluster import OnCluster, computed_of, live_cluster, why_waiting
from kitlib.widgets._parts.scenarios import scenario_of

HELP = (
    "Arrow keys walk; + or Enter on a node adds a pod, - removes one; drag a pod to another node, or press m on it, "
    "walk there and press m again; x excludes the node by node affinity, t taints it, f fills it."
)
COLUMNS = (
    "A column is a domain. Drag the dashed line (maxSkew) or press arrow keys on it; drag the next pod into a column "
    "below the line, or press a place marked next; drag a pod to another column."
)
LEGEND = (
    Mark("a matching pod", "ok"),
    Mark("the next pod goes here", sign="★"),
    Mark("could go here as well", sign="="),
    Mark("hatched: the next pod may not go here", sign="▨"),
    Mark("excluded by node affinity", sign="⊘"),
    Mark("tainted", sign="☣"),
    Mark("full", sign="▮"),
)
MANY = 60
"""Number of nodes above which boxes are small and show only the number of pods."""
_LETTERS = {"x": "excluded", "t": "tainted", "f": "full"}
_FIELDS = (
    "max_skew",
    "min_domains",
    "topology_key",
    "when_unsatisfiable",
    "node_affinity_policy",
    "node_taints_policy",
)


class SpreadExplorer(KitWidget):
    """A board of zones and nodes, the constraint's fields, and the skew of every domain.

    Args:
        scenario: a story's name, a YAML file, a Scenario, a cluster as it is now, or None for an empty one.
        zones: number of zones of the empty cluster.
        nodes: number of nodes in each of its zones.
        release: the scheduler's release; None = a cluster's own, else the latest.

    Attributes:
        on_cluster: the button that puts the next pod on the cluster, and its outcome; None without a cluster.
    """

    title = "Spread explorer"
    try_this = "place a few pods, drag one to another zone, then drag the dashed line: where may the next pod go?"

    def __init__(
        self,
        scenario: Scenario | Cluster | Path | str | None = None,
        *,
        zones: int = 3,
        nodes: int = 4,
        release: Release | str | None = None,
    ) -> None:
        self.cluster: Any = live_cluster(scenario)
        self._template: Pod | None = None
        if self.cluster is not None:
            first, self._template = spread_of_cluster(self.cluster, release)
        elif scenario is None:
            first = Spread.grid(zones, nodes, release=Release.of(release))
        else:
            first = Spread.of(scenario_of(scenario), Release.of(release))
        self.history = UndoHistory(first)
        self.decision: Decision | None = None
        self._setting = False
        self._make_controls(first)
        self.board = BoardPicture("Zones and their nodes", self._on_act, help=HELP, movable=True, letters="xtf")
        self.columns = DrawnPicture(self._on_column, help=COLUMNS)
        self._rows = 0
        buttons = ipw.HBox([self.step, self.undo, self.redo, self.clear])
        sizes = ipw.HBox([self.zones, self.nodes, self.release])
        constraint = ipw.HBox([self.max_skew, self.min_domains, self.topology_key, self.when_unsatisfiable])
        policies = ipw.HBox([self.node_affinity_policy, self.node_taints_policy])
        for row in (buttons, sizes, constraint, policies):
            row.add_class("kitlib-row")
        self.fields = ipw.Accordion(
            children=[ipw.VBox([constraint, policies])], titles=("The constraint's fields",), selected_index=None
        )
        self.step.add_class("kitlib-main")
        self.pictures = (self.columns, self.board)
        picture = ipw.VBox([self.columns, self.board, sizes, self.fields])
        self.on_cluster: OnCluster | None = None
        if self.cluster is not None:
            self.on_cluster = OnCluster(self, self.cluster, self._next_pod, self._predicted, self._told)
            for control in (self.zones, self.nodes):  # fixed by the cluster
                control.disabled = True
            buttons.children = (*buttons.children, self.look)
        below = [self.on_cluster] if self.on_cluster is not None else []
        super().__init__([buttons, *below], picture=picture)
        self.refresh()

    def _make_controls(self, first: Spread) -> None:
        most = max(len(nodes) for _, nodes in first.layout)
        self.zones = labelled(ipw.BoundedIntText(len(first.layout), min=1, max=10, layout=_NARROW), "zones")
        self.nodes = labelled(ipw.BoundedIntText(most, min=1, max=100, layout=_NARROW), "nodes in each")
        self.release = labelled(
            ipw.SelectionSlider(options=RELEASES, value=first.release.name, continuous_update=True), "release"
        )
        self.max_skew = labelled(ipw.IntSlider(first.max_skew, min=0, max=10, layout={"width": "18em"}), "maxSkew")
        self.min_domains = labelled(
            ipw.Text("" if first.min_domains is None else str(first.min_domains), layout=_NARROW),
            "minDomains",
            "empty = not set",
        )
        self.topology_key = labelled(
            ipw.Dropdown(options=[ZONE, HOSTNAME], value=first.topology_key, layout={"width": "26em"}), "topologyKey"
        )
        self.when_unsatisfiable = labelled(
            ipw.Dropdown(
                options=["DoNotSchedule", "ScheduleAnyway"], value=first.when_unsatisfiable, layout={"width": "25em"}
            ),
            "whenUnsatisfiable",
        )
        policies = [("not set", ""), ("Honor", "Honor"), ("Ignore", "Ignore")]
        self.node_affinity_policy = labelled(
            ipw.Dropdown(options=policies, value=first.node_affinity_policy, layout=_WIDE), "nodeAffinityPolicy"
        )
        self.node_taints_policy = labelled(
            ipw.Dropdown(options=policies, value=first.node_taints_policy, layout=_WIDE), "nodeTaintsPolicy"
        )
        self.step = self.button("Place the next pod", self.place, "one scheduling cycle", "step-forward")
        self.undo = self.button("Undo", lambda: self._go(self.history.undo()), icon="undo")
        self.redo = self.button("Redo", lambda: self._go(self.history.redo()), icon="repeat")
        self.clear = self.button("Remove all pods", lambda: self._do(replace(self.state, placed=())))
        self.look = self.button("Look again", self._look, "read pods and nodes of the cluster now", "refresh")
        for name in _FIELDS:
            getattr(self, name).observe(self._constraint_changed, "value")
        self.release.observe(self._constraint_changed, "value")
        for control in (self.zones, self.nodes):
            control.observe(self._size_changed, "value")

    # ---- what the learner does

    @property
    def state(self) -> Spread:
        """The current pods and constraint."""
        return self.history.now

    def place(self) -> None:
        """Let the scheduler place the next pod, or show the reason why it cannot."""
        state, _ = self.state.place()
        self._do(state)

    def _do(self, state: Spread) -> None:
        self.history.do(state)

    def _go(self, state: Spread) -> None:
        """Set the controls to a state of the history."""
        self._setting = True
        try:
            for name in _FIELDS:
                value = getattr(state, name)
                getattr(self, name).value = ("" if value is None else str(value)) if name == "min_domains" else value
            self.release.value = state.release.name
            self.zones.value = len(state.layout)
            self.nodes.value = max(len(nodes) for _, nodes in state.layout)
        finally:
            self._setting = False

    def _on_act(self, act: dict[str, Any]) -> None:
        def change() -> None:
            what, node = act["act"], str(act.get("box", ""))
            if what in ("press", "more"):
                self._do(self.state.add(node))
            elif what == "less":
                self._do(self.state.remove(node))
            elif what == "move":
                self._do(self.state.move(self.board.token(act["id"])["box"], act["to"]))
            elif what == "key" and act["key"] in _LETTERS:
                self._do(self.state.toggle(_LETTERS[act["key"]], node))

        if act["act"] != "pick":
            self.act(change)

    def _on_column(self, act: dict[str, Any]) -> None:
        """Apply an action on the columns: a move of the maxSkew line, or a pod put into a column."""
        kind, what = act["act"], str(act.get("what", ""))
        if what == "maxSkew" and kind in ("drag", "step"):
            domains = self.state.domains()
            rows = self._rows or rows_shown(domains, self.state.max_skew)
            self._rows = rows if kind == "drag" and not act.get("done") else 0  # the scale stays under the pointer
            now = self.max_skew.value
            wanted = skew_at(float(act["y"]), rows, lowest(domains)) if kind == "drag" else now + int(act.get("by", 0))
            self.max_skew.value = max(1, min(self.max_skew.max, wanted))
            # An unchanged value sends no event, but the end of a drag must release the scale.
            if self.max_skew.value == now:
                self.refresh()
        elif kind == "press" or (kind == "drop" and what == "next"):
            self.act(lambda: self._do(self.state.add(self._node_for(str(act.get("on") or what)))))
        elif kind == "drop":
            self.act(
                lambda: self._do(
                    self.state.move(self.board.token(what)["box"], self._node_in(self._domain(str(act["on"]))))
                )
            )

    def _domain(self, name: str) -> dict[str, Any]:
        return next(row for row in self.state.domains() if row["domain"] == name)

    def _node_for(self, domain: str) -> str:
        """Return the node of a domain for the next pod.

        Raises:
            KitError: the constraint does not allow the domain.
        """
        row = self._domain(domain)
        if not row["allowed"]:
            raise KitError(
                f"{domain}: the next pod would make the skew {row['skew']}, more than maxSkew {self.state.max_skew}: "
                "drag the line up, or choose a lower column"
            )
        return self._node_in(row)

    def _node_in(self, row: dict[str, Any]) -> str:
        """Return the scheduler's best node of a domain, else a feasible one, else the first."""
        key = self.state.topology_key
        nodes = dict(self.state.layout)[row["domain"]] if key == ZONE else (row["domain"],)
        decision = self.decision or self.state.decide()
        best = [node for node in nodes if node in decision.best]
        free = [node for node in nodes if not decision.reasons_of(node)]
        return str(next(iter((*best, *free, *nodes))))

    def _constraint_changed(self, _change: Any) -> None:
        if not self._setting:
            self.act(lambda: self._do(self.state.change(**self._typed())))

    def _typed(self) -> dict[str, Any]:
        fields = {name: getattr(self, name).value for name in _FIELDS}
        text = fields["min_domains"].strip()
        if text and not text.lstrip("-").isdigit():
            raise ValueError(f"minDomains: Invalid value: {text!r}: must be a whole number")
        fields["min_domains"] = int(text) if text else None
        if self.release.value != self.state.release.name:
            fields["release"] = Release(self.release.value)
        return fields

    def _size_changed(self, _change: Any) -> None:
        if not self._setting:
            self.act(lambda: self._do(self.state.resize(self.zones.value, self.nodes.value)))

    # ---- the learner's cluster

    def _look(self) -> None:
        """Show the cluster's current state with the constraint of the controls."""
        assert self.cluster is not None
        found, template = spread_of_cluster(self.cluster, self.state.release)
        self._template = template or self._template
        self._do(replace(found, **{name: getattr(self.state, name) for name in _FIELDS}))

    def _next_pod(self) -> Pod:
        """Return the next pod, with the constraint of the controls and a free name."""
        assert self.cluster is not None
        return next_pod(self.cluster, self.state, self._template)

    def _predicted(self, pod: Pod) -> Decision:
        assert self.cluster is not None
        found: Decision = self.cluster.explain(pod)
        return found

    def _told(self, pod: Pod, predicted: Decision) -> str:
        """Return the node that the cluster's scheduler chose, beside the nodes that the prediction allows."""
        best = f"{'one of ' if len(predicted.best) > 1 else ''}{', '.join(predicted.best)}"
        said = f"Predicted for {pod.name}: {best or f'it waits ({predicted.message})'}."
        waits = why_waiting(pod)
        said += f" Your cluster: {f'it waits ({waits})' if waits else f'{pod.spec.node_name}, {pod.status.phase}'}."
        self._look()
        return f"<p>{html.escape(said)}</p>"

    # ---- what the learner sees

    def origin(self) -> Origin:
        return COMPUTED if self.cluster is None else computed_of(self.cluster)

    def chart(self) -> Chart:
        state = self.state
        decision = self.decision = state.decide()
        domains = state.domains()
        zone_of = {node: zone if state.topology_key == ZONE else node for zone, nodes in state.layout for node in nodes}
        chart = spread_chart(
            domains,
            state.max_skew,
            state.topology_key,
            strict=state.when_unsatisfiable == "DoNotSchedule",
            chosen=zone_of.get(decision.suggested_host, ""),
            pods=_pods_of(state, zone_of),
            rows=self._rows,
            still=False,
        )
        self._fill(state, decision)
        self.undo.disabled, self.redo.disabled = not self.history.can_undo, not self.history.can_redo
        allowed = [str(row["domain"]) for row in domains if row["allowed"]]
        words = [f"The constraint allows {_listed(allowed)} (maxSkew {state.max_skew}).", self._fate(decision)]
        if state.ignored():
            words.append(f"{state.release} does not look at {' and '.join(state.ignored())}.")
        return replace(chart, sentence=" ".join(words))

    def _fate(self, decision: Decision) -> str:
        if decision.suggested_host:
            alike = f", one of {len(decision.best)} equal nodes" if len(decision.best) > 1 else ""
            return f"{decision.release} puts it on {decision.suggested_host}{alike}."
        return f"In {decision.release} it stays pending: {decision.message}"

    def _fill(self, state: Spread, decision: Decision) -> None:
        many = len(state.nodes) > MANY
        pods: dict[str, list[int]] = {node: [] for node in state.nodes}
        for number, node in enumerate(state.placed, start=1):
            pods[node].append(number)
        areas = [
            Area(
                zone,
                zone,
                [self._box(node, pods[node], state, decision, many) for node in nodes],
                f"{sum(len(pods[node]) for node in nodes)} matching pods",
                "frame",
                "4.6em" if many else "9em",
            )
            for zone, nodes in state.layout
        ]
        self.board.bring([Scene(areas)], LEGEND)

    def _box(self, node: str, pods: list[int], state: Spread, decision: Decision, many: bool) -> Box:
        marks, reasons = state.marks(node), decision.reasons_of(node)
        signs = "".join(sign for word, sign in _SIGNS.items() if word in marks)
        count = f"{len(pods)} matching {'pod' if len(pods) == 1 else 'pods'}"
        fate = f"the next pod may not go here: {'; '.join(reasons)}" if reasons else "the next pod may go here"
        kind = "no" if reasons else "best" if node == decision.suggested_host else ""
        equal = not reasons and node in decision.best
        sign = "★" if node == decision.suggested_host else "=" if equal else ""
        tokens = [Token(f"pod-{n}", str(n) if many else f"pod {n}", kind="ok", words=f"on {node}") for n in pods]
        title = node.rpartition("-")[2] if many else node
        return Box(node, title, tokens, f"{signs}{sign}", "", kind, words=", ".join([count, *marks, fate]))

    def paint(self, chart: Chart) -> None:
        self.columns.show(chart)


def _pods_of(state: Spread, domain_of: dict[str, str]) -> dict[str, list[str]]:
    """Return domain -> names of its pods; pods on nodes that the constraint ignores come last.

    Source: KEP-3094 (nodeAffinityPolicy defaults to Honor, nodeTaintsPolicy to Ignore).
    """
    gate = state.release.enabled("NodeInclusionPolicyInPodTopologySpread")
    left_out = set(state.excluded) if not gate or state.node_affinity_policy != "Ignore" else set()
    if gate and state.node_taints_policy == "Honor":
        left_out |= state.tainted
    found: dict[str, list[str]] = {}
    numbered = list(enumerate(state.placed, start=1))
    for number, node in sorted(numbered, key=lambda one: one[1] in left_out):
        found.setdefault(domain_of[node], []).append(f"pod-{number}")
    return found


def _listed(domains: list[str]) -> str:
    shown = ", ".join(domains[:8]) or "no domain"
    return f"{shown} and {len(domains) - 8} more" if len(domains) > 8 else shown


_SIGNS = {"excluded by node affinity": "⊘", "tainted": "☣", "full": "▮"}
_NARROW = {"width": "13em"}
_WIDE = {"width": "21em"}
