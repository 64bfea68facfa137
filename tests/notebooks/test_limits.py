"""What a notebook may ask of its reader: little code, a picture at once, no answer in the file, links that lead on."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from course import ASKED, CHECKED, NAMES, ROOT, Notebook, revealed

from kitlib.lab.course_map import minutes_of
from kitlib.lab.lessons import content
from kitlib.widgets import WIDGETS

LINES = 10
"""Lines of a code cell."""
BEFORE = 15
"""Visible lines of code before the first widget."""
WORDS = 1000
"""Words of prose in one notebook."""
CELLS, QUESTIONS, MINUTES = 50, 9, 25
"""The minutes of one sitting, as the start page rounds them: in steps of five."""
HALVED = {"09": 600, "16": 420}
"""Notebooks that were long: fewer words."""
EVERY = pytest.mark.parametrize("notebook", [Notebook(name) for name in NAMES], ids=lambda n: n.name)
SHOWN = re.compile(rf"^(?:{'|'.join(WIDGETS)})\(", re.M)
FORBIDDEN = {
    r'"apiVersion"|"containers":|"initContainers":': "a manifest built by hand: use pod(), deployment() and the like",
    r'if "(?:cpu|memory)\.[a-z_]+" in': "a file's name by version: use file_names()",
    r"lesson\.(?:ask|reveal)\([^)]*(?:choices|why)=": "an answer or reason in the file: kitlib.lab.lessons",
    r"pd\.DataFrame": "a data frame: use table()",
}


@EVERY
def test_the_first_picture_stands_within_three_cells(notebook: Notebook) -> None:
    first = next(i for i, (kind, source) in enumerate(notebook.cells) if kind == "code" and SHOWN.search(source))
    assert first < 3, f"the first widget is in cell {first + 1}"
    lines = [line for kind, source in notebook.cells[: first + 1] if kind == "code" for line in source.splitlines()]
    assert len([line for line in lines if line.strip()]) <= BEFORE


@EVERY
def test_code_cells_are_short_and_build_nothing_by_hand(notebook: Notebook) -> None:
    for source in notebook.code:
        assert len(source.splitlines()) <= LINES, source
        for pattern, instead in FORBIDDEN.items():
            assert not re.search(pattern, source), f"{instead}:\n{source}"


@EVERY
def test_a_notebook_fits_into_one_sitting(notebook: Notebook) -> None:
    assert len(notebook.cells) <= CELLS
    assert sum(len(ASKED.findall(source)) for source in notebook.code) <= QUESTIONS
    assert round(minutes_of(notebook.prose, notebook.code) / 5) * 5 <= MINUTES


@EVERY
def test_prose_is_short(notebook: Notebook) -> None:
    assert len(notebook.prose.split()) <= HALVED.get(notebook.name.partition("-")[0], WORDS)


@EVERY
def test_every_question_and_exercise_has_its_content_and_its_cell(notebook: Notebook) -> None:
    known = content(notebook.name)
    asked = [key for source in notebook.code for key in ASKED.findall(source)]
    checked = [key for source in notebook.code for key in CHECKED.findall(source)]
    assert asked == list(known.questions), "in the notebook's order"
    assert checked == list(known.exercises)
    tasks = notebook.prose.partition("## Exercises")[2].partition("\n## ")[0]
    assert re.findall(r"^\*\*(\d+)\.\*\*", tasks, re.M) == [str(i + 1) for i in range(len(checked))]
    assert len(checked) >= 2


@EVERY
def test_the_saved_file_gives_no_answer_away(notebook: Notebook) -> None:
    """Neither GitHub's rendering nor nbconvert's shows a reason, a solution or what is expected."""
    known, whole = content(notebook.name), "\n".join(source for _, source in notebook.cells)
    for question in known.questions.values():
        assert (question.why and question.why.partition("{")[0].strip() not in whole) or question.why.startswith("{")
    for exercise in known.exercises.values():
        assert exercise.hint and exercise.solution and exercise.solution.strip() not in whole
    for source in notebook.code:
        for key in revealed(source):
            observed = re.search(rf'lesson\.reveal\(\s*"{key}",\s*(.+)|"{key}"[^:]*?,\s*lambda: (.+)', source)
            assert observed, f"{key}: `lesson.experiment` takes a lambda"
            assert not re.match(r"[0-9.]+|[\"']", observed[1] or observed[2]), f"{key}: typed, not computed"


@EVERY
def test_upstream_is_linked_at_a_release_and_the_notebook_leads_on(notebook: Notebook) -> None:
    links = re.findall(r"\]\((https?://[^)]+)\)", notebook.prose)
    sources = [link for link in links if link.startswith("https://github.com/kubernetes/kubernetes/blob/")]
    assert sources and all("/blob/v1.36.0/" in link for link in sources)
    assert any("docs.kernel.org" in link or "kubernetes.io/docs" in link or "kep.k8s.io" in link for link in links)
    for target in re.findall(r"\]\(((?!https?:)[^)#]+)\)", notebook.prose):
        assert (notebook.path.parent / target).exists(), target
    place = NAMES.index(notebook.name)
    if place + 1 < len(NAMES):
        assert "**Next:**" in notebook.prose
    if place:
        assert f"({NAMES[place - 1]}.ipynb)" in notebook.prose
        assert "lesson.warm_up()" in notebook.code


def test_labs_that_teach_from_a_notebook_are_linked_there() -> None:
    import tomllib

    for path in (ROOT / "labs").glob("*/lab.toml"):
        for number in tomllib.loads(path.read_text(encoding="utf-8"))["teaches"]:
            name = next((one for one in NAMES if one.startswith(f"{number}-")), None)
            if name is not None:
                assert f"../labs/{path.parent.name}/lab.ipynb" in Notebook(name).prose, (path.parent.name, name)
