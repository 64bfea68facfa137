"""The binding cycles of pods that have a node: Permit may hold a pod, and PreBind may wait for a condition.

Source: schedule_one.go (bindingCycle, handleBindingCycleError), framework runtime waitingPodsMap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.binding import BindingProgress, bind, reserve_and_permit, unreserve
from kitlib.scheduler.framework.framework import Framework
from kitlib.scheduler.framework.status import Code, Status


class _Cycle(NamedTuple):
    """A pod's binding cycle."""

    profile: Framework
    binding: BindingProgress
    decision: Decision


class BindingCycles:
    """The binding cycles of one scheduler.

    Args:
        remove_pod: the function that removes an assumed pod from the cache.
    """

    def __init__(self, remove_pod: Callable[[Pod], None]) -> None:
        self._remove_pod = remove_pod
        self._permit: dict[str, _Cycle] = {}
        self._pre_bind: dict[str, _Cycle] = {}

    def begin(self, profile: Framework, decision: Decision) -> None:
        """Run Reserve and Permit, then bind the pod unless a Permit plugin holds it; forget a refused pod."""
        binding = decision.binding
        assert binding is not None
        reserve_and_permit(profile, binding)
        if binding.waits:
            self._permit[binding.info.uid] = _Cycle(profile, binding, decision)
        elif binding.status.ok:
            self._bind(_Cycle(profile, binding, decision))
        else:
            self._give_up(decision)

    @property
    def waiting(self) -> list[Pod]:
        """The pods that Permit plugins hold."""
        return [one.binding.info.pod for one in self._permit.values()]

    def allow(self, pod: Pod) -> Decision:
        cycle = self._take(pod)
        self._bind(cycle)
        return cycle.decision

    def reject(self, pod: Pod, reason: str) -> Decision:
        cycle = self._take(pod)
        cycle.binding.status = Status(Code.Unschedulable, (reason,), cycle.binding.status.plugin)
        unreserve(cycle.profile, cycle.binding)
        self._give_up(cycle.decision)
        return cycle.decision

    def in_pre_bind(self, uid: str) -> bool:
        """Return whether a PreBind plugin holds the pod."""
        return uid in self._pre_bind

    def resume(self, uid: str, waited_ms: int) -> Decision:
        """Ask the PreBind plugin that holds a pod whether it may go on.

        Args:
            uid: the pod's UID.
            waited_ms: milliseconds since the plugin began to wait.
        """
        cycle = self._pre_bind.pop(uid)
        self._bind(cycle, waited_ms)
        return cycle.decision

    def drop(self, pod: Pod) -> Pod | None:
        """Undo the reservations of a deleted pod that Permit or PreBind holds.

        Returns:
            The assumed pod, which is no longer in the cache; None if no plugin held the pod.
        """
        uid = pod.metadata.uid or pod.key
        cycle = self._pre_bind.pop(uid, None)
        if cycle is not None:
            self.undo(cycle.profile, cycle.decision, "pod does not exist any more")
            return cycle.binding.info.pod
        if uid not in self._permit:
            return None
        decision = self.reject(pod, "pod is deleted")
        return decision.binding.info.pod if decision.binding is not None else None

    def undo(self, profile: Framework, decision: Decision, reason: str) -> None:
        """Undo the reservations of a pod whose binding could not be written, and forget the pod."""
        assert decision.binding is not None
        decision.binding.status = Status(Code.Error, (reason,), "")
        unreserve(profile, decision.binding)
        self._give_up(decision)

    def _take(self, pod: Pod) -> _Cycle:
        found = self._permit.pop(pod.metadata.uid or pod.key, None)
        if found is None:
            raise KitError(f"pod {pod.key}: no Permit plugin holds it, it does not wait")
        return found

    def _bind(self, cycle: _Cycle, waited_ms: int = 0) -> None:
        bind(cycle.profile, cycle.binding, waited_ms)
        if cycle.binding.waits:
            self._pre_bind[cycle.binding.info.uid] = cycle
        elif not cycle.binding.status.ok:
            self._give_up(cycle.decision)

    def _give_up(self, decision: Decision) -> None:
        assert decision.binding is not None
        self._remove_pod(decision.binding.info.pod)
        # without a host the scheduling loop handles the decision as a failure
        decision.suggested_host = ""
