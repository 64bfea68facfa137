"""No brief answers its own prediction: the answer stands neither in the texts above it nor alone among the choices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitlib.lab.definition import SIMULATED, LabFolder
from kitlib.lab.grader import grade_journal, prepare
from tests.notebooks.answers import singles_out
from tests.sizes import sampled

LABS = [
    pytest.param(path.parent, id=path.parent.name)
    for path in sorted((Path(__file__).parents[2] / "labs").glob("*/lab.toml"))
]
ALLOWED = {("02", "periods"): "100 is the number of all periods, of which the question asks a part"}
"""Lab and question -> why the text above it may hold the answer."""


def above(folder: LabFolder, key: str) -> str:
    """Return what a learner has read when the question comes: title, story, brief, tasks, cells of the notebook."""
    definition = folder.definition
    texts = [definition.title, definition.story, definition.brief, *(task.title for task in definition.tasks)]
    notebook: dict[str, Any] = json.loads((folder.path / "lab.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if f'lab.predict("{key}")' in source:
            break
        texts.append(source)
    return "\n".join(texts)


@pytest.mark.parametrize("path", sampled(LABS, 4, pytest.mark.thorough))
def test_no_text_above_a_prediction_singles_out_its_answer(path: Path) -> None:
    folder = LabFolder.read(path)
    solved = prepare(folder)
    folder.answers().reference(solved)
    observed = grade_journal(folder, list(solved.journal), (), SIMULATED).observed
    for one in folder.definition.predictions:
        text = f"{above(folder, one.key)}\n{one.question}"
        given_away = singles_out(observed[one.key], one.choices or (), one.unit, text)
        assert not given_away or (path.name[:2], one.key) in ALLOWED, (observed[one.key], text)
