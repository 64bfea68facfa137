"""A scenario under two releases side by side: the differences, and the gate or change that causes them.

ReleaseDifference("min-domains", "1.23", "1.24")
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.release import RELEASES, Release
from kitlib.charts.base import Chart
from kitlib.charts.releases import release_board
from kitlib.cluster import Cluster
from kitlib.study.compare import ReleaseComparison, compare, describe
from kitlib.study.scenario import Scenario
from kitlib.views.board import outcome_of
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.scenarios import ScenarioPicker


class ReleaseDifference(KitWidget):
    """Two releases, the verdict of each on every node, both messages, and the cause of the difference.

    Args:
        scenario: a Scenario, a cluster as it is now, a YAML file, a story's name, or None to pick a story.
        before: the earlier release.
        after: the later release.
    """

    title = "Two releases"
    try_this = "pick another story, or swap the two releases."

    def __init__(
        self,
        scenario: Scenario | Cluster | Path | str | None = None,
        before: Release | str = "1.23",
        after: Release | str = "1.24",
    ) -> None:
        self._picker = ScenarioPicker(scenario)
        self.story = self._picker.control
        self.before = labelled(ipw.Dropdown(options=RELEASES, value=Release(before).name, layout=_NARROW), "before")
        self.after = labelled(ipw.Dropdown(options=RELEASES, value=Release(after).name, layout=_NARROW), "after")
        self._told = ipw.HTML()
        self._found: ReleaseComparison | None = None
        for control in (self.story, self.before, self.after):
            control.observe(self.refresh, "value")
        pair = ipw.HBox([self.before, self.after, self.button("Swap", self._swap, "the other way round", "exchange")])
        pair.add_class("kitlib-row")
        super().__init__([self.story, pair, self._told])
        self.refresh()

    @property
    def difference(self) -> ReleaseComparison:
        """The result of the comparison."""
        if self._found is None:
            self._found = compare(self._picker.scenario, self.before.value, self.after.value)
        return self._found

    def _swap(self) -> None:
        self.before.value, self.after.value = self.after.value, self.before.value

    def chart(self) -> Chart:
        self._found = None
        found, names = self.difference, (self.before.value, self.after.value)
        shown = [f"{names[0]} (before)", f"{names[1]} (after)"]
        verdicts: dict[tuple[str, str], tuple[str, str]] = {}
        for label, decision in zip(shown, (found.before, found.after), strict=True):
            verdicts.update({(node, label): outcome_of(decision, node) for node in decision.nodes})
        self._told.value = _messages(found, shown) + _causes(found)
        return release_board(found.after.nodes, shown, verdicts, sentence=found.sentence())


def _messages(found: ReleaseComparison, names: list[str]) -> str:
    rows: list[tuple[str, Any]] = [(names[0], found.before), (names[1], found.after)]
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        f"<td>{html.escape(one.message or 'scheduled on ' + ' or '.join(one.best))}</td></tr>"
        for name, one in rows
    )
    return f"<table><caption>What the event says</caption><tbody>{body}</tbody></table>"


def _causes(found: ReleaseComparison) -> str:
    gates = list(found.gates) or list(found.together)
    if not gates:
        return "<p>No gate makes a difference here.</p>" if found.same_decision else ""
    how = "only together" if found.together else "alone"
    items = "".join(f"<li>{html.escape(describe(gate))}</li>" for gate in gates)
    return f"<p>What changes the outcome, {how}:</p><ul>{items}</ul>"


_NARROW = {"width": "11em"}
