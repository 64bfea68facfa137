"""The node shutdown manager: it delays the shutdown of the machine until the pods have ended, or their time is over.

The machine announces its shutdown. The node becomes NotReady, new pods are rejected, and the active pods end in groups
of rising priority. A group is over when its pods have ended and their volumes are torn down, or after its period. After
the last group the machine powers off; the kubelet then reports nothing more. A group without pods takes no time.

So a pod of the last group that ends only by SIGKILL, at the end of the period, may stay Running in the API: the kubelet
lets the machine go at the same moment. Here it always does, because upstream starts the period before the signal.

Source: kubelet nodeshutdown managerImpl.Admit, start, processShutdownEvent; podManager.killPods; kubernetes#109531.
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import TERMINAL_PHASES
from kitlib.kubelet.config.shutdown import ShutdownPeriod, group_by_priority, shutdown_periods
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.killing import PodKiller, effective_grace
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers
from kitlib.kubelet.loop.predicate import PodRefusal

REFUSAL = PodRefusal("NodeShutdown", "Pod was rejected as the node is shutting down.")
REASON, MESSAGE = "Terminated", "Pod was terminated in response to imminent node shutdown."
SIGNAL_DELAY = 0.01
"""Seconds from the start of a group's period to SIGTERM: the pod's worker calls the runtime in between."""


class NodeShutdown:
    """The shutdown of one node.

    Args:
        node: the settings, the reports, the timeline and the clock.
        pods: the pods that the kubelet knows.
        killer: the killer of pods' processes.
        kill: ends a pod that has an `ending`.
        work: works on the changed pods.

    Attributes:
        announced: whether the machine has announced its shutdown and not cancelled it.
        complete: whether the machine may power off.
    """

    def __init__(
        self,
        node: Dependencies,
        pods: PodWorkers,
        killer: PodKiller,
        kill: Callable[[PodWorker], None],
        work: Callable[[], None],
    ) -> None:
        config = node.config
        self._release, self._reports, self._timeline, self._clock = (
            config.gates,
            node.reports,
            node.timeline,
            node.clock,
        )
        self._pods, self._killer, self._kill, self._work = pods, killer, kill, work
        self._periods = shutdown_periods(config.settings, config.gates)
        self._groups: list[tuple[ShutdownPeriod, list[PodWorker]]] = []
        self._current: list[PodWorker] = []
        self._until = 0.0
        self.announced = self.complete = False

    def announce(self) -> None:
        """Begin the shutdown; without periods the kubelet does not know of it, and the machine powers off at once."""
        if not self._periods:
            self.complete = True
            return
        self._note("Shutdown manager detected shutdown event")
        active = [w for w in self._pods if w.rejected is None and w.phase() not in TERMINAL_PHASES]
        self._groups = group_by_priority(self._periods, active, lambda worker: worker.pod.spec.priority or 0)
        self._current, self.announced = [], True

    def cancel(self) -> None:
        """Admit pods again; pods that are being stopped end all the same."""
        if self.announced:
            self._note("Shutdown manager detected shutdown cancellation")
            self.announced = False

    def refusal(self) -> PodRefusal | None:
        """Return the rejection of a new pod."""
        return REFUSAL if self.announced else None

    def go_on(self) -> None:
        """Stop the next groups until one takes time."""
        while self._stop_next():
            self._work()  # a pod that ends at once is reported before the machine is off

    def _stop_next(self) -> bool:
        """Stop the next group if the current one is over; return whether pods were stopped."""
        if not self.announced or self.complete:
            return False
        now = self._clock()
        # With `holds_resources` the status with the end has been reported and the volumes are gone.
        if now < self._until and any(w.holds_resources or self._killer.running(w) for w in self._current):
            return False
        while self._groups:
            period, self._current = self._groups.pop(0)
            if self._current:
                self._until = now + period.seconds
                for worker in self._current:
                    self._stop(worker, period.seconds)
                return True
        self.complete = True
        self._timeline.note("node shutdown manager", "releasing", "the inhibitor lock", "", "processShutdownEvent")
        return False

    def _stop(self, worker: PodWorker, seconds: int) -> None:
        own = worker.pod.spec.termination_grace_period_seconds
        grace = effective_grace(worker.pod, float(seconds if own is None else min(own, seconds)), self._release)
        about = f"grace {grace:g} s, period {seconds} s"
        self._timeline.note("node shutdown manager", "killing pod", worker.pod.key, about, "podManager.killPods")
        worker.ending = Ending(REASON, MESSAGE, MESSAGE, grace + SIGNAL_DELAY)
        self._kill(worker)

    def _note(self, text: str) -> None:
        self._reports.event(None, "Normal", "NodeShutdown", text)
        self._timeline.note(
            "node shutdown manager",
            "detecting",
            text.removeprefix("Shutdown manager detected "),
            "",
            "managerImpl.start",
        )
