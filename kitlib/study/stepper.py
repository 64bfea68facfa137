"""A scheduling cycle as a sequence of steps, one for each extension point and plugin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.plugin import SKIP
from kitlib.scheduler.framework.status import Code


@dataclass(frozen=True)
class CycleStep:
    """One step of a scheduling cycle.

    Attributes:
        point: the extension point.
        plugin: the plugin's name; "" = the framework.
        text: the result in words.
        left: names of the nodes that are feasible after the step.
    """

    point: str
    plugin: str
    text: str
    left: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.point:<12} {self.plugin:<32} {self.text}"


def steps(decision: Decision) -> list[CycleStep]:
    """Return the steps of a cycle in order."""
    every = tuple(decision.nodes)
    if decision.gate is not None:
        return [CycleStep("PreEnqueue", decision.gate.plugin, decision.gate.message, ())]
    outcome = decision.filters
    assert outcome is not None
    if not every:  # no extension point is reached
        return [CycleStep("Snapshot", "", outcome.status.message, ())]
    made: list[CycleStep] = []
    left = every
    for name, state in outcome.states.items():
        text = "nothing to do for this pod: left out" if state is SKIP else "looked at the pod"
        if outcome.prefilter_node_names is not None and name in outcome.prefilter_node_names[1]:
            left = tuple(node for node in left if node in outcome.prefilter_node_names[0])
            text = f"only {', '.join(sorted(outcome.prefilter_node_names[0]))} come into question"
        made.append(CycleStep("PreFilter", name, text, left))
    if not outcome.status.ok:
        return [
            *made,
            CycleStep("PreFilter", outcome.status.plugin, outcome.status.message, ()),
            *_after_failure(decision),
        ]
    for name in outcome.plugins:
        rows, verdicts = outcome.verdicts[name]
        bad = [decision.nodes[row] for row in rows[verdicts.codes != 0]]
        left = tuple(node for node in left if node not in set(bad))
        said = "; ".join(", ".join(reasons) for reasons in verdicts.texts[1:])
        text = f"rejects {', '.join(bad)}: {said}" if bad else f"{len(rows)} nodes pass"
        made.append(CycleStep("Filter", name, text, left))
    if not left:
        return made + _after_failure(decision)
    return made + _scoring(decision, left)


def _after_failure(decision: Decision) -> list[CycleStep]:
    if decision.post_filter is None:
        return []
    if decision.post_filter.code is Code.Success:
        victims = ", ".join(pod.key for pod in decision.victims)
        text = f"nominates {decision.nominated}; {victims} must go"
    else:
        text = decision.post_filter_message or "preemption does not help; this release does not say why"
    return [CycleStep("PostFilter", "DefaultPreemption", text, ())]


def _scoring(decision: Decision, left: tuple[str, ...]) -> list[CycleStep]:
    made: list[CycleStep] = []
    scores = decision.scores
    if scores is not None and len(scores.rows) > 1:
        for name, normalized in scores.normalized.items():
            top = [decision.nodes[row] for row in scores.rows[normalized == normalized.max()]]
            raw = scores.raw[name]
            span = f"raw {int(raw.min())} to {int(raw.max())}, weight {scores.weights[name]}"
            text = f"{span}; best for {', '.join(top[:3])}"
            made.append(CycleStep("Score", name, text, left))
        total = int(np.max(scores.total))
        made.append(CycleStep("Score", "", f"highest total {total}: {', '.join(decision.best)}", tuple(decision.best)))
    return [*made, *_binding(decision)]


def _binding(decision: Decision) -> list[CycleStep]:
    """Return the steps from Reserve to PostBind; a decision that was only explained ends with the choice of a node."""
    if decision.binding is None:
        return [
            CycleStep("Bind", "DefaultBinder", f"the pod goes to {decision.suggested_host}", (decision.suggested_host,))
        ]
    node = decision.binding.node.name
    made = []
    for point, plugin, status in decision.binding.asked:
        text = f"the pod goes to {node}" if point == "Bind" and status.ok else status.message or f"agrees to {node}"
        made.append(CycleStep(point, plugin, text, (node,)))
    return made


class Stepper:
    """A cursor over the steps of a decision.

    Args:
        decision: the decision of one scheduling cycle.
    """

    def __init__(self, decision: Decision) -> None:
        self.steps = steps(decision)
        self.position = 0

    @property
    def current(self) -> CycleStep:
        """The current step."""
        return self.steps[self.position]

    def forward(self) -> CycleStep:
        """Go to the next step; at the last one nothing changes."""
        self.position = min(self.position + 1, len(self.steps) - 1)
        return self.current

    def back(self) -> CycleStep:
        """Go to the previous step; at the first one nothing changes."""
        self.position = max(self.position - 1, 0)
        return self.current

    def __str__(self) -> str:
        return "\n".join(f"{'>' if i == self.position else ' '} {step}" for i, step in enumerate(self.steps))
