"""Every lab's notebook runs from top to bottom as the learner finds it: nothing in it is missing from the kit.

The first one runs with all tests, the others with the notebooks (`.ci/notebooks`).
"""

import ast
import json
from pathlib import Path

import pytest

from tests.notebooks.walls import is_wall, visible

LONG = {
    "lab.explain()": "the verdict of each plugin on each node is what the learner asks for",
    'Lab("16-capstone")': "the brief has five incidents",
}
"""Code -> why a cell may show more than 60 lines or 300 words."""
LABS = Path(__file__).parents[2] / "labs"
NOTEBOOKS = sorted(LABS.glob("*/lab.ipynb"))


def run(source: str, names: dict[str, object]) -> object:
    """A cell's code; the value of its last expression, which a notebook would show."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize(
    "notebook",
    [NOTEBOOKS[0], *(pytest.param(one, marks=pytest.mark.notebooks) for one in NOTEBOOKS[1:])],
    ids=lambda path: path.parent.name,
)
def test_the_notebook_runs_as_it_is_and_shows_no_wall(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            shown = run(source, names)
            assert shown is None or repr(shown)
            page = getattr(shown, "_repr_html_", None)
            text = capsys.readouterr().out + (visible(page()) if page else repr(shown))
            assert not is_wall(text) or any(part in source for part in LONG), source


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_the_notebook_carries_no_results(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text())["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
