"""Labs as nbgrader assignments: the metadata that nbgrader reads, and cells that give the points of the cluster."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab import Lab
from kitlib.lab.definition import LabFolder
from kitlib.lab.launch import in_course
from kitlib.lab.nbgrader import assignment, export, points
from kitlib.lab.progress import Progress
from kitlib.lab.report import read_learners
from tests import venvs

ROOT = Path(__file__).parents[2]
LABS = sorted(path.parent for path in (ROOT / "labs").glob("*/lab.toml"))
FIRST = "make-it-guaranteed"


@pytest.mark.parametrize("place", LABS, ids=lambda path: path.name)
def test_every_task_has_one_locked_cell_with_its_points(place: Path) -> None:
    folder = LabFolder.read(place)
    cells = assignment(folder)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    marked = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    graded = {m["grade_id"]: m["points"] for m in marked if m["grade"]}
    assert graded == {f"check-{t.key}": t.points for t in folder.definition.tasks}
    assert all(m["locked"] and not m["solution"] and not m["task"] and m["schema_version"] == 3 for m in marked)


def test_the_command_writes_a_course(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lab-export", str(tmp_path), FIRST]) == 0
    assert "1 assignments" in capsys.readouterr().out
    assert (tmp_path / "source" / FIRST / f"{FIRST}.ipynb").exists() and (tmp_path / "nbgrader_config.py").exists()
    with pytest.raises(KitError, match="no lab 'nothing'"):
        export(tmp_path, ("nothing",))


def test_a_cells_value_is_what_the_cluster_is_worth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lab = Lab(FIRST, seed=0, progress=Progress(tmp_path))
    assert points(FIRST, "guaranteed", lab) == 0
    LabFolder.read(in_course("labs", FIRST)).answers().reference(lab.cluster)
    assert points(FIRST, "guaranteed", lab) == 2
    assert "✓ The pod web is Guaranteed" in capsys.readouterr().out


def test_the_journal_that_a_cell_writes_is_replayed_and_forged_points_are_not_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, places = Lab(FIRST, seed=0, progress=Progress(tmp_path / "own")), {}
    for learner in ("honest", "forger"):
        places[learner] = tmp_path / "submitted" / learner / FIRST
        places[learner].mkdir(parents=True)
    monkeypatch.chdir(places["forger"])
    points(FIRST, "guaranteed", lab)
    claimed = json.loads(Path("progress.jsonl").read_text())
    Path("progress.jsonl").write_text(json.dumps({**claimed, "points": 2}) + "\n")
    LabFolder.read(in_course("labs", FIRST)).answers().reference(lab.cluster)
    monkeypatch.chdir(places["honest"])
    for task in ("guaranteed", "cgroup"):
        points(FIRST, task, lab)
    rows = {row.learner: row for row in read_learners(tmp_path / "submitted", recheck=True, workers=0)}
    assert rows["honest"].labs == {FIRST: (3, 3)} and rows["honest"].not_confirmed == ()
    assert rows["forger"].labs == {FIRST: (0, 2)}
    assert rows["forger"].not_confirmed and "2 claimed, 0 confirmed" in rows["forger"].not_confirmed[0]


def test_something_else_named_lab_is_refused() -> None:
    class Pretended:
        name = FIRST

    with pytest.raises(KitError, match="must contain the lab"):
        points(FIRST, "guaranteed", Pretended())


@pytest.mark.workshop
def test_nbgrader_generates_and_grades(tmp_path: Path) -> None:
    """nbgrader itself: an assignment untouched, solved and with forged points is graded, and replayed afterwards."""
    place = Path(os.environ.get("KITLIB_NBGRADER_ENVIRONMENT") or tmp_path / "venv")
    python = venvs.make(place)
    venvs.install(python, "nbgrader==0.9.6", "msgspec", "numpy", "PyYAML", "rich", "pandas", "ipywidgets")
    course, shown = tmp_path / "course", {**os.environ, "PYTHONPATH": str(ROOT), "KITLIB_NODES": "simulated"}
    shown |= {"HOME": str(tmp_path), "PATH": f"{place}/bin:{os.environ['PATH']}"}
    export(course, (FIRST,))

    def nbgrader(*arguments: str) -> str:
        command = [python, "-m", "nbgrader", *arguments]
        done = subprocess.run(command, cwd=course, env=shown, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout + done.stderr

    nbgrader("generate_assignment", FIRST)
    released = json.loads((course / "release" / FIRST / f"{FIRST}.ipynb").read_text())
    for learner in ("untouched", "solved", "forged"):
        notebook = json.loads(json.dumps(released))
        where = next(i for i, c in enumerate(notebook["cells"]) if "lab.check()" in "".join(c["source"]))
        if learner == "solved":
            folder = f"LabFolder.read({str(in_course('labs', FIRST))!r}, lab.seed)"
            code = f"from kitlib.lab.definition import LabFolder\n{folder}.answers().reference(lab.cluster)"
            notebook["cells"][where]["source"] = code.splitlines(keepends=True)
        if learner == "forged":
            code = (
                "import kitlib.lab.nbgrader as n\nn.points = lambda lab, task, _: {'guaranteed': 2, 'cgroup': 1}[task]"
            )
            notebook["cells"][where]["source"] = code.splitlines(keepends=True)
        place = course / "submitted" / learner / FIRST
        place.mkdir(parents=True)
        (place / f"{FIRST}.ipynb").write_text(json.dumps(notebook))
    nbgrader("autograde", FIRST)
    nbgrader("export", "--to", "grades.csv")
    lines = [line.split(",") for line in (course / "grades.csv").read_text().splitlines()]
    scores = {row[lines[0].index("student_id")]: float(row[lines[0].index("score")]) for row in lines[1:]}
    assert scores == {"solved": 3, "untouched": 0, "forged": 3}
    rows = {row.learner: row for row in read_learners(course / "autograded", recheck=True, workers=0)}
    assert rows["solved"].points == 3 and rows["solved"].not_confirmed == ()
    assert rows["untouched"].points == 0 and "forged" not in rows, "a forged cell writes no journal"
