"""The stop of a container that has a preStop hook, or that waits for the containers that it serves.

The hook runs first, within the grace period. Then a sidecar waits until the regular containers and the sidecar after it
have ended, or until the period is over. Then it gets SIGTERM, with the rest of the period, but at least two seconds. A
failed hook is reported by an event; a hook that takes too long is not.

Source: kuberuntime killContainer, executePreStopHook; terminationOrdering (KEP-753); kubernetes#115817.
"""

from __future__ import annotations

from kitlib.api.podresources import field_path
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.hooks import Killer, Sleeping, begin_hook
from kitlib.kubelet.loop.interfaces import MINIMUM_GRACE
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.qos.qos_class import is_restartable_init


def prerequisites(worker: PodWorker, state: ContainerState) -> list[ContainerState]:
    """Return the containers that end before this one: for a sidecar the regular ones and the sidecar after it."""
    if state not in worker.inits or not is_restartable_init(state.container):
        return []
    later = [init for init in worker.inits[worker.inits.index(state) + 1 :] if is_restartable_init(init.container)]
    return [*worker.mains, *later[:1]]


class Termination:
    """The stop of one container.

    Args:
        worker: the pod.
        state: the container.
        grace: seconds between now and SIGKILL, more than 0.
        killer: stops the container.
        in_turn: whether it waits for the containers that it serves, because the whole pod is stopped.
    """

    def __init__(self, worker: PodWorker, state: ContainerState, grace: float, killer: Killer, in_turn: bool) -> None:
        self.state, self._worker, self._killer = state, worker, killer
        self._grace, self._began = grace, killer.clock()
        self._waits_for = prerequisites(worker, state) if in_turn else []
        lifecycle = state.container.lifecycle
        handler = lifecycle.pre_stop if lifecycle is not None else None
        self._hook = begin_hook(worker, state, handler, killer.runtime, killer.clock) if handler is not None else None

    def cancel(self) -> None:
        """End the hook, because the container has ended or is stopped with another period."""
        if self._hook is not None:
            self._hook.cancel()
            self._hook = None

    def go_on(self) -> bool:
        """Continue the stop; return whether the container has got SIGTERM or has ended."""
        runtime = self._killer.runtime
        if not runtime.pid(self.state.id):
            self._end_hook()
            return True
        if not self._hook_is_done():
            return False
        if any(runtime.pid(state.id) for state in self._waits_for) and self._passed() < self._grace:
            return False
        self._spend()
        self._killer.send_signal(self._worker, self.state, max(self._grace, MINIMUM_GRACE))
        return True

    def _end_hook(self) -> None:
        """End the hook of a container that has ended: its command was killed with it, unless it was done."""
        if self._hook is None:
            return
        answer = self._hook.answer()
        pauses = isinstance(self._hook, Sleeping)
        self._report("container ended", failed=not pauses and (answer is None or answer.outcome != "success"))
        self.cancel()

    def _report(self, said: str, *, failed: bool) -> None:
        """Note the end of the hook, and report a failed one by an event."""
        worker, state, killer = self._worker, self.state, self._killer
        if failed:
            where = field_path(worker.pod, state.container)
            killer.reports.event(worker.pod, "Warning", "FailedPreStopHook", "PreStopHook failed", where)
        about = f"{worker.pod.key}/{state.container.name}"
        killer.timeline.note("kubelet", "PreStop hook", about, said, "executePreStopHook")

    def _hook_is_done(self) -> bool:
        if self._hook is None:
            return True
        answer = self._hook.answer()
        if answer is None and self._passed() < self._grace:
            return False
        said = "not completed in grace period" if answer is None else answer.outcome
        self._report(said, failed=answer is not None and answer.outcome != "success")
        self.cancel()
        self._spend()
        return True

    def _passed(self) -> float:
        return self._killer.clock() - self._began

    def _spend(self) -> None:
        """Subtract the whole seconds that have passed from the grace period."""
        # Before 1.28 the container got the whole period again after its hook (kubernetes#115817).
        if self._worker.release.default("preStopHookUsesGracePeriod"):
            self._grace -= int(self._passed())
        self._began = self._killer.clock()
