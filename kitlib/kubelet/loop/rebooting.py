"""The reboot of a node's machine: every process and every cgroup ends at once, without signals, hooks or grace periods.

API objects, checkpoints, files of volumes on disk and the runtime's records of containers survive. After the boot the
runtime finds its containers without a process: exit code 255, reason Unknown. The kubelet then creates new sandboxes.

Source: containerd internal/cri/server loadContainer (unknownExitCode); kuberuntime computePodActions.
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.errors import KitError
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import CgroupFS
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.loop.pod_worker import PodWorker

EXIT_CODE, REASON = 255, "Unknown"


def lose_power(kubelet: Kubelet) -> None:
    """End everything that runs for the pods of a node, and record the containers as the runtime finds them afterwards.

    A new kubelet is started by the caller, as after a restart.
    """
    kubelet.timeline.note("machine", "rebooting", kubelet.config.name, "", "reboot(2)")
    kubelet.runtime.power_off([worker.pod for worker in kubelet.workers])
    if kubelet.config.settings.cgroups_per_qos:
        _remove(kubelet.cgroups, kubelet.rules.path(kubelet.rules.kubepods))
    for worker in kubelet.workers:
        found_after_boot(worker, kubelet.clock(), kubelet.reports.now())


def _policy(worker: PodWorker, state: ContainerState) -> str:
    own = state.container.restart_policy if worker.release.enabled("ContainerRestartRules") else None
    return own or worker.pod.spec.restart_policy


def _remove(cgroups: CgroupFS, path: str) -> None:
    """Remove a cgroup and its descendants; one with a process of the administrator's remains."""
    for child in cgroups.children(path):
        _remove(cgroups, child)
    try:
        cgroups.rmdir(path)
    except KitError:
        return


def found_after_boot(worker: PodWorker, seconds: float, now: datetime) -> None:
    """Set a pod's containers to the states that the runtime reports after the boot.

    In a pod that gets a new sandbox, all containers start again from the first init container; only containers with
    the policy OnFailure that have succeeded do not.

    Args:
        worker: the pod.
        seconds: seconds on the node's clock.
        now: the current date.
    """
    worker.sandbox_changed, worker.has_sandbox, worker.address = worker.has_sandbox, False, ""
    for termination in worker.terminations:  # hooks end with their containers
        termination.cancel()
    worker.terminations, worker.starting = [], None
    for state in worker.states:
        if state.alive:
            _lost(state, seconds, now)
    if not worker.sandbox_changed or not worker.active or worker.pod.spec.restart_policy == "Never":
        return
    due = [state for state in worker.mains if not (state.succeeded and _policy(worker, state) == "OnFailure")]
    if not due and all(state.ended for state in worker.mains):
        return
    for state in due:
        state.starts_at_once = bool(state.ended)
    for state in worker.inits:
        if state.ended:
            state.last, state.ended = {"terminated": state.ended}, {}  # the kubelet purges it
            state.restarts += 1


def _lost(state: ContainerState, seconds: float, now: datetime) -> None:
    ended = {"exitCode": EXIT_CODE, "reason": REASON, **state.running, "finishedAt": now.strftime("%Y-%m-%dT%H:%M:%SZ")}
    state.ended, state.alive, state.running, state.ended_at, state.condemned = ended, False, {}, seconds, ""
