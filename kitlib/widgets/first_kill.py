"""A full node, four pods, one guess: whom does the kernel kill when one of them takes more memory, and why?

    FirstKill()

The pods run on a simulated kernel; the kill is that kernel's own, and the points behind it are those of oom_badness.
Source: kernel mm/oom_kill.c oom_badness; kubelet GetContainerOOMScoreAdjust.
"""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as ipw

from kitlib.advisor.forecast import kills_in
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.charts.base import Chart
from kitlib.charts.node_memory import memory_box
from kitlib.charts.oom_ranking import oom_ranking
from kitlib.charts.scene import QOS_LEGEND, Area, Mark, Scene
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.metrics import NODE, OomRow, lines_after, name_of_path, oom_rows
from kitlib.node.simulated import oom
from kitlib.views.units import size
from kitlib.widgets._parts.base import KitWidget
from kitlib.widgets._parts.board_picture import BoardPicture

MIB = 2**20
PODS: dict[str, dict[str, Any]] = {
    "db": {"uses": "260Mi", "requests": "280Mi", "limits": "280Mi"},
    "web": {"uses": "200Mi", "requests": "400Mi", "then": "440Mi"},
    "batch": {"uses": "190Mi", "requests": "160Mi"},
    "log": {"uses": "60Mi"},
}
"""Pod -> the memory that it requests, that limits it, that it uses, and that it takes later."""
GROWS, QUIET_S = "web", 60
_TELL = (
    "Four pods run on a node of 1Gi. Soon web takes 240Mi more, which the node does not have. "
    "Whom does the kernel kill?"
)


