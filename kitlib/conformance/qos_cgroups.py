"""Cases of the QoS container manager: CPU shares, qos-reserved, MemoryQoS of the QoS-level cgroups."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm import qos_container_manager as rules
from kitlib.kubelet.cm.conversions import shares_to_weight
from kitlib.kubelet.cm.memory_qos import NO_RESERVATION, TIERED_RESERVATION

FILE = "qos_cgroups"
RELEASE = "1.36"
INPUTS = frozenset({"kind", "in", "pods", "qosReservedMemoryPercent", "allocatableMemory"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the results for both QoS-level cgroups of a set of pods, or a parsed `--qos-reserved`."""
    if case.get("kind") == "parseQOSReserved":
        try:
            return {"percent": rules.parse_qos_reserved(case["in"])["memory"]}
        except rules.QosReservedError as error:
            return {"error": str(error)}
    requests = rules.qos_requests([set_defaults(from_dict(pod, Pod)) for pod in case["pods"] or ()])
    allocatable = Quantity(case["allocatableMemory"]).value()
    return {
        "cpu": {
            qos: {"cpuShares": shares, "cpuWeight": shares_to_weight(shares)}
            for qos, shares in rules.qos_cpu_shares(requests).items()
        },
        "memoryReserve": rules.qos_memory_limits(requests, allocatable, case["qosReservedMemoryPercent"]),
        "memoryRequests": {"Burstable": requests.burstable_memory, "Guaranteed": requests.guaranteed_memory},
        "memoryQoSNone": rules.qos_memory_protection(requests, NO_RESERVATION),
        "memoryQoSTieredReservation": rules.qos_memory_protection(requests, TIERED_RESERVATION),
    }
