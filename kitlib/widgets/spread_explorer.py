"""Zones and nodes on which pods spread: move pods about, change the constraint and the release, see skew and verdicts.

SpreadExplorer()
SpreadExplorer("affinity-and-skew", release="1.23")
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.release import RELEASES, Release
from kitlib.charts.base import Chart
from kitlib.charts.spread import spread_chart
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.plugins.pod_topology_spread import HOSTNAME, ZONE
from kitlib.study.scenario import Scenario
from kitlib.study.spread_stage import History, Spread
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.grid import Act, Grid
from kitlib.widgets._parts.scenarios import scenario_of

HELP = (
    "Arrow keys walk; + or Enter adds a pod, - removes one, m or dragging moves one; x excludes the node by node "
    "affinity, t taints it, f fills it."
)
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
        scenario: a story's name, a YAML file, a Scenario, or None for an empty cluster.
        zones, nodes: of the empty cluster: zones, and nodes in each.
        release: whose scheduler decides.
    """

    title = "Spread explorer"

    def __init__(
        self,
        scenario: Scenario | Path | str | None = None,
        *,
        zones: int = 3,
        nodes: int = 4,
        release: Release | str | None = None,
    ) -> None:
        followed = Release.of(release)
        if scenario is None:
            first = Spread.grid(zones, nodes, release=followed)
        else:
            first = Spread.of(scenario_of(scenario), followed)
        self.history = History(first)
        self.decision: Decision | None = None
        self._setting = False
        self._make_controls(first)
        self.grid = Grid("Matching pods per node", help=HELP, on_act=self._on_act, movable=True, letters="xtf")
        buttons = ipw.HBox([self.step, self.undo, self.redo, self.clear])
        sizes = ipw.HBox([self.zones, self.nodes, self.release])
        constraint = ipw.HBox([self.max_skew, self.min_domains, self.topology_key, self.when_unsatisfiable])
        policies = ipw.HBox([self.node_affinity_policy, self.node_taints_policy])
        for row in (buttons, sizes, constraint, policies):
            row.add_class("kitlib-row")
        super().__init__([sizes, constraint, policies, buttons, self.grid])
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
            ipw.Dropdown(options=["DoNotSchedule", "ScheduleAnyway"], value=first.when_unsatisfiable, layout=_WIDE),
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
        for name in _FIELDS:
            getattr(self, name).observe(self._constraint_changed, "value")
        self.release.observe(self._constraint_changed, "value")
        for control in (self.zones, self.nodes):
            control.observe(self._size_changed, "value")

    # ---- what the learner does

    @property
    def state(self) -> Spread:
        """The cluster and the constraint as they stand."""
        return self.history.now

    def place(self) -> None:
        """The scheduler places the next pod, or says why not."""
        state, _ = self.state.place()
        self._do(state)

    def _do(self, state: Spread) -> None:
        self.history.do(state)

    def _go(self, state: Spread) -> None:
        """Bring the controls to a state of the history."""
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

    def _on_act(self, act: Act) -> None:
        def node_at(row: int, column: int) -> str:
            nodes = self.state.layout[row][1]
            if column >= len(nodes):
                raise ValueError(f"{self.state.layout[row][0]} has {len(nodes)} nodes only")
            return nodes[column]

        def change() -> None:
            node = node_at(act.row, act.column)
            if act.what in ("press", "more"):
                self._do(self.state.add(node))
            elif act.what == "less":
                self._do(self.state.remove(node))
            elif act.what == "move" and act.to is not None:
                self._do(self.state.move(node, node_at(*act.to)))
            elif act.key in _LETTERS:
                self._do(self.state.toggle(_LETTERS[act.key], node))

        self.act(change)

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

    # ---- what the learner sees

    def chart(self) -> Chart:
        state = self.state
        decision = self.decision = state.decide()
        domains = state.domains()
        chart = spread_chart(domains, state.max_skew, state.topology_key)
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
        counts = state.counts()
        widest = max(len(nodes) for _, nodes in state.layout)
        verdicts = {node: decision.reasons_of(node) for node in state.nodes}
        cells = [
            [self._cell(node, count, state, decision, verdicts[node]) for node, count in zip(nodes, row, strict=True)]
            + [("", "no such node", "absent")] * (widest - len(nodes))
            for (_, nodes), row in zip(state.layout, counts, strict=True)
        ]
        self.grid.fill([zone for zone, _ in state.layout], [str(n + 1) for n in range(widest)], cells)

    def _cell(
        self, node: str, count: int, state: Spread, decision: Decision, reasons: list[str]
    ) -> tuple[str, str, str]:
        marks = state.marks(node)
        signs = "".join(sign for word, sign in _SIGNS.items() if word in marks)
        pods = f"{count} matching {'pod' if count == 1 else 'pods'}"
        fate = f"the next pod may not go here: {'; '.join(reasons)}" if reasons else "the next pod may go here"
        kind = "no" if reasons else "best" if node == decision.suggested_host else "ok"
        star = "★" if node == decision.suggested_host else ""
        return f"{count or ''}{signs}{star}", ", ".join([node, pods, *marks, fate]), kind


def _listed(domains: list[str]) -> str:
    shown = ", ".join(domains[:8]) or "no domain"
    return f"{shown} and {len(domains) - 8} more" if len(domains) > 8 else shown


_SIGNS = {"excluded by node affinity": "⊘", "tainted": "☣", "full": "▮"}
_NARROW = {"width": "13em"}
_WIDE = {"width": "21em"}
