"""Data frames of a cluster's pods, nodes, events and cgroup values; pandas is imported on first use.

The functions `…_rows` return the same as plain rows, for tables: they need no pandas, which a page in a browser has to
load first, and may not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kitlib.api.core import Event, Node, Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.meta import KubeObject
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.cluster.nodes.metrics import OomRow, oom_rows, process_rows
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.views.tokens import paint

if TYPE_CHECKING:
    import pandas as pd

DIFFERENT = f"background-color: color-mix(in srgb, {paint('series-1')} 22%, transparent); font-weight: bold"


class Lister(Protocol):
    """An object that lists objects by kind, such as a cluster."""

    def list(self, kind: str) -> Any: ...


def _all(source: Iterable[Any] | Lister, kind: str) -> Iterable[Any]:
    """Return the objects themselves, or those of a cluster."""
    return source if isinstance(source, Iterable) and not hasattr(source, "list") else source.list(kind)


Row = dict[str, Any]
"""Column -> value."""
POD_COLUMNS = ("namespace", "pod", "node", "phase", "reason", "qos", "priority", "restarts")
"""Columns of a table without pods."""
EVENT_COLUMNS = ("time", "type", "reason", "object", "subobject", "count", "message")


def pods_rows(pods: Iterable[Pod] | Lister) -> list[Row]:
    """Return one row per pod: node, status, QoS class, requests and limits in milli-CPU and bytes.

    Args:
        pods: the pods, or a cluster.
    """
    rows = list[Row]()
    for pod in _all(pods, "Pod"):
        requests, limits = pod_requests(pod), pod_limits(pod)
        statuses = pod.status.container_statuses
        rows.append(
            {
                "namespace": pod.namespace,
                "pod": pod.name,
                "node": pod.spec.node_name,
                "phase": pod.status.phase,
                "reason": pod.status.reason,
                "qos": get_pod_qos(pod),
                "priority": pod.spec.priority or 0,
                "restarts": sum(status.restart_count for status in statuses),
                "cpu request (m)": requests["cpu"].milli_value() if "cpu" in requests else 0,
                "cpu limit (m)": limits["cpu"].milli_value() if "cpu" in limits else None,
                "memory request": requests["memory"].value() if "memory" in requests else 0,
                "memory limit": limits["memory"].value() if "memory" in limits else None,
            }
        )
    return rows


def pods_frame(pods: Iterable[Pod] | Lister) -> pd.DataFrame:
    """Return the rows of `pods_rows` as a data frame."""
    frame = _frame(pods_rows(pods), list(POD_COLUMNS))
    whole = {name: "Int64" for name in ("cpu limit (m)", "memory limit") if name in frame}
    return frame.astype(whole)


def nodes_frame(nodes: Iterable[Node] | Lister) -> pd.DataFrame:
    """Return one row per node: readiness, taints, capacity and allocatable."""
    rows = []
    for node in _all(nodes, "Node"):
        row: dict[str, Any] = {
            "node": node.name,
            "ready": next((c.status for c in node.status.conditions if c.type == "Ready"), "Unknown"),
            "taints": ", ".join(f"{t.key}{'=' + t.value if t.value else ''}:{t.effect}" for t in node.spec.taints),
        }
        for name in ("cpu", "memory", "pods"):
            for what, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
                if name in amounts:
                    row[f"{name} {what}"] = str(amounts[name])
        rows.append(row)
    return _frame(rows, ["node", "ready", "taints"])


def events_rows(events: Iterable[Event] | Lister, reason: str = "") -> list[Row]:
    """Return one row per event, oldest first, optionally only those with a reason."""
    return [
        {
            "time": event.last_timestamp,
            "type": event.type,
            "reason": event.reason,
            "object": f"{event.involved_object.kind.lower()}/{event.involved_object.name}",
            "subobject": event.involved_object.field_path,
            "count": event.count,
            "message": event.message,
        }
        for event in _all(events, "Event")
        if reason in ("", event.reason)
    ]


def events_frame(events: Iterable[Event] | Lister, reason: str = "") -> pd.DataFrame:
    """Return the rows of `events_rows` as a data frame."""
    return _frame(events_rows(events, reason), list(EVENT_COLUMNS))


def claims_frame(claims: Iterable[ResourceClaim] | Lister) -> pd.DataFrame:
    """Return one row per ResourceClaim: its state as kubectl prints it, its devices, and its users."""
    rows = []
    for claim in _all(claims, "ResourceClaim"):
        allocation, users = claim.status.allocation, claim.status.reserved_for
        states = ["deleted"] if claim.metadata.deletion_timestamp is not None else []
        states += ["allocated"] if allocation is not None else ["pending"] if not states else []
        results = allocation.devices.results if allocation is not None else []
        rows.append(
            {
                "namespace": claim.namespace,
                "claim": claim.name,
                "state": ",".join([*states, *(["reserved"] if users else [])]),
                "devices": ", ".join(f"{result.driver}/{result.pool}/{result.device}" for result in results),
                "reserved for": ", ".join(user.name for user in users),
            }
        )
    return _frame(rows, ["namespace", "claim", "state", "devices", "reserved for"])


def processes_rows(cluster: Any) -> list[Row]:
    """Return one row per process of a pod, node by node, as the nodes' kernels report it.

    Raises:
        KitError: a node has no kernel (kubelets=False).
    """
    return [{**row} for node in _all(cluster, "Node") for row in process_rows(cluster.node(node.name))]


def processes_frame(cluster: Any) -> pd.DataFrame:
    """Return the rows of `processes_rows` as a data frame."""
    return _frame(processes_rows(cluster), ["node", "namespace", "pod", "container", "pid", "command"])


def oom_order_rows(node: Any) -> list[Row]:
    """Return one row per process of a node in the OOM killer's order, the first to be killed on top.

    `badness` is the value that it compares: the pages in use plus `oom_score_adj` thousandths of all pages. If the
    host refused the kubelet's `oom_score_adj`, `refused` has the value and the reason, and `badness wanted` the
    resulting badness.

    Source: mm/oom_kill.c oom_badness.
    """
    ranked = oom_rows(node)
    refused = any("refused" in row for row in ranked)
    return [
        {
            "name": row["name"],
            "class": row["qos"],
            "memory": f"{row['memory_bytes'] / 2**20:.0f}Mi",
            "oom_score_adj": row["oom_score_adj"],
            "badness": row["badness"],
            **(_refused(row) if refused else {}),
        }
        for row in ranked
    ]


def oom_frame(node: Any) -> pd.DataFrame:
    """Return the rows of `oom_order_rows` as a data frame."""
    return _frame(oom_order_rows(node), ["name", "class", "memory", "oom_score_adj", "badness"])


def _refused(row: OomRow) -> dict[str, Any]:
    if "refused" not in row:
        return {"badness wanted": row["badness"], "refused": ""}
    return {"badness wanted": row["wanted_badness"], "refused": f"{row['refused']}: {row['why']}"}


def objects_frame(objects: Iterable[KubeObject]) -> pd.DataFrame:
    """Return one row per object, of any kind."""
    rows = [
        {
            "kind": obj.kind,
            "namespace": obj.namespace,
            "name": obj.name,
            "created": obj.metadata.creation_timestamp,
            "version": obj.metadata.resource_version,
        }
        for obj in objects
    ]
    return _frame(rows, ["kind", "namespace", "name", "created", "version"])


def cgroup_rows(tree: CgroupTree, observed: CgroupTree | None = None) -> list[Row]:
    """Return one row per file: cgroup, file, value, reason; with `observed`, both values and whether they are equal.

    If the host of a real node refused a file, the column `refused` has the reason; otherwise the column is missing.
    """
    rows = list[Row]()
    paths = [*tree, *(path for path in observed or () if path not in tree)]
    for path in paths:
        mine = tree.get(path)
        theirs = observed[path] if observed is not None and path in observed else None
        names = list(mine or ()) or list(theirs or ())
        for name in names:
            own = mine.get(name) if mine is not None else None
            row: Row = {
                "cgroup": path,
                "kind": mine.kind if mine is not None else "",
                "pod": mine.pod if mine is not None else "",
                "container": mine.container if mine is not None else "",
                "qos": mine.qos if mine is not None else "",
                "file": name,
            }
            if observed is None:
                row["value"] = own.shown if own is not None else None
            else:
                seen = theirs.get(name) if theirs is not None else None
                row["desired"] = own.shown if own is not None else None
                row["observed"] = seen.shown if seen is not None else None
                row["same"] = row["desired"] == row["observed"]
                if theirs is not None and name in theirs.refused:
                    row["refused"] = theirs.refused[name]
            row["why"] = own.reason if own is not None else ""
            rows.append(row)
    if any("refused" in row for row in rows):
        rows = [{**row, "refused": row.get("refused", "")} for row in rows]
    return rows


def cgroup_frame(tree: CgroupTree, observed: CgroupTree | None = None) -> pd.DataFrame:
    """Return the rows of `cgroup_rows` as a data frame."""
    values = ["value"] if observed is None else ["desired", "observed", "same"]
    return _frame(cgroup_rows(tree, observed), ["cgroup", "kind", "pod", "container", "qos", "file", *values, "why"])


def mark_differences(frame: pd.DataFrame) -> Any:
    """Return a pandas Styler that marks the differing cells of a `cgroup_frame` with two trees."""

    def style(row: Any) -> list[str]:
        marked = not row["same"]
        return [DIFFERENT if marked and name in ("desired", "observed") else "" for name in row.index]

    return frame.style.apply(style, axis=1)


def _frame(rows: Sequence[Mapping[str, Any]], columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
