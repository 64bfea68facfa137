"""The CPU manager's tick: it writes the cpusets of running containers whose CPUs have changed in the manager's state.

A container that does not run yet, or whose write fails, is written at the next tick. Kubernetes visits the pods in no
fixed order; here it is the order of their arrival.

Source: cm/cpumanager reconcileState.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.timeline import KubeletTimeline


def reconcile_cpus(
    managers: ResourceManagers, cgroups: CgroupManager, timeline: KubeletTimeline, workers: Iterable[PodWorker]
) -> list[PodWorker]:
    """Write the cpusets that have changed.

    Returns:
        The pods with a written container, once for each of its containers.
    """
    written: list[PodWorker] = []
    manager = managers.cpu_manager
    if manager is None:
        return written
    manager.remove_stale_state()
    for worker in workers:
        for state in (*worker.inits, *worker.mains) if worker.active else ():
            uid, name = worker.pod.metadata.uid, state.container.name
            cpus = managers.assigned(worker.actual, state.container).cpus
            cgroup = cgroups.container_cgroup(worker, name)
            if cgroup is None or not state.alive or not manager.is_due(uid, name, cpus):
                continue
            about = f"{worker.pod.name}/{name}"
            try:
                cgroups.write_cpus(cgroup, cpus)
            except KitError as error:
                timeline.note("cpumanager", "failed to update container", about, str(error), "reconcileState")
                continue
            manager.record_update(uid, name, cpus)
            timeline.note("cpumanager", "updating container", about, cpus, "reconcileState")
            written.append(worker)
    return written
