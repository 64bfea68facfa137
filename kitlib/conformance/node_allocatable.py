"""Cases of node allocatable: capacity, reservations, node status, and the cgroups of pods and reserved resources."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import ResourceList
from kitlib.api.resource import Quantity
from kitlib.conformance.pod_enforcement import resource_config
from kitlib.kubelet.cm.cgroup_config import resource_config_for_list
from kitlib.kubelet.cm.node_allocatable import (
    NodeAllocatableError,
    Reservations,
    node_allocatable_absolute,
    node_allocatable_reservation,
    node_status,
    pods_cgroup,
    validate_node_allocatable,
)
from kitlib.kubelet.config.machine import HugePages, MachineInfo

FILE = "node_allocatable"
RELEASE = "1.36"
INPUTS = frozenset(
    {"machine", "maxPods", "podsPerCore", "kubeReserved", "systemReserved", "evictionHard", "enforcePods"}
)


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return all results that the kubelet computes from a machine and its reservations."""
    given = case["machine"]
    machine = MachineInfo(
        cores=given["numCores"],
        memory=given["memoryBytes"],
        huge_pages=tuple(HugePages(p["pageSizeKiB"] * 1024, p["numPages"]) for p in given.get("hugePages") or ()),
        ephemeral_storage=Quantity(given.get("ephemeralStorageBytes", "0")).value(),
        max_pid=Quantity(given.get("maxPID", "0")).value(),
    )
    reserved = Reservations(
        kube_reserved=_quantities(case.get("kubeReserved")),
        system_reserved=_quantities(case.get("systemReserved")),
        eviction_hard=case.get("evictionHard") or {},
        enforce_pods=case.get("enforcePods", False),
    )
    capacity = machine.container_manager_capacity()
    if "ephemeralStorageBytes" in given:
        capacity["ephemeral-storage"] = Quantity(given["ephemeralStorageBytes"])  # the case's own notation
    status = node_status(
        machine, reserved, case["maxPods"], case.get("podsPerCore", 0), container_manager_capacity=capacity
    )
    found = {
        "containerManagerCapacity": _texts(capacity),
        "absolute": _texts(node_allocatable_absolute(capacity, reserved)),
        "reservation": _texts(node_allocatable_reservation(capacity, reserved)),
        "nodeStatus": {"capacity": _texts(status.capacity), "allocatable": _texts(status.allocatable)},
        "kubepodsCgroup": resource_config(pods_cgroup(machine, reserved)),
        "kubeReservedCgroup": resource_config(resource_config_for_list(reserved.kube_reserved)),
        "systemReservedCgroup": resource_config(resource_config_for_list(reserved.system_reserved)),
        "systemReservedCgroupCompressible": resource_config(
            resource_config_for_list(reserved.system_reserved, compressible_only=True)
        ),
    }
    try:
        validate_node_allocatable(capacity, reserved)
    except NodeAllocatableError as error:
        found["validateError"] = str(error)
    return found


def compare(_case: dict[str, Any], name: str, expected: Any, found: Any) -> bool:
    """Compare lists of violations without their order, which is not fixed."""
    mark = "Resource "
    return name == "validateError" and sorted(str(expected).split(mark)) == sorted(str(found).split(mark))


def _quantities(texts: dict[str, str] | None) -> ResourceList:
    return {name: Quantity(text) for name, text in (texts or {}).items()}


def _texts(resources: ResourceList) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in resources.items()}
