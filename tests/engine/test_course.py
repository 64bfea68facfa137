"""The course's notebooks run on real nodes: every one by night, in the gate one for each mechanism."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers import SLOW
from tests.notebooks.course import NAMES, RIGHT, answer, points
from tests.sizes import NIGHTLY

COURSE = Path(__file__).parents[2] / "notebooks"
IN_THE_GATE = ("02", "03", "04", "05", "08", "09", "10", "11", "14", "22")
"""The tree, CPU, limits, victims, exclusive CPUs, systemd, restarts, eviction, preemption, resize. What the others show
is tried by tests of this folder and, cell by cell, on the simulated kernel (tests/notebooks/test_course.py)."""
CHOSEN = [name for name in NAMES if NIGHTLY or name.startswith(IN_THE_GATE)]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_notebook_runs_on_real_nodes(engine: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    monkeypatch.setenv("KITLIB_NODES", "docker")
    notebook: Any = nbformat.read(COURSE / f"{name}.ipynb", as_version=4)
    answer(notebook, name)
    nbclient.NotebookClient(
        notebook, timeout=round(180 * SLOW), resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    said = [output["text"] for output in shown if output.output_type == "stream" and output["name"] == "stderr"]
    assert not said
    assert "Real nodes" in json.dumps(shown)
    assert points(tmp_path, name) == dict.fromkeys(RIGHT.get(name, {}), 1.0)
