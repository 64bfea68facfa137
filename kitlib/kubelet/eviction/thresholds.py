"""The thresholds of the eviction signals, hard and soft, and the check whether a node meets them.

`--eviction-hard memory.available<100Mi` evicts immediately, `--eviction-soft` after a grace period. A threshold is an
amount, or a percentage of the capacity (a 32-bit float in the kubelet, which affects the last bytes). 0% and 100%
disable a threshold. With "pods" in enforce-node-allocatable the hard memory threshold also applies to the cgroup of
all pods, as the signal allocatableMemory.available. `--eviction-minimum-reclaim` raises the threshold that ends an
eviction.

Source: kubelet eviction.ParseThresholdConfig, thresholdsMet, nodeConditions; evictionapi.GetThresholdQuantity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kitlib.api.errors import KitError
from kitlib.api.go_durations import duration
from kitlib.api.release import Release
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.cm.conversions import percent_as_float32

MEMORY, ALLOCATABLE_MEMORY = "memory.available", "allocatableMemory.available"
NODE_CONDITIONS = {
    MEMORY: "MemoryPressure",
    ALLOCATABLE_MEMORY: "MemoryPressure",
    "nodefs.available": "DiskPressure",
    "nodefs.inodesFree": "DiskPressure",
    "imagefs.available": "DiskPressure",
    "imagefs.inodesFree": "DiskPressure",
    "containerfs.available": "DiskPressure",
    "containerfs.inodesFree": "DiskPressure",
    "pid.available": "PIDPressure",
}
"""Signal -> node condition that it sets."""
SIGNALS = tuple(NODE_CONDITIONS)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class ThresholdError(KitError, ValueError):
    """Invalid thresholds; with the kubelet's message."""


