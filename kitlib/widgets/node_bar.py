"""From capacity to free resources: the node's reservations, allocatable, and the pods' requests.

Allocatable and the cgroup of all pods follow changes of the machine, the reservations and the eviction threshold.
"""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as ipw

from kitlib.api.core import TERMINAL_PHASES
from kitlib.api.errors import KitError
from kitlib.api.podresources import pod_requests
from kitlib.api.resource import Quantity
from kitlib.charts.base import Chart
from kitlib.charts.node_bar import node_bar, part_at
from kitlib.kubelet.cm.node_allocatable import (
    Reservations,
    eviction_reservation,
    node_status,
    pods_limit,
    validate_node_allocatable,
)
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.views.units import size
from kitlib.widgets._parts.base import Field, KitWidget
from kitlib.widgets._parts.drawn_picture import DrawnPicture, quantity_text
from kitlib.widgets._parts.nodes import node_of
from kitlib.widgets._parts.pod_board import cpu_text

_AMOUNTS = ("cpu", "memory")
_RESERVED = ("kube-reserved", "system-reserved", "eviction-hard")
_STEPS = {"cpu": 50, "memory": 64 * 2**20}
"""Steps of a border in milli-CPU and bytes."""
HELP = (
    "Drag the dot of a border, or press arrow keys on it: the part becomes larger or smaller. Delete removes the part."
)
MAX_PODS = 110
"""The kubelet's default; it has no effect on CPU and memory."""


