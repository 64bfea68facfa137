"""Tables stand left and ids are short."""

import re

import pytest

from kitlib.cluster import Cluster
from kitlib.lab.tables import folded, in_binary_units, pods_table, short, table


def test_rows_mappings_and_frames_become_tables():
    import pandas as pd

    rows = [{"a": 1, "b": None}, {"a": 0.25, "b": True}]
    assert str(table(rows)) == "a     b\n1\n0.25  yes"
    assert (
        str(table({"x": 1, "y": (2, 3)}, "name", "first", "second")) == "name  first  second\nx     1\ny     2      3"
    )
    assert str(table({"x": {"q": 1}}, "name")) == "name  q\nx     1"
    assert str(table(pd.DataFrame(rows))).splitlines()[2] == "0.25  yes"
    assert "text-align:left" in table(rows)._repr_html_() and "&lt;" in table({"<": 1})._repr_html_()


def test_a_container_id_has_twelve_digits():
    assert short("cri-" + "ab12" * 16) == "cri-ab12ab12ab12…"
    assert short("de4983ac-ff0c-40be-8472-8b6674593aa3") == "de4983ac-ff0c-40be-8472-8b6674593aa3"


def test_what_a_host_refused_is_shown_whatever_columns_are_chosen():
    rows = [{"pod": "a", "score": 0, "refused": "no score below 0 is granted"}, {"pod": "b", "score": 5}]
    assert str(table(rows, "pod", "score")).splitlines() == [
        "pod  score  refused",
        "a    0      no score below 0 is granted",
        "b    5",
    ]
    assert table([{**row, "refused": ""} for row in rows], "pod").columns == ["pod"]


def test_two_columns_may_have_one_name_or_none():
    assert str(table({"pending": "Deferred", "late runs on": ""}, "", "")) == "pending       Deferred\nlate runs on"
    assert str(table({"a": (1, 2), "b": (3, 4)}, "x", "y", "y")) == "x  y  y\na  1  2\nb  3  4"
    assert "<thead>" not in table({"a": "x"}, "", "")._repr_html_()


def test_a_mapping_is_one_cell_unless_every_row_is_a_mapping():
    shown = str(table({"seconds": 61.5, "requests": {"cpu": "1500m", "memory": "64Mi"}}, "", ""))
    assert shown.splitlines() == ["seconds   61.5", "requests  cpu 1500m, memory 64Mi"]


def test_figures_stand_right_and_texts_left():
    rows = [
        {"pod": "a", "bytes": 97, "asked": "100m", "why": "1 of 2"},
        {"pod": "b", "bytes": 524288, "asked": "1", "why": ""},
    ]
    cells = re.findall(r'<td style="text-align:(\w+)', table(rows)._repr_html_())
    assert cells == ["left", "right", "right", "left"] * 2


def test_no_cell_is_broken_inside_a_word():
    assert "word-break:normal" in table({"a": "x"})._repr_html_()


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (512, "512"),
        (8192, "8Ki"),
        (7516192768, "7Gi"),
        (2**20 * 300, "300Mi"),
        (10**8, "95.4Mi"),
    ],
)
def test_bytes_are_written_in_the_largest_unit_that_divides_them(amount, text):
    assert in_binary_units(amount) == text


def test_a_table_of_pods_has_no_bytes_and_no_holes():
    cluster = Cluster.simulated(1)
    resources = {"requests": {"cpu": "100m", "memory": "7Gi"}}
    spec = {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "x:1", "resources": resources}]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
    header, row = str(pods_table(cluster)).splitlines()
    assert header.split()[:5] == ["namespace", "pod", "node", "phase", "reason"]
    assert row.split() == ["default", "a", "-", "Pending", "-", "Burstable", "0", "0", "100", "-", "7Gi", "-"]
    assert str(pods_table(Cluster.simulated(1))).strip().startswith("namespace")


def bars(rows, *columns):
    """The length of each cell's bar in per cent; None = no bar."""
    cells = re.findall(r"<td style=\"([^\"]*)\"", table(rows, *columns)._repr_html_())
    found = [re.search(r"bottom -4px/([\d.]+)%", cell) for cell in cells]
    return [None if one is None else float(one[1]) for one in found]


@pytest.mark.parametrize(
    ("column", "lengths"),
    [
        ([0.5, 1.0, 2.0], [25.0, 50.0, 100.0]),
        (["250m", "1", "500m"], [25.0, 100.0, 50.0]),
        (["512Mi", "2Gi", ""], [25.0, 100.0, None]),
        (["20 ms", "1 s", "0 s"], [2.0, 100.0, 0.0]),
        (["1,000", "500", "250"], [100.0, 50.0, 25.0]),
        ([-997, 1000, 2], [None] * 3),  # a negative amount has no length
        (["1500m", "64Mi", "1"], [None] * 3),  # CPU and memory have no common scale
        ([7, 7, 7], [None] * 3),  # nothing to compare
        (["1", "none", "3"], [None] * 3),
    ],
)
def test_amounts_of_one_dimension_have_bars_to_one_scale(column, lengths):
    found = bars([{"pod": name, "amount": one} for name, one in zip("abc", column, strict=True)])
    assert found[1::2] == pytest.approx(lengths) and found[::2] == [None] * 3


def test_a_short_name_is_not_broken_after_its_hyphen():
    row = {"object": "node/node-1", "message": "the node is ready"}
    assert table([row])._repr_html_().count("nowrap") == 1
    assert "nowrap" not in table([dict.fromkeys("abcde", "kube-system/a-long-name")])._repr_html_()


def test_a_line_is_folded_between_words_only():
    line = "[  12.5] oom-kill:constraint=MEMCG,nodemask=(null),oom_memcg=/kubepods/pod1,task=stress,uid=0"
    lines = folded(line, 40).splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 40 and "".join(map(str.strip, lines)) == line.strip()
    assert folded("x" * 50, 40) == "x" * 50