@dataclass(frozen=True, slots=True)
class ThresholdValue:
    """An amount, or else a fraction of the capacity (0 to 1)."""

    quantity: Quantity | None = None
    percentage: float = 0.0

    def of(self, capacity: int) -> int:
        """Return the amount in bytes, inodes or process ids. Source: kubelet evictionapi.GetThresholdQuantity."""
        if self.quantity is not None:
            return self.quantity.value()
        return int(float(capacity) * self.percentage)

    def __str__(self) -> str:
        return str(self.quantity) if self.quantity is not None else f"{self.percentage * 100:.6g}%"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of a signal, which is met while the signal is below its value.

    Attributes:
        signal: the name of the signal, such as `memory.available`.
        value: the amount.
        grace_period: seconds for which it must be met before a pod is evicted; 0 = a hard threshold.
        min_reclaim: the amount above the value at which an eviction ends; None = 0.
    """

    signal: str
    value: ThresholdValue
    grace_period: float = 0.0
    min_reclaim: ThresholdValue | None = None

    @property
    def hard(self) -> bool:
        """Whether pods are evicted without a grace period."""
        return self.grace_period == 0


class Observation(NamedTuple):
    """The observation of a signal: bytes, inodes or process ids."""

    available: int
    capacity: int


def without_huge_pages(seen: Mapping[str, Observation], huge: int, release: Release) -> dict[str, Observation]:
    """Return the same signals, with `memory.available` less the memory that huge pages have reserved.

    Huge pages are part of the machine's memory, but the memory controller does not count their use: without this the
    signal shows memory that no process can get. The capacity is what is available and the working set together.

    Args:
        seen: signal -> its observation.
        huge: bytes of all pools of huge pages.
        release: the release; from 1.37 on the gate HugepageAwareEviction applies.

    Source: stats adjustForHugePages (kubernetes/kubernetes #138127), eviction makeSignalObservations.
    """
    found = dict(seen)
    memory = found.get(MEMORY)
    if memory is not None and huge and release.enabled("HugepageAwareEviction"):
        available = max(0, memory.available - huge)
        found[MEMORY] = Observation(available, available + memory.capacity - memory.available)
    return found


def parse_threshold_config(
    enforce: Iterable[str] = (),
    hard: Mapping[str, str] | None = None,
    soft: Mapping[str, str] | None = None,
    grace_periods: Mapping[str, str] | None = None,
    min_reclaim: Mapping[str, str] | None = None,
) -> list[Threshold]:
    """Return the thresholds of the four settings.

    Args:
        enforce: `--enforce-node-allocatable`; "pods" adds the thresholds of the cgroup of all pods.
        hard: signal -> quantity or percentage of the hard threshold.
        soft: signal -> quantity or percentage of the soft threshold.
        grace_periods: signal -> duration; every soft threshold needs one.
        min_reclaim: signal -> quantity or percentage.

    Raises:
        ThresholdError: a setting is invalid; the message is the kubelet's.

    Source: kubelet eviction.ParseThresholdConfig.
    """
    found = _thresholds(hard or {})
    waiting = _thresholds(soft or {})
    periods = _grace_periods(grace_periods or {})
    reclaims = _min_reclaims(min_reclaim or {})
    for threshold in waiting:
        if threshold.signal not in periods:
            raise ThresholdError(f"grace period must be specified for the soft eviction threshold {threshold.signal}")
        found.append(replace(threshold, grace_period=periods[threshold.signal]))
    found = [replace(threshold, min_reclaim=reclaims.get(threshold.signal)) for threshold in found]
    if "pods" in set(enforce):
        # Pods can reach the limit of their common cgroup although the node has
        # free memory, which is reserved for others.
        found += [replace(t, signal=ALLOCATABLE_MEMORY) for t in found if t.signal == MEMORY and t.hard]
    return found


def thresholds_met(
    thresholds: Iterable[Threshold], observations: Mapping[str, Observation], *, min_reclaim: bool = False
) -> list[Threshold]:
    """Return the thresholds that are met; without an observation of its signal a threshold is not met.

    Args:
        thresholds: the thresholds to check.
        observations: signal -> its observation.
        min_reclaim: whether to add the minimum reclaim to the thresholds, for those that were met before.

    Source: kubelet eviction.thresholdsMet.
    """
    met = []
    for threshold in thresholds:
        seen = observations.get(threshold.signal)
        if seen is None:
            continue
        line = threshold.value.of(seen.capacity)
        if min_reclaim and threshold.min_reclaim is not None:
            line += threshold.min_reclaim.of(seen.capacity)
        if line > seen.available:
            met.append(threshold)
    return met


def node_conditions(thresholds: Iterable[Threshold]) -> list[str]:
    """Return the node conditions of met thresholds, each once. Source: kubelet eviction.nodeConditions."""
    return list(dict.fromkeys(NODE_CONDITIONS[threshold.signal] for threshold in thresholds))


def _thresholds(statements: Mapping[str, str]) -> list[Threshold]:
    made = []
    for signal, text in statements.items():
        _known(signal)
        # Upstream ignores both: 0% could never be met, and 100% would be met by any use.
        if text in ("0%", "100%"):
            continue
        if text.endswith("%"):
            share = _percentage(text)
            if share < 0:
                raise ThresholdError(f"eviction percentage threshold {signal} must be >= 0%: {text}")
            if share > 1:
                raise ThresholdError(f"eviction percentage threshold {signal} must be <= 100%: {text}")
            made.append(Threshold(signal, ThresholdValue(percentage=share)))
            continue
        quantity = _quantity(text)
        if quantity.sign() <= 0:
            raise ThresholdError(f"eviction threshold {signal} must be positive: {quantity}")
        made.append(Threshold(signal, ThresholdValue(quantity)))
    return made


def _grace_periods(statements: Mapping[str, str]) -> dict[str, float]:
    made = {}
    for signal, text in statements.items():
        _known(signal)
        try:
            made[signal] = duration(text)
        except ValueError as error:
            raise ThresholdError(str(error)) from error
        if made[signal] < 0:
            raise ThresholdError(f"invalid eviction grace period specified: {text}, must be a positive value")
    return made


def _min_reclaims(statements: Mapping[str, str]) -> dict[str, ThresholdValue]:
    made = {}
    for signal, text in statements.items():
        _known(signal)
        if text.endswith("%"):
            share = _percentage(text)
            if share <= 0:
                raise ThresholdError(f"eviction percentage minimum reclaim {signal} must be positive: {text}")
            made[signal] = ThresholdValue(percentage=share)
            continue
        quantity = _quantity(text)
        if quantity.sign() < 0:
            raise ThresholdError(f"negative eviction minimum reclaim specified for {signal}")
        made[signal] = ThresholdValue(quantity)
    return made


def _known(signal: str) -> None:
    if signal not in NODE_CONDITIONS:
        raise ThresholdError(f"unsupported eviction signal {signal}")


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(text)
    except QuantityError as error:
        raise ThresholdError(str(error)) from error


def _percentage(text: str) -> float:
    """Return the percentage as a fraction with 32-bit precision. Source: kubelet eviction.parsePercentage."""
    number = text.rstrip("%")
    if not _FLOAT.fullmatch(number):
        raise ThresholdError(f'strconv.ParseFloat: parsing "{number}": invalid syntax')
    return percent_as_float32(float(number))
