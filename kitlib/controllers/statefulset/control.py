"""The order in which a StatefulSet's pods are created, replaced and deleted.

OrderedReady creates pods from the lowest ordinal up, each when its predecessor is available, and deletes them from the
highest down, one at a time. Parallel handles all at once. Updates proceed from the highest ordinal down to the
partition, at most `maxUnavailable` pods at a time.

Source: pkg/controller/statefulset/stateful_set_control.go (updateStatefulSet, processReplica, processCondemned,
updateStatefulSetAfterInvariantEstablished, completeRollingUpdate).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.api.apps import ControllerRevision, StatefulSet
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.numbers import scaled_value
from kitlib.controllers.controller import Controller
from kitlib.controllers.history import template_of
from kitlib.controllers.pod_control import slow_start_batch
from kitlib.controllers.pod_util import available_in
from kitlib.controllers.statefulset.pod_control import (
    create_claims,
    create_stateful_pod,
    delete_stateful_pod,
    has_stale_claims,
    update_claims_for_retention,
    update_stateful_pod,
)
from kitlib.controllers.statefulset.utils import (
    is_created,
    is_healthy,
    is_running_and_available,
    is_running_and_ready,
    is_terminating,
    new_pod,
    ordinal_of,
    ordinals_of,
    replicas_of,
    revision_of,
    start_of,
)


@dataclass
class StatefulSetControl:
    """A sync of one StatefulSet.

    Attributes:
        controller: the controller that writes.
        one: the StatefulSet.
        current, update: the current and the update revision.
        pods: the pods that the set controls.
        may_replace: whether a pod may be created or replaced now.
    """

    controller: Controller
    one: StatefulSet
    current: ControllerRevision
    update: ControllerRevision
    pods: Sequence[Pod]
    may_replace: Callable[[], bool]

    def __post_init__(self) -> None:
        self._monotonic = self.one.spec.pod_management_policy != "Parallel"
        by_ordinal = {ordinal_of(pod, self.one.name): pod for pod in self.pods}
        wanted = ordinals_of(self.one)
        self.replicas = [by_ordinal.get(o) or self._versioned_pod(o) for o in wanted]
        self.condemned = [by_ordinal[o] for o in sorted(by_ordinal, reverse=True) if o >= 0 and o not in wanted]
        # Upstream's order: the replicas, then the condemned pods from the lowest ordinal up.
        everyone = [*self.replicas, *reversed(self.condemned)]
        self._first_unhealthy = next((pod for pod in everyone if not is_healthy(pod)), None)

    def run(self) -> None:
        """Perform the next step of the set.

        Raises:
            KitError: the API server rejected a pod or a claim.
        """
        if self.one.metadata.deletion_timestamp is not None:
            return
        if self._for_all(self.replicas, self._process_replica):
            return
        for pod in self.condemned:
            update_claims_for_retention(self.controller, self.one, pod)
        if self._for_all(self.condemned, self._process_condemned):
            return
        if self.one.spec.update_strategy.type != "OnDelete":
            self._roll()

    def _for_all(self, pods: Sequence[Pod], process: Any) -> bool:
        """Process pods in order or in parallel, and return whether the sync ends here. Source: runForAll."""
        if self._monotonic:
            return any(process(pod) for pod in pods)
        ends = [False]

        def step(i: int) -> None:
            ends[0] |= process(pods[i])

        slow_start_batch(len(pods), step)
        return ends[0]

    def _versioned_pod(self, ordinal: int) -> Pod:
        """Source: newVersionedStatefulSetPod, isCurrentRevisionNeeded."""
        strategy, start = self.one.spec.update_strategy, start_of(self.one)
        revision = self.update
        if strategy.type != "OnDelete":
            rolling = strategy.rolling_update
            if rolling is None:
                below = start + int(self.one.status.get("currentReplicas", 0))
            else:
                below = start + (rolling.partition or 0)
            # Pods below this ordinal are recreated in the current revision during a rollout.
            if ordinal < below:
                revision = self.current
        return new_pod(self.one, template_of(revision), revision.name, ordinal)

    def _process_replica(self, pod: Pod) -> bool:
        """Source: processReplica."""
        controller, stateful_set = self.controller, self.one
        if pod.status.phase in TERMINAL_PHASES:
            if pod.metadata.deletion_timestamp is None and self.may_replace():
                delete_stateful_pod(controller, stateful_set, pod)
            return True
        if not is_created(pod):
            if has_stale_claims(controller, stateful_set, pod):
                return True
            if not self.may_replace():
                return True
            create_stateful_pod(controller, stateful_set, pod)
            return self._monotonic
        if pod.status.phase == "Pending":
            create_claims(controller, stateful_set, pod)
        if self._monotonic:
            if is_terminating(pod) or not is_running_and_ready(pod):
                return True
            if not is_running_and_available(pod, stateful_set.spec.min_ready_seconds, controller.now()):
                return True
        if stateful_set.spec.volume_claim_templates:
            update_claims_for_retention(controller, stateful_set, pod)
        update_stateful_pod(controller, stateful_set, pod)
        return False

    def _process_condemned(self, pod: Pod) -> bool:
        """Source: processCondemned."""
        if is_terminating(pod):
            return self._monotonic
        available = is_running_and_available(pod, self.one.spec.min_ready_seconds, self.controller.now())
        # Scaling down waits for an unavailable pod, except for the first unhealthy one, which may block all others.
        if self._monotonic and pod is not self._first_unhealthy and not available:
            return True
        delete_stateful_pod(self.controller, self.one, pod)
        return self._monotonic

    def _roll(self) -> None:
        """Replace pods of an older revision. Source: end of updateStatefulSet; `_roll_several` for maxUnavailable."""
        rolling = self.one.spec.update_strategy.rolling_update
        partition = (rolling.partition or 0) if rolling is not None else 0
        value = rolling.max_unavailable if rolling is not None else None
        enabled = self.controller.api.release.enabled("MaxUnavailableStatefulSet")
        if value is not None and enabled:
            most = max(1, scaled_value(value, replicas_of(self.one), round_up=False))
            if most > 1:
                self._roll_several(partition, most)
                return
        for pod in reversed(self.replicas[partition:]):
            if revision_of(pod) != self.update.name and not is_terminating(pod):
                delete_stateful_pod(self.controller, self.one, pod)
                return
            # One at a time: an unhealthy updated pod stops the rollout.
            if not is_healthy(pod):
                return

    def _roll_several(self, partition: int, most: int) -> None:
        """Source: updateStatefulSetAfterInvariantEstablished."""
        now, min_ready = self.controller.now(), self.one.spec.min_ready_seconds

        def is_unavailable(pod: Pod) -> bool:
            return is_terminating(pod) or not is_running_and_available(pod, min_ready, now)

        # Unavailable pods of all ordinals count, also below the partition.
        room = most - sum(map(is_unavailable, self.replicas))
        for pod in reversed(self.replicas[partition:]):
            if room <= 0:
                return
            if revision_of(pod) != self.update.name and not is_terminating(pod):
                delete_stateful_pod(self.controller, self.one, pod)
                room -= 1


def status_of(
    controller: Controller, stateful_set: StatefulSet, current: str, update: str, pods: Iterable[Pod]
) -> tuple[dict[str, Any], float]:
    """Return the status, and the seconds until the next ready pod is available.

    Source: updateStatus, completeRollingUpdate.
    """
    pods = [pod for pod in pods if is_created(pod)]
    ready = [pod for pod in pods if is_running_and_ready(pod)]
    waits = [available_in(pod, stateful_set.spec.min_ready_seconds, controller.now()) for pod in ready]
    of_revision = [revision_of(pod) for pod in pods if not is_terminating(pod)]
    status = {
        "observedGeneration": stateful_set.metadata.generation,
        "replicas": len(pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(wait == 0 for wait in waits),
        "currentReplicas": of_revision.count(current),
        "updatedReplicas": of_revision.count(update),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": stateful_set.status.get("collisionCount", 0),
    }
    updated = status["updatedReplicas"] == status["replicas"] == replicas_of(stateful_set)
    if stateful_set.spec.update_strategy.type != "OnDelete" and updated and len(ready) == len(pods):
        status["currentReplicas"], status["currentRevision"] = status["updatedReplicas"], update
    return status, min((wait for wait in waits if wait), default=0.0)
