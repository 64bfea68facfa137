"""Labs as nbgrader assignments: each task becomes a locked cell that checks the cluster and gives its points.

The cell replays the learner's actions on a fresh cluster in a separate process. Its value is the number of points, so
nbgrader gives partial credit. nbgrader runs a whole notebook in one kernel, where one line can forge any points. The
cell therefore also appends the actions to `progress.jsonl` beside the notebook. nbgrader's exchange takes all files of
an assignment's folder, so the journal travels with the submission, and `kitlib lab-report COURSE/submitted --recheck`
replays it on your own machine.

Source: nbgrader's documentation, "Creating and grading assignments"; metadata of schema version 3; nbgrader
exchange/default/submit.py ExchangeSubmit.copy_files, converters/base.py BaseConverter.init_assignment (all files).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab.definition import LabFolder, TaskSpec
from kitlib.lab.files import write_whole
from kitlib.lab.launch import in_course, in_order
from kitlib.lab.moved import plain
from kitlib.lab.variant import check_seed

SCHEMA = 3
CONFIG = """c = get_config()
c.CourseDirectory.course_id = "kitlib"
c.ExecutePreprocessor.timeout = 180
c.ClearSolutions.enforce_metadata = False
"""


def points(name: str, task: str, lab: Any) -> float:
    """Return a task's points for the cell that nbgrader runs; print the result and record it.

    The record goes to `progress.jsonl` in the working directory, which is the notebook's folder.

    Args:
        name: the lab's name.
        task: the task's key.
        lab: the notebook's `Lab`.

    Returns:
        Points, 0 to the task's.

    Raises:
        KitError: `lab` is not this lab, or the check could not run.
    """
    from kitlib.lab.grading_process import grade_apart
    from kitlib.lab.lab import Lab
    from kitlib.lab.progress import Progress, record_grade

    if type(lab) is not Lab or plain(lab.name) != plain(name):
        raise KitError(
            f"the variable lab must contain the lab {name}: assign lab = Lab({name!r}) in the first cell, and do not "
            "change it"
        )
    journal, ground = lab.done()
    found = grade_apart(LabFolder.read(in_course("labs", name), lab.seed), journal, (task,), ground)
    record_grade(Progress(Path.cwd()), name, found, journal, ground, changed=False)
    print(found.results[0])
    return found.results[0].points


def export(folder: str | Path, labs: tuple[str, ...] = ()) -> list[str]:
    """Write `source/LAB/LAB.ipynb` for each lab, and nbgrader_config.py unless it exists.

    Args:
        folder: folder of the nbgrader course, created if missing.
        labs: names or numbers of labs; () = all.

    Returns:
        Names of the written labs.

    Raises:
        KitError: a lab does not exist, or the folder cannot be written.
    """
    target = Path(folder).expanduser()
    places = sorted(in_course("labs", lab) for lab in labs) or in_order("labs")
    wanted = {plain(place.name): place for place in places}
    try:
        for name, source in wanted.items():
            place = target / "source" / name
            place.mkdir(parents=True, exist_ok=True)
            notebook = assignment(LabFolder.read(source))
            write_whole(place / f"{name}.ipynb", json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        config = target / "nbgrader_config.py"
        if not config.exists():
            write_whole(config, CONFIG)
    except OSError as error:
        raise KitError(f"nbgrader course {target}: {error.strerror or error}") from error
    return list(wanted)


def assignment(folder: LabFolder) -> dict[str, Any]:
    """Return a lab's notebook with a graded cell for each task at its end.

    All learners get one variant, KITLIB_LAB_SEED or the first, since the notebook is run again on the grader's
    machine.

    Raises:
        KitError: the lab has no notebook.
    """
    file = folder.path / "lab.ipynb"
    try:
        notebook: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise KitError(f"{file}: {error.strerror or error}") from error
    seed = check_seed(os.environ.get("KITLIB_LAB_SEED") or 0, "KITLIB_LAB_SEED")
    opened = f'Lab("{folder.name}")'
    for cell in notebook["cells"]:
        cell["source"] = [line.replace(opened, f'Lab("{folder.name}", seed={seed})') for line in cell["source"]]
    text = (
        "## Grades\n\nThe cells below are graded. Leave them unchanged. Before you submit, restart the kernel and run "
        "all cells: they write what you did to `progress.jsonl` beside the notebook, which is submitted with it."
    )
    notebook["cells"].append(_cell("markdown", "grades", text))
    for task in folder.definition.tasks:
        notebook["cells"].append(_graded(plain(folder.name), task))
    return notebook


def _graded(lab: str, task: TaskSpec) -> dict[str, Any]:
    text = f"# {task.title}\nfrom kitlib.lab.nbgrader import points\n\npoints({lab!r}, {task.key!r}, lab)"
    return _cell("code", f"check-{task.key}", text, points=task.points)


def _cell(kind: str, name: str, text: str, points: float | None = None) -> dict[str, Any]:
    marks = {"schema_version": SCHEMA, "grade_id": name, "locked": True, "solution": False, "task": False}
    marks["grade"] = points is not None
    if points is not None:
        marks["points"] = points
    cell = {"cell_type": kind, "id": f"kitlib-{name}"[:64], "metadata": {"nbgrader": marks}}
    cell["source"] = text.splitlines(keepends=True)
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
