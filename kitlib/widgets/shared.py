"""A widget as the text of a link: its name, its arguments, and the learner's actions in the page.

Only messages of the page are recorded (values of controls, presses, actions on a board), in order; opening a link
creates the widget and repeats them. Links are untrusted: a link can only name the kit's widgets, set values that their
controls allow, and press controls that are not in `unshared`. It has no access to files, the reader's clusters, or
code.
"""

from __future__ import annotations

import inspect
import re
import weakref
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, Literal

import ipywidgets as ipw
import msgspec
import traitlets
from msgspec import Meta

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.shared import SharedState, Word, made_again, shared_state
from kitlib.widgets import WIDGETS

MAX_STEPS = 400
_PLAIN = re.compile(r"[\w .:=,<>%+-]*")
_FILES = (".yaml", ".yml", ".json", ".toml")
CLUSTER_ARGUMENTS = ("cluster", "source", "scenario", "shown", "node", "manifest")
"""Arguments of widgets that may be a cluster; a link stores the cluster separately and leaves them empty."""
_VALUES = ("value", "index", "position", "selected")
"""Traits that a page sets on behalf of the learner."""
Plain = None | bool | int | float | Annotated[str, Meta(max_length=16_384)]


class SharedStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A recorded action.

    Attributes:
        name: label of the control.
        number: index of the control among those with this label.
        values: traits that were set; {} = none.
        message: message that was sent to the control; {} = none.
    """

    name: Word
    number: Annotated[int, Meta(ge=0, le=500)] = 0
    values: dict[Literal["value", "index", "position", "selected"], Plain | list[int]] = {}
    message: dict[Word, Plain | list[int]] = {}


class SharedScene(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of a widget's link."""

    version: Literal[1]
    widget: Word
    arguments: dict[Word, Plain | list[Annotated[str, Meta(max_length=64)]]] = {}
    cluster: SharedState | None = None
    steps: Annotated[list[SharedStep], Meta(max_length=MAX_STEPS)] = []


class Recorder:
    """Records the messages that the page sends to the controls of a widget.

    Args:
        widget: the recorded widget.

    Attributes:
        steps: the actions, in order; repeated moves of one control are one step.
    """

    def __init__(self, widget: Any) -> None:
        self._widget = weakref.ref(widget)
        self._heard: weakref.WeakSet[ipw.Widget] = weakref.WeakSet()
        self.steps: list[SharedStep] = []
        self.unplain = ""

    def listen(self) -> None:
        """Record all controls that exist by now."""
        widget = self._widget()
        for control in parts_of(widget) if widget is not None else ():
            if control not in self._heard:
                self._heard.add(control)
                self._hear(control)

    def _hear(self, control: ipw.Widget) -> None:
        # ipywidgets calls these two for messages of the page only; changes by the program do not pass through them.
        set_state, handle = control.set_state, control._handle_custom_msg

        def state(sync_data: dict[str, Any]) -> None:
            values = {key: value for key, value in sync_data.items() if key in _VALUES}
            if values:
                self._note(control, values=values)
            set_state(sync_data)

        def message(content: dict[str, Any], buffers: Any) -> None:
            if isinstance(control, ipw.Button) or "act" in content:
                self._note(control, message=content)
            handle(content, buffers)

        control.set_state, control._handle_custom_msg = state, message

    def _note(self, control: ipw.Widget, **done: dict[str, Any]) -> None:
        widget = self._widget()
        if widget is None or isinstance(control, ipw.ToggleButton | ipw.Accordion):
            return
        name, number = place_of(widget, control)
        if name in widget.unshared:
            self.unplain = name
            return
        try:
            step = convert({"name": name, "number": number, **done}, SharedStep)
        # Without this step the replay would lead to another state, so the widget gets no link at all.
        except msgspec.ValidationError:
            self.unplain = name
            return
        last = self.steps[-1] if self.steps else None
        # A slider sends every value on its way; only the last one matters for the replay.
        if last and step.values and (last.name, last.number, [*last.values]) == (name, number, [*step.values]):
            self.steps.pop()
        self.steps.append(step)


