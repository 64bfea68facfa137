"""Builds a pod in a form or in YAML, and shows its QoS class and every cgroup file that it will get.

The values follow from the kubelet's own formulas (`kubelet.cm.desired`) for a node whose release, driver and cgroup
version can be selected. Boxes (requests) and lids (limits) of the picture can be dragged. The last line of each
container is its oom_score_adj, a file in /proc.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import containers_of, pod_limits, pod_requests
from kitlib.api.release import RELEASES, Release
from kitlib.api.serialize import load
from kitlib.charts.base import Chart
from kitlib.charts.pod_box import scale_end, value_at
from kitlib.charts.pod_resources import pod_resources_chart
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.cm.cgroup_levels import running_containers
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_allocatable import pods_limit
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.drawn_picture import DrawnPicture, quantity_text
from kitlib.widgets._parts.live_cluster import OnCluster, live_cluster
from kitlib.widgets._parts.nodes import node_of
from kitlib.widgets._parts.pod_advice import allocatable_of, amount_of, pod_advice
from kitlib.widgets._parts.pod_form import PodForm
from kitlib.widgets._parts.pod_values import Values, predicted_values, result_html

MACHINE = MachineInfo.declare(4, "8Gi")
HELP = (
    "Box: the request. Lid: the limit. Drag either, or walk to it and press the arrow keys; Delete or a lid above the "
    "scale: not set."
)


class PodBuilder(KitWidget):
    """A pod in form and YAML, its QoS class and its cgroup files.

    Args:
        manifest: the initial pod: YAML, a path, or a Pod; or a cluster, with the kit's example as the pod.
        node: a cluster, a node of one, or a `NodeConfig`; None = 4 CPUs and 8Gi. With a cluster, a button applies the
            pod there, and shows prediction and files beside each other.
        release: "1.37"; None = the node's.

    Attributes:
        form: the two sides; `form.pod` is the pod.
        on_cluster: the button and its outcome; None without a cluster.
    """

    title = "Pod builder"
    try_this = "drag the lid of CPU onto its box, and do the same for memory: the QoS class changes."

    def __init__(self, manifest: Any = None, node: Any = None, release: str | None = None) -> None:
        if live_cluster(manifest) is not None:
            manifest, node = None, manifest
        self.cluster: Any = live_cluster(node)
        if self.cluster is not None:
            node = node_of(self.cluster)
        config = node if isinstance(node, NodeConfig) else getattr(node, "config", None) or NodeConfig(machine=MACHINE)
        self._config: NodeConfig = config
        version = getattr(getattr(node, "cgroupfs", None), "version", 2)
        named = str(release or config.release)
        self.release = labelled(
            ipw.Dropdown(options=list(RELEASES), value=named if named in RELEASES else str(Release.latest())),
            "Kubernetes",
        )
        self.version = labelled(ipw.Dropdown(options=[("v2", 2), ("v1", 1)], value=version), "cgroups")
        self.driver = labelled(
            ipw.Dropdown(options=["systemd", "cgroupfs"], value=config.settings.cgroup_driver), "driver"
        )
        for control in (self.release, self.version, self.driver):
            control.layout.width = "13em"
            control.observe(self.refresh, "value")
        choices = ipw.HBox([self.release, self.version, self.driver])
        choices.add_class("kitlib-row")
        self.form = PodForm(manifest)
        self.on_cluster: OnCluster | None = None
        if self.cluster is not None:
            self.on_cluster = OnCluster(self, self.cluster, self._typed, self._predicted, self._told)
        below = [self.on_cluster] if self.on_cluster is not None else []
        self._ends: dict[str, int] = {}
        self._lines: dict[tuple[str, str], str] = {}
        self.drawing = DrawnPicture(self._on_act, help=HELP)
        super().__init__([], picture=self.drawing, table_open=True)
        self._details.titles = ("The cgroup files that follow",)
        beside = ipw.HBox([ipw.VBox([self._picture, self._sentence]), self._details])
        beside.add_class("kitlib-beside")
        self.children = [self._head, self._message, beside, choices, *below, self.form, self._origin, self._access]
        self.form.on_change = self.refresh
        self.refresh()

    @property
    def pod(self) -> Pod:
        """The last valid pod."""
        return self.form.pod

    @property
    def qos(self) -> str:
        """The pod's QoS class."""
        return get_pod_qos(self.pod, self._node.gates)

    @property
    def _node(self) -> NodeConfig:
        return replace(self._config, release=Release(self.release.value))

    def _typed(self) -> Pod:
        """Return the pod as it was entered, without the API server's defaults."""
        if self.form.problems:
            raise KitError(f"the API server would reject this pod: {self.form.problems[0][1]}")
        pod = load(self.form.yaml)[0]
        assert isinstance(pod, Pod)
        return pod

    def _predicted(self, _pod: Pod) -> dict[str, Values]:
        assert self.cluster is not None
        return {node.name: predicted_values(self.cluster.node(node.name), self.pod) for node in self.cluster.nodes}

    def _told(self, pod: Pod, predicted: dict[str, Values]) -> str:
        assert self.cluster is not None
        return result_html(self.cluster, pod, predicted.get(pod.spec.node_name, {}))

    def origin(self) -> Origin:
        return Origin("computed", self.version.value)

    def chart(self) -> Chart:
        self.form.advise(pod_advice(self.pod, self._node))
        return pod_files_chart(self._node, self.pod, self.version.value, self.driver.value, self._ends)

    def paint(self, chart: Chart) -> None:
        self.drawing.show(chart)

    def table(self, chart: Chart) -> str:
        """Return the files as a table; those that the last change affected are tinted for a moment."""
        names = ("cgroup", "file", "value", "why")
        rows = list(zip(*(chart.columns[name] for name in names), strict=True))
        before, self._lines = self._lines, {(row[0], row[1]): row[2] for row in rows}
        lines = []
        for row in rows:
            flash = ' class="kitlib-flash"' if before and before.get((row[0], row[1])) != row[2] else ""
            lines.append(f"<tr{flash}>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>")
        head = "".join(f'<th scope="col">{name}</th>' for name in names)
        start = '<table class="kitlib-reasons"><thead>'  # where it is narrow, the reason is below its file
        return f"{start}<tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"

    # ---- boxes and lids

    def _on_act(self, act: dict[str, Any]) -> None:
        number, resource, what = str(act.get("what", "")).split()
        field = self.form.rows[int(number)].amounts[(what, resource)]
        rows = [_level(c.name, c.resources.requests, c.resources.limits) for c in containers_of(self.pod)]
        ends = {one: self._ends.get(one) or scale_end(one, rows) for one in ("cpu", "memory")}
        kind = what.removesuffix("s")
        now = rows[int(number)][f"{resource}_{kind}"]
        step = _step(resource, ends[resource])
        if act["act"] == "drag":
            self._ends = {} if act.get("done") else ends  # the scale stays under the pointer
            width = self.drawing.width
            at = value_at(float(act["y"]), resource, ends[resource], width=width, count=len(rows))
            wanted = round(at / step) * step
            open_end = wanted > ends[resource] if kind == "limit" else wanted <= 0
        else:
            wanted = (now or 0) + step * int(act.get("by", 0))
            open_end = act["act"] == "unset" or wanted <= 0
        other = rows[int(number)][f"{resource}_{'request' if kind == 'limit' else 'limit'}"]
        if kind == "request" and other is not None:
            wanted = min(wanted, other)
        if kind == "limit":
            wanted = max(wanted, other or 0, step)
        text = "" if open_end else quantity_text(resource, int(wanted))
        if text == field.amount:
            self.refresh()
        field.amount = text


