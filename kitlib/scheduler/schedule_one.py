"""The scheduling loop: pop a pod, choose a node, assume, bind; on failure nominate, preempt and requeue it.

A `Sink` carries out the loop's actions: `Driver` runs scenarios on a virtual clock, a cluster's control plane connects
the loop to the API server.

Source: pkg/scheduler schedule_one.go (ScheduleOne, schedulingCycle, bindingCycle, handleSchedulingFailure), preemption
prepareCandidate; backend/queue Run (1 s and 30 s timers).
"""

from __future__ import annotations

from typing import NamedTuple

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.guard import Guard, described
from kitlib.api.meta import Condition
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.event_handlers import EventHandlers
from kitlib.scheduler.framework.events import ASSIGNED_POD_DELETE
from kitlib.scheduler.framework.framework import build_queueing_hint_map
from kitlib.scheduler.framework.post_filter import OVERRIDE
from kitlib.scheduler.framework.status import REJECTED, Code
from kitlib.scheduler.metrics import SchedulingMetrics
from kitlib.scheduler.profile import DEFAULT_SCHEDULER
from kitlib.scheduler.queue.clock import QueueClock
from kitlib.scheduler.queue.queued_pod_info import QueuedPod, pod_uid
from kitlib.scheduler.queue.scheduling_queue import MAX_IN_POOL_MS, Registrations, SchedulingQueue, max_in_pool_ms
from kitlib.scheduler.scheduler import RESIZE_PREEMPTION, Scheduler
from kitlib.scheduler.sink import Sink

FLUSH_BACKOFF_MS = 1_000
FLUSH_POOL_MS = 30_000
PRE_BIND_POLL_MS = 1_000
"""The interval at which a waiting PreBind plugin is called, in milliseconds. Source: volumebinding BindPodVolumes."""


class _PreBinding(NamedTuple):
    """A pod that a PreBind plugin holds: the start of the wait and the plugin's next call, in milliseconds."""

    info: QueuedPod
    since_ms: int
    next_ms: int


