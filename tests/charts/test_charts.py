"""Every chart has a figure in the house style, a frame behind it and a sentence that says the same."""

import json
import re
from xml.etree import ElementTree

import pytest
from plotly.io.json import to_json_plotly as to_json

from kitlib import charts
from kitlib.charts.pod_resources import pod_resources_chart
from tests.charts.picture_questions import MARKS, blanked, scenes

_CONTAINER = {"name": "app", "cpu_request": 250, "cpu_limit": 1000, "memory_request": 2**27, "memory_limit": None}
_FILE = {"cgroup": "pod", "file": "cpu.weight", "value": "10", "why": "250m"}
CASES = {
    "pod resources": (
        pod_resources_chart([_CONTAINER], [_FILE], qos="Burstable"),
        "QoS class Burstable, 1 cgroup files are written. app may use all memory of the node.",
    ),
    "node bar": (
        charts.node_bar(
            {"cpu": {"capacity": 8000, "kube-reserved": 500, "system-reserved": 500, "requested by pods": 1500}},
            {"cpu": "m"},
        ),
        "1500 of 7000m allocatable requested (21%)",
    ),
    "cpu map": (
        charts.cpu_map([(0, 0, 0, 0), (1, 1, 0, 0), (2, 0, 0, 0), (3, 1, 0, 0)], {0: "reserved", 1: "pod/a"}),
        "4 CPUs; shared pool: 2, reserved: 1, pod/a: 1.",
    ),
    "shares": (charts.shares_chart(["kubepods", "rest"], [30720, 3072], [43.6, 4.4]), "kubepods 91%"),
    "usage": (
        charts.usage_chart([0, 0.1], {"a": [1, 5]}, limits={"a": 5}),
        "At the limit: a.",
    ),
    "oom ranking": (
        charts.oom_ranking(
            [
                {"name": "small", "qos": "BestEffort", "memory_bytes": 1, "oom_score_adj": 1000, "badness": 10},
                {"name": "big", "qos": "Burstable", "memory_bytes": 9, "oom_score_adj": 999, "badness": 12},
            ],
            killed="big",
        ),
        "big has the highest badness and is killed first. The kernel killed big, as predicted.",
    ),
    "eviction gauge": (
        charts.eviction_gauge(
            [{"signal": "memory.available", "available": 50, "capacity": 1000, "threshold": 100, "met": True}]
        ),
        "Thresholds met: memory.available.",
    ),
    "filter board": (
        charts.filter_board(["a", "b"], ["NodeName", "Fit"], {("a", "Fit"): ("Unschedulable", "Insufficient cpu")}),
        "1 of 2 nodes pass every filter. A dash: this filter was not run for the node.",
    ),
    "score bars": (charts.score_bars(["a", "b"], {"Fit": [3, 3]}, ["a", "b"]), "2 nodes tie at 3: a, b"),
    "spread": (
        charts.spread_chart(
            [
                {"domain": "z1", "pods": 2, "counted": 2, "skew": 2, "allowed": False},
                {"domain": "z2", "pods": 1, "counted": 1, "skew": 1, "allowed": True},
            ],
            1,
            "zone",
        ),
        "A new pod may go to z2 (maxSkew 1).",
    ),
    "spread map": (charts.spread_map(["z1"], [["a", "b"]], [[1, 2]]), "Matching pods: z1 3."),
    "preemption": (
        charts.preemption_chart(
            [
                {
                    "node": "a",
                    "victims": ["x"],
                    "highest_priority": 0,
                    "sum_of_priorities": 0,
                    "pdb_violations": 0,
                }
            ],
            "a",
        ),
        "a is nominated; it loses x.",
    ),
    "queues": (
        charts.queue_chart([{"seconds": 1, "what": "add", "activeQ": ["p"]}]),
        "At 1 s, activeQ: p; backoffQ: empty; unschedulable: empty; gated: empty.",
    ),
    "timeline": (
        charts.timeline_chart([{"seconds": 2, "source": "kernel", "object": "p", "text": "oom-kill"}]),
        "the last at 2 s: oom-kill",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_chart_says_in_words_and_numbers_what_it_draws(name):
    chart, said = CASES[name]
    assert said in chart.sentence
    frame = chart.frame()
    assert len(frame) >= 1
    figure = chart.figure()
    assert len(figure.data) >= 1
    assert figure.layout.meta["sentence"] == chart.sentence
    assert figure.layout.transition.duration is None  # with any duration, plotly.js animates


@pytest.mark.parametrize("name", CASES)
def test_the_table_behind_a_chart_escapes_what_it_shows(name):
    table = CASES[name][0].table_html()
    assert table.startswith("<table><caption>")
    assert table.count("<tr>") == len(CASES[name][0].frame()) + 1


def test_text_from_a_manifest_cannot_become_markup():
    chart = charts.timeline_chart([{"seconds": 0, "source": "event", "object": "<b>", "text": "<script>"}])
    assert "<script>" not in chart.table_html()


def test_a_long_table_is_cut_and_says_so():
    chart = charts.spread_map(["z"], [[str(i) for i in range(300)]], [[0] * 300])
    assert "100 more rows" in chart.table_html()


@pytest.mark.parametrize("name", CASES)
def test_a_chart_has_a_still_picture_that_is_well_formed_and_describes_itself(name):

    chart = CASES[name][0]
    root = ElementTree.fromstring(chart.svg())
    inside = [element.tag.split("}")[1] for element in root.iter()]
    assert "desc" in inside and chart.sentence == root.find("{http://www.w3.org/2000/svg}desc").text
    assert inside.count("rect") + inside.count("path") >= 1


@pytest.mark.parametrize("name", CASES)
def test_the_plain_figure_is_the_dressed_figure(name):
    chart, _ = CASES[name]
    plain, figure = chart.spec(), chart.figure().to_plotly_json()
    figure["layout"].pop("template", None)
    assert json.loads(to_json(plain)) == json.loads(to_json(figure))


def test_a_score_that_the_host_has_refused_is_said():
    row = {"name": "gu/c", "qos": "Guaranteed", "memory_bytes": 1, "oom_score_adj": 0, "badness": 1}
    assert "refused" not in charts.oom_ranking([row]).sentence
    refused = {**row, "refused": -997, "wanted_badness": -900, "why": "no oom_score_adj below 0 is granted"}
    chart = charts.oom_ranking([refused])
    assert "The host refused the oom_score_adj of gu/c (wanted -997, has 0)." in chart.sentence
    assert chart.sentence.endswith("the order would be the same.")
    assert chart.columns["refused"] == ["-997: no oom_score_adj below 0 is granted"]


def test_the_order_that_the_kubelet_wants_is_computed_where_the_host_refused_a_score():
    net = {"name": "net/c", "qos": "BestEffort", "memory_bytes": 1, "oom_score_adj": 0, "badness": 175_477}
    net |= {"refused": -997, "wanted_badness": -85_880, "why": "no oom_score_adj below 0 is granted"}
    honest = {"name": "honest/c", "qos": "Burstable", "memory_bytes": 1, "oom_score_adj": 219, "badness": 84_099}
    said = charts.oom_ranking([honest, net], killed="net/c").sentence
    assert said.endswith(
        "With the scores that the kubelet wants the order would be honest/c, net/c; here it is net/c, honest/c: "
        "honest/c would be killed first, and here it is net/c."
    )


def test_a_notebook_shows_the_still_picture_with_its_sentence_and_its_table_and_no_script():
    chart = charts.shares_chart(["a", "b"], [1, 2], [0.3, 0.7])
    bundle = chart._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}  # no plotly: nothing to load, and nothing that offers to upload
    shown = bundle["text/html"]
    assert "<script" not in shown and "<svg" in shown and shown.count(chart.sentence) >= 2
    assert "<summary" in shown and chart.table_html() in shown


def test_two_pictures_of_one_page_have_no_id_in_common():
    one, two = (charts.queue_chart([{"seconds": 1, "what": "add", "activeQ": list("pq")[:n]}]).svg() for n in (1, 2))
    assert not set(re.findall(r'id="([^"]+)"', one)) & set(re.findall(r'id="([^"]+)"', two))


@pytest.mark.parametrize("seed", [45, 46])
def test_scenes_for_readers_keep_names_and_marks_and_nothing_that_says_the_answer(seed):
    made = scenes(seed)
    assert len(made) == 20 and len({scene.question for scene in made}) == 10
    for scene in made:
        picture = blanked(scene.chart.svg(976), scene.kept)
        left = {re.sub(r"<[^>]+>", "", text).strip() for text in re.findall(r"<text.*?</text>", picture, re.S)}
        assert left <= {*scene.kept, *MARKS} and scene.chart.sentence not in picture
        asked = re.findall(r"[\w.-]+", scene.answer)
        assert all(any(part in text for text in left) for part in asked if not part.isdigit()), scene.question
    assert [scene.answer for scene in made] == [scene.answer for scene in scenes(seed)]


def test_each_filter_that_was_not_run_has_a_dash():
    verdicts = {("a", "One"): ("Unschedulable", "no"), ("b", "One"): ("Success", ""), ("b", "Two"): ("Success", "")}
    board = charts.filter_board(["a", "b"], ["One", "Two"], verdicts)
    assert [list(row) for row in board.figure().data[0].text] == [["✗", "–"], ["✓", "✓"]]
    assert board.svg().count(">–</text>") == 1 and "A dash" in board.sentence
    verdicts["a", "Two"] = ("Success", "")
    assert "A dash" not in charts.filter_board(["a", "b"], ["One", "Two"], verdicts).sentence
