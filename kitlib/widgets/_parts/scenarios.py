"""The scenario of a widget: a given one, a story by its name, or the learner's choice."""

from __future__ import annotations

import html
from pathlib import Path

import ipywidgets as ipw

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.examples.stories import stories, story
from kitlib.study.scenario import Scenario
from kitlib.widgets._parts.base import labelled
from kitlib.widgets._parts.cluster_scenario import scenario_of_cluster


def scenario_of(given: Scenario | Cluster | Path | str) -> Scenario:
    """Return a scenario: unchanged, from a cluster's current state, from a YAML file, or a story by its name.

    Raises:
        KitError: another value.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Cluster):
        return scenario_of_cluster(given)
    if isinstance(given, Path) or str(given).endswith((".yaml", ".yml", ".json")):
        return Scenario.read(given)
    if isinstance(given, str):
        return story(given)
    raise KitError(
        f"scenario: Invalid value: {type(given).__name__}: must be a cluster, a Scenario or the name of a story"
    )


class ScenarioPicker:
    """The displayed scenario, and a control to change it.

    Args:
        given: a Scenario, a cluster or a file (without a choice), a story's name, or None for the first story.
    """

    def __init__(self, given: Scenario | Cluster | Path | str | None) -> None:
        names = stories()
        found = scenario_of(given) if given is not None else story(next(iter(names)))
        self._given = None if found.name in names and not isinstance(given, Scenario | Cluster) else found
        first = found.name if self._given is None else next(iter(names))
        options = [(title, name) for name, title in names.items()]
        self.control = labelled(
            ipw.Dropdown(options=options, value=first, layout={"width": "38em"}), "story", "what is shown"
        )
        if self._given is not None:
            self.control.layout.display = "none"

    @property
    def asks(self) -> bool:
        """Whether a story of the kit is displayed, whose outcome the learner is asked for."""
        return self._given is None

    @property
    def scenario(self) -> Scenario:
        """The displayed scenario."""
        return self._given if self._given is not None else story(self.control.value)


def question_of(scenario: Scenario) -> str:
    """Return the question of a scenario without its outcome."""
    return f"{scenario.question.name} waits for a node. Say where it goes and why, then look."


def story_html(scenario: Scenario) -> str:
    """Return the question as HTML, with the course of events and the reason folded."""
    asked = f"<p>{html.escape(question_of(scenario))}</p>"
    if not scenario.text:
        return asked
    source = f"<p class='kitlib-muted'>Source: {html.escape(scenario.source)}</p>" if scenario.source else ""
    return (
        f"{asked}<details><summary>What happens, and why</summary><p>{html.escape(scenario.text)}</p>{source}</details>"
    )