class SchedulingLoop:
    """The loop of one scheduler.

    Args:
        scheduler: the scheduler that decides and holds the cache.
        sink: the cluster to which actions are written.
        clock: the clock for all times.

    Attributes:
        queue: the queue of pending pods.
        handlers: the event handlers, which must be called for every change in the cluster.
        decisions: pod UID -> its last Decision.
        metrics: the loop's metrics.
    """

    def __init__(self, scheduler: Scheduler, sink: Sink, clock: QueueClock) -> None:
        self.scheduler, self._sink, self._clock = scheduler, sink, clock
        release = scheduler.release
        hints = {
            name: build_queueing_hint_map(profile, scheduler.context) for name, profile in scheduler.profiles.items()
        }

        if release.enabled(RESIZE_PREEMPTION):
            from kitlib.scheduler.plugins.deferred_pod_scheduling import DeferredPodScheduling

            for hint in hints.values():
                hint[DeferredPodScheduling.name] = list(DeferredPodScheduling().events_to_register(scheduler.context))

        def registered(pod: Pod) -> Registrations:
            return hints[scheduler.profile_of(pod).name]

        self.queue = SchedulingQueue(
            clock,
            registered,
            pre_enqueue=scheduler.pre_enqueue,
            pop_from_backoff=release.enabled("SchedulerPopFromBackoffQ"),
            max_in_pool_ms=max_in_pool_ms(release),
            nominator=scheduler.nominator,
        )
        self.metrics = SchedulingMetrics(self.queue)
        self.handlers = EventHandlers(scheduler, self.queue, sink.trace)
        self.decisions: dict[str, Decision] = {}
        self._pre_binding: dict[str, _PreBinding] = {}
        self._guard: Guard[QueuedPod] = Guard("scheduler", self._failed)
        self._flushed_ms = clock.now_ms()

    # Attempts.

    def schedule_one(self) -> Decision | None:
        """Pop a pod and try it; return None if no pod may be tried now.

        An exception in the work on one pod (of a user's own plugin, for instance) is an error of that pod's cycle.
        """
        waiting = self._waiting_for_pre_bind()
        if waiting is not None:
            return self._resume(waiting)
        info = self.queue.pop()
        if info is None:
            return None
        try:
            return self._attempt(info, info.pod)
        except Exception as error:
            self._guard.caught(info, error)
            return self.decisions.get(info.uid)

    def _attempt(self, info: QueuedPod, pod: Pod) -> Decision:
        decision = self.scheduler.schedule(pod)
        self.decisions[info.uid] = decision
        binding = decision.binding
        if binding is not None and binding.waits and binding.pre_bind is None:
            self._sink.trace("WaitingOnPermit", info.key, binding.status.message)
            self._expect(info, decision)
        else:
            self._after_pre_bind(info, decision)
        return decision

    def _after_pre_bind(self, info: QueuedPod, decision: Decision) -> None:
        """Write the binding, wait for PreBind, or requeue a refused pod."""
        if decision.binding is not None and decision.binding.waits:
            self._sink.trace("WaitingOnPreBind", info.key, decision.binding.status.message)
            # Upstream's bindingCycle also ends the attempt before PreBind: later events are not recorded for the
            # pod; if it fails, it waits for its back-off only.
            self.queue.done(info)
            now = self._clock.now_ms()
            self._pre_binding[info.uid] = _PreBinding(info, now, now + PRE_BIND_POLL_MS)
            self._expect(info, decision)
        elif decision.suggested_host:
            self._bind(info, info.pod, decision)
        else:
            self.handle_scheduling_failure(info, decision)

    def _expect(self, info: QueuedPod, decision: Decision) -> None:
        """Write the expected node into the pod's status while Permit or PreBind waits. Source: KEP-5278."""
        if self.scheduler.release.enabled("NominatedNodeNameForExpectation"):
            pod = self.handlers.pending.get(info.uid, info.pod)
            self._sink.patch_pod_status(pod, None, decision.suggested_host)

    def _waiting_for_pre_bind(self) -> _PreBinding | None:
        """Return a pod in PreBind whose plugin must be called now, or None."""
        now = self._clock.now_ms()
        for uid, one in list(self._pre_binding.items()):
            if not self.scheduler.bindings.in_pre_bind(uid):  # deleted meanwhile
                del self._pre_binding[uid]
            elif one.next_ms <= now:
                return one
        return None

    def _resume(self, waiting: _PreBinding) -> Decision | None:
        info, now = waiting.info, self._clock.now_ms()
        del self._pre_binding[info.uid]
        try:
            decision = self.scheduler.bindings.resume(info.uid, now - waiting.since_ms)
            if decision.binding is not None and decision.binding.waits:
                passed = (now - waiting.since_ms) // PRE_BIND_POLL_MS
                self._pre_binding[info.uid] = waiting._replace(
                    next_ms=waiting.since_ms + (passed + 1) * PRE_BIND_POLL_MS
                )
                return None
            self._after_pre_bind(info, decision)
            return decision
        except Exception as error:
            self._guard.caught(info, error)
            return self.decisions.get(info.uid)

    def _failed(self, info: QueuedPod, error: Exception) -> None:
        """Handle an exception in a pod's cycle: undo its reservations, report the failure and requeue it.

        Source: ScheduleOne, handleSchedulingFailure with an error that is no FitError.
        """
        assumed, last = self.scheduler.pods.get(info.uid), self.decisions.get(info.uid)
        if assumed is not None and last is not None and last.binding is not None and last.binding.info is assumed:
            self.scheduler.bindings.undo(self.scheduler.profile_of(info.pod), last, described(error))
        elif assumed is not None and not info.pod.spec.node_name:
            self.scheduler.remove_pod(assumed.pod)
        decision = Decision.of_error(info.pod, self.scheduler.snapshot.names, self.scheduler.release, described(error))
        self.decisions[info.uid] = decision
        self.handle_scheduling_failure(info, decision)

    def is_due(self) -> bool:
        """Run the queue's timers; return whether a pod may be tried or a PreBind plugin must be called now."""
        self.run_timers()
        return self._waiting_for_pre_bind() is not None or self.queue.next() is not None

    def allow(self, pod: Pod) -> Decision:
        """Approve a pod that a Permit plugin holds, so that it is bound.

        Raises:
            KitError: no Permit plugin holds the pod.
        """
        return self._after_permit(pod, self.scheduler.allow(pod))

    def reject(self, pod: Pod, reason: str = "rejected while waiting on permit") -> Decision:
        """Reject a pod that a Permit plugin holds: its reservations are undone and it returns to the queue.

        Raises:
            KitError: no Permit plugin holds the pod.
        """
        return self._after_permit(pod, self.scheduler.reject(pod, reason))

    def _after_permit(self, pod: Pod, decision: Decision) -> Decision:
        info = next(one for one in self.queue.in_flight.pods() if one.uid == pod_uid(pod))
        self._after_pre_bind(info, decision)
        return decision

    def _bind(self, info: QueuedPod, pod: Pod, decision: Decision) -> None:
        """Write the binding; the event handlers then replace the assumed pod with the bound one."""
        node = decision.suggested_host
        try:
            self._sink.bind(pod, node)
        except KitError as error:
            text = f'running Bind plugin "DefaultBinder": {error}'
            self.scheduler.bindings.undo(self.scheduler.profile_of(pod), decision, text)
            self.handle_scheduling_failure(info, decision)
            return
        self.queue.done(info)
        self.metrics.scheduled(info, self._clock.now_ms())
        self._sink.record_event(pod, "Normal", "Scheduled", f"Successfully assigned {info.key} to {node}")

    # Failures.

    def handle_scheduling_failure(self, info: QueuedPod, decision: Decision) -> None:
        """Requeue the pod, nominate it if preemption found a node, and report the reason.

        Source: handleSchedulingFailure, handleBindingCycleError.
        """
        if info.pod.spec.node_name:
            self._park_resize(info, decision)
            return
        refused = decision.binding
        self.metrics.failed(info, error=_is_error(decision))
        if decision.post_filter is not None:
            self.metrics.preempted(len(decision.victims) if decision.nominated else 0)
        if refused is None:
            info.unschedulable_plugins = set(decision.unschedulable_plugins)
        else:
            info.unschedulable_plugins = {refused.status.plugin} - {""} if refused.status.code in REJECTED else set()
        standing, nominated = self.handlers.pending.get(info.uid), ""
        if standing is None:  # deleted meanwhile
            self.queue.done(info)
            self.decisions.pop(info.uid, None)
        else:
            info.pod = standing
            nominated = self._nominated_node_name(standing, decision)
            # Nominated here and not only by the event of the status patch: the next cycle may begin before that.
            # `done` comes last, since the events of the attempt are read in `add_unschedulable`.
            self.queue.add_unschedulable(info, decision.message)
            self.queue.nominator.add(standing, nominated)
            self.queue.done(info)
        if standing is not None:
            self._report(standing, decision, nominated)
        if refused is not None:
            # Forgetting an assumed pod frees its node for other pods, like a deletion; the pod itself stays in the pool
            # (handleBindingCycleError). On a virtual clock attempts take no time: two pods that are both refused would
            # requeue each other for ever if they could be popped from backoffQ early.
            held = refused.info.pod
            self.handlers.move_all(ASSIGNED_POD_DELETE, held, None, besides={info.key}, sit_out=True)
        if standing is not None and decision.nominated:
            self._prepare_candidate(standing, decision)

    def _park_resize(self, info: QueuedPod, decision: Decision) -> None:
        """Requeue a running pod that waits for room or for the kubelet; it has no nomination, and its status stays.

        Source: handleSchedulingFailure of 1.37, for a deferred resize.
        """
        refused, standing = decision.binding, self.handlers.pending.get(info.uid)
        info.unschedulable_plugins = set(decision.unschedulable_plugins if refused is None else [refused.status.plugin])
        if standing is None:  # resized or deleted meanwhile
            self.queue.done(info)
            self.decisions.pop(info.uid, None)
            return
        info.pod = standing
        self.queue.add_unschedulable(info, decision.message)
        self.queue.done(info)
        if decision.nominated:
            self._prepare_candidate(standing, decision)

    def _report(self, pod: Pod, decision: Decision, nominated: str) -> None:
        self._sink.record_event(pod, "Warning", "FailedScheduling", decision.message)
        reason = "SchedulerError" if _is_error(decision) else "Unschedulable"
        failed = Condition(type="PodScheduled", status="False", reason=reason, message=decision.message)
        self._sink.patch_pod_status(pod, failed, nominated)

    def _nominated_node_name(self, pod: Pod, decision: Decision) -> str:
        """Return the new nomination: PostFilter's answer, which may be none, or else the present one."""
        if decision.binding is not None:  # the pod had a node and lost it. Source: clearNominatedNode
            return ""
        answer = decision.post_filter
        if answer is not None and answer.code is not Code.Error and answer.nominating_mode == OVERRIDE:
            return decision.nominated
        return pod.status.nominated_node_name

    def _prepare_candidate(self, pod: Pod, decision: Decision) -> None:
        """Delete the victims, and clear the nominations of pods of lower priority to the node.

        Source: prepareCandidate, getLowerPriorityNominatedPods.
        """
        node = decision.nominated
        # they may not fit on the node any longer; without a nomination they look for another node sooner
        for other in self.queue.nominator.pods_on(node):
            if pod_uid(other) == pod_uid(pod) or (other.spec.priority or 0) >= (pod.spec.priority or 0):
                continue
            self._sink.patch_pod_status(other, None, "")
            self.queue.nominator.delete(other)
            self._sink.trace("NominationCleared", other.key, f"{pod.key} is promised {node} instead")
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
        text = f"{name}: preempting to accommodate a higher priority pod"
        target = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=text)
        for victim in decision.victims:
            if victim.metadata.deletion_timestamp is None:
                message = f"Preempted by pod {pod_uid(pod)} on node {node}"
                self._sink.record_event(victim, "Normal", "Preempted", message)
                self._sink.preempt_pod(victim, target)

    # Time.

    def run_timers(self) -> None:
        """Flush backoffQ or the pool if a whole second, or half a minute, has begun since the last call."""
        now, last = self._clock.now_ms(), self._flushed_ms
        self._flushed_ms = now
        # the clock may have passed several full seconds: one flush at the last of them moves the same pods
        if now // FLUSH_BACKOFF_MS > last // FLUSH_BACKOFF_MS:
            for info in self.queue.flush_backoff(now - now % FLUSH_BACKOFF_MS):
                self._sink.trace("BackoffComplete", info.key, f"back-off of {info.key} is over: goes to activeQ")
        if now // FLUSH_POOL_MS > last // FLUSH_POOL_MS:
            for info in self.queue.flush_unschedulable(now - now % FLUSH_POOL_MS):
                minutes = "five minutes" if self.queue.max_in_pool_ms == MAX_IN_POOL_MS else "a minute"
                self._sink.trace("UnschedulableTimeout", info.key, f"{info.key} has waited for {minutes}")

    def next_timer_ms(self) -> int | None:
        """Return when the next timer is due, in milliseconds; None = no pod waits for a timer."""
        now = self._clock.now_ms()
        due = [one.next_ms for one in self._pre_binding.values()]
        due += [self.queue.backoff.flush_due_ms(i.backoff_expires_ms, now) for i in self.queue.backing_off()]
        for info in self.queue.unschedulable():
            if not info.is_gated:
                # the flush moves pods that have waited longer than the limit, so the limit itself is 1 ms too early
                over = info.timestamp_ms + self.queue.max_in_pool_ms + 1
                due.append(-(-max(over, now) // FLUSH_POOL_MS) * FLUSH_POOL_MS)
        return min(due) if due else None


def _is_error(decision: Decision) -> bool:
    """Return whether an attempt failed by an error, not by a plugin's refusal."""
    refused = decision.binding
    return decision.failed or (refused is not None and refused.status.code not in REJECTED)
