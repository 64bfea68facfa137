"""The pods that one kubelet knows: their workers, the containers of these, and the pods with work to do.

Source: kubelet pod_workers.go podWorkers.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.pod_worker import PodWorker


class PodWorkers:
    """The pods of one kubelet; iterating yields their workers in the order of arrival.

    Attributes:
        by_uid: pod UID -> its worker.
        containers: container id -> its pod's worker and its state.
        dirty: pod UID -> the worker of a pod that the next round works on.
        rejected: UIDs of the pods that were rejected before they started.
        deadlines: pod UID -> the worker of a pod with an active deadline.
    """

    def __init__(self) -> None:
        self.by_uid: dict[str, PodWorker] = {}
        self.containers: dict[str, tuple[PodWorker, ContainerState]] = {}
        self.dirty: dict[str, PodWorker] = {}
        self.rejected: set[str] = set()
        self.deadlines: dict[str, PodWorker] = {}

    def __iter__(self) -> Iterator[PodWorker]:
        return iter(list(self.by_uid.values()))

    def __len__(self) -> int:
        return len(self.by_uid)

    def add(self, worker: PodWorker) -> None:
        """Add a pod, with work to do."""
        self.by_uid[worker.pod.metadata.uid] = worker
        self.note_deadline(worker)
        self.mark_dirty(worker)
        for state in worker.states:
            self.containers[state.id] = (worker, state)

    def note_deadline(self, worker: PodWorker) -> None:
        """Note whether a pod has an active deadline, which an update may have set."""
        if worker.pod.spec.active_deadline_seconds is not None:
            self.deadlines[worker.pod.metadata.uid] = worker

    def mark_dirty(self, worker: PodWorker) -> None:
        """Mark a pod for the next round of work."""
        self.dirty[worker.pod.metadata.uid] = worker

    def settle(self) -> None:
        """Unmark the pods that have nothing left to do."""
        self.dirty = {uid: worker for uid, worker in self.dirty.items() if not worker.settled}

    def forget(self, worker: PodWorker) -> None:
        self.dirty.pop(worker.pod.metadata.uid, None)
        self.by_uid.pop(worker.pod.metadata.uid, None)
        self.deadlines.pop(worker.pod.metadata.uid, None)
        for state in worker.states:
            self.containers.pop(state.id, None)
