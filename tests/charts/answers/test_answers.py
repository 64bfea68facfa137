"""Pictures of answers draw their values to scale, mark the guess and what ends, and name everything in a sentence."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.charts.answers import (
    ChainStep,
    PlaceCard,
    TimePoint,
    TimeSpan,
    amounts_chart,
    cpu_sets_chart,
    moments_chart,
    nested_chart,
    parts_chart,
    places_chart,
    pod_chart,
    steps_chart,
)
from kitlib.charts.base import Chart
from kitlib.charts.svg import LAYOUTS
from kitlib.views.tokens import LIGHT
from tests.charts.legible import illegible

MI = 2**20
ROW = {"name": "main", "cpu_request": 250, "cpu_limit": 500, "memory_request": 64 * MI, "memory_limit": None}
GUESSED = {
    "amounts": (amounts_chart("Limits", {"pod": 800.0, "open": None}, unit="MiB", guess=500.0), "500"),
    "amounts, a row": (amounts_chart("Limits", {"pod": 800.0}, guess="pod"), ""),
    "CPUs": (cpu_sets_chart("CPUs", {"a": "0,2-3", "b": "Failed: no CPU"}, 4, guess="a"), ""),
    "moments": (
        moments_chart("Waits", {"a": [TimeSpan(0, 4, "waits"), TimePoint(4, "new")]}, timed=True, guess=2.0),
        "2",
    ),
    "nested": (nested_chart("Levels", [("kubepods", ""), ("pod", "800Mi")], guess=2), ""),
    "parts": (parts_chart("CPU", {"busy": {"a": 1, "b": 3}}, unit="CPUs", guess="a"), ""),
    "places": (places_chart("Nodes", {"n1": PlaceCard(["a"], "", "chosen"), "n2": PlaceCard()}, guess="n2"), ""),
    "steps": (steps_chart("Way", {"": [ChainStep("API server", "refuses it", "stops")]}, guess="API server"), ""),
}


def widths(svg: str, token: str) -> list[float]:
    """The widths in pixels of the outlines in a colour."""
    return [float(w) for w in re.findall(rf'<rect[^>]* width="([\d.]+)"[^>]* stroke="[^"]*{token}', svg)]


@pytest.mark.parametrize("name", GUESSED)
def test_the_guess_is_marked_in_its_own_colour_and_only_there(name: str) -> None:
    chart, number = GUESSED[name]
    svg = chart.svg()
    ElementTree.fromstring(svg)
    assert LIGHT["guess"] in svg
    assert not number or f"your guess {number}" in svg


AMOUNTS = st.dictionaries(st.sampled_from(list("abcdef")), st.integers(1, 5000), min_size=1)


@settings(max_examples=40, deadline=None)
@given(AMOUNTS, st.integers(1, 5000))
def test_bars_are_as_long_as_their_amounts_and_hatched_above_the_bound(rows: dict[str, int], bound: int) -> None:
    svg = amounts_chart("Amounts", rows, bounds=[("limit", bound)]).svg()
    found = widths(svg, "blue")
    assert len(found) == len(rows)
    most = max(rows, key=rows.__getitem__)
    scale = max(found) / rows[most]
    assert all(abs(wide - max(value * scale, 1.5)) < 0.2 for wide, value in zip(found, rows.values(), strict=True))
    assert len(re.findall('fill="url', svg)) == sum(value > bound for value in rows.values())


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 15)))
def test_a_square_is_filled_for_each_cpu_of_a_set(cpus: set[int]) -> None:
    svg = cpu_sets_chart("CPUs", {"a": ",".join(map(str, sorted(cpus)))}, 16, split=4).svg()
    assert len(widths(svg, "blue")) == len(cpus)


def test_parts_fill_their_bar_in_order_and_the_answer_is_green() -> None:
    svg = parts_chart("CPU", {"busy": {"a": 1, "b": 2, "c": 1}, "idle": {"a": 2}}, picked=["b"]).svg()
    blue, green = widths(svg, "blue"), widths(svg, "green")
    assert len(blue) == 3 and abs(green[0] - sum(blue[:2])) < 0.3 and abs(blue[2] - 2 * blue[0]) < 0.2


@pytest.mark.parametrize(("value", "bound", "guess"), [(43.64, 48, None), (46.5, 48, 47.0), (40, 48, 44.0)])
def test_no_line_crosses_a_figure(value: float, bound: float, guess: float | None) -> None:
    svg = amounts_chart("CPUs", {"a": value}, unit="CPUs", bounds=[("all", bound)], guess=guess).svg()
    figure = next(one for one in ElementTree.fromstring(svg).iter() if (one.text or "") == f"{value:g} CPUs")
    lines = [float(x) for x in re.findall(r'<path d="M([\d.]+) [\d.]+[VL]', svg)]
    left = float(figure.attrib["x"]) - (len(f"{value:g} CPUs") * 7 if figure.get("text-anchor") == "end" else 0)
    assert lines and not any(left - 2 < x < left + len(f"{value:g} CPUs") * 7 for x in lines)


def test_negative_amounts_point_to_the_left() -> None:
    svg = amounts_chart("oom_score_adj", {"low": -500, "high": 1000}).svg()
    low, high = widths(svg, "blue")
    assert abs(high - 2 * low) < 0.2


def test_what_ends_has_a_cross_or_a_hatch_and_its_name_is_struck_out() -> None:
    places = places_chart(
        "Nodes", {"n1": PlaceCard(["a", "b"], leaving=["a"]), "web": PlaceCard([], "Evicted", "gone")}
    ).svg()
    assert places.count("line-through") == 2 and places.count('fill="url') == 2
    steps = steps_chart("Way", {"": [("kubelet", "refuses it", "stops"), ("kernel", "never sees it", "never")]}).svg()
    assert "stroke-dasharray" in steps and 'fill="url' in steps


@pytest.mark.parametrize(
    ("chart", "words"),
    [
        (
            amounts_chart("Memory", {"pod": 800.0 * MI}, unit="bytes", bounds=[("limit", 400 * MI)]),
            "pod 800Mi; limit 400Mi.",
        ),
        (cpu_sets_chart("CPUs", {"a": "0,2-3"}, 4), "a: 0,2-3."),
        (
            moments_chart("Waits", {"a": [TimeSpan(0, 4, "waits"), TimePoint(4, "new", "runs")]}),
            "a: waits at 0 to 4 s, runs at 4 s.",
        ),
        (nested_chart("Levels", [("kubepods", ""), ("pod", "800Mi")]), "From outside: kubepods, pod (800Mi)."),
        (parts_chart("CPU", {"busy": {"a": 1, "b": 3}}, unit="CPUs"), "busy: a 1 CPU, b 3 CPUs."),
        (places_chart("Nodes", {"n1": PlaceCard(["a"], "", "chosen")}), "n1: chosen, a."),
        (steps_chart("Way", {"v1": [("kernel", "refuses")]}), "v1: kernel refuses."),
        (pod_chart("web", [ROW], "Burstable"), "The pod web is Burstable."),
    ],
)
def test_the_sentence_says_what_the_picture_shows(chart: Chart, words: str) -> None:
    assert chart.sentence == words
    assert words in ElementTree.fromstring(chart.svg()).findtext("{http://www.w3.org/2000/svg}desc")
    assert chart.frame().shape[0] and chart.figure().data


LONG = "kubepods-besteffort-pod0870e15c_2fcd_41b5_924b_ace4307bf326.slice"
HARD = {
    "amounts": amounts_chart(
        "The memory of a pod with two containers and an emptyDir",
        {LONG: 900 * MI, "the container": 2.0 * MI, "open": None},
        unit="bytes",
        bounds=[("limit of the pod", 800 * MI), ("limit of kubepods", 850 * MI)],
        crossed={LONG: "OOMKilled by the kernel"},
        notes={LONG: "measured after 20 s"},
        guess=2.0 * MI,
    ),
    "CPUs": cpu_sets_chart("CPUs of each", {LONG: "0,7-32,120-127", "b": f"Failed: {LONG}"}, 128, split=64, guess="b"),
    "CPUs of a large node": cpu_sets_chart("CPUs", {"a": "0-3", "web": "255"}, 256, split=8),
    "parts": parts_chart("Memory of each", {LONG: {LONG: 3 * MI, "b": 900 * MI, "none": 0}}, unit="bytes"),
    "moments": moments_chart(
        "From the first attempt to the last one of a pod that waits",
        {
            LONG: [TimePoint(second, "try", "another attempt") for second in range(12)],
            "b": [TimeSpan(0, 1, "waits", "waits for a node with room"), TimePoint(11, "end", "removed for good")],
        },
        timed=True,
        guess=11.0,
    ),
    "nested": nested_chart("Levels", [(LONG, "800Mi")] * 7, picked=[6], guess=7),
    "places": places_chart("Nodes", {LONG: PlaceCard([LONG], f"does not fit {LONG}", "chosen"), "n2": PlaceCard()}),
    "steps": steps_chart("Way", {"with a name": [ChainStep("API server", f"refuses {LONG}", "stops")] * 4, "b": []}),
    "pod": pod_chart("web", [ROW, ROW | {"name": "sidecar"}], "Burstable"),
}


@pytest.mark.parametrize("width", LAYOUTS)
@pytest.mark.parametrize("name", HARD)
def test_every_layout_can_be_read_at_its_width_and_cuts_nothing(name: str, width: int) -> None:
    svg = HARD[name].svg(width)
    assert f'width="{width}"' in svg
    assert illegible(svg) == []


def test_a_page_shows_the_widest_layout_that_fits() -> None:
    shown = GUESSED["steps"][0].page_svg()
    assert [int(width) for width in re.findall(r'kitlib-wide-(\d+)"', shown)] == sorted(LAYOUTS, reverse=True)
    hidden = re.findall(r'kitlib-wide-(\d+)" style="display:none"', shown)
    assert [int(width) for width in hidden] == sorted(LAYOUTS, reverse=True)[1:]
    for width, below in pairwise(sorted(LAYOUTS, reverse=True)):
        assert f"@container (max-width:{width - 0.5:g}px){{.kitlib-fits>.kitlib-wide-{width}{{display:none" in shown
        assert f"@container (max-width:{width - 0.5:g}px){{.kitlib-fits>.kitlib-wide-{below}{{display:block" in shown


def test_layouts_with_the_same_marks_have_ids_of_their_own() -> None:
    """A pattern of a layout that is not shown does not paint."""
    cards = {"a": PlaceCard([], "uses 400Mi", "gone"), "b": PlaceCard()}
    shown = places_chart("Where the kernel looks", cards).page_svg()
    ids = re.findall(r'id="([^"]+)"', shown)
    assert len(ids) == len(LAYOUTS) == len(set(ids))


def test_one_thing_has_its_unit_in_the_singular() -> None:
    said = amounts_chart("Nodes", {"a": 1, "b": 2}, unit="nodes").sentence
    assert said == "a 1 node; b 2 nodes."
    assert amounts_chart("Quota", {"a": 1}, unit="µs").sentence == "a 1 µs."
    assert amounts_chart("Memory", {"a": 1}, unit="MiB").sentence == "a 1Mi."


def test_a_pod_in_an_answer_has_no_handles() -> None:
    assert "slider" not in pod_chart("web", [ROW], "Burstable").svg()


def test_words_of_a_hatched_span_are_below_it() -> None:
    rows = {"a": [TimeSpan(0, 5, "slow", "throttled"), TimeSpan(5, 10, "runs", "runs")]}
    root = ElementTree.fromstring(moments_chart("Times", rows).svg())
    base = {one.text: float(one.attrib["y"]) for one in root.iter("{http://www.w3.org/2000/svg}text")}
    bottom = max(float(one.get("y", 0)) + float(one.get("height", 0)) for one in root.iter() if "pattern" in one.tag)
    assert base["throttled"] > base["runs"] + bottom