def _step(resource: str, end: int) -> int:
    """Return the step of a key on a lid: a fortieth of the scale in CPU, a 32nd in memory, at least 5m and 1Mi."""
    return max(5, end // 200 * 5) if resource == "cpu" else max(2**20, end // 32)


def pod_files_chart(
    node: NodeConfig, pod: Pod, version: Any, driver: Any, ends: Mapping[str, int] | None = None
) -> Chart:
    """Return the chart of a pod's requests and limits, with the files that follow from it on that node.

    Args:
        node: the node's kubelet configuration and machine.
        pod: a defaulted pod with a UID.
        version: cgroup version, 1 or 2.
        driver: "systemd" or "cgroupfs".
        ends: resource -> end of its scale in milli-CPU or bytes; None = fitted to the pod.
    """
    tree = desired_tree(node, [pod], version=version, driver=driver)
    files = [
        {"cgroup": cgroup.title, "file": file.name, "value": file.shown, "why": file.reason}
        for cgroup in tree.of_pod(pod.metadata.uid)
        for file in cgroup.values()
        if file.written
    ]
    for container in running_containers(pod):
        score = get_container_oom_score_adjust(pod, container, node.machine.memory, node.gates)
        files.append(
            {
                "cgroup": f"container {container.name}",
                "file": "/proc/PID/oom_score_adj",
                "value": str(score),
                "why": "from the QoS class, and for Burstable from the memory request's part of the machine",
            }
        )
    containers = [_level(c.name, c.resources.requests, c.resources.limits) for c in containers_of(pod)]
    qos = get_pod_qos(pod, node.gates)
    above = _levels_above(node, pod, qos)
    return pod_resources_chart(containers, files, qos=qos, above=above, node=allocatable_of(node), ends=ends)


def _levels_above(node: NodeConfig, pod: Pod, qos: str) -> list[dict[str, Any]]:
    """Return the ancestors of the pod's containers, each with the source of its weight and of its limit.

    Source: kubelet cm.podContainerManagerImpl.EnsureExists, ResourceConfigForPod; cm.qosContainerManagerImpl.
    """
    limit = pods_limit(node.machine, node.reservations)
    requests, limits = pod_requests(pod), pod_limits(pod)
    limited = {r: a for r, a in limits.items() if all(r in c.resources.limits for c in running_containers(pod))}
    levels = [_level("kubepods", {"cpu": limit["cpu"]}, {"memory": limit["memory"]})]
    if qos != "Guaranteed":
        levels.append(_level(qos.lower(), {"cpu": requests["cpu"]} if "cpu" in requests else {}, {}))
    return [*levels, _level(f"pod {pod.name}", requests, limited)]


def _level(name: str, requests: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    amounts = {
        f"{resource}_{what}": amount_of(of[resource], resource) if resource in of else None
        for resource in ("cpu", "memory")
        for what, of in (("request", requests), ("limit", limits))
    }
    return {"name": name, **amounts}
