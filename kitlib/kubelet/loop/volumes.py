"""Writes the files of pods' volumes before containers start, and again when their objects have changed.

A running pod's files are updated with its next sync, at most a minute after a change; environment variables and files
mounted by `subPath` are never updated.

Source: volumemanager WaitForAttachAndMount, reconciler; kubelet syncFrequency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kitlib.api.core import PersistentVolumeClaim, Pod
from kitlib.api.errors import KitError
from kitlib.api.selectors import usable_on
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.pods.objects import Objects, claim_of
from kitlib.kubelet.pods.volume_files import Files, makes_files, volume_files

FIRST_WAIT, MAX_WAIT = 0.5, 122.0
"""Seconds until a failed mount is tried again, doubled each time, and their maximum. Source: exponentialbackoff."""

SYNC_AGAIN = 10.0
"""Seconds until the pod is synced again after its volumes could not be attached. Source: kubelet backOffPeriod."""
PVC_PROTECTION = "kubernetes.io/pvc-protection"


class VolumeManager:
    """The volume manager of one node.

    Args:
        node: the runtime, which stores the files, the reports and the clock.
        objects: the ConfigMaps and Secrets that pods refer to.
        allocatable: resource -> allocatable amount of the node, in thousandths.
    """

    def __init__(self, node: Dependencies, objects: Objects, allocatable: Mapping[str, int]) -> None:
        self._runtime, self._reports, self._clock = node.runtime, node.reports, node.clock
        self._objects, self._allocatable = objects, allocatable
        self._written: dict[str, dict[str, Files]] = {}
        self._failed: dict[str, float] = {}
        self._attached: set[str] = set()

    def ready(self, worker: PodWorker) -> bool:
        """Return whether all of a pod's files are written and its claims bound; report a problem at every try."""
        uid = worker.pod.metadata.uid
        if uid not in self._attached:
            unbound = self._unbound(worker.pod)
            if unbound:
                worker.not_before = self._clock() + SYNC_AGAIN
                text = f"Unable to attach or mount volumes: {unbound}"
                self._reports.event(worker.pod, "Warning", "FailedMount", text)
                return False
            if wrong := self._elsewhere(worker.pod):
                return self._try_again(worker, "NodeAffinity check", wrong)
            self._attached.add(uid)
        if uid in self._written or not any(makes_files(volume) for volume in worker.pod.spec.volumes):
            return True
        if problems := self._write(worker):
            return self._try_again(worker, "SetUp", problems)
        self._failed.pop(uid, None)
        return True

    def _try_again(self, worker: PodWorker, step: str, problems: Iterable[tuple[str, str]]) -> bool:
        """Report volumes that a step of mounting failed for, with the reasons, and wait longer than the last time."""
        uid = worker.pod.metadata.uid
        wait = self._failed[uid] = min(2 * self._failed.get(uid, FIRST_WAIT / 2), MAX_WAIT)
        worker.not_before = self._clock() + wait
        for volume, why in problems:
            text = f'MountVolume.{step} failed for volume "{volume}" : {why}'
            self._reports.event(worker.pod, "Warning", "FailedMount", text)
        return False

    def refresh(self, worker: PodWorker) -> None:
        """Bring the files of a running pod up to date; a volume whose object was deleted keeps its files."""
        if worker.active and worker.pod.metadata.uid in self._written:
            self._write(worker)

    def forget(self, worker: PodWorker) -> None:
        """Forget the volumes of a pod that has ended."""
        self._written.pop(worker.pod.metadata.uid, None)
        self._failed.pop(worker.pod.metadata.uid, None)
        self._attached.discard(worker.pod.metadata.uid)

    def _unbound(self, pod: Pod) -> str:
        """Return the kubelet's message about mounted claims that are not bound; "" = all are bound.

        Source: volumemanager WaitForAttachAndMount; desiredStateOfWorldPopulator createVolumeSpec, getPVCExtractPV.
        """
        wrong = {}
        for volume, name in _mounted_claims(pod):
            why = _claim_problem(name, self._objects.claim(pod.namespace, name))
            if why:
                wrong[volume] = f"error processing PVC {pod.namespace}/{name}: {why}"
        if not wrong:
            return ""
        names = " ".join(wrong)
        which = f"unmounted volumes=[{names}], unattached volumes=[], failed to process volumes=[{names}]"
        return f"{which}: {'; '.join(wrong.values())}"

    def _elsewhere(self, pod: Pod) -> list[tuple[str, str]]:
        """Return the volumes of mounted claims that the node cannot use: only a scheduler compares them before.

        Source: operationexecutor GenerateMountVolumeFunc, checkNodeAffinity.
        """
        found = []
        for _, name in _mounted_claims(pod):
            claim, node = self._objects.claim(pod.namespace, name), self._objects.node(pod.spec.node_name)
            volume = self._objects.volume(claim) if claim is not None else None
            if volume is not None and node is not None and not usable_on(volume, node):
                found.append((volume.name, "no matching NodeSelectorTerms"))
        return found

    def _write(self, worker: PodWorker) -> list[tuple[str, str]]:
        """Write the changed volumes; return the volumes that cannot be written, with the reasons."""
        pod = worker.pod
        standing = self._written.get(pod.metadata.uid, {})
        made: dict[str, Files] = {}
        problems = []
        for volume in pod.spec.volumes:
            if not makes_files(volume):
                continue
            try:
                made[volume.name] = volume_files(pod, volume, self._objects, self._allocatable)
            except KitError as error:
                problems.append((volume.name, str(error)))
        # A pod does not start with a part of its volumes; a running pod gets the volumes that can be written.
        if problems and not standing:
            return problems
        for name, files in made.items():
            if standing.get(name) != files:
                self._runtime.write_volume(pod, name, files)
        self._written[pod.metadata.uid] = standing | made
        return problems


def _mounted_claims(pod: Pod) -> list[tuple[str, str]]:
    """Return the pod's volumes that a container mounts and that have a claim, with the claim's name."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    mounted = {mount.name for container in containers for mount in container.volume_mounts}
    mounted |= {device.name for container in containers for device in container.volume_devices}
    return [
        (volume.name, name) for volume in pod.spec.volumes if volume.name in mounted and (name := claim_of(pod, volume))
    ]


def _claim_problem(name: str, claim: PersistentVolumeClaim | None) -> str:
    if claim is None:
        return f'failed to fetch PVC from API server: persistentvolumeclaims "{name}" not found'
    if claim.metadata.deletion_timestamp is not None and PVC_PROTECTION not in claim.metadata.finalizers:
        return "PVC is being deleted"
    if claim.status.phase != "Bound":
        return "PVC is not bound"
    return "" if claim.spec.volume_name else "PVC has empty pvc.Spec.VolumeName"
