"""Stale disruptions: the condition DisruptionTarget of a pod that is not deleted is set to False after two minutes.

Source: pkg/controller/disruption/disruption.go (nonTerminatingPodHasStaleDisruptionCondition, syncStalePodDisruption).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.meta import Condition
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta
from kitlib.kubelet.loop.status import DISRUPTION_TARGET

STALE_AFTER = 120.0
"""The seconds after which the condition is stale. Source: stalePodDisruptionTimeout."""
_BY_KUBELET = "TerminationByKubelet"


class StaleDisruptionController(Controller):
    """The controller of pods that have the condition and are not being deleted."""

    name: ClassVar[str] = "stale-disruption"
    account: ClassVar[str] = "disruption-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Pod": self._on_pod}

    def _on_pod(self, change: Delta) -> None:
        if change.type != "DELETED" and isinstance(change.new, Pod) and announced(change.new) is not None:
            self.enqueue(change.new)

    def sync(self, key: Key) -> None:
        """Source: syncStalePodDisruption."""
        pod: Pod | None = self.find(Pod, key)
        condition = announced(pod) if pod is not None else None
        if pod is None or condition is None:
            return
        now: datetime = self.now()
        left = STALE_AFTER - (now - (condition.last_transition_time or now)).total_seconds()
        if left > 0:
            self.queue.add_after(key, left)
            return
        changed = deepcopy(pod)
        reset = Condition(type=DISRUPTION_TARGET, status="False", last_transition_time=now)
        changed.status.conditions = [reset if c.type == DISRUPTION_TARGET else c for c in pod.status.conditions]
        self.api.update_status(changed)


def announced(pod: Pod) -> Condition | None:
    """Return the condition that may become stale: not the kubelet's own, nor that of a finished or terminating pod."""
    if pod.metadata.deletion_timestamp is not None or pod.status.phase in TERMINAL_PHASES:
        return None
    found = next((c for c in pod.status.conditions if c.type == DISRUPTION_TARGET), None)
    return found if found is not None and found.status == "True" and found.reason != _BY_KUBELET else None
