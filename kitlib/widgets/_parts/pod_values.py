"""A pod's predicted values beside those in its node's files and /proc, with the values that the host refused."""

from __future__ import annotations

import html
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.cluster.nodes.origin import origin_of
from kitlib.kubelet.cm.cgroup_levels import running_containers
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.widgets._parts.live_cluster import why_waiting

Values = dict[tuple[str, str, str], str]
"""(kind of the cgroup, container, file) -> value; the kind "process" has the file oom_score_adj."""


def predicted_values(node: KernelNode, pod: Pod) -> Values:
    """Return the values that the kubelet would write for a pod on that node, computed from the manifest alone."""
    tree = desired_tree(node.config, [pod], version=node.cgroupfs.version, driver=node.config.settings.cgroup_driver)
    found: Values = {
        (cgroup.kind, cgroup.container, file.name): file.shown
        for cgroup in tree.of_pod(pod.metadata.uid)
        for file in cgroup.values()
        if file.written and cgroup.kind in ("pod", "container")
    }
    for container in running_containers(pod):
        score = get_container_oom_score_adjust(pod, container, node.config.machine.memory, node.config.gates)
        found["process", container.name, "oom_score_adj"] = str(score)
    return found


def values_chart(cluster: Cluster, pod: Pod, predicted: Values) -> Chart:
    """Return the predicted values beside those of the files and /proc of the pod's node, with the host's refusals."""
    node = cluster.node(pod.spec.node_name)
    tree = node.tree()
    read: Values = {}
    refused: Values = {}
    for cgroup in tree.of_pod(pod.metadata.uid):
        read |= {(cgroup.kind, cgroup.container, file.name): file.shown for file in cgroup.values()}
        refused |= {(cgroup.kind, cgroup.container, name): why for name, why in cgroup.refused.items()}
    for container in running_containers(pod):
        with_score = ("process", container.name, "oom_score_adj")
        try:
            proc = node.proc(pod.name, container.name, pod.namespace)
        except KitError:  # the process has ended already
            continue
        read[with_score] = proc["oom_score_adj"]
        if "refused" in proc:
            refused[with_score] = proc["refused"].partition(": ")[2]
    rows = [(_place(kind, container), file, kind, container) for kind, container, file in predicted]
    keys = list(predicted)
    same = [read.get(key) == predicted[key] for key in keys]
    why = [refused.get(key, "") for key in keys]
    columns: dict[str, list[Any]] = {
        "of": [row[0] for row in rows],
        "file": [row[1] for row in rows],
        "predicted": [predicted[key] for key in keys],
        "read": [read.get(key, "missing") for key in keys],
        "same": ["yes" if one else "no" for one in same],
    }
    if any(why):
        columns["refused by the host"] = why
    others = sum(not one and not reason for one, reason in zip(same, why, strict=True))
    said = f"{pod.name} runs on {pod.spec.node_name}: {sum(same)} of {len(keys)} predicted values are what was read"
    if count := sum(map(bool, why)):
        said += f"; the host refused {count}"
    if others:
        said += f"; {others} differ for another reason"
    return Chart("Prediction beside files", f"{said}. {origin_of(node)}", columns, _no_figure)


def result_html(cluster: Cluster, pod: Pod, predicted: Values) -> str:
    """Return the outcome of a pod: the table of values if it runs, else why it does not."""
    if why := why_waiting(pod):
        return f"<p>{html.escape(f'{pod.name} waits: {why}')}</p>"
    if pod.status.phase != "Running":
        said = f"{pod.name} is {pod.status.phase} on {pod.spec.node_name}: {pod.status.message or pod.status.reason}"
        return f"<p>{html.escape(said.rstrip(': '))}</p>"
    return values_chart(cluster, pod, predicted).table_html()


def _place(kind: str, container: str) -> str:
    return "pod" if kind == "pod" else f"container {container}" if kind == "container" else f"process of {container}"


def _no_figure() -> Any:
    raise KitError("this table has no picture")
