"""A plotly figure that stands in the page is brought to what another figure shows, with as little traffic as possible.

Only properties that differ are sent, all of them in one message; plotly checks every property that it is given, so
leaving out what has not changed is most of the speed.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go


def repaint(picture: go.FigureWidget, figure: go.Figure) -> None:
    """Bring `picture` to what `figure` shows with one message to the page: traces in place where their kinds agree."""
    new = figure.to_plotly_json()
    old = picture.to_plotly_json() if len(picture.data) else {"data": [], "layout": {}}
    layout = _changes(old["layout"], new["layout"])
    if not _alike(old["data"], new["data"]):
        with picture.batch_update():
            picture.data = []
            picture.add_traces(list(figure.data))
            if layout:
                picture.layout.update(layout, overwrite=True)
        return
    together, alone = _restyling(old["data"], new["data"])
    if together or layout:
        picture.plotly_update(restyle_data=together, relayout_data=layout, trace_indexes=list(range(len(new["data"]))))
    for index, changes in alone.items():
        picture.plotly_restyle(changes, trace_indexes=[index])


def _alike(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> bool:
    """Whether the traces are of the same kinds and none has lost a part with parts of its own (marker, line)."""
    return len(old) == len(new) and all(
        one["type"] == other["type"] and all(name in other for name, value in one.items() if isinstance(value, dict))
        for one, other in zip(old, new, strict=True)
    )


def _restyling(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> tuple[dict[str, list[Any]], dict[int, dict[str, Any]]]:
    """Changed property -> its value for every trace, and what must be sent to single traces.

    A trace that a message leaves out of a property gets that property as `undefined` in the page: plotly then cannot
    draw a trace whose marker that is. So a changed property is sent for all traces; where some have no such part, the
    others get it alone.
    """
    changes = [_changes(one, other) for one, other in zip(old, new, strict=True)]
    together: dict[str, list[Any]] = {}
    alone: dict[int, dict[str, Any]] = {}
    for name in dict.fromkeys(name for found in changes for name in found):
        if any(isinstance(trace.get(name), dict) for trace in new) and not all(name in trace for trace in new):
            for index, found in enumerate(changes):
                if name in found:
                    alone.setdefault(index, {})[name] = [found[name]]
        else:
            together[name] = [trace.get(name) for trace in new]
    return together, alone


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The top-level properties whose value is another, None for those that are gone."""
    found = {name: value for name, value in after.items() if name not in before or not _same(before[name], value)}
    gone = {name: None for name in before if name not in after and name not in ("uid", "type")}
    return {**found, **gone}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "shape") or hasattr(other, "shape"):  # numpy: element by element, then all of them
        return getattr(one, "shape", None) == getattr(other, "shape", None) and bool((one == other).all())
    return bool(one == other)
