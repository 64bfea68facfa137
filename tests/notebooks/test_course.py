"""Every notebook runs from top to bottom as a learner finds it: no error, no warning, within a minute.

tests/engine/test_course.py runs them on real nodes.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from course import ASKED, CHECKED, NAMES, ROOT, Notebook, answer, points, right, solve
from walls import is_wall, visible, walls

from kitlib.lab.lessons import content
from tests.charts.legible import illegible

pytestmark = pytest.mark.notebooks
SECONDS = 60.0
SVG = re.compile(r"<svg.*?</svg>", re.S)
FRAMES = (
    "12-the-schedulers-pipeline",
    "12b-what-the-scheduler-counts",
    "24-what-if-sweeps",
    "25-what-older-articles-say",
)
"""Notebooks that show data frames. The others run without pandas, which a page in a browser may not have."""
LONG_ID = re.compile(r"(?<![0-9a-zA-Z])(?=[0-9]*[a-f])[0-9a-f]{13,}(?![0-9a-zA-Z])")
"""A hash of more than twelve digits; a number without letters is none."""


def run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, nodes: str = "simulated") -> tuple[Any, float]:
    """The executed notebook, and the seconds that it took."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("KITLIB_PROGRESS", str(folder))
    monkeypatch.setenv("KITLIB_NODES", nodes)
    notebook = nbformat.read(Notebook(name).path, as_version=4)
    answer(notebook, name, simulated=True)
    solve(notebook, name)
    if name not in FRAMES:
        notebook.cells.insert(0, nbformat.v4.new_code_cell('import sys\n\nsys.modules["pandas"] = None'))
    client = nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(folder)}})
    began = time.perf_counter()
    client.execute()
    if name not in FRAMES:
        del notebook.cells[0]
    return notebook, time.perf_counter() - began


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def everything(shown: list[Any]) -> str:
    """What a learner reads of the outputs, as text and as HTML."""
    kinds = ("text/plain", "text/html", "text/markdown")
    parts = [output.get("text", "") for output in shown]
    parts += [str(output.get("data", {}).get(kind, "")) for output in shown for kind in kinds]
    return "\n".join(parts)


def check(name: str, notebook: Any, folder: Path) -> None:
    """Nothing went wrong, nothing warns, and every question has been kept, answered or not."""
    from kitlib.lab.progress import Progress

    shown = outputs(notebook)
    said = [output["text"] for output in shown if output.output_type == "stream" and output["name"] == "stderr"]
    assert not said, f"the learner sees: {said[0]}"
    assert not [output for output in shown if output.output_type == "error"]
    text = "\n".join(str(o.get("data", {}).get("text/plain", o.get("text", ""))) for o in shown)
    assert "Traceback" not in text
    assert not re.search(r"\b[A-Z][a-z]+Warning\b", text)
    asked = {key for source in Notebook(name).code for key in ASKED.findall(source)}
    kept = list(Progress(folder).entries(name))
    assert {entry.task for entry in kept if entry.kind == "prediction"} == asked
    exercises = {key for source in Notebook(name).code for key in CHECKED.findall(source)}
    solved = {entry.task for entry in kept if entry.kind == "check" and entry.points}
    assert solved == exercises, "a solution does not pass its own check"
    assert not LONG_ID.search(plain := everything(shown)), f"a hash: {LONG_ID.search(plain)}"
    assert walls(notebook.cells) == [], "more than 60 lines or 300 words"
    assert asked == set(right(name, simulated=True)), "a question without a right answer"
    assert points(folder, name, simulated=True) == dict.fromkeys(asked, 1.0)


def test_the_page_and_the_documentation_name_the_notebooks_that_need_pandas() -> None:
    *most, last = (name.partition("-")[0] for name in FRAMES)
    said = f"{', '.join(most)} and {last}"
    static = "lab/jupyter/share/labextensions/kitlib/static/install.js"
    for place in (static, "docs/rooms.md"):
        assert f"otebooks {said}" in (ROOT / "kitlib" / place).read_text(), place


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_on_the_simulated_kernel(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook, seconds = run(name, tmp_path, monkeypatch)
    check(name, notebook, tmp_path)
    asked = [content(name).questions[key] for source in Notebook(name).code for key in ASKED.findall(source)]
    shown = everything(outputs(notebook)).split('<div class="kitlib-verdict">')[1:]
    drawn = [part.partition('<div role="status">')[0] for part in shown]
    pictures = [part for part in drawn if part]
    assert len(pictures) == sum(one.picture is not None for one in asked), "an answer without its picture"
    for layout in (svg for part in pictures for svg in SVG.findall(part)):
        assert illegible(layout) == []
    assert seconds < SECONDS
    print(f"{name}: {seconds:.1f} s")


def test_a_notebook_that_is_only_run_gives_no_answer_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run All without a guess: no reason is shown, nothing is scored, exercises wait, the cluster is there."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    monkeypatch.setenv("KITLIB_NODES", "simulated")
    notebook = nbformat.read(Notebook(NAMES[0]).path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell('cluster.apply(pod("late"))\ncluster.pod("late").status.phase'))
    nbclient.NotebookClient(notebook, timeout=120).execute()
    text = everything(outputs(notebook))
    assert "Answer the question above first." in text and "Observed" not in text
    assert "Replace the three dots" in text and "Predictions: 0 of 0 right." in text
    assert "Running" in text.rpartition("Predictions: 0 of 0")[2]
    assert not (tmp_path / "progress.jsonl").exists()


def test_a_prediction_that_was_given_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner answers the first question of the first notebook; the last cell then shows the score."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    monkeypatch.setenv("KITLIB_NODES", "simulated")
    notebook = nbformat.read(Notebook(NAMES[0]).path, as_version=4)
    for place, cell in enumerate(notebook.cells):
        if cell.source == 'lesson.ask("quota")':
            notebook.cells.insert(place + 1, nbformat.v4.new_code_cell('lesson._questions["quota"].answer("150000")'))
            break
    nbclient.NotebookClient(notebook, timeout=120).execute()
    text = everything(outputs(notebook))
    assert "You predicted 150000; observed: 150000. Right." in text
    assert "Predictions: 1 of 1 right." in text


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("<p>one</p><details><summary>more</summary><p>hidden</p></details>", ["one", "more"]),
        ("<details open><summary>more</summary><p>shown</p></details>", ["more", "shown"]),
        ("<details><summary>a</summary><details><summary>b</summary>c</details></details>", ["a"]),
        ("<style>p {}</style><svg><text>axis</text></svg><tr><td>x</td><td>1 &lt; 2</td></tr>", ["x  1 < 2"]),
    ],
)
def test_what_is_folded_is_not_counted_as_a_wall(page: str, seen: list[str]) -> None:
    assert [line.strip() for line in visible(page).splitlines() if line.strip()] == seen


def test_a_long_text_is_a_wall() -> None:
    assert is_wall("a\n" * 61) and not is_wall("a\n" * 60)
    assert is_wall("a " * 301) and not is_wall("a - " * 300)
