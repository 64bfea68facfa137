"""Candidates of preemption: victims are struck out on the nominated node, and the criterion that decides is named."""

import random
import re

import pytest

from kitlib.charts import preemption_chart
from kitlib.charts.preemption import CRITERIA, deciding


def row(node, victims, highest=0, total=0, broken=0):
    keys = ("node", "victims", "highest_priority", "sum_of_priorities", "pdb_violations")
    return dict(zip(keys, (node, victims, highest, total, broken), strict=True))


@pytest.mark.parametrize(("nominated", "struck"), [("n1", ["web"]), ("n2", ["batch", "log"]), ("", [])])
def test_only_pods_of_the_nominated_node_are_struck_out(nominated, struck):
    svg = preemption_chart([row("n1", ["web"], 100, 100), row("n2", ["batch", "log"], 10, 15)], nominated).svg()
    assert re.findall(r'text-decoration="line-through">([^<]+)<', svg) == struck
    assert svg.count("would be deleted, but stays") == 3 - len(struck)
    assert (">nominated<" in svg) == bool(nominated)


def test_the_start_has_a_column_that_is_bold_where_it_decides():
    rows = [row("a", ["v"], 5, 5) | {"start": "08:05:00"}, row("b", ["w"], 5, 5) | {"start": "08:02:00"}]
    bold = r'font-weight="600"[^>]*>([^<]+)<'
    assert {"started", "08:05:00"} <= set(re.findall(bold, preemption_chart(rows, "a").svg()))
    assert "started" not in preemption_chart([row("a", ["v"]), row("b", ["w"])], "a").svg()
    rows[1]["victims"] = ["w", "x"]
    assert {"victims", "1"} <= set(re.findall(bold, preemption_chart(rows, "a").svg()))
    assert preemption_chart(rows, "a").columns["start"] == ["08:05:00", "08:02:00"]


@pytest.mark.parametrize(
    ("others", "decides"),
    [
        ([row("b", ["x"], 1, 1, 1)], "budgets broken"),
        ([row("b", ["x"], 9, 1)], "highest priority of a victim"),
        ([row("b", ["x"], 5, 9)], "sum of priorities"),
        ([row("b", ["x", "y"], 5, 5)], "number of victims"),
        ([row("b", ["x"], 5, 5)], "the latest start of the victims with the highest priority"),
        ([], ""),
    ],
)
def test_the_first_criterion_that_leaves_one_node_decides(others, decides):
    assert deciding([row("a", ["v"], 5, 5), *others], "a") == decides


@pytest.mark.parametrize("seed", range(20))
def test_the_sentence_says_what_the_rows_hold(seed):
    rng = random.Random(seed)
    rows = [
        row(
            f"n{i}",
            [f"p{i}{j}" for j in range(rng.randrange(1, 5))],
            rng.randrange(3),
            rng.randrange(5),
            rng.randrange(2),
        )
        for i in range(rng.randrange(1, 6))
    ]
    best = min(
        rows,
        key=lambda one: (one["pdb_violations"], one["highest_priority"], one["sum_of_priorities"], len(one["victims"])),
    )
    chart = preemption_chart(rows, best["node"])
    assert f"{best['node']} is nominated; it loses {', '.join(best['victims'])}." in chart.sentence
    assert (chart.sentence.count("What decides") == 1) == (len(rows) > 1)
    assert all(victim in chart.svg() for one in rows for victim in one["victims"]) and len(CRITERIA) == 4