class FirstKill(KitWidget):
    """One guess, one click, the kill and why.

    Attributes:
        guess: the pod that the learner has picked; "" = none yet.
        killed: the pod that the kernel killed; "" = not yet.
    """

    title = "Whom does the kernel kill?"
    try_this = "click the pod that you think must die, then let it happen."

    def __init__(self) -> None:
        self.guess = self.killed = ""
        self.board = BoardPicture("A node and its memory", self._on_act, pick=True)
        self.board.help = "Each box is a pod, as wide as the memory that it uses. Arrow keys walk, Enter picks."
        self.run = self.button("Let it happen", self._let_it_happen, "web takes its memory now", "bolt")
        self.run.add_class("kitlib-main")
        self.again = self.button("Once more", self._begin, "with the same pods", "refresh")
        self._told = ipw.HTML(f"<p>{html.escape(_TELL)}</p>")
        self._told.add_class("kitlib-sentence")
        row = ipw.HBox([self.run, self.again])
        row.add_class("kitlib-row")
        self._why = ipw.HTML()
        super().__init__([self._told], picture=ipw.VBox([self.board, row, self._why]))
        self._begin()
        self.refresh()

    # ---- what the learner does

    def _begin(self) -> None:
        self.guess = self.killed = ""
        self.cluster = Cluster.simulated(1, cpus=2, memory="1Gi")
        self.node = self.cluster.node(next(iter(self.cluster.nodes)).name)
        self.cluster.apply([_pod(name, self.node.name) for name in PODS])
        self._rows = self._before = _ordered(oom_rows(self.node))

    def _on_act(self, act: dict[str, Any]) -> None:
        if act["act"] == "pick" and not self.killed and act["id"].partition("/")[0] in PODS:
            self.guess = act["id"].partition("/")[0]
            self.refresh()

    def _let_it_happen(self) -> None:
        if self.killed:
            raise KitError("it has happened already: press Once more")
        if not self.guess:
            raise KitError("guess first: click the pod that you think the kernel kills")
        last = next(iter(self.node.kernel_log()[-1:]), "")
        for _ in range(2 * QUIET_S):
            self.cluster.advance(1)
            kills = kills_in(lines_after(self.node.kernel_log(), last))
            if kills:
                break
        else:
            raise KitError("nothing was killed")
        self._rows = _ranked(self._before, self.node.config.machine.memory)
        tree, pods = self.node.desired(), self.cluster.pods()
        self.killed = name_of_path(kills[0][1], pods, tree).partition("/")[0]

    # ---- what is shown

    def chart(self) -> Chart:
        self.run.disabled, self.again.disabled = bool(self.killed) or not self.guess, not self.killed
        if self.killed:
            chart = oom_ranking(self._rows, killed=next(r["name"] for r in self._rows if _pod_of(r) == self.killed))
            return Chart(chart.title, self._verdict(), chart.columns, chart.draw, chart.plain)
        guessed = (
            f" Your guess: {self.guess}. Now let it happen."
            if self.guess
            else " Click the pod that you think must die."
        )
        shown = [row for row in self._before if row["qos"] != NODE]
        columns = {
            "pod": [_pod_of(row) for row in shown],
            "QoS class": [row["qos"] for row in shown],
            "memory": [size(row["memory_bytes"]) for row in shown],
            "requests": [PODS[_pod_of(row)].get("requests", "nothing") for row in shown],
        }
        used = sum(row["memory_bytes"] for row in self._before)
        sentence = f"{size(used)} of {size(self.node.config.machine.memory)} are in use.{guessed}"
        return Chart("Four pods", sentence, columns, oom_ranking(shown).draw)

    def _verdict(self) -> str:
        right = "as you guessed" if self.guess == self.killed else f"your guess was {self.guess}"
        smallest = min(PODS, key=lambda name: int(PODS[name]["uses"].removesuffix("Mi")))
        surprise = (
            " It is the smallest of the four, and not the one that took the memory." if self.killed == smallest else ""
        )
        return f"The kernel killed {self.killed}, {right}.{surprise}"

    def paint(self, chart: Chart) -> None:
        scenes = [self._scene(self._before, f"{GROWS} is quiet.")]
        if self.killed:
            victim = [row["name"] for row in self._rows if _pod_of(row) == self.killed]
            rows = _in_order(self._rows, self._before)
            left = [row for row in rows if row["name"] not in victim]
            scenes += [
                self._scene(rows, f"{GROWS} takes its memory: more is wanted than the machine has."),
                self._scene(rows, f"The kernel must kill a process. It takes one of {self.killed}.", victim),
                self._scene(left, f"{self.killed} is gone; its memory is enough for now."),
            ]
        legend = [*QOS_LEGEND, Mark("your guess", state="chosen", sign="▢"), Mark("killed", sign="✗")]
        new = len(scenes) != len(self.board.frames)
        self.board.bring(scenes, legend, position=0 if not self.killed else 2 if new else self.board.position)
        self._why.value = self._reason() if self.killed else ""

    def _scene(self, rows: list[OomRow], caption: str, dead: list[str] | None = None) -> Scene:
        told = [{**row, "words": _words(row)} for row in rows]
        guess = next((row["name"] for row in rows if _pod_of(row) == self.guess), "")
        box = memory_box(self.node.name, self.node.config.machine.memory, told, dead=dead or (), chosen=guess)
        return Scene([Area("node", "", [box], wide="100%")], caption if self.killed else "")

    def _reason(self) -> str:
        total = self.node.config.machine.memory // oom.PAGE
        rows = "".join(
            f"<tr><th scope='row'>{html.escape(_pod_of(row))}</th><td>{row['qos']}</td>"
            f"<td class='n'>{size(row['memory_bytes'])} = {row['memory_bytes'] // oom.PAGE:,}</td>"
            f"<td class='n'>{row['oom_score_adj']}</td><td class='n'>{row['oom_score_adj'] * (total // 1000):,}</td>"
            f"<td class='n'><b>{row['badness']:,}</b></td></tr>"
            for row in self._rows
            if row["qos"] != NODE
        )
        return (
            "<div class='kitlib-box' role='status'><p><b>Why:</b> the kernel kills the process with the most points. A "
            "point is a page of memory (4 KiB); the kubelet adds or takes off points by the pod's QoS class, through "
            "<code>oom_score_adj</code>: 1000 for BestEffort, −997 for Guaranteed, in between for Burstable, lower for "
            "those that request more.</p>"
            "<table><thead><tr><th scope='col'>pod</th><th scope='col'>class</th><th scope='col'>pages</th>"
            "<th scope='col'>oom_score_adj</th><th scope='col'>worth in pages</th>"
            "<th scope='col'>points</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )


def _pod(name: str, node: str) -> Pod:
    about = PODS[name]
    then = (
        f"{QUIET_S}s memory={about['uses']}; memory={about['then']}" if "then" in about else f"memory={about['uses']}"
    )
    amounts = {what: {"memory": about[what], "cpu": "100m"} for what in ("requests", "limits") if what in about}
    pod: Pod = from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {"kitlib.dev/workload.app": then}},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "app", "image": "registry.k8s.io/pause:3.10", "resources": amounts}],
            },
        },
        Pod,
    )
    return pod


def _pod_of(row: OomRow) -> str:
    return row["name"].partition("/")[0]


def _words(row: OomRow) -> str:
    if row["qos"] == NODE:
        return "of the node itself"
    about = PODS[_pod_of(row)]
    return f"{row['qos']}, requests {about.get('requests', 'nothing')}, limit {about.get('limits', 'none')}"


def _ordered(rows: list[OomRow]) -> list[OomRow]:
    """As the pods stand in the story; the order of the ranking would give the answer away."""
    order = [*PODS]
    return sorted(rows, key=lambda row: order.index(_pod_of(row)) if _pod_of(row) in order else -1)


def _in_order(rows: list[OomRow], order: list[OomRow]) -> list[OomRow]:
    names = [row["name"] for row in order]
    return sorted(rows, key=lambda row: names.index(row["name"]))


def _ranked(rows: list[OomRow], memory: int) -> list[OomRow]:
    """The processes at the moment of the kill: the one that grows has what it wants."""
    found = []
    for row in rows:
        now: OomRow = {**row}
        if _pod_of(row) == GROWS:
            wants = int(PODS[GROWS]["then"].removesuffix("Mi")) * MIB
            now["badness"] += (wants - row["memory_bytes"]) // oom.PAGE
            now["memory_bytes"] = wants
        found.append(now)
    return sorted(found, key=lambda row: -row["badness"])
