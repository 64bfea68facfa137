"""Garbage collection: dead containers every minute, unused images every five minutes, both also under disk pressure.

Source: kubelet Kubelet.StartGarbageCollection, containerGC, realImageGCManager; eviction buildSignalToNodeReclaimFuncs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kitlib.api.core import TERMINAL_PHASES
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.images import container_gc, image_gc
from kitlib.kubelet.images.container_gc import DeadContainer, evictable
from kitlib.kubelet.images.image_gc import Image, ImageGC
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers

IMAGE_DISK = "imagefs.available"


class KubeletGarbageCollector:
    """The garbage collector of one node.

    Args:
        node: the runtime with the images and containers, the settings, the reports and the timeline.
        pods: the pods that the kubelet knows.
    """

    def __init__(self, node: Dependencies, pods: PodWorkers) -> None:
        self._release, self._settings, self._runtime = node.config.release, node.config.settings, node.runtime
        # Whether images and containers have a separate file system.
        self._dedicated = bool(node.config.machine.image_storage)
        self._reports, self._timeline, self._pods = node.reports, node.timeline, pods
        now = node.clock()
        self._images = ImageGC(self._settings, now)
        self._next_containers, self._next_detection = now + container_gc.EVERY, now
        self._next_images = now + image_gc.EVERY
        self._failed_before = False

    def tick(self, now: float) -> None:
        """Run the collections that are due."""
        if now >= self._next_containers:
            self._next_containers = now + container_gc.EVERY
            self.remove_containers(now)
        if now >= self._next_detection:
            self._next_detection = now + image_gc.DETECT_EVERY
            self._images.detect(now, self._runtime.images(), self._in_use())
        if now >= self._next_images:
            self._next_images = now + image_gc.EVERY
            self._collect_images(now)

    def remove_containers(self, now: float, *, terminated: bool = False) -> None:
        """Remove dead containers; with `terminated` also all of those of pods in a terminal phase.

        Source: containerGC.GarbageCollect, DeleteAllUnusedContainers.
        """

        def removable(uid: str) -> bool:
            worker = self._pods.by_uid.get(uid)
            if worker is None or worker.leaving or worker.ending is not None:
                return True
            return terminated and worker.phase() in TERMINAL_PHASES

        def pod_of(container: str) -> str:
            found = self._pods.containers.get(container)
            return found[0].pod.metadata.uid if found is not None else ""

        for one in evictable(self._runtime.dead(), self._settings, now, pod_of, removable):
            self._remove_container(one)

    def died(self, container: str) -> None:
        """Remove older instances of a container that has ended. Source: podContainerDeletor."""
        keep = max(self._settings.maximum_dead_containers_per_container, 1)
        for one in self._runtime.dead(container)[:-keep]:
            self._runtime.remove_dead(one.id)  # not recorded, as it happens at every restart

    def remove_containers_of(self, worker: PodWorker) -> None:
        """Remove all dead containers of a pod. Source: Kubelet.cleanUpContainersInPod."""
        for state in worker.states:
            for one in self._runtime.dead(state.id):
                self._remove_container(one)

    def _remove_container(self, one: DeadContainer) -> None:
        self._runtime.remove_dead(one.id)
        worker, state = self._pods.containers.get(one.container, (None, None))
        about = f"{worker.pod.key}/{state.container.name}" if worker and state else one.id
        written = f"it had written {one.layer + one.logs} bytes" if one.layer + one.logs else ""
        self._timeline.note("container GC", "removing dead container of", about, written, "containerGC.removeContainer")

    def reclaim(self, signal: str, now: float, observe: Callable[[], Mapping[str, Observation]]) -> (
        Mapping[str, Observation] | None
    ):  # fmt: skip
        """Reclaim disk space without ending a pod; return the observations afterwards, or None if the signal cannot.

        Source: managerImpl.reclaimNodeLevelResources, buildSignalToNodeReclaimFuncs.
        """
        # Dead containers and images are on the image disk. Without a separate one they are on the node's disk, so that
        # both signals reclaim them.
        if not signal.startswith("imagefs") and (self._dedicated or not signal.startswith("nodefs")):
            return None
        self.remove_containers(now, terminated=True)
        for image in self._images.delete_unused(now, self._runtime.images(), self._in_use(), self._remove):
            self._note(image, "space")
        return observe()

    def _in_use(self) -> set[str]:
        """Return the images of running and dead containers. Source: realImageGCManager.detectImages."""
        alive = {s.container.image for worker in self._pods for s in worker.states if s.alive}
        return alive | {one.image for one in self._runtime.dead()}

    def _collect_images(self, now: float) -> None:
        disk = self._runtime.signals().get(IMAGE_DISK)
        if self._images.off or disk is None:
            return
        done = self._images.collect(now, self._runtime.images(), self._in_use(), disk, self._remove)
        for image, reason in done.removed:
            self._note(image, reason)
        problem = done.problem(self._release)
        if not problem:
            self._failed_before = False
            return
        self._reports.event(None, "Warning", "FreeDiskSpaceFailed", problem)
        self._timeline.note("image GC manager", "cannot free enough", "", problem, "realImageGCManager.GarbageCollect")
        if self._failed_before:  # the first failure may result from missing statistics
            self._reports.event(None, "Warning", "ImageGCFailed", problem)
        self._failed_before = True

    def _remove(self, image: Image) -> None:
        self._runtime.remove_image(image.name)
        self._reports.images(self._runtime.images())

    def _note(self, image: Image, reason: str) -> None:
        detail = f"{image.size} bytes, unused" + (" for too long" if reason == "age" else "")
        self._timeline.note("image GC manager", "removing image", image.name, detail, "realImageGCManager.freeImage")
