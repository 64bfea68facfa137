"""A what-if question about a cluster, step by step: the nodes before, each pod that moves, waits or ends, and after.

    WhatIfStage(dump, "drain node-1 then add node-2 2")

The question is carried out on a copy of the dump; see `kitlib.advisor.what_if`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.advisor.dump import Dump
from kitlib.advisor.what_if import what_if
from kitlib.advisor.what_if_answer import Effect, NodeUse, WhatIf
from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.charts.scene import Area, BarScale, Box, Line, Mark, Scene, Token
from kitlib.charts.what_if import nodes_before_and_after
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.pod_board import cpu_text

HELP = (
    "A box is a node, as wide as its allocatable CPU; arrow keys walk over the pods. The slider goes through the steps."
)
LEGEND = (Mark("a pod on its node", "ok"), Mark("has moved or is new", "new"), Mark("waits or is lost", "bad"))
NODE_LIMIT = 24
"""Maximum number of nodes, in the order of their names."""
EXAMPLE = """
{apiVersion: v1, kind: Node, metadata: {name: NAME}, status: {allocatable: {cpu: "CPU", memory: 8Gi, pods: "110"}}}
"""
EXAMPLE_POD = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: shop
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]
spec: {nodeName: NODE, containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]}
status: {phase: Running}
"""


class WhatIfStage(KitWidget):
    """The effects of questions on the pods of a dump.

    Args:
        source: the output of kubectl: a Dump, a path, or the text; None = an example of three nodes.
        questions: the questions, parted by "then".
    """

    title = "What-if stage"
    try_this = "say which pod finds no other node, then move the slider from the beginning to the end."
    unshared = ("source",)

    def __init__(self, source: Dump | Path | str | None = None, questions: str = "drain node-1") -> None:
        self._dump = source if isinstance(source, Dump) else Dump.read(source or _example())
        self.questions = labelled(ipw.Text(questions, layout={"width": "36em"}), "what if")
        self.ask = self.button("Ask", self._ask, "carry the questions out on a copy of the cluster", "question")
        self.board = BoardPicture("Nodes and pods, step by step", help=HELP)
        self.answer: WhatIf | None = None
        row = ipw.HBox([self.questions, self.ask])
        row.add_class("kitlib-row")
        super().__init__([row], picture=self.board)
        self.act(self._ask)

    def _ask(self) -> None:
        asked = [part.strip() for part in self.questions.value.split(" then ")]
        self.answer = what_if(self._dump, asked)

    def chart(self) -> Chart:
        if self.answer is None:
            raise KitError("no question has been answered yet: enter a question such as drain NODE, then press Ask")
        effects = self.answer.effects
        columns: dict[str, Sequence[Any]] = {
            "pod": [effect.pod for effect in effects],
            "becomes": [effect.kind for effect in effects],
            "from": [effect.before for effect in effects],
            "to": [effect.after for effect in effects],
            "why": [effect.why for effect in effects],
        }
        answer = self.answer
        return Chart(
            "Pods before and after",
            answer.sentence,
            columns,
            _nothing,
            picture=lambda: nodes_before_and_after(answer),
        )

    def paint(self, chart: Chart) -> None:
        if self.answer is not None:
            self.board.bring(steps(self.answer), LEGEND, position=0)  # the reader guesses first


def steps(found: WhatIf) -> list[Scene]:
    """Return the scene before the questions, and one after each effect."""
    nodes = found.nodes[:NODE_LIMIT]
    where = {pod: node.name for node in nodes for pod in node.before}
    size = {pod: asked["cpu"] for node in nodes for uses in (node.after, node.before) for pod, asked in uses.items()}
    changed: dict[str, Effect] = {}
    scenes = [_scene(nodes, where, size, changed, "Before")]
    for effect in found.effects:
        changed[effect.pod] = effect
        where = {**where, effect.pod: effect.after}
        scenes.append(_scene(nodes, where, size, changed, f"{str(effect).rstrip('.')}."))
    return scenes


def _scene(
    nodes: Sequence[NodeUse],
    where: Mapping[str, str],
    size: Mapping[str, int],
    changed: Mapping[str, Effect],
    caption: str,
) -> Scene:
    boxes = []
    for one in nodes:
        pods = sorted(pod for pod, node in where.items() if node == one.name)
        room, used = one.allocatable["cpu"], sum(size.get(pod, 0) for pod in pods)
        scale = BarScale(room, used)
        tokens = [_token(pod, changed, size, max(scale.of(size.get(pod, 0)), 0.04)) for pod in pods]
        words = f"{cpu_text(used)} of {cpu_text(room)} requested"
        marks = [Line(scale.of(room), f"{cpu_text(room)}: the node")] if scale.over else []
        boxes.append(Box(one.name, one.name, tokens, words, "bar", marks=marks, words=words))
    out = [pod for pod in sorted(where) if not where[pod]]
    waiting = [_token(pod, changed, size) for pod in out if changed[pod].kind == "pending"]
    ended = [_token(pod, changed, size) for pod in out if changed[pod].kind != "pending"]
    lanes = [Box("waiting", "wait for a node", waiting), Box("ended", "end without a successor", ended)]
    areas = [Area("nodes", "Nodes", boxes, wide="22em"), Area("others", "Without a node", lanes)]
    return Scene(areas, caption)


def _token(pod: str, changed: Mapping[str, Effect], size: Mapping[str, int], wide: float | None = None) -> Token:
    effect = changed.get(pod)
    asks = f"requests {cpu_text(size.get(pod, 0))}"
    words = asks if effect is None else f"{asks}, {effect.kind}{f': {effect.why}' if effect.why else ''}"
    kind = "ok" if effect is None else "new" if effect.after else "bad"
    note = "" if effect is None else effect.kind
    return Token(pod, pod.rpartition("/")[2], note, kind, size=wide, words=words, still=True)


def _example() -> str:
    made = [EXAMPLE.replace("NAME", f"node-{i}").replace("CPU", cpu) for i, cpu in ((1, "4"), (2, "2"), (3, "2"))]
    on = ("node-1", "node-1", "node-1", "node-2")
    made += [EXAMPLE_POD.replace("NAME", f"web-{i}").replace("NODE", node) for i, node in enumerate(on, 1)]
    made.append(EXAMPLE_POD.replace("NAME", "web-5").replace("NODE", "node-3"))
    return "---".join(made)


def _nothing() -> Any:
    import plotly.graph_objects as go

    return go.Figure()
