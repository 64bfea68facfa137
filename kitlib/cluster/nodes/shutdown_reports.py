"""The statuses that a kubelet can still send while its machine shuts down.

The kubelet's client may send `kubeAPIQPS` requests a second, and `kubeAPIBurst` at once. A status takes two of them:
the pod is read, its status is patched. The shutdown manager does not wait for them, so the statuses that are queued
when the machine powers off are lost: the pods stay Running in the API. Only the last status of a pod is queued, in the
order in which pods got their first one; upstream's order is that of a map.

Without a shutdown the limit is not simulated: a status that comes seconds later changes nothing that lasts. Events and
the node's status have clients of their own.

Source: kubelet status.manager syncBatch, syncPod; nodeshutdown podManager.killPods; kubernetes#112443.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf

from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.reports import StoreReports
from kitlib.cluster.nodes.unsent_reports import UnsentReports, Write
from kitlib.kubelet.loop.pod_worker import PodWorker

REQUESTS = 2
"""Requests of one status."""


class ShutdownReports(UnsentReports):
    """The unsent reports of a node that shuts down.

    Args:
        reports: the node's reports.
        api: the API server.
        release: the release, with the client's rate.
    """

    def __init__(self, reports: StoreReports, api: APIServer, release: Release) -> None:
        super().__init__(reports.node, api, partial(reports.event, None, "Warning", "ReportRefused"))
        self._rate, self._burst = (float(str(release.default(name))) for name in ("kubeAPIQPS", "kubeAPIBurst"))
        self._tokens, self._filled = self._burst, api.store.now()
        if reports.unsent is not None:
            self._unsent = reports.unsent._unsent
        self._queue: dict[str, Write] = {}

    @property
    def queued(self) -> frozenset[str]:
        """The UIDs of the pods with a queued status."""
        return frozenset(self._queue)

    def waiting(self, kind: str, name: str) -> Write | None:
        """Return the unsent report about a thing; None if there is none."""
        return self._queue.get(name) if kind == "pod" and name in self._queue else super().waiting(kind, name)

    def send(self, kind: str, name: str, write: Write) -> None:
        """Write a report; a pod's waits for its turn."""
        if kind != "pod":
            super().send(kind, name, write)
            return
        self._queue[name] = write
        self._drain()

    def retry(self) -> None:
        """Send the statuses for which there are requests now, and the refused reports whose time has come."""
        self._drain()
        super().retry()

    def _drain(self) -> None:
        now = self._api.store.now()
        self._tokens = min(self._tokens + (now - self._filled).total_seconds() * self._rate, self._burst)
        self._filled = now
        while self._queue and self._tokens >= REQUESTS:
            self._tokens -= REQUESTS
            name = next(iter(self._queue))
            super().send("pod", name, self._queue.pop(name))


def lose(reports: StoreReports, workers: Iterable[PodWorker]) -> None:
    """End the node's lease and drop what waits to be sent; the next kubelet takes these pods for running ones.

    It knows the API's status and the runtime's exited containers, but not the decision of its predecessor.
    """
    lost = reports.unsent.queued if isinstance(reports.unsent, ShutdownReports) else frozenset()
    reports.unsent = None
    for worker in workers:
        if worker.pod.metadata.uid in lost and not worker.leaving:
            worker.ending, worker.given, worker.standing = None, inf, worker.pod.status
            worker.has_sandbox = True  # as far as the API knows: after the boot it has changed
    if reports.api is not None:
        reports.api.leases.stop(reports.node)


def throttle(reports: StoreReports, release: Release) -> None:
    """Limit the rate of a kubelet's statuses from now on, until the machine is off."""
    if reports.api is not None and not isinstance(reports.unsent, ShutdownReports):
        reports.unsent = ShutdownReports(reports, reports.api, release)
