"""The answer to a sequence of what-if questions: values, text and plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import Gap
from kitlib.api.core import TERMINAL_PHASES, Node, Pod
from kitlib.api.podresources import pod_requests

_BAD = frozenset({"pending", "gone", "stuck", "preempted", "deferred", "infeasible", "evicted", "killed", "refused"})


@dataclass(frozen=True)
class Effect:
    """The fate of one pod.

    Attributes:
        pod: `namespace/name` before, or of a new pod.
        kind: `moves`, `pending`, `placed`, `gone`, `new`, `preempted`, `resized`, `deferred`, `infeasible`, `ends`,
            `refused` (the API server refuses the pod that its controller makes again), `unknown` (its controller is not
            computed), `stuck`, `evicted` (by the kubelet), `killed` (by the kernel), or `stays` (after a drain).
        before: its node before; "" = none.
        after: its node after; "" = none.
        why: the reason.
    """

    pod: str
    kind: str
    before: str = ""
    after: str = ""
    why: str = ""

    def __str__(self) -> str:
        to = f"{self.before or '-'} → {self.after or '-'}"
        return f"{self.pod}: {self.kind} ({to}){f', {self.why}' if self.why else ''}"


@dataclass(frozen=True)
class NodeUse:
    """The requests on one node before and after.

    Attributes:
        name: name of the node.
        allocatable: allocatable milli-CPU and bytes by resource.
        before: pod -> its requests before, milli-CPU and bytes by resource.
        after: pod -> its requests after, milli-CPU and bytes by resource.
    """

    name: str
    allocatable: Mapping[str, int]
    before: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    after: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class WhatIf:
    """The answer to a sequence of questions.

    Attributes:
        questions: text of the questions.
        effects: effects on pods; pods without an effect are not included.
        refused: actions that were refused, and the rule; () = none.
        changes: differences of releases, for `upgrade`.
        notes: explanations without an effect, such as the kernel's order under memory pressure.
        nodes: requests by node before and after.
        gaps: fields and kinds that the answer depends on but does not take into account.
    """

    questions: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    refused: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    nodes: tuple[NodeUse, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: all concerned pods have a node; 1: one waits or is lost, or an action was refused; 3: uncertain."""
        if self.refused or self.changes or any(effect.kind in _BAD for effect in self.effects):
            return 1
        return 3 if any(gap.decides for gap in self.gaps) else 0

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        words = {
            "moves": ("moves", "move"),
            "pending": ("waits for a node", "wait for a node"),
            "placed": ("gets a node", "get a node"),
            "gone": ("is lost", "are lost"),
            "refused": ("is not made again", "are not made again"),
            "unknown": ("ends with an unknown replacement", "end with unknown replacements"),
            "ends": ("ends", "end"),
            "stuck": ("waits for its end to be confirmed", "wait for their end to be confirmed"),
            "new": ("is new", "are new"),
            "preempted": ("is preempted", "are preempted"),
            "evicted": ("is evicted by the kubelet", "are evicted by the kubelet"),
            "killed": ("loses a container to the OOM killer", "lose a container to the OOM killer"),
            "resized": ("is resized", "are resized"),
            "deferred": ("waits for its resize", "wait for their resize"),
            "infeasible": ("cannot be resized on its node", "cannot be resized on their node"),
            "stays": ("stays where it is", "stay where they are"),
        }
        numbers = Counter(effect.kind for effect in self.effects)
        counted = [f"{n} {words[kind][n > 1]}" for kind in words if (n := numbers[kind])]
        parts = [f"pods: {', '.join(counted)}"] if counted else []
        differs = "difference" if len(self.changes) == 1 else "differences"
        parts += [f"{len(self.changes)} {differs} of releases"] if self.changes else []
        parts += ["; ".join(self.refused)] if self.refused else []
        return f"{', then '.join(self.questions)}: {'; '.join(parts) or 'nothing changes for any pod'}."


def _requests_by_node(pods: Iterable[Pod]) -> dict[str, dict[str, dict[str, int]]]:
    """Return node -> pod -> its requests of CPU (milli-CPU) and memory (bytes); "" = pods without a node."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for pod in pods:
        if pod.status.phase not in TERMINAL_PHASES:
            asked = pod_requests(pod)
            own = {"cpu": asked["cpu"].milli_value() if "cpu" in asked else 0}
            own["memory"] = asked["memory"].value() if "memory" in asked else 0
            found.setdefault(pod.spec.node_name, {})[pod.key] = own
    return found


def node_uses(nodes: Iterable[Node], before: Mapping[str, Pod], after: Mapping[str, Pod]) -> tuple[NodeUse, ...]:
    """Return the nodes whose pods changed, by name.

    Args:
        nodes: the nodes.
        before: UID -> stored pod before.
        after: UID -> stored pod after; a pod without a change is the same object.
    """
    # Most nodes of a large cluster keep their pods: requests are summed up only where an object was replaced.
    changed = [pod for uid, pod in before.items() if after.get(uid) is not pod]
    changed += [pod for uid, pod in after.items() if before.get(uid) is not pod]
    touched = {pod.spec.node_name for pod in changed}
    was, becomes = (
        _requests_by_node(pod for pod in pods.values() if pod.spec.node_name in touched) for pods in (before, after)
    )
    made = []
    for node in sorted((one for one in nodes if one.name in touched), key=lambda one: one.name):
        old, new = was.get(node.name, {}), becomes.get(node.name, {})
        if old != new:
            offered = node.status.allocatable
            room = {"cpu": offered["cpu"].milli_value() if "cpu" in offered else 0}
            room["memory"] = offered["memory"].value() if "memory" in offered else 0
            made.append(NodeUse(node.name, room, old, new))
    return tuple(made)


def as_data(found: WhatIf) -> dict[str, Any]:
    """Return an answer as plain data."""
    return {
        "questions": list(found.questions),
        "sentence": found.sentence,
        "effects": [asdict(effect) for effect in found.effects],
        "refused": list(found.refused),
        "changes": list(found.changes),
        "notes": list(found.notes),
        "nodes": [asdict(node) for node in found.nodes],
        "notModelled": [asdict(gap) for gap in found.gaps],
    }


def in_text(dump: Dump, found: WhatIf) -> str:
    """Return an answer as text: a sentence, a table of pods, and further notes."""
    lines = [found.sentence]
    rows = [("POD", "BECOMES", "FROM", "TO", "WHY")]
    rows += [
        (effect.pod, effect.kind, effect.before or "-", effect.after or "-", effect.why) for effect in found.effects
    ]
    if len(rows) > 1:
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        cells = ["  ".join([*(row[i].ljust(widths[i]) for i in range(4)), row[4]]).rstrip() for row in rows]
        lines += ["", *cells]
    for more in (found.notes, found.changes):
        if more:
            lines += ["", *more]
    if found.gaps:
        lines += ["", f"Not taken into account: {'; '.join(map(str, found.gaps))}."]
    if dump.unknown_release_text:
        lines += ["", f"A release that is not known: {dump.unknown_release_text}."]
    if dump.release_origin:
        lines += ["", f"{dump.release_origin}."]
    return "\n".join(lines)
