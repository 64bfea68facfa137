"""A rolling update, pod by pod: the effects of maxSurge, maxUnavailable and minReadySeconds, and a bad version.

    RolloutStage()

The Deployment controller of the kit's cluster makes the decisions; the player shows its actions.

Source: kube-controller-manager pkg/controller/deployment (rolling.go, recreate.go, sync.go).
"""

from __future__ import annotations

from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import is_condition_true
from kitlib.api.numbers import scaled_value
from kitlib.charts.base import Chart
from kitlib.charts.rollout import rollout_chart
from kitlib.charts.scene import Area, Box, Line, Mark, Scene, Token
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.origin import Origin, origin_of
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.board_picture import BoardPicture
from kitlib.widgets._parts.story import Story

STEP_S, LONGEST_S = 0.5, 90.0
_SERVES, _CRASHES = "trap 'sleep 2; exit' TERM; while true; do sleep 1; done", "sleep 1; exit 1"
"""A shell runs its trap only after the foreground command, which must be short. Source: POSIX sh, trap."""
_NAME = "web"
_AMOUNTS = ("0", "1", "2", "25%", "50%", "100%")
_LEGEND = (
    Mark("ready", "ok"),
    Mark("not ready yet, or failing", "warn"),
    Mark("is being ended", sign="⏏"),
)


