"""Isolation of defects: an exception in the work on one pod fails this pod only, and the kubelet's loop continues.

If work on all pods together raises, it is repeated for one pod after the other to find the faulty pod. A real kubelet
has a worker per pod, which recovers from a panic, reports FailedSync and tries again.

Source: kubelet pod_workers.go podWorkerLoop; apimachinery util/runtime HandleCrash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from kitlib.api.core import Pod, PodStatus
from kitlib.api.guard import Guard, described
from kitlib.kubelet.loop.interfaces import ContainerRuntime, Reports
from kitlib.kubelet.loop.pod_worker import PodWorker

REASON = "InternalError"
"""The reason of a pod that failed because of a defect."""


class Faults:
    """The handling of defects in one kubelet.

    Args:
        node: the node's name.
        reports: the recorder of events and statuses.
        runtime: the container runtime, which stops the remaining containers of a failed pod.
        drop: removes a failed pod from the kubelet's work.
    """

    def __init__(
        self, node: str, reports: Reports, runtime: ContainerRuntime, drop: Callable[[PodWorker], None]
    ) -> None:
        self._reports, self._runtime, self._drop = reports, runtime, drop
        self.pods: Guard[PodWorker] = Guard(f"kubelet {node}", self._fail)
        self.manifests: Guard[Pod] = Guard(f"kubelet {node}", self._refuse)
        self.parts: Guard[str] = Guard(f"kubelet {node}", self._say)

    def each(self, workers: Iterable[PodWorker], work: Callable[[PodWorker], object]) -> None:
        """Call `work` with one pod after the other."""
        for worker in list(workers):
            try:
                work(worker)
            except Exception as error:
                self.pods.caught(worker, error)

    def together(self, workers: Iterable[PodWorker], work: Callable[[list[PodWorker]], object]) -> None:
        """Call `work` with several pods at once; if it raises, with one after the other.

        Args:
            workers: the pods.
            work: the work, which can be repeated for a part of the pods.
        """
        some = list(workers)
        try:
            work(some)
        except Exception as error:
            if len(some) == 1:
                self.pods.caught(some[0], error)
            elif some:
                self.each(some, lambda worker: work([worker]))
            else:
                self.parts.caught("pods", error)

    def part(self, name: str, work: Callable[[], object]) -> bool:
        """Call a part of the work on the node as a whole; return its result, or False if it raised."""
        try:
            return bool(work())
        except Exception as error:
            self.parts.caught(name, error)
            return False

    def _fail(self, worker: PodWorker, error: Exception) -> None:
        text = f"error syncing pod, skipping: {described(error)}"
        again = worker.rejected is not None
        worker.rejected = worker.rejected or (REASON, text)
        self._reports.event(worker.pod, "Warning", "FailedSync", text)
        if again:  # a second failure: even ending the pod raises
            for identity in (*(state.id for state in worker.states), worker.sandbox):
                with suppress(Exception):
                    self._runtime.stop(identity, 0.0)
            worker.has_sandbox = False
            self._drop(worker)
            self._reports.status(worker.pod, PodStatus(phase="Failed", reason=REASON, message=text))

    def _refuse(self, pod: Pod, error: Exception) -> None:
        text = f"error syncing pod, skipping: {described(error)}"
        self._reports.event(pod, "Warning", "FailedSync", text)
        self._reports.status(pod, PodStatus(phase="Failed", reason=REASON, message=text))

    def _say(self, part: str, error: Exception) -> None:
        self._reports.event(None, "Warning", "KubeletError", f"{part}: {described(error)}")
