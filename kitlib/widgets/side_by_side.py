"""Two pods beside each other, each as form and YAML, with the differences between their cgroup values."""

from __future__ import annotations

from typing import Any

import ipywidgets as ipw

from kitlib.charts.base import Chart
from kitlib.charts.comparison import comparison_chart
from kitlib.cluster.nodes.origin import Origin
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.pod_form import EXAMPLE, PodForm
from kitlib.widgets.pod_builder import MACHINE, pod_files_chart

_OTHER = EXAMPLE.replace("name: web", "name: db").replace("cpu: 250m", 'cpu: "1"').replace("128Mi", "256Mi")


class SideBySide(KitWidget):
    """Two pods on the same node.

    Args:
        left: YAML, a path, or a Pod; None = a Burstable example.
        right: YAML, a path, or a Pod; None = a Guaranteed example.
        node: a node of a cluster, or a `NodeConfig`; None = 4 CPUs and 8Gi.
        version: the cgroup version; None = the node's, else 2.
    """

    title = "Two pods side by side"
    try_this = "change one amount and see which kernel values follow."

    def __init__(self, left: Any = None, right: Any = None, node: Any = None, *, version: int | None = None) -> None:
        config = node if isinstance(node, NodeConfig) else getattr(node, "config", None)
        self._config: NodeConfig = config or NodeConfig(machine=MACHINE)
        version = version or getattr(getattr(node, "cgroupfs", None), "version", 2)
        self.left, self.right = PodForm(left, folded=True), PodForm(_OTHER if right is None else right, folded=True)
        self.version = labelled(ipw.Dropdown(options=[("v2", 2), ("v1", 1)], value=version), "cgroups")
        self.version.layout.width = "12em"
        self.version.observe(self.refresh, "value")
        self.different = labelled(ipw.Checkbox(value=True, indent=False), "only what differs")
        self.different.observe(self.refresh, "value")
        for form in (self.left, self.right):
            form.layout.flex = "1 1 30em"
            form.layout.min_width = "20em"
        forms = ipw.HBox([self.left, self.right])
        choices = ipw.HBox([self.version, self.different])
        for row in (forms, choices):
            row.add_class("kitlib-row")
        super().__init__([forms, choices])
        self.left.on_change = self.right.on_change = self.refresh
        self.refresh()

    def origin(self) -> Origin:
        return Origin("computed", self.version.value)

    def chart(self) -> Chart:
        sides = [self._values(form) for form in (self.left, self.right)]
        labels = list(dict.fromkeys([*sides[0], *sides[1]]))
        rows = [{"label": label, "left": sides[0].get(label), "right": sides[1].get(label)} for label in labels]
        pods = self.left.pod, self.right.pod
        classes = [get_pod_qos(pod, self._config.gates) for pod in pods]
        about = f"{pods[0].name} is {classes[0]}, {pods[1].name} is {classes[1]};"
        return comparison_chart(
            rows, (pods[0].name, pods[1].name), what="Value by value", about=about, only_different=self.different.value
        )

    def _values(self, form: PodForm) -> dict[str, str]:
        """Return every value of a pod under a label that does not depend on the pod."""
        pod = form.pod
        shown = pod_files_chart(self._config, pod, self.version.value, self._config.settings.cgroup_driver)
        single = len(pod.spec.containers) == 1 and not pod.spec.init_containers
        found: dict[str, str] = {"QoS class": get_pod_qos(pod, self._config.gates)}
        columns = shown.columns
        for cgroup, file, value in zip(columns["cgroup"], columns["file"], columns["value"], strict=True):
            place = "pod" if pod.key in cgroup else "container" if single and cgroup != "pause container" else cgroup
            found[f"{place} {file}".replace("/proc/PID/", "")] = value
        return found
