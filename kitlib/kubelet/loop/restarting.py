"""Removes all containers of a pod when a container's rule restarts all of them; the sandbox and the volumes stay.

Source: kuberuntime computePodActions, getContainersToReset, SyncPod; kubelet convertToAPIContainerStatuses; KEP-5532.
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.podresources import field_path
from kitlib.kubelet.loop.interfaces import MINIMUM_GRACE, ContainerRuntime, Reports
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.timeline import KubeletTimeline

REASON = "RestartingAllContainers"
MESSAGE = "The container is removed because RestartAllContainers in place"
KILLED = 137


def remove_all_containers(
    worker: PodWorker,
    runtime: ContainerRuntime,
    reports: Reports,
    timeline: KubeletTimeline,
    report: Callable[[PodWorker], None],
) -> bool:
    """Kill the running containers one after another, then remove all; ephemeral containers are not stopped.

    Args:
        worker: a pod with a container whose exit restarts all of them.
        runtime: the container runtime.
        reports: the recorder of events.
        timeline: the record of the kubelet's actions.
        report: writes the pod's status to the API server.

    Returns:
        Whether all are removed, so that they can start again.
    """
    report(worker)  # the condition AllContainersRestarting is written before anything is killed
    for state in (*worker.mains, *worker.inits):
        if not runtime.pid(state.id):
            continue
        where = f"{worker.pod.key}/{state.container.name}"
        # A grace period of 0 skips the preStop hook, but the container still gets the minimum.
        if not state.removed:
            reports.event(worker.pod, "Normal", "Killing", "killing", field_path(worker.pod, state.container))
            timeline.note("kubelet", "killing container", where, "all containers restart", "getContainersToReset")
            runtime.stop(state.id, MINIMUM_GRACE)
            state.removed = True
        if runtime.pid(state.id):
            return False
    now = reports.now()
    for state in (*worker.mains, *worker.inits):
        if state.alive:
            state.stopped(now, runtime.exit_code(state.id))
        state.condemned = ""
        if state.ended:  # a container that has not started yet is unchanged
            state.last = {"terminated": {"exitCode": KILLED, "reason": REASON, "message": MESSAGE}}
            state.ended, state.removed, state.problem = {}, True, (REASON, MESSAGE)
            state.restarts += 1
        state.back_off.not_before = 0.0
    worker.restarting_all = False
    report(worker)
    for state in worker.states:
        state.problem = ("", "") if state.problem[0] == REASON else state.problem
    return True
