"""The probes of one node's containers: readiness updates the status; a failed startup or liveness probe kills.

Source: kubelet prober.manager, prober.worker doProbe, prober.probe; Kubelet.syncLoopIteration (handleProbeSync);
kuberuntime computePodActions (messages of containers to kill), killContainer (grace period).
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import TERMINAL_PHASES
from kitlib.api.podresources import field_path
from kitlib.kubelet.loop.backoff import restart_back_off
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.killing import PodKiller
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.restart_policy import is_container_restartable
from kitlib.kubelet.prober.worker import ProbeType, ProbeWorker, Result, workers_of

_SURELY_BEFORE = 10.0
"""A container that is older than these seconds was there before the kubelet. Source: kubeletRestartGracePeriod."""


class Prober:
    """Probes the containers of one node.

    Args:
        node: the runtime that runs the probes, the settings, the reports and the timeline.
        killer: stops containers.
        died: receives the id of a container that has ended.
    """

    def __init__(self, node: Dependencies, killer: PodKiller, died: Callable[[str], None]) -> None:
        self._settings, self._killer, self._died = node.config.settings, killer, died
        self._runtime, self._reports = node.runtime, node.reports
        self._timeline, self._clock = node.timeline, node.clock
        self._pods: dict[str, PodWorker] = {}

    def add(self, worker: PodWorker) -> None:
        """Start a pod's probes. Source: prober.manager.AddPod."""
        for state in (*worker.inits, *worker.mains):
            state.probes = workers_of(state.container, self._clock())
            # A container with a hook is included, because a failed postStart hook ends it in `_ended`, too.
            if state.probes or state.container.lifecycle is not None:
                self._pods[worker.pod.metadata.uid] = worker

    def adopt(self, worker: PodWorker) -> None:
        """Start a pod's probes again after a restart of the kubelet, without their earlier results and counts.

        Since 1.35, containers that are older than ten seconds keep `started` and their pod's readiness until the first
        answer. Source: prober.worker.run, doProbe; prober.manager.isContainerStarted, setReadyStateOnKubeletRestart.
        """
        keeps = not worker.release.enabled("ChangeContainerStatusOnKubeletRestart")
        ready = all(state.is_ready for state in worker.mains)
        for state in (*worker.inits, *worker.mains):
            kept: dict[ProbeType, Result] = {}
            if keeps and state.alive and self._clock() - state.since > _SURELY_BEFORE:
                kept["Readiness"] = "Success" if ready else "Failure"
                kept["Startup"] = "Success" if state.has_started else "Unknown"
            state.probes = workers_of(state.container, self._clock())
            for kind, probe in state.probes.items():
                probe.due = self._clock() + probe.period / 2  # upstream: a random part of the period
                probe.result = kept.get(kind, probe.result)
        if any(state.probes or state.container.lifecycle is not None for state in worker.states):
            self._pods[worker.pod.metadata.uid] = worker

    def tick(self) -> list[PodWorker]:
        """Run the due probes; return the pods with a container that has changed."""
        changed = []
        for uid, worker in list(self._pods.items()):
            if worker.rejected is not None or worker.phase() in TERMINAL_PHASES:
                del self._pods[uid]
                continue
            if self._probe(worker):
                changed.append(worker)
        return changed

    def forget(self, worker: PodWorker) -> None:
        """Remove a pod's probes."""
        self._pods.pop(worker.pod.metadata.uid, None)

    def _probe(self, worker: PodWorker) -> bool:
        changed = False
        for state in (*worker.inits, *worker.mains):
            if state.condemned:
                changed |= self._ended(worker, state)
            for probe in state.probes.values():
                waited = probe.asking
                if self._is_asked(probe):
                    changed |= self._ask(worker, state, probe)
                if waited and not probe.asking and probe.is_due(self._clock()):
                    changed |= self._ask(worker, state, probe)  # the tick that was stored while the probe ran
        return changed

    def _ask(self, worker: PodWorker, state: ContainerState, probe: ProbeWorker) -> bool:
        """Run a probe and kill its container if it has failed; return whether the result has changed."""
        if not self._do_probe(worker, state, probe):
            return False
        state.trigger_readiness()
        if not worker.terminating and probe.kind != "Readiness" and probe.result == "Failure":
            self._kill(worker, state, probe)
        return True

    def _is_asked(self, probe: ProbeWorker) -> bool:
        """Return whether a probe is due or runs. Source: worker.run, its ticker."""
        due = probe.is_due(self._clock())
        # Go's ticker stores one tick while its receiver is busy; so a tick in a run starts the next run right after it.
        if probe.asking:
            probe.triggered = probe.triggered or due
        return due or probe.asking

    def _do_probe(self, worker: PodWorker, state: ContainerState, probe: ProbeWorker) -> bool:
        """Run a probe once; return whether its result has changed. Source: worker.doProbe."""
        if not state.alive or probe.on_hold or (worker.starting is not None and worker.starting.holds(state)):
            probe.asking = False
            return False
        # After a deletion upstream ends these probes with a success, for a quiet shutdown.
        if worker.leaving and probe.kind != "Readiness":
            return False
        # Upstream truncates the age of the container to whole seconds.
        if int(self._clock() - state.since) < probe.spec.initial_delay_seconds:
            return False
        if state.has_started == (probe.kind == "Startup"):
            return False
        seconds = self._clock() - state.since
        answer = self._runtime.probe(state.id, worker.addressed(), state.container, probe.kind, seconds)
        probe.asking = answer is None
        if answer is None:
            return False
        failed = answer.outcome in ("failure", "unknown")
        if failed or answer.outcome == "warning":
            what, reason = "failed", "Unhealthy"
            if answer.outcome == "unknown":
                what = "errored and resulted in unknown state"
            elif answer.outcome == "warning":
                what, reason = "warning", "ProbeWarning"
            text = f"{probe.kind} probe {what}: {answer.output}"
            self._reports.event(worker.pod, "Warning", reason, text, field_path(worker.pod, state.container))
        return probe.take("Failure" if failed else "Success")

    def _kill(self, worker: PodWorker, state: ContainerState, probe: ProbeWorker) -> None:
        """Stop a container with a failed liveness or startup probe, with the probe's grace period or else the pod's.

        Source: kuberuntime computePodActions, killContainer, setTerminationGracePeriod.
        """
        grace = probe.spec.termination_grace_period_seconds
        if grace is None:
            grace = worker.pod.spec.termination_grace_period_seconds or 0
        name, where = state.container.name, field_path(worker.pod, state.container)
        text = f"Container {name} failed {probe.kind.lower()} probe"
        if is_container_restartable(state.container, worker.pod.spec, worker.release):
            text += ", will be restarted"
        self._reports.event(worker.pod, "Normal", "Killing", text, where)
        self._timeline.note("prober", "killing container", f"{worker.pod.key}/{name}", text, "computePodActions")
        self._killer.stop_container(worker, state, float(grace))
        state.condemned = "probe"
        self._ended(worker, state)

    def _ended(self, worker: PodWorker, state: ContainerState) -> bool:
        """Record the end of a container that the kubelet kills; return whether it has ended."""
        if self._runtime.pid(state.id):
            return False
        why, state.condemned = state.condemned, ""
        if not state.alive or worker.terminating:  # the end of the pod records it
            return False
        self._died(state.id)
        settings, now = self._settings, self._clock()
        state.stopped(self._reports.now(), self._runtime.exit_code(state.id))
        if why == "hook":  # restarted by the pod's next sync, like a container that has ended by itself
            state.back_off.ended(state.since, now, *restart_back_off(settings, worker.release))
        elif not worker.exited(state):
            state.back_off.killed(state.ended_at, now, *restart_back_off(settings, worker.release))
            # Within the same sync it is restarted regardless of its exit code; after a back-off the code decides.
            restartable = is_container_restartable(state.container, worker.pod.spec, worker.release)
            state.starts_at_once = restartable and not state.back_off.wait
        state.ended_at = now
        worker.report_back_off(state, self._reports, now)
        return True
