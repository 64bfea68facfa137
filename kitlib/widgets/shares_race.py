"""Busy pods compete for a node's CPUs: the shares that the weights promise, and the measured usage.

A change of a request or a limit is an in-place resize of the running pod, so the kubelet writes cpu.weight (or
cpu.shares) as in a cluster. The promise is computed from those files, the measurement is read from cpu.stat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ipywidgets as ipw

from kitlib.advisor.forecast import cpu_forecast
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.charts.base import Chart
from kitlib.charts.shares import shares_chart
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.host_load import HostLoad, HostMeter
from kitlib.cluster.nodes.metrics import Meter
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.cm.cgroup_tree import Cgroup
from kitlib.kubelet.loop.resize import PENDING
from kitlib.widgets._parts.base import KitWidget
from kitlib.widgets._parts.container_row import AmountField
from kitlib.widgets._parts.drawn_picture import DrawnPicture
from kitlib.widgets._parts.nodes import Passing, node_of

HELP = (
    "Blue: what a weight gives under its limit. Hatched: what other limits leave over. Dashed: left to others. "
    "Line: limit. Triangle: measured."
)
_REQUESTS = ("1", "500m", "250m")


class SharesRace(KitWidget):
    """Pods that are always busy.

    Args:
        cluster: the cluster; None = a simulated one with a node of 2 CPUs.
        node: the node's name; "" = the cluster's only or first node.
        requests: the CPU request of each pod; the pods are created for this widget.
        image: image of the pods.
    """

    title = "Shares race"
    try_this = "say what each racer gets, then press Run."

    def __init__(
        self,
        cluster: Any = None,
        node: str = "",
        *,
        requests: Sequence[str] = _REQUESTS,
        image: str = "registry.k8s.io/pause:3.10",
    ) -> None:
        self.cluster = cluster if cluster is not None else Cluster.simulated(1, cpus=2, memory="2Gi")
        self.node, self._passing = node_of(self.cluster, node), Passing(self.cluster)
        self._threads = self.node.config.machine.cores
        self._observed: dict[str, float] | None = None
        self._load: HostLoad | None = None
        self.names = [f"racer-{i}" for i in range(1, len(requests) + 1)]
        there = {pod.name for pod in self.cluster.pods()}
        missing = [pod for pod in zip(self.names, requests, strict=True) if pod[0] not in there]
        self.cluster.apply([self._pod(name, request, image) for name, request in missing])
        self.fields: dict[tuple[str, str], AmountField] = {}
        rows = []
        for name in self.names:
            standing = self.cluster.pod(name).spec.containers[0].resources
            cells = []
            for what in ("requests", "limits"):
                field = AmountField(f"{name} {what[:-1]}", "cpu", f"{name}: cpu {what}")
                given = getattr(standing, what).get("cpu")
                field.amount = str(given) if given is not None else ""
                field.control.continuous_update = False
                field.control.observe(lambda _change, name=name, what=what: self._resize(name, what), "value")
                self.fields[name, what] = field
                cells.append(field)
            row = ipw.HBox(cells)
            row.add_class("kitlib-row")
            rows.append(row)
        self.run = self.button("Run 5 s", lambda: self.measure(5), "let all of them work, then read cpu.stat", "play")
        super().__init__([*rows, self.run], picture=DrawnPicture(help=HELP))
        self.refresh()

    def _pod(self, name: str, request: str, image: str) -> Pod:
        container = {"name": "app", "image": image, "resources": {"requests": {"cpu": request}}}
        pod: Pod = from_dict(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "annotations": {"kitlib.dev/workload.app": f"cpu={self._threads}"}},
                "spec": {"nodeName": self.node.name, "containers": [container]},
            },
            Pod,
        )
        return pod

    # ---- what the learner does

    def _resize(self, name: str, what: str) -> None:
        field = self.fields[name, what]
        field.say("")
        if not field.amount:
            field.say("a running pod keeps the amounts that it has: they can be changed, but not taken away")
            return
        try:
            self.cluster.resize(name, {"app": {what: {"cpu": field.amount}}})
        except (KitError, ValueError) as error:
            field.say(str(error))
            return
        self._observed = self._load = None
        for condition in self.cluster.pod(name).status.conditions:
            if condition.type == PENDING and condition.status == "True":
                field.say(f"{condition.reason}: {condition.message}")
        self.refresh()

    def measure(self, seconds: float) -> None:
        """Let the pods work for some seconds and read their usage."""
        meter, host = Meter(self.node, "cpu"), HostMeter([self.node])
        meter.read(self._cgroups(), self._passing.seconds)
        self.cluster.advance(seconds)
        readings = meter.read(self._cgroups(), self._passing.seconds)
        self._load = host.load()
        self._observed = {name: reading.value or 0.0 for name, reading in readings.items()}

    # ---- what is shown

    def _cgroups(self) -> list[Cgroup]:
        mine = {f"default/{name}" for name in self.names}
        return [c for c in self.node.desired().of_kind("pod") if c.pod in mine]

    def origin(self) -> Origin:
        return self.node.origin

    def _limit(self, name: str) -> float | None:
        """Return a pod's limit in CPUs; None = no limit."""
        given = self.cluster.pod(name).spec.containers[0].resources.limits.get("cpu")
        return given.milli_value() / 1000 if given is not None else None

    def chart(self) -> Chart:
        tree = self.node.desired()
        containers = {c.path: c for c in tree.of_kind("container")}
        pods = self._cgroups()
        inside = {c.pod: path for path, c in containers.items()}
        missing = [p.pod.removeprefix("default/") for p in pods if p.pod not in inside]
        if missing or len(pods) < len(self.names):
            raise KitError(f"some pods do not run yet on {self.node.name}: wait, or read their events")
        promised = cpu_forecast(self.node, {inside[p.pod]: float(self._threads) for p in pods})
        file = "cpu.shares" if tree.version == 1 else "cpu.weight"
        names = [p.pod.removeprefix("default/") for p in pods]
        chart = shares_chart(
            names,
            [int(self.node.read(p.path, file)) for p in pods],
            [promised[inside[p.pod]] for p in pods],
            observed=None if self._observed is None else [self._observed.get(name, 0.0) for name in names],
            limits=[self._limit(name) for name in names],
        )
        disturbed = self._load.sentence if self._load is not None else ""
        return replace(chart, sentence=f"{chart.sentence} {disturbed}".rstrip())
