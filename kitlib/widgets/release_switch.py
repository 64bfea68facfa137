"""A scenario under every release: a slider, the decision of each release, and the change since the previous one.

ReleaseSwitch("affinity-and-skew")
"""

from __future__ import annotations

import html
from functools import lru_cache
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.api.release import GATES, RELEASES, Release
from kitlib.charts.base import Chart
from kitlib.charts.releases import release_board
from kitlib.cluster import Cluster
from kitlib.scheduler.decision import Decision
from kitlib.study.compare import compare, fate
from kitlib.study.scenario import Scenario
from kitlib.views.board import outcome_of
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.scenarios import ScenarioPicker, story_html


class ReleaseSwitch(KitWidget):
    """A row per node, a column per release; the selected release is framed and described in text.

    Args:
        scenario: a Scenario, a cluster as it is now, a YAML file, a story's name, or None to pick a story.
        release: the release that is selected first.
    """

    title = "Release switch"
    try_this = "move the release and see which node changes its mark."

    def __init__(
        self, scenario: Scenario | Cluster | Path | str | None = None, *, release: Release | str | None = None
    ) -> None:
        self._picker = ScenarioPicker(scenario)
        self.story = self._picker.control
        first = Release(release).name if release is not None else RELEASES[1]
        self.release = labelled(
            ipw.SelectionSlider(options=RELEASES, value=first, layout={"width": "30em"}), "release", "kube-scheduler"
        )
        self._story, self._gates = ipw.HTML(), ipw.HTML()
        self._story.add_class("kitlib-sentence")
        self._decide = lru_cache(maxsize=64)(self._decided)
        self.story.observe(self._other_story, "value")
        self.release.observe(self.refresh, "value")
        self.before = self.button("Back to one that differs", lambda: self._jump(-1), icon="step-backward")
        self.after = self.button("Next release that differs", lambda: self._jump(1), icon="step-forward")
        jumps = ipw.HBox([self.release, self.before, self.after])
        jumps.add_class("kitlib-row")
        super().__init__([self.story, self._story, jumps, self._gates])
        self.refresh()

    @property
    def scenario(self) -> Scenario:
        """The scenario that is decided."""
        return self._picker.scenario

    @property
    def decision(self) -> Decision:
        """The decision of the selected release."""
        return self._decide(self.release.value)

    def _decided(self, release: str) -> Decision:
        return self.scenario.decide(release)

    def _differing(self, way: int) -> str:
        """Return the nearest release before (-1) or after (1) this one with another outcome; "" = none."""
        place = RELEASES.index(self.release.value)
        rest = RELEASES[place + 1 :] if way > 0 else RELEASES[:place][::-1]
        now = self._outcomes(self.release.value)
        return next((release for release in rest if self._outcomes(release) != now), "")

    def _outcomes(self, release: str) -> list[object]:
        made = self._decide(release)
        return [made.suggested_host, *(outcome_of(made, node) for node in made.nodes)]

    def _jump(self, way: int) -> None:
        self.release.value = self._differing(way) or self.release.value

    def _other_story(self, _change: Any) -> None:
        self._decide.cache_clear()
        self.refresh()

    def chart(self) -> Chart:
        now = self.release.value
        scenario = self.scenario
        made = {release: self._decide(release) for release in RELEASES}
        nodes = made[now].nodes
        verdicts = {(node, release): outcome_of(made[release], node) for node in nodes for release in RELEASES}
        place = RELEASES.index(now)
        self.before.disabled, self.after.disabled = not self._differing(-1), not self._differing(1)
        words = [f"{now}: {fate(made[now])}."]
        if made[now].message:
            words.append(f"The message: {made[now].message}")
        if self.before.disabled and self.after.disabled:
            words.append("All releases decide this alike.")
        if place:
            words.append(compare(scenario, RELEASES[place - 1], now).sentence())
        self._story.value = story_html(scenario)
        self._gates.value = _gates_html(place)
        return release_board(nodes, RELEASES, verdicts, current=now, sentence=" ".join(words))


def _gates_html(place: int) -> str:
    """Return the kit's feature gates whose default differs from the previous release as HTML."""
    if not place:
        return "<p>The oldest release that the kit follows.</p>"
    before, now = Release(RELEASES[place - 1]), Release(RELEASES[place])
    changed = [gate for gate in GATES if before.enabled(gate) != now.enabled(gate) and not gate.startswith("Kit")]
    if not changed:
        return ""
    listed = ", ".join(f"{html.escape(gate)} {'on' if now.enabled(gate) else 'off'}" for gate in changed)
    return f"<p>Gates with another default than in {before}: {listed}.</p>"
