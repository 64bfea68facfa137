"""Bringing a picture in the page to another figure: the result is that figure, and no trace is left half said."""

import plotly.graph_objects as go
import pytest

from kitlib.charts import filter_board, queue_chart, score_bars, spread_chart
from kitlib.widgets.picture import repaint


def spread(counts, allowed):
    rows = [
        {"domain": f"zone{i}", "pods": n, "counted": n, "skew": n + 1, "allowed": ok}
        for i, (n, ok) in enumerate(zip(counts, allowed, strict=True))
    ]
    return spread_chart(rows, 1, "zone").figure()


FIGURES = {
    "counts and marks change": (spread([0, 0], [True, True]), spread([1, 0], [False, True])),
    "one domain more": (spread([0, 0], [True, True]), spread([1, 0, 2], [False, True, False])),
    "another kind": (spread([0], [True]), filter_board(["a"], ["p"], {("a", "p"): ("Success", "")}).figure()),
    "more traces": (
        score_bars(["a"], {"One": [1]}, ["a"]).figure(),
        score_bars(["a"], {"One": [1], "Two": [3]}, ["a"]).figure(),
    ),
    "a queue that grows": (
        queue_chart([{"seconds": 0, "what": "", "activeQ": ["a"]}]).figure(),
        queue_chart(
            [{"seconds": 0, "what": "", "activeQ": ["a"]}, {"seconds": 1, "what": "", "gated": ["b"]}]
        ).figure(),
    ),
    "a part that only one trace has": (
        go.Figure([go.Scatter(x=[1], y=[1], line={"width": 1}), go.Scatter(x=[1], y=[2])]),
        go.Figure([go.Scatter(x=[1], y=[3], line={"width": 2}), go.Scatter(x=[1], y=[4])]),
    ),
    "a part that goes": (
        go.Figure([go.Bar(x=["a"], y=[1], marker={"color": "red"})]),
        go.Figure([go.Bar(x=["a"], y=[1])]),
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_picture_becomes_the_figure(name):
    before, after = FIGURES[name]
    picture = go.FigureWidget()
    for wanted in (before, after, before):
        repaint(picture, wanted)
        shown = picture.to_plotly_json()
        for trace in shown["data"]:
            trace.pop("uid", None)
        assert _plain(shown) == _plain(wanted.to_plotly_json())


@pytest.mark.parametrize("name", FIGURES)
def test_no_message_leaves_a_trace_half_said(name, monkeypatch):
    """plotly draws nothing where a trace has `marker: undefined`, which is what a message makes that leaves it out."""
    before, after = FIGURES[name]
    picture, sent = go.FigureWidget(), []
    repaint(picture, before)
    for kind in ("_send_update_msg", "_send_restyle_msg"):
        monkeypatch.setattr(type(picture), kind, lambda self, *data, **more: sent.append((data, more)))
    repaint(picture, after)
    from plotly.basedatatypes import Undefined

    for data, more in sent:
        restyling = more.get("restyle_data", data[0] if data else {})
        for values in restyling.values():
            assert all(value is not Undefined for value in values)


def test_an_equal_figure_sends_nothing(monkeypatch):
    picture = go.FigureWidget()
    repaint(picture, spread([1, 2], [True, False]))
    sent = []
    for kind in ("_send_update_msg", "_send_restyle_msg", "_send_relayout_msg", "_send_addTraces_msg"):
        monkeypatch.setattr(type(picture), kind, lambda self, *data, **more: sent.append(data))
    repaint(picture, spread([1, 2], [True, False]))
    assert sent == []


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None and name != "template"}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
