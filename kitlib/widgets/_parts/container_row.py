"""A container in a form: its name, its kind, and four amounts, each as text and as a slider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as ipw

from kitlib.api.resource import Quantity, QuantityError
from kitlib.views.tokens import paint
from kitlib.widgets._parts.field import Field

KINDS = ("container", "init container", "sidecar")
_UNSET = "not set"
_CPU = (
    "0",
    "10m",
    "50m",
    "100m",
    "200m",
    "250m",
    "300m",
    "500m",
    "750m",
    "1",
    "1500m",
    "2",
    "2500m",
    "3",
    "4",
    "6",
    "8",
)
_MEMORY = (
    "0",
    "16Mi",
    "32Mi",
    "64Mi",
    "100Mi",
    "128Mi",
    "200Mi",
    "256Mi",
    "384Mi",
    "512Mi",
    "1Gi",
    "2Gi",
    "4Gi",
    "8Gi",
)
LADDERS = {
    "cpu": (_UNSET, *_CPU),
    "memory": (_UNSET, *_MEMORY),
}
"""Stops of the sliders; other amounts can be typed."""


class AmountField(Field):
    """A quantity as text, and a slider over common amounts; empty = not set.

    Args:
        name: label before the field.
        resource: "cpu" or "memory"; it determines the stops of the slider.
        path: path of the field in the manifest, shown as a tooltip.
    """

    def __init__(self, name: str, resource: str, path: str) -> None:
        self._ladder = LADDERS[resource]
        self.slider = ipw.SelectionSlider(options=self._ladder, readout=False, layout={"width": "9em"})
        text = ipw.Text(layout={"width": "15em"}, placeholder=_UNSET)
        super().__init__(text, name, path, more=(self.slider,))
        text.style.description_width = "9em"
        self.slider.description, self.slider.description_allow_html = "", False
        self.slider.tooltip = f"{name}, slider"
        self.slider.observe(self._slid, "value")
        text.observe(self._typed, "value")
        self._following = False

    @property
    def amount(self) -> str:
        """The text of the field; "" = not set."""
        return str(self.control.value).strip()

    @amount.setter
    def amount(self, text: str) -> None:
        self.control.value = text

    def _slid(self, change: Any) -> None:
        if not self._following:
            self.control.value = "" if change["new"] == _UNSET else change["new"]

    def _typed(self, change: Any) -> None:
        self._following = True
        self.slider.value = self._stop(str(change["new"]).strip())
        self._following = False

    def _stop(self, text: str) -> str:
        """Return the highest stop that is not above the amount."""
        if not text:
            return _UNSET
        try:
            amount = Quantity(text)
        except QuantityError:
            return str(self.slider.value)
        return next((stop for stop in reversed(self._ladder[1:]) if Quantity(stop) <= amount), _UNSET)


class ContainerRow(ipw.VBox):
    """A container of the form.

    Args:
        changed: called after every change.
        removed: called with this row when its button is pressed.
    """

    def __init__(self, changed: Callable[[Any], None], removed: Callable[[ContainerRow], None]) -> None:
        self._data: dict[str, Any] = {}
        self.name = Field(ipw.Text(layout={"width": "15em"}), "container", "name")
        self.kind = Field(ipw.Dropdown(options=KINDS, layout={"width": "12em"}), "kind", "init containers end first")
        self.amounts = {
            (what, resource): AmountField(f"{resource} {what[:-1]}", resource, f"resources.{what}[{resource}]")
            for resource in ("cpu", "memory")
            for what in ("requests", "limits")
        }
        remove = ipw.Button(icon="trash", description="Remove", layout={"width": "max-content"})
        remove.on_click(lambda _: removed(self))
        head = ipw.HBox([self.name, self.kind, remove])
        head.add_class("kitlib-row")
        grid = ipw.GridBox(
            list(self.amounts.values()),
            layout={"grid_template_columns": "repeat(auto-fill, minmax(26em, 1fr))", "width": "100%"},
        )
        super().__init__([head, grid], layout={"border_left": f"3px solid {paint('line')}", "padding": "0 0 0 .6em"})
        self.layout.margin = ".3em 0"
        for field in (self.name, self.kind, *self.amounts.values()):
            field.control.observe(changed, "value")

    @property
    def place(self) -> str:
        """The list of the pod's specification that contains the container."""
        return "containers" if self.kind.value == "container" else "initContainers"

    def fields(self) -> dict[str, Field]:
        """Return path below the container -> field."""
        found: dict[str, Field] = {"name": self.name}
        for (what, resource), field in self.amounts.items():
            found[f"resources.{what}[{resource}]"] = field
        return found

    def fill(self, place: str, data: dict[str, Any]) -> None:
        """Show a container's manifest."""
        self._data = data
        self.name.control.value = data.get("name", "")
        sidecar = data.get("restartPolicy") == "Always"
        self.kind.control.value = "container" if place == "containers" else "sidecar" if sidecar else "init container"
        resources = data.get("resources", {})
        for (what, resource), field in self.amounts.items():
            field.amount = str(resources.get(what, {}).get(resource, ""))

    def data(self) -> dict[str, Any]:
        """Return the container's manifest: its original fields, with the form's values."""
        made = {key: value for key, value in self._data.items() if key not in ("name", "resources", "restartPolicy")}
        resources = {key: dict(value) for key, value in self._data.get("resources", {}).items() if key != "claims"}
        if "claims" in self._data.get("resources", {}):
            resources["claims"] = self._data["resources"]["claims"]
        for (what, resource), field in self.amounts.items():
            resources.setdefault(what, {}).pop(resource, None)
            if field.amount:
                resources[what][resource] = field.amount
        resources = {key: value for key, value in resources.items() if value}
        sidecar = {"restartPolicy": "Always"} if self.kind.value == "sidecar" else {}
        named = {"name": self.name.control.value.strip()}
        return {**named, **made, **sidecar, **({"resources": resources} if resources else {})}
