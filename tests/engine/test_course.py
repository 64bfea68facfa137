"""Every notebook of the course runs on real nodes, from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers import SLOW
from tests.notebooks.course import NAMES, RIGHT, answer, points

COURSE = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize("name", NAMES)
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
