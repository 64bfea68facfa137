"""Fills a node's memory pod by pod: the ranking changes, the predicted victim is marked, then the kernel kills.

The prediction is made before the pod starts (`kitlib.advisor.forecast`); the result is read from the kernel's log.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as ipw

from kitlib.advisor.forecast import Forecast, forecast, kills_in
from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.charts.base import Chart
from kitlib.charts.node_memory import mebibytes, memory_box
from kitlib.charts.oom_ranking import oom_ranking
from kitlib.charts.scene import QOS_LEGEND, Area, Mark, Scene
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.metrics import OomRow, lines_after, name_of_path, oom_rows
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.qos.qos_class import QOS_CLASSES
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.container_row import AmountField
from kitlib.widgets._parts.nodes import Passing, node_of
from kitlib.widgets._parts.story import Story

LABEL = "kitlib.dev/arena"
AT_MOST, LOOK = 20.0, 0.5
"""Timeout in seconds on a real node for a kill or for the pod's memory, and the interval of checks."""
TAKEN = 0.95
"""Fraction of its memory above which a pod has allocated it: the rest may be shared pages charged elsewhere."""
_PLACES = {"requests": "resources.requests", "uses": "kitlib.dev/workload.app"}
"""Field -> text that identifies it in an error."""


class OomArena(KitWidget):
    """Pods compete for a node's memory.

    Args:
        cluster: the cluster; None = a simulated one with a single node of 1Gi.
        node: the node's name; "" = the cluster's only or first node.
        image: image of the pods; on real nodes one with stress-ng.

    Attributes:
        history: (predicted victims, killed) of every pod that was added.
    """

    title = "OOM arena"
    try_this = "add pods until the node is full, and name the victim before the last one."

    def __init__(self, cluster: Any = None, node: str = "", image: str = "registry.k8s.io/pause:3.10") -> None:
        self.cluster = cluster if cluster is not None else Cluster.simulated(1, cpus=2, memory="1Gi")
        self._passing = Passing(self.cluster)
        self.node, self._image = node_of(self.cluster, node), image
        self.history: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self._number = 0
        self._after_kill: tuple[Forecast, str] | None = None
        self.qos = labelled(ipw.Dropdown(options=list(QOS_CLASSES), value="BestEffort"), "QoS class")
        self.request = AmountField("requests", "memory", "memory request; of a Guaranteed pod also its limit")
        self.uses = AmountField("uses", "memory", "memory that its process takes")
        self.uses.amount = "100Mi"  # a BestEffort pod requests nothing
        self.qos.observe(self._class_changed, "value")
        self.request.control.observe(self._changed, "value")
        self.uses.control.observe(self._changed, "value")
        self.add = self.button("Add the pod", self._add, "start it on the node now", "plus")
        self.wait = self.button("Wait 10 s", lambda: self._wait(10), "let time pass: killed containers start again")
        self.clear = self.button("Remove all", self._clear, "delete the pods of this arena", "trash")
        self._forecast = ipw.HTML()
        self._forecast.add_class("kitlib-sentence")
        first, second = ipw.HBox([self.qos, self.request, self.uses]), ipw.HBox([self.add, self.wait, self.clear])
        for row in (first, second):
            row.add_class("kitlib-row")
        self.board = BoardPicture("The node's memory")
        self.board.help = (
            "A box is a process, as wide as its memory. The column on it is the points by which the kernel chooses; "
            "the highest dies first. Columns that hang down are protected."
        )
        self.story = Story(self.board)
        super().__init__([first, second], picture=ipw.VBox([self.board, self._forecast]))
        self.add.add_class("kitlib-main")
        self.refresh()

    # ---- what the learner does

    def _class_changed(self, _change: Any) -> None:
        if self.qos.value != "BestEffort" and not self.request.amount:
            self.request.amount = "128Mi"  # refreshes the picture
        else:
            self._changed(None)

    def _changed(self, _change: Any) -> None:
        self._end_of_kill()
        self.refresh()

    def _add(self) -> None:
        pod, before = self._pod(), (self._last_line(), self._ended())
        expected = self._expected(pod)
        self._end_of_kill()
        self._tell("The node as it is.", self._present())
        self.cluster.apply(pod)
        self._number += 1
        more = ": more memory is wanted than there is" if expected.where else ""
        self._tell(f"{pod.name} starts{more}.", expected.rows)
        self._look(expected, before, pod)
        made = self.cluster.pod(pod.name)
        if made.status.phase == "Failed" and not self._after_kill:
            raise KitError(f"{pod.name}: {made.status.message or made.status.reason}")

    def _has_its_memory(self, pod: Pod) -> bool:
        """Return whether a pod's process has allocated its memory; the next forecast uses the memory in use then."""
        used = sum(memory for _, memory in self.node.usages().get((pod.namespace, pod.name), {}).values())
        return used >= TAKEN * Quantity.parse(self.uses.amount).value()

    def _look(self, expected: Forecast, before: tuple[str, dict[str, Any]], pod: Pod) -> None:
        """Read which pods the kernel killed: from its log, or if that is not readable, from the pods' statuses."""
        killed = self._killed(*before)
        left = 0.0 if self._passing.virtual else AT_MOST
        # On real nodes a process needs time to allocate its memory. A predicted kill is waited for until the timeout;
        # without a prediction it is enough that the pod has all its memory.
        while not killed and left > 0 and (expected.victims or not self._has_its_memory(pod)):
            self.cluster.advance(LOOK)
            left -= LOOK
            killed = self._killed(*before)
        self.history.append((expected.victims, killed))
        self._after_kill = (expected, killed[0]) if killed else None
        if killed:
            self._tell(f"The kernel kills {killed[0]}.", expected.rows, killed[0])

    def _end_of_kill(self) -> None:
        """Add the state after a kill as the next moment."""
        if self._after_kill is not None:
            killed = self._after_kill[1]
            self._after_kill = None
            self._tell(f"{killed} is gone; its memory is free.", self._present())

    def _present(self) -> list[OomRow]:
        return oom_rows(self.node)

    def _tell(self, caption: str, rows: Sequence[OomRow], dead: str = "") -> None:
        self.story.tell(self._scene(rows, dead=dead), caption, round(self._passing.seconds, 1))

    def _killed(self, last: str, ended: dict[str, Any]) -> tuple[str, ...]:
        """Return the victims in the log after the line `last`; a real log has kills of other machines too."""
        tree, pods, log = self.node.desired(), self.cluster.pods(), self.node.kernel_log()
        new = kills_in(lines_after(log, last))
        kills = [(path, name_of_path(path, pods, tree)) for _, path in new]
        told = [name for path, name in kills if name != path]
        told = told or [name for name, end in self._ended().items() if ended.get(name) != end]
        return tuple(dict.fromkeys(told))

    def _last_line(self) -> str:
        log = self.node.kernel_log()
        return log[-1] if log else ""

    def _ended(self) -> dict[str, Any]:
        """Return container -> its termination with the reason OOMKilled."""
        found = {}
        for pod in self.cluster.pods():
            for status in pod.status.container_statuses:
                for state in (status.state, status.last_state):
                    end = state.get("terminated") or {}
                    if end.get("reason") == "OOMKilled":
                        found[f"{pod.key.removeprefix('default/')}/{status.name}"] = end
        return found

    def _wait(self, seconds: float) -> None:
        self._end_of_kill()
        self.cluster.advance(seconds)
        self._tell(f"{seconds:g} s later.", self._present())

    def _clear(self) -> None:
        self._after_kill = None
        self.story.forget()
        for pod in self.cluster.pods(selector={LABEL: self.title.replace(" ", "-")}):
            self.cluster.delete("Pod", pod.name, pod.namespace, grace=0)

    # ---- what is shown

    def _pod(self) -> Pod:
        """Return the pod that the controls describe."""
        qos, uses = self.qos.value, self.uses.amount
        if not uses:
            raise KitError("uses: specify the memory that the pod's process uses, for example 100Mi")
        amounts = {"memory": self.request.amount, "cpu": "10m"}
        if qos != "BestEffort" and not self.request.amount:
            raise KitError(f"requests: a {qos} pod must have a memory request; only BestEffort pods have none")
        resources = {
            "Guaranteed": {"requests": amounts, "limits": amounts},
            "Burstable": {"requests": amounts},
            "BestEffort": {},
        }[qos]
        name = f"{qos.lower()}-{self._number + 1}"
        data = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "default",
                "labels": {LABEL: self.title.replace(" ", "-")},
                "annotations": {"kitlib.dev/workload.app": f"memory={uses}"},
            },
            "spec": {
                "nodeName": self.node.name,
                "containers": [{"name": "app", "image": self._image, "resources": resources}],
            },
        }
        pod: Pod = set_defaults(from_dict(data, Pod))
        return pod

    def _expected(self, pod: Pod) -> Forecast:
        coming = set_defaults(from_dict({"apiVersion": "v1", "kind": "Pod"}, Pod))
        coming.metadata, coming.spec = pod.metadata, pod.spec
        coming.metadata.uid = coming.metadata.uid or "the-pod-that-comes"
        there = [p for p in self.cluster.pods() if p.spec.node_name == self.node.name]
        found = forecast(self.node, there, coming)
        coming.metadata.uid = ""
        return found

    def origin(self) -> Origin:
        return self.node.origin

    def chart(self) -> Chart:
        for field in (self.request, self.uses):
            field.say("")
        if self._after_kill is not None:
            shown, killed = self._after_kill
            self._say_forecast("")
            self._shown_rows, self._coming, self._dead = shown.rows, "", killed
            return oom_ranking(shown.rows, killed=killed)
        pod = self._pod()
        expected = self._expected(pod)
        self._shown_rows, self._coming, self._dead = expected.rows, f"{pod.name}/app", ""
        self._hints()
        if expected.where:
            whose = "the machine" if expected.where == "/" else self._name_of(expected.where)
            text = f"With this pod the memory of {whose} is exceeded; predicted victim: {', '.join(expected.victims)}."
        else:
            text = "With this pod everything still fits; nobody is killed."
        self._say_forecast(text)
        used = sum(row["memory_bytes"] for row in expected.rows)
        limit = self.node.config.machine.memory
        fits = "it does not fit: a process is killed" if expected.where else "everything fits, nobody is killed"
        chart = oom_ranking(expected.rows, told=False)
        words = f"With {pod.name} {mebibytes(used)} of {mebibytes(limit)} are used; {fits}. {chart.sentence}"
        return replace(chart, sentence=words)

    def _hints(self) -> None:
        """Show hints on values that are allowed here but have no effect."""
        qos = self.qos.value
        ignored = qos == "BestEffort" and self.request.amount
        self.request.hint("a BestEffort pod requests nothing: this amount is left out" if ignored else "")

    def paint(self, chart: Chart) -> None:
        legend = [
            Mark("points: its memory", "points"),
            Mark("points that oom_score_adj adds", "added"),
            *QOS_LEGEND,
            Mark("the pod that you may add", state="promised"),
            Mark("killed", sign="✗"),
        ]
        self.story.show(self._scene(self._shown_rows, coming=self._coming, dead=self._dead), legend)

    def _scene(self, rows: Sequence[OomRow], *, coming: str = "", dead: str = "") -> Scene:
        order = sorted(rows, key=lambda row: (row["name"] == coming, row["qos"] != "node", row["name"]))
        told = [{**row, "words": f"oom_score_adj {row['oom_score_adj']}, {row['badness']:,} points"} for row in order]
        memory = self.node.config.machine.memory
        box = memory_box(self.node.name, memory, told, dead=[dead] if dead else [], coming=coming, points=True)
        return Scene([Area("node", "", [box], wide="100%")])

    def _name_of(self, path: str) -> str:
        cgroup = self.node.desired().get(path)
        return cgroup.title if cgroup is not None else "the pod itself (its limit)"

    def _say_forecast(self, text: str) -> None:
        told = f"<details><summary>The forecast (guess first)</summary><p>{html.escape(text)}</p></details>"
        self._forecast.value = told if text else ""

    def wrong(self, error: Exception) -> None:
        """Show an error beside the amount that it names, else beside the controls."""
        text = str(error)
        for name, field in (("requests", self.request), ("uses", self.uses)):
            mine = text.startswith(f"{name}:") or _PLACES[name] in text
            field.say(text if mine else "")
        shown = any(field.problem for field in (self.request, self.uses))
        self.say("" if shown else text)