def scene_of(widget: Any, recorder: Recorder) -> SharedScene:
    """Return the widget as the content of a link.

    Raises:
        KitError: the widget shows data that cannot be put into a link, or has too many steps.
    """
    if len(recorder.steps) > MAX_STEPS:
        raise KitError(f"share: {len(recorder.steps)} steps are too many for a link; the maximum is {MAX_STEPS}")
    if recorder.unplain:
        raise KitError(f"share: a link cannot contain the input of “{recorder.unplain}”")
    given, keywords = widget.made_with
    bound = inspect.signature(type(widget).__init__).bind(widget, *given, **keywords).arguments
    arguments: dict[str, Any] = {}
    cluster = None
    for name, value in list(bound.items())[1:]:
        if isinstance(value, Cluster):
            cluster = shared_state(value)
            arguments[name] = ""
        elif value is not None and name in widget.unshared:
            raise KitError(
                f"share: {type(widget).__name__}({name}=…) cannot be shared as a link, because it can contain objects "
                "of your own cluster; export a picture instead"
            )
        elif not _is_plain(value):
            raise KitError(
                f"share: {type(widget).__name__}({name}=…): {type(value).__name__} cannot be put into a link"
            )
        else:
            arguments[name] = list(value) if isinstance(value, tuple) else value
    steps = [step for step in recorder.steps if cluster is None or step.values]  # a cluster's journal has its actions
    return SharedScene(1, type(widget).__name__, arguments, cluster, steps)


def opened_scene(scene: SharedScene) -> Any:
    """Return the widget that a link describes.

    Raises:
        KitError: the widget does not exist, or the link has invalid arguments or steps.
    """
    if scene.widget not in WIDGETS:
        raise KitError(f"share: widget: Unsupported value: {scene.widget!r}: supported values: {', '.join(WIDGETS)}")
    kind = getattr(import_module(f"kitlib.widgets.{WIDGETS[scene.widget]}"), scene.widget)
    known = list(inspect.signature(kind.__init__).parameters)[1:]
    arguments: dict[str, Any] = {}
    for name, value in scene.arguments.items():
        if name not in known or not _is_plain(value) or (value is not None and name in kind.unshared):
            raise KitError(f"share: {scene.widget}: a link cannot set the argument {name[:80]!r}")
        arguments[name] = value
    cluster = made_again(scene.cluster) if scene.cluster is not None else None
    if cluster is not None:
        place = next((name for name in CLUSTER_ARGUMENTS if name in known and arguments.get(name) == ""), "")
        if not place:
            raise KitError(f"share: {scene.widget} does not show a cluster, so a link cannot contain one")
        arguments[place] = cluster
    widget = None
    try:
        widget = kind(**arguments)
        for number, step in enumerate(scene.steps, start=1):
            _do(widget, step, number)
    except (KitError, ValueError, TypeError, traitlets.TraitError) as error:
        for one in (widget, cluster):
            if one is not None:
                one.close()
        raise KitError(f"share: {scene.widget}: {str(error)[:300]}") from None
    return widget


def _do(widget: Any, step: SharedStep, number: int) -> None:
    control = next((one for one in parts_of(widget) if place_of(widget, one) == (step.name, step.number)), None)
    if control is None or step.name in widget.unshared or isinstance(control, ipw.ToggleButton):
        raise KitError(f"step {number}: a link cannot change the control {step.name!r}")
    for key, value in step.values.items():
        if not control.has_trait(key):
            raise KitError(f"step {number}: the control {step.name} has no field {key}")
        control.set_state({key: value})
    if step.message:
        control._handle_custom_msg(dict(step.message), [])


def parts_of(widget: ipw.Widget) -> Iterator[ipw.Widget]:
    """Yield all widgets inside a widget, in the order of the page."""
    for child in getattr(widget, "children", ()):
        yield child
        yield from parts_of(child)


def place_of(widget: ipw.Widget, control: ipw.Widget) -> tuple[str, int]:
    """Return a control's label, and its index among the controls with this label."""
    name, number = _label(control), 0
    for one in parts_of(widget):
        if one is control:
            break
        number += _label(one) == name
    return name, number


def _label(control: ipw.Widget) -> str:
    found = getattr(control, "description", "") or getattr(control, "label", "") or getattr(control, "tooltip", "")
    return str(found or type(control).__name__)[:253]


def _is_plain(value: Any) -> bool:
    """Return whether a link may pass this value: a number, text that names no file, a manifest of several lines."""
    if isinstance(value, str):
        return "\n" in value or (bool(_PLAIN.fullmatch(value)) and not value.lower().endswith(_FILES))
    if isinstance(value, list | tuple):
        return all(isinstance(one, str) and _is_plain(one) for one in value)
    return value is None or isinstance(value, bool | int | float)
