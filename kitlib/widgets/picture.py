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
    same = [t["type"] for t in old["data"]] == [t["type"] for t in new["data"]]
    with picture.batch_update():
        if not same:
            picture.data = []
            picture.add_traces(list(figure.data))
        else:
            for trace, before, after in zip(picture.data, old["data"], new["data"], strict=True):
                changes = _changes(before, after)
                if changes:
                    trace.update(changes, overwrite=True)
        changes = _changes(old["layout"], new["layout"])
        if changes:
            picture.layout.update(changes, overwrite=True)


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
