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
from kitlib.lab.nbgrader import assignment, export, points
from kitlib.lab.progress import Progress
from tests import venvs

ROOT = Path(__file__).parents[2]
LABS = sorted(path.parent for path in (ROOT / "labs").glob("*/lab.toml"))
FIRST = "01-make-it-guaranteed"


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


def test_a_cells_value_is_what_the_cluster_is_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(FIRST, seed=0, progress=Progress(tmp_path))
    assert points(FIRST, "guaranteed", lab) == 0
    LabFolder.read(ROOT / "labs" / FIRST).answers().reference(lab.cluster)
    assert points(FIRST, "guaranteed", lab) == 2
    assert "✓ The pod web is Guaranteed" in capsys.readouterr().out


def test_something_else_named_lab_is_refused() -> None:
    class Pretended:
        name = FIRST

    with pytest.raises(KitError, match="is not the lab"):
        points(FIRST, "guaranteed", Pretended())


@pytest.mark.workshop
def test_nbgrader_generates_and_grades(tmp_path: Path) -> None:
    """nbgrader itself: the untouched assignment and the reference solution, released, submitted and graded."""
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
    for learner in ("untouched", "solved"):
        notebook = json.loads(json.dumps(released))
        if learner == "solved":
            folder = f"LabFolder.read({str(ROOT / 'labs' / FIRST)!r}, lab.seed)"
            code = f"from kitlib.lab.definition import LabFolder\n{folder}.answers().reference(lab.cluster)"
            where = next(i for i, c in enumerate(notebook["cells"]) if "lab.check()" in "".join(c["source"]))
            notebook["cells"][where]["source"] = code.splitlines(keepends=True)
        place = course / "submitted" / learner / FIRST
        place.mkdir(parents=True)
        (place / f"{FIRST}.ipynb").write_text(json.dumps(notebook))
    nbgrader("autograde", FIRST)
    nbgrader("export", "--to", "grades.csv")
    lines = [line.split(",") for line in (course / "grades.csv").read_text().splitlines()]
    scores = {row[lines[0].index("student_id")]: float(row[lines[0].index("score")]) for row in lines[1:]}
    assert scores["solved"] == 3 and scores["untouched"] == 0
