"""Writes the reports of a node's agent into the object store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypedDict, cast

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition, ObjectMeta
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.pod_sync import PodSync
from kitlib.cluster.nodes.reports import StoreReports
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.real import protocol


class Report(TypedDict, total=False):
    """A message of the agent, as `kitlib.node.real.protocol` describes it.

    Attributes:
        report: the kind of report: event, condition, status, gone or restarted.
        pod: the namespace, name and UID of the pod; empty for the node itself.
        kind, reason, message, field: the fields of an event.
        condition: the condition of the node.
        status: the status of the pod.
        config, boots: the kubelet's configuration and the number of the machine's boots.
    """

    report: str
    pod: list[str]
    kind: str
    reason: str
    message: str
    field: str
    condition: dict[str, object]
    status: dict[str, object]
    config: dict[str, object]
    boots: int


class ReportWriter:
    """A writer of one node's reports.

    Args:
        node: the node's name.
        start: the date before the first report.
        restarted: function that is called after a new start of the kubelet, with its settings and the number of boots.

    Attributes:
        conditions: the node's conditions in the last report.
    """

    def __init__(
        self,
        node: str,
        start: datetime,
        restarted: Callable[[APIServer, NodeConfig, int], None] = lambda api, config, boots: None,
    ) -> None:
        self._restarted = restarted
        self._reports = StoreReports(node, start)
        self._conditions: dict[str, Condition] = {}

    @property
    def conditions(self) -> list[Condition]:
        return list(self._conditions.values())

    def retry(self, api: APIServer) -> None:
        """Write the refused reports again whose time has come."""
        self._reports.api = api
        self._reports.retry()

    def write(self, api: APIServer, report: Report, pod_sync: PodSync) -> None:
        """Write one report; an invalid one becomes an event of the node and does not affect the others.

        Args:
            api: the cluster's API server.
            report: the report as received.
            pod_sync: the pods that the node knows; a status that it reports itself is not sent back to it.
        """
        self._reports.api = api
        try:
            self._write(api, report, pod_sync)
        except Exception as error:
            text = f"{str(report.get('report'))[:20]}: {type(error).__name__}: {str(error)[:300]}"
            with suppress(KitError):  # the node may have been deleted
                self._reports.event(None, "Warning", "ReportRefused", text)

    def _write(self, api: APIServer, report: Report, pod_sync: PodSync) -> None:
        kind = report["report"]
        pod = _pod_of(report["pod"]) if report.get("pod") else None
        if kind == "event":
            about = _standing(api, pod) if pod is not None else None
            if about is not None or pod is None:
                field = report.get("field", "")
                annotations = cast("dict[str, str]", report.get("annotations") or {})
                self._reports.event(about, report["kind"], report["reason"], report["message"], field, annotations)
        elif kind == "condition":
            condition = protocol.condition_from_data(report["condition"])
            self._conditions[condition.type] = condition
            self._reports.condition(condition)
        elif kind == "restarted":
            self._restarted(api, protocol.config_from_data(report["config"]), report["boots"])
        elif pod is not None and kind == "gone":
            self._reports.gone(pod)
        elif pod is not None and kind == "status":
            self._write_status(api, pod, report["status"], pod_sync)

    def _write_status(self, api: APIServer, pod: Pod, status: Mapping[str, object], pod_sync: PodSync) -> None:
        """Write a pod's status, keeping conditions of other owners (PodScheduled); the kubelet owns those of resizes.

        Source: kubelet mergePodStatus.
        """
        standing = _standing(api, pod)
        if standing is None:
            return
        reported: Pod = from_dict({"metadata": {"name": pod.name}, "status": status}, Pod)
        ours = {c.type for c in reported.status.conditions}
        # The kubelet reports only the conditions that it owns. Those of a resize end by not being reported any longer.
        others = [c for c in standing.status.conditions if c.type not in ours and not c.type.startswith("PodResize")]
        reported.status.conditions += others
        reported.status.qos_class = standing.status.qos_class
        # Only a pod that the node knew before the write is known after it; otherwise another change would be lost.
        known = pod_sync.knows(standing)
        self._reports.status(pod, reported.status)
        after = _standing(api, pod)
        if known and after is not None:
            pod_sync.record_reported(after)


def _pod_of(key: Sequence[str]) -> Pod:
    namespace, name, uid = key
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def _standing(api: APIServer, pod: Pod) -> Pod | None:
    """Return the stored pod; None if it is deleted, or replaced by another of the same name."""
    found: Pod | None = api.store.find(Pod, pod.name, pod.namespace)
    return found if found is not None and found.metadata.uid == pod.metadata.uid else None
