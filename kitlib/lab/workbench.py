"""A lab's workbench: the manifests to edit, and buttons for the learner's next steps; each hint is a button."""

from __future__ import annotations

import html
import os
from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab.progress import ACCOUNT
from kitlib.views.error_box import error_html

WAITS = (10, 60, 300)
"""Seconds by which the buttons advance the clock."""


def workbench(lab: Any) -> Any:
    """Return the editor of a `Lab` with its buttons, an ipywidgets box."""
    import ipywidgets as ipw

    from kitlib.widgets._parts.accessibility import Access

    text = lab.manifest()
    editor = ipw.Textarea(
        value=text,
        layout={"width": "100%", "height": f"{min(max(text.count(chr(10)) + 2, 8), 32) * 1.35}em"},
    )
    editor.add_class("kitlib-code")
    editor.tooltip = "The manifests that this lab is about"
    said, hints = ipw.HTML(), ipw.HTML()

    def say(shown: Any) -> None:
        made = getattr(shown, "_repr_html_", None)
        said.value = made() if made else f'<p role="status">{html.escape(str(shown))}</p>'

    def refused(error: KitError) -> None:
        said.value = error_html(error)

    def button(name: str, help_text: str, act: Any) -> Any:
        made = ipw.Button(description=name, tooltip=help_text, layout={"width": "auto"})

        def clicked(_: Any) -> None:
            made.disabled = True
            try:
                say(act())
            except KitError as error:
                refused(error)
            finally:
                made.disabled = False

        made.on_click(clicked)
        return made

    def apply() -> str:
        lab.replace(editor.value)
        return f"Applied. {_status(lab)}"

    def wait(seconds: int) -> Any:
        def act() -> str:
            lab.cluster.advance(seconds)
            return f"{seconds} s later. {_status(lab)}"

        return act

    def reset() -> str:
        lab.reset()
        editor.value = lab.manifest()
        return "A new cluster, as you found the first one."

    def hint(task: str) -> Any:
        made = ipw.Button(description=f"Hint: {task} ({lab.price_of_a_hint()})", layout={"width": "auto"})

        def clicked(_: Any) -> None:
            hints.value += f'<p role="status">{html.escape(lab.hint(task))}</p>'

        made.on_click(clicked)
        return made

    actions = [
        button("Apply", "delete the pods of these names, then apply the manifests", apply),
        *[button(f"Wait {seconds} s", "let time pass on the cluster", wait(seconds)) for seconds in WAITS],
        button("Check", "grade what was done so far", lab.check),
        button("Start again", "a new cluster with the setup", reset),
    ]
    if os.environ.get(ACCOUNT):  # on a hub there is a trainer
        actions.append(button("I need help", "your trainer sees your name and your cluster", lab.call_for_help))
    box = ipw.VBox(
        [
            Access(title=f"Workbench of the lab: {lab.title}"),
            editor,
            ipw.HBox(actions, layout={"flex_flow": "row wrap"}),
            ipw.HBox([hint(task) for task in lab.task_keys()], layout={"flex_flow": "row wrap"}),
            hints,
            said,
        ]
    )
    box.add_class("kitlib-widget")
    return box


def _status(lab: Any) -> str:
    """Return the pods' states in one line."""
    pods = lab.cluster.list("Pod")
    shown = [f"{p.metadata.name}: {_state(p)}" for p in pods]
    return "; ".join(shown)


def _state(pod: Any) -> str:
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    return f"{pod.status.reason or pod.status.phase or 'new'}{where}"
