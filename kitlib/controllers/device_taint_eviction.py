"""Device taint eviction: a NoExecute taint on a device deletes the pods that use it, at once or after a toleration.

A taint is part of a driver's ResourceSlice or of a DeviceTaintRule, whose condition EvictionInProgress has the progress
of the eviction. The tolerations of a claim are part of its allocation.

Source: pkg/controller/devicetainteviction (claimEvictionTime, podEvictionTime, maybeDeletePod, maybeUpdateRuleStatus).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.claims import rule_matches
from kitlib.api.core import Pod
from kitlib.api.devices import DeviceTaintRule, ResourceClaim, ResourceSlice
from kitlib.api.meta import Condition
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.device_taints import NO_EXECUTE, Evictions, results, tainted
from kitlib.controllers.informers import Delta
from kitlib.controllers.tainteviction import mark_disruption_target

STATUS_PERIOD = 10.0
"""The minimum interval in seconds between two statuses of a rule. Source: ruleStatusPeriod."""
IN_PROGRESS = "EvictionInProgress"
_NOT_AGAIN = "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."


class DeviceTaintEvictionController(Controller):
    """The eviction controller; keys are ("Pod", namespace, name) and ("DeviceTaintRule", "", name)."""

    name: ClassVar[str] = "device-taint-eviction-controller"

    def __init__(self, manager: object) -> None:
        super().__init__(manager)  # type: ignore[arg-type]
        release = self.api.release
        self._enabled = release.enabled("DRADeviceTaints")
        self._obeys_rules = self._enabled and release.enabled("DRADeviceTaintRules")
        self._evictions = Evictions(self.api.store, self.now, self._obeys_rules)
        self._tainted_slices: set[str] = set()
        self._scheduled: set[str] = set()
        self._evicted: dict[str, int] = {}

    def handlers(self) -> Mapping[str, Handler]:
        found: dict[str, Handler] = {}
        if self._enabled:
            found |= {"Pod": self._on_pod, "ResourceClaim": self._on_claim, "ResourceSlice": self._on_slice}
        if self._obeys_rules:
            found["DeviceTaintRule"] = self._on_rule
        return found

    def _on_pod(self, change: Delta) -> None:
        old, new = change.old, change.new
        if not isinstance(new, Pod) or not new.spec.resource_claims:
            return
        if change.type == "DELETED":
            self._scheduled.discard(new.metadata.uid)
        elif (
            not isinstance(old, Pod)
            or old.spec.node_name != new.spec.node_name
            or old.status.resource_claim_statuses != new.status.resource_claim_statuses
        ):
            self.queue.add(("Pod", new.namespace, new.name))

    def _on_claim(self, change: Delta) -> None:
        for claim in (change.old, change.new):
            if isinstance(claim, ResourceClaim):
                self._enqueue_users(claim)

    def _on_slice(self, change: Delta) -> None:
        if not isinstance(change.new, ResourceSlice):
            return
        before = tainted(change.old) if isinstance(change.old, ResourceSlice) else []
        after = tainted(change.new) if change.type != "DELETED" else []
        (self._tainted_slices.add if after else self._tainted_slices.discard)(change.new.name)
        if before == after:
            return
        pool = (change.new.spec.driver, change.new.spec.pool.name)
        for claim in self._evictions.claims():
            if any((result.driver, result.pool) == pool for result in results(claim)):
                self._enqueue_users(claim)

    def _on_rule(self, change: Delta) -> None:
        old, new = change.old, change.new
        if not isinstance(new, DeviceTaintRule):
            return
        if change.type == "DELETED":
            self._evicted.pop(new.metadata.uid, None)
        elif isinstance(old, DeviceTaintRule) and old.spec == new.spec:
            return
        else:
            self.queue.add(("DeviceTaintRule", "", new.name))
        for claim in self._evictions.claims():
            self._enqueue_users(claim)

    def _enqueue_users(self, claim: ResourceClaim) -> None:
        for user in claim.status.reserved_for:
            if not user.api_group and user.resource == "pods":
                self.queue.add(("Pod", claim.namespace, user.name))

    def sync(self, key: Key) -> None:
        if key[0] == "DeviceTaintRule":
            rule = self.find(DeviceTaintRule, key)
            if rule is not None:
                self._tell(rule)
            return
        pod = self.find(Pod, key)
        if pod is not None:
            self._process(pod)

    def _process(self, pod: Pod) -> None:
        """Source: handlePod, maybeDeletePod."""
        uid = pod.metadata.uid
        rules = self._evictions.rules()
        found = self._evictions.eviction_of(pod, rules) if rules or self._tainted_slices else None
        if found is None:
            if uid in self._scheduled:
                self._scheduled.discard(uid)
                self.event(pod, "Normal", "DeviceTaintManagerEviction", "Cancelling deletion")
            return
        # The status of a rule counts pending evictions, so it is written again after each change of them.
        for rule in rules:
            if rule.metadata.uid in found.rules:
                self.queue.add_after(("DeviceTaintRule", "", rule.name), STATUS_PERIOD)
        wait = (found.when - self.now()).total_seconds()
        if wait > 0:
            self._scheduled.add(uid)
            self.queue.add_after(("Pod", pod.namespace, pod.name), wait)
            return
        self._scheduled.discard(uid)
        if pod.metadata.deletion_timestamp is not None:
            return
        self.event(pod, "Normal", "DeviceTaintManagerEviction", "Marking for deletion")
        message = "Device Taint manager: deleting due to NoExecute taint"
        mark_disruption_target(self, pod, "DeletionByDeviceTaintManager", message)
        self.api.delete(Pod, pod.name, pod.namespace, grace=None)
        for one in found.rules:
            self._evicted[one] = self._evicted.get(one, 0) + 1

    def _tell(self, rule: DeviceTaintRule) -> None:
        """Write the progress of the eviction, every ten seconds at most. Source: maybeUpdateRuleStatus."""
        now, meta = self.now(), rule.metadata
        old = next((condition for condition in rule.status.conditions if condition.type == IN_PROGRESS), Condition())
        if old.last_transition_time is not None and old.observed_generation == meta.generation:
            since = (now - old.last_transition_time).total_seconds()
            if since < STATUS_PERIOD:
                self.queue.add_after(("DeviceTaintRule", "", rule.name), STATUS_PERIOD - since)
                return
        made = Condition(
            type=IN_PROGRESS,
            status="False",
            observed_generation=meta.generation,
            last_transition_time=old.last_transition_time,
        )
        effect, evicted = rule.spec.taint.effect, self._evicted.get(meta.uid, 0)
        told: list[str] = []
        if effect == NO_EXECUTE:
            pods, namespaces = self._evictions.pending(rule)
            made.reason = "PodsPendingEviction" if pods else "Completed" if evicted else "NotStarted"
            if pods:
                made.status = "True"
                need = "1 pod needs" if pods == 1 else f"{pods} pods need"
                told.append(f"{need} to be evicted in {_namespaces(namespaces)}.")
        elif effect == "None":
            made.reason = "NoEffect"
            told.append(self._what_if(rule))
        else:
            made.reason = "OtherEffect"
            told.append("Eviction only happens for the NoExecute effect.")
        if evicted:
            told.append(f"{_counted(evicted, 'pod')} evicted since starting the controller.")
        made.message = " ".join(told)
        if made != old:
            made.last_transition_time = now
            changed = deepcopy(rule)
            changed.status.conditions = [
                *(condition for condition in rule.status.conditions if condition.type != IN_PROGRESS),
                made,
            ]
            self.api.update_status(changed)

    def _what_if(self, rule: DeviceTaintRule) -> str:
        """Return a sentence about the effect that a rule with the effect None would have as NoExecute."""
        tried = deepcopy(rule)
        tried.spec.taint.effect = NO_EXECUTE
        tried.spec.taint.time_added = tried.spec.taint.time_added or self.now()
        every = self.api.store.list(ResourceSlice, copy=False)
        pools = {(one.spec.driver, one.spec.pool.name) for one in every}
        published = sum(
            rule_matches(rule, *pool, device.name)
            for pool in pools
            for resource_slice in self._evictions.newest(*pool)
            for device in resource_slice.spec.devices
        )
        given = (result for claim in self._evictions.claims() for result in results(claim))
        allocated = sum(rule_matches(rule, one.driver, one.pool, one.device) for one in given)
        pods, namespaces = self._evictions.pending(tried)
        return (
            f"{_counted(published, 'published device')} selected. {_counted(allocated, 'allocated device')} selected. "
            f"{_counted(pods, 'pod')} would be evicted in {_namespaces(namespaces)} if the effect was NoExecute. "
            f"{_NOT_AGAIN}"
        )


def _counted(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _namespaces(number: int) -> str:
    return "1 namespace" if number == 1 else f"{number} different namespaces"
