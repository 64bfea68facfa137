"""The content of the QoS cgroups Burstable and BestEffort.

BestEffort always has 2 shares. Burstable has the shares of the sum of its pods' CPU requests. Guaranteed pods have no
QoS cgroup; their cgroups are directly below "kubepods". With `--qos-reserved memory=P%` the limits of the lower classes
subtract P percent of the requests of the higher ones: Burstable may use allocatable − P% of Guaranteed requests,
BestEffort that minus P% of Burstable requests.

Source: kubelet qosContainerManagerImpl (setCPUCgroupConfig, setMemoryReserve, setMemoryQoS, UpdateCgroups),
ParseQOSReserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.kubelet.cm.conversions import MIN_SHARES, milli_cpu_to_shares
from kitlib.kubelet.cm.formula import Formula, Step
from kitlib.kubelet.cm.memory_qos import MEMORY_LOW, MEMORY_MIN, TIERED_RESERVATION
from kitlib.kubelet.qos.qos_class import QosClass, get_pod_qos

_BURSTABLE_LIMIT = Step("limit", "pods - floor(guaranteed * percent / 100)")
_BEST_EFFORT_LIMIT = Step("limit", "pods - floor(guaranteed * percent / 100) - floor(burstable * percent / 100)")


class QosReservedError(KitError, ValueError):
    """An invalid `--qos-reserved`; with the kubelet's message."""


@dataclass(frozen=True, slots=True)
class QosRequests:
    """The sums of the active pods' requests by QoS class.

    Attributes:
        burstable_cpu: milli-CPU.
        burstable_memory, guaranteed_memory: bytes.
    """

    burstable_cpu: int = 0
    burstable_memory: int = 0
    guaranteed_memory: int = 0

    def __add__(self, other: QosRequests) -> QosRequests:
        return QosRequests(
            self.burstable_cpu + other.burstable_cpu,
            self.burstable_memory + other.burstable_memory,
            self.guaranteed_memory + other.guaranteed_memory,
        )


def qos_requests(pods: Iterable[Pod], release: Release | None = None) -> QosRequests:
    """Add up the requests of the active pods, with overhead.

    Source: kubelet qosContainerManagerImpl.setCPUCgroupConfig, getQoSMemoryRequests.
    """
    cpu = burstable = guaranteed = 0
    for pod in pods:
        qos = get_pod_qos(pod, release)
        if qos == "BestEffort":
            continue
        requests = pod_requests(pod, release=release)
        memory = requests["memory"].value() if "memory" in requests else 0
        if qos == "Guaranteed":
            guaranteed += memory
            continue
        burstable += memory
        cpu += requests["cpu"].milli_value() if "cpu" in requests else 0
    return QosRequests(cpu, burstable, guaranteed)


def qos_cpu_shares(requests: QosRequests) -> dict[QosClass, int]:
    """Return `cpu.shares` of the two QoS cgroups. Source: kubelet qosContainerManagerImpl.setCPUCgroupConfig."""
    return {"Burstable": milli_cpu_to_shares(requests.burstable_cpu), "BestEffort": MIN_SHARES}


def qos_memory_limits(requests: QosRequests, allocatable: int, percent: int) -> dict[str, int]:
    """Return the memory limits in bytes that `--qos-reserved memory=percent` sets; {} if allocatable is unknown.

    Args:
        requests: the sums of the pods' requests.
        allocatable: the allocatable memory in bytes; 0 = unknown.
        percent: the part of the requests that lower classes cannot use, 0 to 100.

    Source: kubelet qosContainerManagerImpl.setMemoryReserve.
    """
    if allocatable == 0:
        return {}
    guaranteed, burstable = requests.guaranteed_memory, requests.burstable_memory
    return {
        "Burstable": _BURSTABLE_LIMIT(allocatable, guaranteed, percent),
        "BestEffort": _BEST_EFFORT_LIMIT(allocatable, guaranteed, percent, burstable),
    }


def qos_memory_formula(qos: QosClass, requests: QosRequests, allocatable: int, percent: int) -> Formula:
    """Return the arithmetic of a limit of `qos_memory_limits`."""
    inputs = {
        "pods": allocatable,
        "percent": percent,
        "guaranteed": requests.guaranteed_memory,
        "burstable": requests.burstable_memory,
    }
    return Formula(inputs, (_BURSTABLE_LIMIT if qos == "Burstable" else _BEST_EFFORT_LIMIT,), "{limit}")


def qos_memory_protection(requests: QosRequests, policy: str) -> dict[str, dict[str, str]]:
    """Return the files of cgroup v2 by class; Guaranteed means the cgroup of all pods.

    Source: kubelet qosContainerManagerImpl.setMemoryQoS; KEP-2570.
    """
    burstable, guaranteed = 0, 0
    if policy == TIERED_RESERVATION:
        burstable = requests.burstable_memory
        # Protection is effective only up to that of each cgroup above, so the cgroup of all pods gets both sums.
        guaranteed = requests.guaranteed_memory + requests.burstable_memory
    return {"Burstable": {MEMORY_LOW: str(burstable)}, "Guaranteed": {MEMORY_MIN: str(guaranteed)}}


def parse_qos_reserved(settings: Mapping[str, str]) -> dict[str, int]:
    """Parse `{"memory": "50%"}` to `{"memory": 50}`.

    Raises:
        QosReservedError: a resource other than memory, or no percentage from 0 to 100; the message is the kubelet's.

    Source: kubelet cm.ParseQOSReserved, parsePercentage.
    """
    parsed: dict[str, int] = {}
    for resource, text in settings.items():
        if resource != "memory":
            raise QosReservedError(f'cannot reserve "{resource}" resource')
        try:
            parsed[resource] = _percentage(text)
        except ValueError as problem:
            raise QosReservedError(
                f'failed to parse percentage "{text}" for "{resource}" resource: {problem}'
            ) from None
    return parsed


def _percentage(text: str) -> int:
    number = text.removesuffix("%")
    if number == text:
        raise ValueError(f"percentage expected, got '{text}'")
    digits = number[1:] if number[:1] in ("+", "-") else number
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"invalid number in percentage '{text}'")
    percent = int(number)
    if not 0 <= percent <= 100:
        raise ValueError("percentage must be between 0 and 100")
    return percent
