"""The timeline's picture: every entry is in one mark, in its actor's lane, in order of time."""

import itertools
import xml.etree.ElementTree as xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.charts.timeline import timeline_chart
from kitlib.charts.timeline_lanes import LANES, MOST_MARKS, lane_of, moments_of, shown_moments, timeline_lanes, words_of

TEXTS = {
    "event": ("Scheduled: Successfully assigned default/a to n", "Started: Container started", "Evicted: by the node"),
    "kernel": ("app invoked oom-killer: gfp_mask=0xcc0", "memory: usage 4kB", "Killed process 7 (app) total-vm:4kB"),
    "kubelet": ("kubelet: starting container (oom_score_adj 976)", "PLEG: container ended (exit code 137)"),
    "cgroup": ("made /kubepods/a", "memory.max: max is now 4096", "removed /kubepods/a"),
}
ENTRIES = st.lists(
    st.sampled_from([(source, text) for source, texts in TEXTS.items() for text in texts]).flatmap(
        lambda one: st.fixed_dictionaries(
            {
                "seconds": st.sampled_from([0.0, 0.25, 1.0, 7.5, 400.0]),
                "source": st.just(one[0]),
                "object": st.sampled_from(["a", "a/app", "<n>"]),
                "text": st.just(one[1]),
            }
        )
    ),
    max_size=40,
)


@pytest.mark.parametrize(
    ("source", "text", "lane", "words"),
    [
        ("event", TEXTS["event"][0], "scheduler", "Scheduled"),
        ("event", TEXTS["event"][1], "API", "Started"),
        ("kernel", TEXTS["kernel"][0], "kernel", "out of memory"),
        ("kernel", TEXTS["kernel"][1], "kernel", "OOM report"),
        ("kernel", "Memory cgroup out of memory: " + TEXTS["kernel"][2], "kernel", "killed app"),
        ("kubelet", TEXTS["kubelet"][0], "kubelet", "starting container"),
        ("kubelet", TEXTS["kubelet"][1], "kubelet", "ended, exit code 137"),
        ("kubelet", "kubelet: telling (Starting kubelet.)", "kubelet", "sending event"),
        ("cgroup", TEXTS["cgroup"][0], "kernel", "cgroup made"),
        ("cgroup", TEXTS["cgroup"][1], "kernel", "memory.max changed"),
    ],
)
def test_a_mark_says_in_a_few_words_what_happened_in_its_actors_lane(source, text, lane, words):
    entry = {"seconds": 1, "source": source, "object": "a", "text": text}
    assert (lane_of(entry), words_of(entry)) == (lane, words)


@settings(max_examples=60, deadline=None)
@given(ENTRIES, st.sampled_from([360, 560, 720, 1000]))
def test_the_picture_holds_the_entries_of_the_library(entries, width):
    moments = moments_of(entries)
    assert [moment.seconds for moment in moments] == sorted({entry["seconds"] for entry in entries})
    marks = [(moment.seconds, mark) for moment in moments for mark in moment.marks]
    assert sorted(map(str, (entry for _, mark in marks for entry in mark.entries))) == sorted(map(str, entries))
    for seconds, mark in marks:
        assert {entry["seconds"] for entry in mark.entries} == {seconds}
        assert {lane_of(entry) for entry in mark.entries} == {mark.lane} <= set(LANES)
        assert {words_of(entry) for entry in mark.entries} == {mark.words}
    picture = xml.fromstring(timeline_lanes(entries, sentence="s", width=width))
    space = "{http://www.w3.org/2000/svg}"
    drawn = [node for node in picture.iter(f"{space}g") if "data-walk" in node.attrib]
    assert len(drawn) == sum(len(moment.marks) for moment in shown_moments(moments))
    boxes = [
        tuple(float(node.find(f"{space}rect").get(name)) for name in ("x", "y", "width", "height")) for node in drawn
    ]
    assert all(x >= 0 and x + wide <= width and tall >= 24 for x, _, wide, tall in boxes)
    assert len({(x, y) for x, y, _, _ in boxes}) == len(boxes), "no mark lies on another"
    tops = {}
    for node, (_, y, _, _) in zip(drawn, boxes, strict=True):
        seconds = float(node.get("aria-label").split(" s, ")[0].rsplit(" ", 1)[1])
        tops.setdefault(seconds, []).append(y)
    order = [tops[seconds] for seconds in sorted(tops)]
    assert all(max(before) < min(after) for before, after in itertools.pairwise(order))


def test_a_long_history_shows_its_newest_part_and_counts_the_rest():
    entries = [{"seconds": n, "source": "event", "object": "a", "text": "Started: again"} for n in range(500)]
    drawn = timeline_chart(entries, 500).svg(720)
    assert drawn.count("data-walk") == MOST_MARKS and f"{500 - MOST_MARKS} earlier entries" in drawn
    assert ">499 s<" in drawn and ">now<" in drawn


def test_without_entries_the_picture_says_so():
    assert "Nothing has happened yet." in timeline_chart([]).svg(390)
