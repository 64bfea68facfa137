"""A full node with four pods: the learner guesses which one the kernel kills when one needs more memory.

    FirstKill()

This is the start page's scene as a widget: both show the result of `kitlib.advisor.first_kill`.
"""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as ipw

from kitlib.advisor import first_kill as story
from kitlib.advisor.first_kill import CAPACITY, GROWING, MIB, PODS
from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.charts.node_memory import memory_box
from kitlib.charts.oom_ranking import oom_ranking
from kitlib.charts.scene import QOS_LEGEND, Area, Mark, Scene
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.metrics import OomRow
from kitlib.cluster.nodes.origin import Origin, origin_of
from kitlib.node.simulated.oom import PAGE
from kitlib.widgets._parts.base import KitWidget
from kitlib.widgets._parts.board_picture import BoardPicture


class FirstKill(KitWidget):
    """A guess, a run, the kill and its reason.

    Attributes:
        guess: the pod that the learner has selected; "" = none yet.
        outcome: the kernel's action; None = none yet.
    """

    title = "Whom does the kernel kill?"
    try_this = "click the pod that you think must die, then let it happen."

    def __init__(self) -> None:
        self.guess = ""
        self.outcome: story.Outcome | None = None
        self.cluster = Cluster.simulated([dict(story.NODE)])
        self.on_close(self.cluster.close)
        self.board = BoardPicture("A node and its memory for pods", self._on_act, pick=True)
        self.board.help = "Each box is a pod, as wide as the memory that it uses. Arrow keys walk, Enter picks."
        self.run = self.button("Let it happen", self._let_it_happen, f"{GROWING.name} takes its memory now", "bolt")
        self.run.add_class("kitlib-main")
        self.again = self.button("Once more", self._begin, "with the same pods", "refresh")
        told = ipw.HTML(f"<p>Four pods run on one node. {html.escape(story.QUESTION)}</p>")
        told.add_class("kitlib-sentence")
        row = ipw.HBox([self.run, self.again])
        row.add_class("kitlib-row")
        self._why = ipw.HTML()
        super().__init__([told], picture=ipw.VBox([self.board, row, self._why]))
        self.refresh()

    @property
    def killed(self) -> str:
        """The pod that the kernel killed; "" = none yet."""
        return self.outcome.killed if self.outcome is not None else ""

    # ---- what the learner does

    def _begin(self) -> None:
        self.guess, self.outcome = "", None

    def _on_act(self, act: dict[str, Any]) -> None:
        if act["act"] == "pick" and not self.killed and act["id"] in {pod.name for pod in PODS}:
            self.guess = act["id"]
            self.refresh()

    def _let_it_happen(self) -> None:
        if self.killed:
            raise KitError("the kernel has already killed a process: press Once more")
        if not self.guess:
            raise KitError("guess first: click the pod that you expect the kernel to kill")
        outcome = story.run(self.cluster)
        if not outcome.killed:
            raise KitError(story.why(outcome, self.guess)[0])
        self.outcome = outcome

    # ---- what is shown

    def origin(self) -> Origin:
        return origin_of(self.cluster)

    def chart(self) -> Chart:
        self.run.disabled, self.again.disabled = bool(self.killed) or not self.guess, not self.killed
        if self.outcome is not None:
            chart = oom_ranking([_row(rank) for rank in self.outcome.ranking], killed=self.killed)
            return Chart(chart.title, self._verdict(), chart.columns, chart.draw, chart.plain)
        used = sum(pod.uses for pod in PODS)
        now = (
            f"Your guess: {self.guess}. Now let it happen." if self.guess else "Click the pod that you think must die."
        )
        columns = {
            "pod": [pod.name for pod in PODS],
            "QoS class": [pod.qos for pod in PODS],
            "memory": [f"{pod.uses}Mi" for pod in PODS],
            "requests": [_amount(pod.requests) for pod in PODS],
        }
        shown = [_row(story.Rank(pod.name, pod.qos, pod.uses, 0)) for pod in PODS]
        sentence = f"{used} of the {CAPACITY} MiB for pods are in use. {now}"
        return Chart("Four pods", sentence, columns, oom_ranking(shown).draw)

    def _verdict(self) -> str:
        right = "as you guessed" if self.guess == self.killed else f"your guess was {self.guess}"
        return f"The kernel killed {self.killed}, {right}. It was {GROWING.name} that took the memory."

    def paint(self, chart: Chart) -> None:
        scenes = [self._scene(moment) for moment in story.moments(self.outcome)]
        legend = [*QOS_LEGEND, Mark("your guess", state="chosen", sign="▢"), Mark("killed", sign="✗")]
        new = len(scenes) != len(self.board.frames)
        self.board.bring(scenes, legend, position=0 if not self.killed else 2 if new else self.board.position)
        self._why.value = self._reason(self.outcome) if self.outcome is not None else ""

    def _scene(self, moment: story.KillMoment) -> Scene:
        rows = [
            {
                "name": pod.name,
                "qos": pod.qos,
                "memory_bytes": moment.uses[pod.name] * MIB,
                "words": f"{pod.qos}, requests {_amount(pod.requests)}",
            }
            for pod in PODS
            if pod.name in moment.uses
        ]
        dead = [moment.dead] if moment.dead else []
        box = memory_box(str(story.NODE["name"]), CAPACITY * MIB, rows, dead=dead, chosen=self.guess, whole="for pods")
        return Scene([Area("node", "", [box], wide="100%")], moment.caption if self.killed else "")

    def _reason(self, outcome: story.Outcome) -> str:
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in story.why(outcome, self.guess))
        rows = "".join(
            f"<tr><th scope='row'>{html.escape(rank.name)}</th><td>{rank.qos}</td><td class='n'>{rank.uses} MiB</td>"
            f"<td class='n'>{rank.adj} ‰</td><td class='n'><b>{rank.points:,} MiB</b></td></tr>"
            for rank in outcome.ranking
        )
        names = ("pod", "class", "uses", "oom_score_adj", "points")
        head = "".join(f"<th scope='col'>{name}</th>" for name in names)
        return (
            f"<div class='kitlib-box' role='status'>{said}<table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )


def _row(rank: story.Rank) -> OomRow:
    points = rank.points * MIB // PAGE
    return {
        "name": rank.name,
        "qos": rank.qos,
        "memory_bytes": rank.uses * MIB,
        "oom_score_adj": rank.adj,
        "badness": points,
        "cgroup": "",
        "pid": 0,
    }


def _amount(mebibytes: int) -> str:
    return f"{mebibytes}Mi" if mebibytes else "nothing"