class NodeBar(KitWidget):
    """A node's CPU and memory as bars.

    Args:
        source: a cluster or a node of one, whose machine, settings and pods are shown first; None = 8 CPUs, 16Gi, and
            requested amounts as input.
        node: the node's name; "" = the cluster's only or first node.
    """

    title = "Node bar"
    try_this = "drag the border of system-reserved to 1Gi and see what is left for pods."

    def __init__(self, source: Any = None, node: str = "") -> None:
        machine_node = None if source is None else node_of(source, node)
        config = getattr(machine_node, "config", None)
        machine = config.machine if config is not None else MachineInfo.declare(8, "16Gi")
        kept = config.reservations if config is not None else Reservations(eviction_hard={"memory.available": "100Mi"})
        capacity = machine.capacity()
        requested = self._requested(source, machine_node)
        texts = {
            "capacity": {name: str(capacity[name]) for name in _AMOUNTS},
            "kube-reserved": {name: _text(kept.kube_reserved.get(name)) for name in _AMOUNTS},
            "system-reserved": {name: _text(kept.system_reserved.get(name)) for name in _AMOUNTS},
            "eviction-hard": {"memory": str(kept.eviction_hard.get("memory.available", ""))},
            "requested by pods": {name: _text(requested.get(name)) for name in _AMOUNTS},
        }
        self.fields: dict[tuple[str, str], Field] = {}
        columns = []
        for resource in _AMOUNTS:
            column = [ipw.HTML(f"<b>{resource}</b>")]
            for part, values in texts.items():
                if resource in values:
                    text = ipw.Text(value=values[resource], placeholder="nothing", layout={"width": "23em"})
                    field = Field(text, f"{resource} {part}", f"{part} of {resource}")
                    text.style.description_width = "15em"
                    text.observe(self.refresh, "value")
                    self.fields[part, resource] = field
                    column.append(field)
            columns.append(ipw.VBox(column, layout={"flex": "1 1 26em"}))
        row = ipw.HBox(columns)
        row.add_class("kitlib-row")
        self._figures = ipw.HTML()
        self._figures.add_class("kitlib-sentence")
        self._parts: dict[str, dict[str, float]] = {}
        self.picture = DrawnPicture(self._on_act, help=HELP)
        super().__init__([row, self._figures], picture=self.picture)
        self.refresh()

    @staticmethod
    def _requested(source: Any, node: Any) -> dict[str, Quantity]:
        """Return the sum of the requests of the pods on the node."""
        if source is None or not hasattr(source, "pods"):
            return {}
        total: dict[str, Quantity] = {}
        for pod in source.pods():
            if pod.spec.node_name == node.name and pod.status.phase not in TERMINAL_PHASES:
                for name, amount in pod_requests(pod).items():
                    total[name] = total[name] + amount if name in total else amount
        return total

    def _quantity(self, part: str, resource: str) -> Quantity | None:
        field = self.fields[part, resource]
        text = str(field.value).strip()
        if not text:
            return None
        try:
            amount = Quantity(text)
        except ValueError as error:
            field.say(str(error))
            raise
        if amount.sign() < 0:
            field.say(f"{text}: must not be negative")
            raise KitError(field.problem)
        return amount

    def chart(self) -> Chart:
        for field in self.fields.values():
            field.say("")
        machine = MachineInfo(cores=self._at_least_one("cpu").value(), memory=self._at_least_one("memory").value())
        reserved: dict[str, dict[str, Quantity]] = {}
        for part in ("kube-reserved", "system-reserved", "requested by pods"):
            found = {name: self._quantity(part, name) for name in _AMOUNTS}
            reserved[part] = {name: amount for name, amount in found.items() if amount is not None}
        hard = str(self.fields["eviction-hard", "memory"].value).strip()
        kept = Reservations(
            reserved["kube-reserved"], reserved["system-reserved"], {"memory.available": hard} if hard else {}
        )
        capacity = machine.container_manager_capacity()
        evicted = self._eviction(kept, capacity)
        validate_node_allocatable(capacity, kept)
        parts = {
            resource: {
                "capacity": _number(capacity[resource], resource),
                **{part: _number(amounts.get(resource), resource) for part, amounts in reserved.items()},
                "eviction-hard": _number(evicted.get(resource), resource),
            }
            for resource in _AMOUNTS
        }
        status, limit = node_status(machine, kept, MAX_PODS), pods_limit(machine, kept)
        text = (
            f"Allocatable: cpu {status.allocatable['cpu']}, memory {size(status.allocatable['memory'].value())}. "
            f"The cgroup of all pods is limited to {size(limit['memory'].value())}: what is kept for eviction is not "
            "taken off there, so that the kubelet has time to act."
        )
        self._figures.value = f"<p>{html.escape(text)}</p>"
        for resource in _AMOUNTS:
            self._warn(resource, parts[resource]["requested by pods"], status.allocatable[resource])
        del parts["cpu"]["eviction-hard"]  # the kubelet has no eviction signal of CPU
        self._parts = parts
        return node_bar(parts, {"cpu": "m", "memory": "bytes"})

    def _warn(self, resource: str, requested: float, allocatable: Quantity) -> None:
        most = _number(allocatable, resource)
        said = _amount(most, resource)
        text = f"more than the {said} that are allocatable: the scheduler would not place all of these pods here"
        self.fields["requested by pods", resource].hint(text if requested > most else "")

    def paint(self, chart: Chart) -> None:
        self.picture.show(chart)

    def _on_act(self, act: dict[str, Any]) -> None:
        """Move the border of a part: its field gets the amount, in steps, and the other parts keep theirs."""
        resource, _, part = str(act.get("what", "")).partition(" ")
        given, step = self._parts[resource], _STEPS[resource]
        if act["act"] == "drag":
            wanted = part_at(float(act["x"]), part, given, self.picture.width)
        else:
            wanted = 0.0 if act["act"] == "unset" else given[part] + step * int(act.get("by", 0))
        if part != "requested by pods":
            others = sum(given[name] for name in _RESERVED if name in given and name != part)
            wanted = min(wanted, given["capacity"] - others)
        amount = max(0, int(wanted // step * step if act["act"] != "drag" else round(wanted / step) * step))
        text = quantity_text(resource, amount) if amount else ""
        control = self.fields[part, resource].control
        if text == control.value:
            self.refresh()
        control.value = text

    def _at_least_one(self, resource: str) -> Quantity:
        amount = self._quantity("capacity", resource)
        if amount is None or amount.value() < 1:
            self.fields["capacity", resource].say(f"a machine has some {resource}")
            raise KitError("")
        return amount

    def _eviction(self, kept: Reservations, capacity: dict[str, Quantity]) -> dict[str, Quantity]:
        try:
            return eviction_reservation(kept.eviction_hard, capacity)
        except ValueError as error:
            self.fields["eviction-hard", "memory"].say(str(error))
            raise

    def wrong(self, error: Exception) -> None:
        """Show an error about excessive reservations beside those of the exhausted resource."""
        for resource in _AMOUNTS:
            if f'Resource "{resource}"' in str(error):
                self.fields["capacity", resource].say(str(error))
        beside = any(field.problem for field in self.fields.values())
        self.say("" if beside else str(error))


def _text(amount: Quantity | None) -> str:
    return "" if amount is None else str(amount)


def _number(amount: Quantity | None, resource: str) -> float:
    if amount is None:
        return 0
    return amount.milli_value() if resource == "cpu" else amount.value()


def _amount(value: float, resource: str) -> str:
    return cpu_text(int(value)) if resource == "cpu" else size(int(value))
