"""Every notebook of the course is complete: its parts stand in order, nothing is revealed before it was asked."""

from __future__ import annotations

import ast
import html
import importlib
import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from kitlib.lab.exercise import Question

sys.path.insert(0, str(Path(__file__).parent))
from course import ASKED, NAMES, NOTEBOOKS, ROOT, SECTIONS, START, Notebook, revealed
from situations import SITUATIONS
from written_questions import LABS, notebook_of, picture_of, text_of, with_questions

EVERY = pytest.mark.parametrize("notebook", [Notebook(name) for name in NAMES], ids=lambda n: n.name)


def test_the_course_has_these_notebooks_after_its_start_page() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb") if path.stem != START) == NAMES


@EVERY
def test_a_notebook_carries_no_results(notebook: Notebook) -> None:
    for cell in notebook.data["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("name", [*NAMES, *(path.parent.name for path in sorted(ROOT.glob("labs/*/lab.ipynb")))])
def test_what_a_cell_imports_of_the_kit_exists(name: str) -> None:
    """Notebooks are run in a stage of their own, so that a name that moves would be missed here."""
    every = json.loads(notebook_of(name).read_text(encoding="utf-8"))["cells"]
    cells = ["".join(cell["source"]) for cell in every if cell["cell_type"] == "code"]
    plain = "\n".join(re.sub(r"^\s*[%!].*", "pass", cell, flags=re.MULTILINE) for cell in cells)
    for node in ast.walk(ast.parse(plain)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kitlib"):
            module = importlib.import_module(str(node.module))
            for one in node.names:
                assert hasattr(module, one.name) or importlib.util.find_spec(f"{node.module}.{one.name}"), one.name


@EVERY
def test_a_notebook_names_its_kernel_so_that_no_dialog_asks_for_one(notebook: Notebook) -> None:
    assert notebook.data["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook.data["nbformat"] == 4
    identities = [cell["id"] for cell in notebook.data["cells"]]
    assert len(set(identities)) == len(identities)


@EVERY
def test_a_notebook_has_its_title_and_all_its_parts_in_order(notebook: Notebook) -> None:
    number = notebook.name.partition("-")[0]
    assert notebook.headings[0].startswith(f"{number} · ")
    places = [next((i for i, h in enumerate(notebook.headings) if h.startswith(part)), -1) for part in SECTIONS]
    assert -1 not in places, SECTIONS[places.index(-1)]
    assert places == sorted(places)


@EVERY
def test_a_notebook_begins_with_its_lesson_and_ends_by_summing_up(notebook: Notebook) -> None:
    assert f'Lesson("{notebook.name}"' in notebook.code[0].replace("\n    ", "")
    assert notebook.code[0].splitlines()[-1] == "lesson"
    assert notebook.code[-1] == "lesson.done()", "closing here would take the cluster away under Run All"
    assert not any("lesson.close()" in source for source in notebook.code)


@EVERY
def test_questions_are_asked_before_their_answers_and_every_one_is_answered(notebook: Notebook) -> None:
    asked: list[str] = []
    answered: list[str] = []
    for source in notebook.code:
        for key in revealed(source):
            assert key in asked, f"{key} is revealed before it is asked"
            answered.append(key)
        new = ASKED.findall(source)
        assert not (new and revealed(source)), "a question and an answer in one cell"
        assert len(new) <= 1 or all(source.count("lesson.ask") == 1 for _ in new), (
            "one question a cell: only the last is shown"
        )
        asked += new
    assert len(asked) >= 2
    assert sorted(asked) == sorted(answered)
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", [*NAMES, *LABS])
def test_each_question_can_be_read_above_the_cell_that_asks_it(name: str) -> None:
    notebook = json.loads(notebook_of(name).read_text(encoding="utf-8"))
    assert with_questions(name, notebook) == notebook, (
        "a question, or the picture above it, has changed: python tests/notebooks/written_questions.py"
    )


def test_what_the_readme_names_has_a_picture_above_its_first_question() -> None:
    named = re.findall(r"\]\(((?:notebooks|labs)/[^)]+\.ipynb)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {notebook_of(name) for name, _ in SITUATIONS} == {ROOT / path for path in named}
    for path in named:
        cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
        written = [cell["metadata"]["kitlib"] for cell in cells if "kitlib" in cell["metadata"]]
        assert "picture" in written[0] and "question" in written[1], path


@pytest.mark.parametrize(("name", "key"), list(SITUATIONS), ids=" ".join)
def test_a_picture_says_no_more_than_its_sentence_in_which_answers_are_searched(name: str, key: str) -> None:
    picture = SITUATIONS[name, key]()
    texts = [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]+)</text>", picture.svg)]
    assert len(texts) > 4 and [text for text in texts if text not in picture.sentence] == []
    assert not re.search(r"<script|<image|<foreignObject|\bon\w+=", picture.svg)


def test_the_pictures_are_small_and_none_is_left_over() -> None:
    files = {path for kind in ("notebooks", "labs") for path in (ROOT / kind).rglob("pictures/*")}
    assert files == {picture_of(name, key) for name, key in SITUATIONS}
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)


@EVERY
def test_what_is_revealed_is_computed_and_not_typed(notebook: Notebook) -> None:
    for source in notebook.code:
        assert not re.search(r'lesson\.reveal\(\s*"[^"]+",\s*(?:[0-9.]+|"[^"]*")\s*[,)]', source), source


@EVERY
def test_the_labs_that_a_notebook_names_exist(notebook: Notebook) -> None:
    titles = {}
    for path in (ROOT / "labs").glob("*/lab.toml"):
        titles[path.parent.name[:2]] = tomllib.loads(path.read_text(encoding="utf-8"))
    for number, title in re.findall(r"Lab (\d\d), \*([^*]+)\*", notebook.prose):
        assert titles[number]["title"] == title, (number, titles[number]["title"])
    for number in re.findall(r"\b[Ll]abs? (\d\d)", notebook.prose):
        assert number in titles


def test_every_lab_says_which_notebook_teaches_it() -> None:
    numbers = {name.partition("-")[0] for name in NAMES}
    for path in (ROOT / "labs").glob("*/lab.toml"):
        assert set(tomllib.loads(path.read_text(encoding="utf-8"))["teaches"]) <= numbers


def test_the_page_about_the_course_lists_notebooks_and_labs_as_they_are() -> None:
    page = (ROOT / "kitlib" / "docs" / "course.md").read_text(encoding="utf-8")
    labs = {
        path.parent.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "labs").glob("*/lab.toml")
    }
    for name in NAMES:
        notebook, number = Notebook(name), name.partition("-")[0]
        title = notebook.headings[0].partition(" · ")[2]
        question = re.search(r"^> (.+)$", notebook.prose, re.M)
        assert '"simulated"' not in notebook.code[0], f"{name} runs on real nodes too"
        after = ", ".join(sorted(lab[:2] for lab, data in labs.items() if number in data["teaches"]))
        assert question is not None
        row = f"| [{number}](../../notebooks/{name}.ipynb) | {title} | {question[1]} | real or simulated | {after} |"
        assert row in page, row
    for name, data in labs.items():
        lab = f"| [{name[:2]}](../../labs/{name}/lab.ipynb) {data['title']}"
        row = f"{lab} | {data['story']} | {'★' * data['difficulty']} |"
        assert row in page, row


def test_a_questions_text_is_written_without_marks_of_markdown() -> None:
    asked = Question("a", "How many files are below `kubepods*`, at 2$?", ("one_two", "<none>"))
    assert text_of(asked).splitlines() == [
        "> **Predict:** How many files are below \\`kubepods\\*\\`, at 2\\$?",
        ">",
        "> *one\\_two* · *\\<none\\>*",
    ]
    assert text_of(Question("b", "How much?", unit="MiB")) == "> **Predict:** How much? (MiB)"