class RolloutStage(KitWidget):
    """A Deployment that is updated to another version.

    Attributes:
        story: the moments of the rollout.
    """

    title = "Rollout stage"
    try_this = "say how few pods will be ready during the update, then roll it out."

    def __init__(self) -> None:
        self.replicas = labelled(ipw.IntSlider(4, min=1, max=8, layout={"width": "18em"}), "replicas")
        self.strategy = labelled(
            ipw.Dropdown(options=["RollingUpdate", "Recreate"], layout={"width": "18em"}), "strategy"
        )
        self.surge = labelled(ipw.Dropdown(options=_AMOUNTS, value="25%", layout=_NARROW), "maxSurge")
        self.unavailable = labelled(ipw.Dropdown(options=_AMOUNTS, value="25%", layout=_WIDE), "maxUnavailable")
        self.min_ready = labelled(
            ipw.IntSlider(2, min=0, max=10, layout={"width": "20em"}), "minReadySeconds", "seconds until it counts"
        )
        self.bad = labelled(
            ipw.Checkbox(False, indent=False, layout={"width": "max-content"}),
            "the new version crashes",
            "its process ends with an error after a second",
        )
        self.roll = self.button("Roll out version 2", self._roll_out, "apply the other version and watch", "play")
        self.roll.add_class("kitlib-main")
        for control in (self.replicas, self.strategy, self.surge, self.unavailable, self.min_ready, self.bad):
            control.observe(self._other, "value")
        self.board = BoardPicture("The pods of both versions")
        self.board.help = "A box is a pod; the player goes through the update."
        self.story = Story(self.board)
        rows = [
            ipw.HBox([self.replicas, self.strategy, self.surge, self.unavailable]),
            ipw.HBox([self.min_ready, self.bad, self.roll]),
        ]
        for row in rows:
            row.add_class("kitlib-row")
        self.cluster: Any = None
        super().__init__(rows, picture=self.board)
        self.on_close(self._end)
        self.act(self._begin)

    # ---- what the learner does

    def _other(self, _change: Any) -> None:
        self.act(self._begin)

    def _end(self) -> None:
        if self.cluster is not None:
            self.cluster.close()
            self.cluster = None

    def _begin(self) -> None:
        """Set the initial state, in which version 1 is complete and no rollout has started."""
        rolling = self.strategy.value == "RollingUpdate"
        self.surge.disabled = self.unavailable.disabled = not rolling
        self._end()
        self.story.forget()
        self._moments: list[dict[str, Any]] = []
        self.cluster = Cluster.simulated(3, cpus=2, memory="4Gi")
        self.cluster.apply(self._deployment(1))
        self.cluster.advance(self.min_ready.value + 10)
        self._tell("Version 1 serves.")

    def _roll_out(self) -> None:
        if len(self._moments) > 1:
            self._begin()
        before, passed = self._counts(), 0.0
        self.cluster.apply(self._deployment(2))
        while True:
            now = self._counts()
            if now != before:
                self._tell(_what(before, now))
                before = now
            if passed >= LONGEST_S or self._complete():
                break
            self.cluster.advance(STEP_S)
            passed += STEP_S
        self._tell(
            "Version 2 serves alone." if self._complete() else "The rollout stands still: version 2 never serves."
        )

    def _deployment(self, version: int) -> dict[str, Any]:
        strategy: dict[str, Any] = {"type": self.strategy.value}
        if strategy["type"] == "RollingUpdate":
            strategy["rollingUpdate"] = {
                "maxSurge": _int_or_percent(self.surge.value),
                "maxUnavailable": _int_or_percent(self.unavailable.value),
            }
        script = _CRASHES if version == 2 and self.bad.value else _SERVES
        container = {"name": "app", "image": f"registry.k8s.io/web:{version}", "command": ["sh", "-c", script]}
        pod = {"metadata": {"labels": {"app": _NAME}}, "spec": {"containers": [container]}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": _NAME},
            "spec": {
                "replicas": self.replicas.value,
                "minReadySeconds": self.min_ready.value,
                "selector": {"matchLabels": {"app": _NAME}},
                "strategy": strategy,
                "template": pod,
            },
        }

    # ---- what is shown

    def _pods(self) -> dict[int, list[Pod]]:
        """Return version -> its pods, the oldest first."""
        found: dict[int, list[Pod]] = {1: [], 2: []}
        for pod in self.cluster.pods(selector={"app": _NAME}):
            found[int(pod.spec.containers[0].image.rpartition(":")[2])].append(pod)
        return found

    def _counts(self) -> dict[str, int]:
        counts = {"old, ready": 0, "new, ready": 0, "not ready": 0, "ending": 0}
        for version, pods in self._pods().items():
            for pod in pods:
                ends, ready = pod.metadata.deletion_timestamp is not None, _ready(pod)
                name = "ending" if ends else "not ready" if not ready else ("old, ready", "new, ready")[version - 1]
                counts[name] += 1
        return counts

    def _complete(self) -> bool:
        """Return whether `kubectl rollout status` is done. Source: polymorphichelpers DeploymentStatusViewer.Status."""
        status = self.cluster.get("Deployment", _NAME).status
        counts = {status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")}
        return counts == {self.replicas.value} and not self._pods()[1]

    def _tell(self, what: str) -> None:
        seconds = float(self.cluster.clock.seconds)
        self._moments.append({"seconds": seconds, "what": what, **self._counts()})
        self.story.tell(self._scene(), what, seconds)

    def _scene(self) -> Scene:
        boxes = [
            Box(
                f"version-{version}",
                f"Version {version}",
                [_token(pod) for pod in pods],
                f"{sum(_ready(pod) for pod in pods)} of {len(pods)} ready" if pods else "no pods",
            )
            for version, pods in self._pods().items()
        ]
        boxes.append(self._sum())
        return Scene([Area("deployment", f"Deployment {_NAME}, {self.replicas.value} replicas", boxes, wide="100%")])

    def _sum(self) -> Box:
        """Return a bar of all pods that are not being ended, under the lines that the update must not cross."""
        (least, most), counts = self.bounds(), self._counts()
        end = most + 1  # room right of the upper line
        parts = (
            ("ready", counts["old, ready"] + counts["new, ready"], "ok"),
            ("not ready", counts["not ready"], "warn"),
        )
        tokens = [
            Token(f"sum {name}", f"{count} {name}", "", kind, "", count / end, f"{count} {name}", True)
            for name, count, kind in parts
            if count
        ]
        lines = [Line(most / end, f"never above {most}")]
        if least:
            lines.insert(0, Line(least / end, f"never below {least} ready"))
        return Box("sum", "Both versions", tokens, "ready pods from the left", "bar", "", lines)

    def bounds(self) -> tuple[int, int]:
        """Return the minimum of ready pods and the maximum of all pods. Source: deployment util.ResolveFenceposts."""
        wanted = int(self.replicas.value)
        if self.strategy.value == "Recreate":
            return 0, wanted
        surge = _resolved(self.surge.value, wanted, up=True)
        unavailable = _resolved(self.unavailable.value, wanted, up=False)
        # Percentages can both resolve to 0, which would stop the rollout; upstream then sets maxUnavailable to 1.
        return wanted - min(max(unavailable, 0 if surge else 1), wanted), wanted + surge

    def origin(self) -> Origin:
        return origin_of(self.cluster)

    def chart(self) -> Chart:
        if self.cluster is None:
            raise KitError("spec.strategy: the API server rejected the Deployment")
        return rollout_chart(self._moments, *self.bounds())

    def paint(self, chart: Chart) -> None:
        self.story.show(None, _LEGEND)


def _token(pod: Pod) -> Token:
    ends, ready = pod.metadata.deletion_timestamp is not None, _ready(pod)
    short = pod.name.rpartition("-")[2]
    note = "ends" if ends else "ready" if ready else "not ready"
    words = f"{pod.name} on {pod.spec.node_name or 'no node yet'}"
    return Token(pod.name, short, note, "ok" if ready else "warn", "victim" if ends else "", None, words, True)


def _ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, "Ready")


def _what(before: dict[str, int], now: dict[str, int]) -> str:
    """Return the difference in one sentence."""
    said = []
    for name, text in (("new, ready", "of version 2 ready"), ("old, ready", "of version 1 ready")):
        if now[name] != before[name]:
            said.append(f"{now[name]} {text}")
    for name, text in (("not ready", "not ready"), ("ending", "ending")):
        if now[name] != before[name]:
            said.append(f"{now[name]} {text}")
    return f"{', '.join(said)}." if said else "A pod has another place."


def _int_or_percent(text: str) -> int | str:
    return text if text.endswith("%") else int(text)


def _resolved(text: str, whole: int, *, up: bool) -> int:
    """Resolve a percentage, maxSurge up, maxUnavailable down. Source: intstr.GetScaledValueFromIntOrPercent."""
    return scaled_value(_int_or_percent(text), whole, round_up=up)


_NARROW, _WIDE = {"width": "14em"}, {"width": "18em"}
