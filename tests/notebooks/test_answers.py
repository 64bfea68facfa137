"""No answer stands before its guess: not in the cells above the question, and not in what "Run All" leaves.

A name is an answer only where most of the other choices do not stand beside it; see `answers.py`.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from answers import gives_away, singles_out
from course import ASKED, NAMES, Notebook, revealed, right

from kitlib.lab.lessons import content

ALLOWED = {
    ("08b", "crowd"): "CPU 0 is named as the reserved one, which is the premise",
    ("10", "pod"): "the word never, in the question of the whole notebook",
    ("12b", "busy"): "the word nothing, of a node that does nothing else",
    ("21b", "replicas"): "the number that it has; the question is whether that changes",
    ("22", "limited"): "the limit of the pod; the question is where its request comes from",
}
"""Notebook and question -> why the text above it may hold the answer."""
RUN = NAMES if os.environ.get("KITLIB_NIGHTLY") else ["02-qos-classes-and-the-tree"]
"""Notebooks that are run without a guess; every night all of them."""
INPUT = {("10-inside-the-kubelet", "print(*LINES.values(), sep="): "the mount table that the question is about"}
"""Notebook and code -> why a cell may print while a question waits."""


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_above_a_question_singles_out_its_answer(name: str) -> None:
    known, answers, above, found = content(name).questions, right(name, simulated=True), "", set()
    for cell in Notebook(name).data["cells"]:
        source = "".join(cell["source"])
        if "question" in cell["metadata"].get("kitlib", {}):
            continue
        for key in ASKED.findall(source) if cell["cell_type"] == "code" else ():
            question = known[key]
            if singles_out(answers[key], question.choices, question.unit, f"{above}\n{question.text}"):
                found.add((name.partition("-")[0], key))
        above += f"\n{source}"
    assert found == {one for one in ALLOWED if one[0] == name.partition("-")[0]}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_cell_prints_waits_for_the_guess(name: str) -> None:
    """`lesson.print` waits as tables do; the built-in one and a text at the end of a cell do not."""
    waiting: set[str] = set()
    for kind, source in Notebook(name).cells:
        if kind != "code":
            continue
        last = source.strip().splitlines()[-1]
        shown = re.search(r"(?<![\w.])print\(", source) or re.match(r"""f?["']|str\(|lesson\.wait\(""", last)
        if waiting and shown:
            assert any(one == name and code in source for one, code in INPUT), f"shown while {waiting} wait: {source}"
        waiting = (waiting | set(ASKED.findall(source))) - set(revealed(source))


@pytest.mark.notebooks
@pytest.mark.parametrize("name", RUN)
def test_run_all_shows_no_answer_before_its_guess(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    monkeypatch.setenv("KITLIB_NODES", "simulated")
    notebook = nbformat.read(Notebook(name).path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert given_away(name, notebook) == {}


def given_away(name: str, notebook: Any) -> dict[str, str]:
    """Return the questions of a notebook whose answer its outputs show between question and reveal, and what shows it.

    A question that is revealed without a guess counts as well.
    """
    known, answers = content(name).questions, right(name, simulated=True)
    shown: dict[str, str] = {}
    found = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if not ASKED.search(cell.source):
            for key in shown:
                shown[key] += _text(cell.outputs)
        shown |= dict.fromkeys(ASKED.findall(cell.source), "")
        for key in revealed(cell.source):
            text, question = shown.pop(key), known[key]
            if "Answer the question above first" not in text:
                found[key] = "revealed"
            elif singles_out(answers[key], question.choices, question.unit, text):
                found[key] = text
    return found


def _text(outputs: Any) -> str:
    kinds = ("text/plain", "text/html", "text/markdown", "image/svg+xml")
    return "\n".join(
        [str(one.get("text", "")) for one in outputs]
        + [str(one.get("data", {}).get(kind, "")) for one in outputs for kind in kinds]
    )


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
