"""Advice on requests and limits that are valid but of little use on a node: one sentence per field.

Each sentence says how Kubernetes uses the value, and which value was probably intended.

Source: scheduler plugins/noderesources fitsRequest; kubelet cm.MilliCPUToQuota; cm/cpumanager guaranteedCPUs;
api/v1 SetDefaults_Pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import pod_requests
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_levels import running_containers
from kitlib.kubelet.cm.node_allocatable import node_allocatable_absolute
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.views.units import size

LEAST_MEMORY = 4 * 2**20
"""Memory in bytes below which hardly any program starts."""
LEAST_QUOTA = 10
"""Minimum effective limit in milli-CPU: 1 ms of a period of 100 ms (cm.MinQuotaPeriod)."""


def pod_advice(pod: Pod, node: NodeConfig) -> list[tuple[str, str]]:
    """Return (field path, sentence) for every amount that a reader should check."""
    whole = allocatable_of(node)
    guaranteed = get_pod_qos(pod, node.gates) == "Guaranteed"
    found: list[tuple[str, str]] = []
    for container in running_containers(pod):
        place = _place(pod, container)
        for what in ("requests", "limits"):
            for resource in ("cpu", "memory"):
                amount = getattr(container.resources, what).get(resource)
                if amount is not None:
                    said = next(_sentences(what, resource, amount, whole[resource], guaranteed), "")
                    found += [(f"{place}.{what}[{resource}]", said)] if said else []
    found += _over_request(pod, whole, {path for path, _ in found})
    return found


def amount_of(quantity: Quantity, resource: str) -> int:
    """Return milli-CPU, or bytes of memory."""
    return quantity.milli_value() if resource == "cpu" else quantity.value()


def allocatable_of(node: NodeConfig) -> dict[str, int]:
    """Return the node's allocatable milli-CPU and bytes of memory."""
    allocatable = node_allocatable_absolute(node.machine.capacity(), node.reservations)
    return {resource: amount_of(allocatable[resource], resource) for resource in ("cpu", "memory")}


def _sentences(what: str, resource: str, amount: Quantity, whole: int, guaranteed: bool) -> Iterator[str]:
    """Yield advice about one amount, the most important first."""
    value, text = amount_of(amount, resource), str(amount)
    if resource == "memory" and 0 < value < LEAST_MEMORY:
        digits = text.rstrip("mkK")
        meant = f"did you mean {digits}M or {digits}Mi?" if digits.isdigit() else "no program starts with that."
        yield f"{text} is {value} byte{'s' if value != 1 else ''}: {meant}"
    if value > whole:
        meant = f" Did you mean {text}m?" if resource == "cpu" and text.isdigit() and int(text) <= whole else ""
        room = f"{whole}m" if resource == "cpu" else size(whole)
        yield (
            f"no node like this can take it: {room} are allocatable.{meant}"
            if what == "requests"
            else f"above the node's {room}: this limit is never reached.{meant}"
        )
    if resource == "cpu" and what == "limits" and 0 < value < LEAST_QUOTA:
        yield f"the smallest quota is 1 ms in 100 ms: the container gets {LEAST_QUOTA}m."
    if resource == "cpu" and what == "requests" and guaranteed and value % 1000:
        near = -(-value // 1000)
        yield f"not a whole number: the static CPU manager gives no exclusive CPU. Did you mean {near}?"


def _over_request(pod: Pod, whole: dict[str, int], said: set[str]) -> list[tuple[str, str]]:
    """Return advice on containers that fit individually but not together."""
    total, containers = pod_requests(pod), running_containers(pod)
    found = []
    for resource, room in whole.items():
        amount = total.get(resource)
        if amount is None:
            continue
        value = amount_of(amount, resource)
        last = next((c for c in reversed(containers) if resource in c.resources.requests), None)
        if last is None or value <= room:
            continue
        path = f"{_place(pod, last)}.requests[{resource}]"
        if path not in said:
            shown = f"{value}m of {room}m" if resource == "cpu" else f"{size(value)} of {size(room)}"
            found.append((path, f"all containers together request {shown}: the pod stays pending."))
    return found


def _place(pod: Pod, container: Container) -> str:
    for name, containers in (("initContainers", pod.spec.init_containers), ("containers", pod.spec.containers)):
        for number, one in enumerate(containers):
            if one is container:
                return f"spec.{name}[{number}].resources"
    return ""
