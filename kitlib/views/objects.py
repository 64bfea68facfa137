"""Views of objects and clusters: an object as its manifest, a list of objects as a table, a cluster as two tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from kitlib.api.core import Event, Node, Pod
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import to_yaml
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.views.tokens import paint

STYLE = f"""
.kit-table{{border-collapse:collapse;margin:.3em 0 .8em}}
.kit-table caption{{text-align:left;font-weight:600;padding-bottom:.2em}}
.kit-table th,.kit-table td{{text-align:left;padding:.1em 1.2em .1em 0;
border-bottom:1px solid {paint("line")}}}
"""

POD_HEADS = ("pod", "node", "phase", "ready", "restarts", "qos", "reason")
NODE_HEADS = ("node", "ready", "cpu", "memory", "pods", "taints")
EVENT_HEADS = ("time", "type", "reason", "object", "times", "message")
GAP = "-"
MAX_ROWS = 60
"""Maximum number of rows of a list; the last one has the number of omitted rows."""


def pod_row(pod: Pod) -> tuple[str, ...]:
    """Return a line of `kubectl get pods`: name, node, phase, ready containers, restarts, QoS class, waiting reason."""
    statuses = pod.status.container_statuses
    ready = f"{sum(s.ready for s in statuses)}/{len(pod.spec.containers)}"
    waiting = [s.state["waiting"].get("reason", "") for s in statuses if "waiting" in s.state]
    unscheduled = [c.reason for c in pod.status.conditions if c.type == "PodScheduled" and c.status == "False"]
    reason = pod.status.reason or next((r for r in (*waiting, *unscheduled) if r), "")
    restarts = str(sum(s.restart_count for s in statuses))
    return pod.key, pod.spec.node_name, pod.status.phase, ready, restarts, get_pod_qos(pod), reason


def node_row(node: Node, pods: Sequence[Pod]) -> tuple[str, ...]:
    """Return a node's line: allocatable resources, number of pods, and taints."""
    ready = next((c.status for c in node.status.conditions if c.type == "Ready"), "Unknown")
    given = [str(node.status.allocatable.get(name, "")) for name in ("cpu", "memory")]
    count = sum(pod.spec.node_name == node.name for pod in pods)
    taints = ", ".join(f"{t.key}{'=' + t.value if t.value else ''}:{t.effect}" for t in node.spec.taints)
    return node.name, ready, *given, str(count), taints


def object_text(obj: KubeObject) -> str:
    return to_yaml(obj)


def object_html(obj: KubeObject) -> str:
    """Return the object's manifest as a block of text with a heading for screen readers."""
    return f"<b>{escape(obj.kind)} {escape(obj.key)}</b><pre>{escape(to_yaml(obj))}</pre>"


def cluster_html(cluster: Any) -> str:
    """Return a cluster's nodes and pods as HTML tables."""
    pods, nodes = cluster.list("Pod"), cluster.list("Node")
    tables = (
        _table(f"Nodes ({len(nodes)})", NODE_HEADS, [node_row(node, pods) for node in nodes]),
        _table(f"Pods ({len(pods)})", POD_HEADS, [pod_row(pod) for pod in pods]),
    )
    return f"<style>{STYLE}</style><div>{escape(repr(cluster))}</div>{''.join(tables)}"


def cluster_text(cluster: Any) -> str:
    """Return a cluster's nodes and pods as text."""
    pods, nodes = cluster.list("Pod"), cluster.list("Node")
    parts = [repr(cluster), *_columns([NODE_HEADS, *(node_row(node, pods) for node in nodes)])]
    return "\n".join([*parts, "", *_columns([POD_HEADS, *map(pod_row, pods)])])


def is_list_of_objects(value: Any) -> bool:
    """Return whether a value is a list with objects of the API and nothing else."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, KubeObject) for one in value)


def list_html(objects: Sequence[KubeObject]) -> str:
    """Return a list of objects as an HTML table: `cluster.pods()`, `cluster.nodes`, `cluster.events()`."""
    heads, rows = _listed(objects)
    kinds = ", ".join(dict.fromkeys(item.kind for item in objects))
    return f"<style>{STYLE}</style>{_table(f'{kinds} ({len(objects)})', heads, rows)}"


def list_text(objects: Sequence[KubeObject]) -> str:
    """Return a list of objects as aligned text."""
    heads, rows = _listed(objects)
    return "\n".join(_columns([heads, *rows]))


def _listed(objects: Sequence[KubeObject]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Return header and rows: the columns of pods, nodes or events, else kind, namespace and name."""
    heads: Sequence[str]
    if all(isinstance(item, Pod) for item in objects):
        heads, rows = POD_HEADS, [pod_row(item) for item in objects if isinstance(item, Pod)]
    elif all(isinstance(item, Node) for item in objects):
        found = [node_row(item, ()) for item in objects if isinstance(item, Node)]
        heads, rows = (*NODE_HEADS[:4], NODE_HEADS[5]), [(*row[:4], row[5]) for row in found]  # without the pods
    elif all(isinstance(item, Event) for item in objects):
        heads, rows = EVENT_HEADS, [event_row(item) for item in objects if isinstance(item, Event)]
    else:
        heads, rows = ("kind", "namespace", "name"), [(item.kind, item.namespace, item.name) for item in objects]
    shown = [tuple(cell or GAP for cell in row) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        shown.append((f"… {len(rows) - MAX_ROWS} more", *("" for _ in heads[1:])))
    return heads, shown


def event_row(event: Event) -> tuple[str, ...]:
    """Return a line of `kubectl get events`, with the whole message."""
    last = event.last_timestamp or event.event_time
    about = f"{event.involved_object.kind}/{event.involved_object.name}"
    time = f"{last:%H:%M:%S}" if last is not None else ""
    return time, event.type, event.reason, about, str(event.count or 1), event.message


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<table class="kit-table"><caption>{escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
