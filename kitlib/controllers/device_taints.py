"""The pods to evict because of NoExecute taints on their devices, and the times of eviction.

Source: pkg/controller/devicetainteviction (claimEvictionTime, podEvictionTime, allEvictingDeviceTaints,
countPendingPods, pool.getDevice).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from kitlib.api.claims import ClaimError, claim_name, is_for_pod, is_reserved_for, rule_matches, tolerates
from kitlib.api.clock import duration
from kitlib.api.core import Pod
from kitlib.api.devices import (
    Device,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from kitlib.apiserver.store.store import Store

NO_EXECUTE = "NoExecute"


class DeviceTaintEviction(NamedTuple):
    """The time of a pod's eviction, and the UIDs of the rules that cause it."""

    when: datetime
    rules: frozenset[str] = frozenset()


class Evictions:
    """The evictions of pods that taints on devices cause.

    Args:
        store: the cluster's object store.
        now: returns the current date.
        obeys_rules: whether DeviceTaintRules count.
    """

    def __init__(self, store: Store, now: Callable[[], datetime], obeys_rules: bool) -> None:
        self._store, self._now, self._obeys_rules = store, now, obeys_rules

    def eviction_of(self, pod: Pod, rules: Iterable[DeviceTaintRule]) -> DeviceTaintEviction | None:
        """Return the time at which the first device taint evicts the pod; None = never. Source: podEvictionTime."""
        if not pod.spec.node_name:
            return None
        found: DeviceTaintEviction | None = None
        for wanted in pod.spec.resource_claims:
            try:
                name, owned = claim_name(pod, wanted)
            except ClaimError:  # not created yet
                continue
            claim = self._store.find(ResourceClaim, name, pod.namespace, copy=False) if name else None
            if claim is None or (owned and not is_for_pod(claim, pod)) or not is_reserved_for(claim, pod):
                continue
            for result in results(claim):
                for taint, rule in self._taints(result, rules):
                    when = until(result, taint, self._now())
                    if when is None:
                        continue
                    uids = frozenset({rule.metadata.uid} if rule is not None else ())
                    found = (
                        DeviceTaintEviction(when, uids)
                        if found is None
                        else DeviceTaintEviction(min(found.when, when), found.rules | uids)
                    )
        return found

    def _taints(
        self, result: DeviceRequestAllocationResult, rules: Iterable[DeviceTaintRule]
    ) -> Iterator[tuple[DeviceTaint, DeviceTaintRule | None]]:
        """Yield the NoExecute taints of an allocated device, each with its rule; None = from a ResourceSlice."""
        device = self._device(result)
        for taint in device.taints if device is not None else ():
            if taint.effect == NO_EXECUTE:
                yield taint, None
        for rule in rules:
            evicts = rule.spec.taint.effect == NO_EXECUTE
            if evicts and rule_matches(rule, result.driver, result.pool, result.device):
                yield rule.spec.taint, rule

    def _device(self, result: DeviceRequestAllocationResult) -> Device | None:
        """Return the device from its pool's newest generation; None if it is missing. Source: pool.getDevice."""
        slices = self.newest(result.driver, result.pool)
        return next((device for found in slices for device in found.spec.devices if device.name == result.device), None)

    def newest(self, driver: str, pool: str) -> list[ResourceSlice]:
        every = self._store.list(ResourceSlice, copy=False)
        mine = [one for one in every if (one.spec.driver, one.spec.pool.name) == (driver, pool)]
        newest = max((one.spec.pool.generation for one in mine), default=0)
        return [one for one in mine if one.spec.pool.generation == newest]

    def claims(self) -> list[ResourceClaim]:
        found: list[ResourceClaim] = self._store.list(ResourceClaim, copy=False)
        return [claim for claim in found if claim.status.allocation is not None]

    def rules(self) -> list[DeviceTaintRule]:
        return self._store.list(DeviceTaintRule, copy=False) if self._obeys_rules else []

    def pending(self, rule: DeviceTaintRule) -> tuple[int, int]:
        """Return the number of pods that a rule will evict, and of their namespaces. Source: countPendingPods."""
        users = {(claim.namespace, user.name) for claim in self.claims() for user in claim.status.reserved_for}
        pending = []
        for namespace, name in sorted(users):
            pod = self._store.find(Pod, name, namespace, copy=False)
            if pod is None or pod.metadata.deletion_timestamp is not None:
                continue
            found = self.eviction_of(pod, [rule])
            if found is not None and rule.metadata.uid in found.rules:
                pending.append(namespace)
        return len(pending), len(set(pending))


def until(result: DeviceRequestAllocationResult, taint: DeviceTaint, now: datetime) -> datetime | None:
    """Return the time at which a taint evicts the pods of a claim; None = never. Source: claimEvictionTime."""
    added, seconds = taint.time_added or now, []
    for toleration in result.tolerations:
        if toleration.effect == NO_EXECUTE and tolerates(toleration, taint):
            if toleration.toleration_seconds is None:
                return None
            seconds.append(max(0, toleration.toleration_seconds))
    return added + duration(min(seconds, default=0))


def tainted(resource_slice: ResourceSlice) -> list[tuple[str, DeviceTaint]]:
    return [(d.name, taint) for d in resource_slice.spec.devices for taint in d.taints if taint.effect == NO_EXECUTE]


def results(claim: ResourceClaim) -> list[DeviceRequestAllocationResult]:
    return claim.status.allocation.devices.results if claim.status.allocation is not None else []
