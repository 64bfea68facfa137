"""No answer stands in the cells above its question.

A name is an answer only where most of the other choices do not stand beside it; see `answers.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from answers import gives_away, singles_out
from course import ASKED, NAMES, Notebook, right

from kitlib.lab.lessons import content

ALLOWED = {
    ("05", "scope"): "the pod is introduced by what it does; the other one is named in the question before",
    ("08", "crowd"): "CPU 0 is named as the reserved one, which is the premise",
    ("10", "pod"): "the word never, in the question of the whole notebook",
    ("12", "busy"): "the word nothing, of a node that does nothing else",
    ("21", "replicas"): "the number that it has; the question is whether that changes",
    ("22", "limited"): "the limit of the pod; the question is where its request comes from",
}
"""Notebook and question -> why the text above it may hold the answer."""


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_above_a_question_singles_out_its_answer(name: str) -> None:
    known, answers, above, found = content(name).questions, right(name, simulated=True), "", set()
    for kind, source in Notebook(name).cells:
        for key in ASKED.findall(source) if kind == "code" else ():
            question = known[key]
            if singles_out(answers[key], question.choices, question.unit, f"{above}\n{question.text}"):
                found.add((name[:2], key))
        above += f"\n{source}"
    assert found == {one for one in ALLOWED if one[0] == name[:2]}


@pytest.mark.parametrize(
    ("answer", "unit", "text", "expected"),
    [
        (36, "CPUs", "in the end 36 CPUs are left", True),
        (36, "CPUs", "port 36 of the machine", False),
        (2, "pods", "2 rows and 3 pods", False),
        (2, "pods", "2 pods wait", True),
        (3, "", "3 of them", False),
        (128, "", "it may use 128", True),
        (128, "", "v1.128 or 1280", False),
        ("report", "", "the kubelet evicted Report.", True),
        ("report", "", "reports are daily, report-1 is one", False),
        ("1", "", "on node-1 alone", False),
    ],
)
def test_a_number_needs_its_noun_and_a_name_its_bounds(answer: Any, unit: str, text: str, expected: bool) -> None:
    assert gives_away(answer, unit, text) is expected


def test_a_scenario_that_names_all_its_pods_gives_none_of_them_away() -> None:
    choices = ["cache", "report", "web"]
    assert not singles_out("report", choices, "", "the pods cache, report and web run")
    assert singles_out("report", choices, "", "last night it evicted report")
