"""The board of releases: a mark a cell, the release that one stands at framed, a sentence."""

from kitlib.charts.releases import release_board

CELLS = {
    ("a", "1.23"): ("rejected", "Insufficient cpu"),
    ("b", "1.23"): ("passes", "passes, 10 points"),
    ("a", "1.24"): ("best", "passes, 20 points"),
    ("b", "1.24"): ("victims", "x must leave"),
}


def test_marks_are_signs_and_the_sentence_names_the_winner():
    chart = release_board(["a", "b"], ["1.23", "1.24"], CELLS, current="1.24")
    figure = chart.figure()
    assert [list(row) for row in figure.data[0].text] == [["✗", "★"], ["✓", "⚔"]]
    assert chart.sentence == "1.23: no node; 1.24: a."
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.5, 1.5)
    assert list(chart.frame()["why"]) == ["Insufficient cpu", "passes, 10 points", "passes, 20 points", "x must leave"]
    assert "<svg" in chart.svg()


def test_without_a_current_release_nothing_is_framed():
    figure = release_board(["a"], ["1.23"], CELLS, sentence="as told").figure()
    assert not figure.layout.shapes
    assert figure.layout.meta["sentence"] == "as told"
