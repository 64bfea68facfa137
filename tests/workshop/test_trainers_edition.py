"""The trainer's edition: every lab's solution and wrong answers in prose, times, a notebook that opens, sheets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab.definition import LabFolder
from kitlib.workshop.roster import Person
from kitlib.workshop.trainers_edition import front, lab_text, questions, sheets, timing, write
from tests.notebooks.course import NAMES

LABS = Path(__file__).parents[2] / "labs"
SEED = 7
FOLDERS = [LabFolder.read(path.parent, SEED) for path in sorted(LABS.glob("*/lab.toml"))]


@pytest.mark.parametrize("lab", FOLDERS, ids=lambda lab: lab.name)
def test_a_lab_has_its_solution_every_pitfall_and_no_open_place(lab: LabFolder) -> None:
    text, data = lab_text(lab), lab.answers_data()
    assert "$" not in text.replace("$(", "").replace("${cpu}m", ""), "a name of the variant is missing"
    for one in data["wrong"]:
        assert one["says"] in text and one["tries"][1:] in text
    for way in data.get("right") or {}:
        assert way[1:].rstrip(".") in text
    for one in lab.definition.predictions:
        assert one.question in text and one.why in text
    solution = text.split("## A worked solution")[1].split("What is checked")[0].strip()
    verbs = ("Change", "Edit", "Make", "Apply", "Resize", "Bind", "Patch", "Write", "Drain", "Delete", "Evict", "Let")
    assert solution.startswith(verbs) and solution.count(".") >= len(data["reference"])


def test_a_solution_in_prose() -> None:
    lab = next(lab for lab in FOLDERS if lab.name == "03-sidecar-oom")
    text = lab_text(lab)
    change = f"set `containers.{lab.variant.side}.resources.limits.memory` to `{lab.variant.enough}Mi`."
    assert f"Change the manifest of Pod {lab.variant.pod}: {change} Let 150 s pass." in text
    assert "* More memory for the wrong container: “" in text


def test_questions_stand_beside_their_misconceptions() -> None:
    text = questions()
    assert text.count("## Notebook ") == len(NAMES) and "Who says “Failed”: The end of a container is taken for" in text
    assert "Who says “Guaranteed”: Generous limits are taken for the class." in lab_text(FOLDERS[0])


def test_times_and_the_front_notebook_have_every_lab() -> None:
    assert all(
        f"| {lab.name[:2]} | {lab.definition.title} | {lab.definition.minutes} |" in timing(FOLDERS) for lab in FOLDERS
    )
    nbformat = pytest.importorskip("nbformat")  # half a second, in one process of the tests
    notebook = nbformat.from_dict(front(FOLDERS))
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells), "validate replaces repeated ids"
    nbformat.validate(notebook)
    code = "\n".join("".join(cell.source) for cell in notebook.cells if cell.cell_type == "code")
    assert all(f"Lab({lab.name!r}, seed={SEED})" in code for lab in FOLDERS)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_sheets_have_accounts_and_no_secret() -> None:
    page = sheets([Person("ada", "Ada <b>"), Person("ada-2", "Ada <b>")])
    assert page.count("<section>") == 2 and "Ada &lt;b&gt;" in page and "<b>ada-2</b>" in page
    assert sheets(()).count("<section>") == 1


def test_the_command_writes_it_and_an_installed_kit_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["workshop", str(tmp_path / "w"), "--no-wheel", "--trainer", str(LABS), "--variant", "7"]) == 0
    names = {path.name for path in (tmp_path / "w" / "trainer").iterdir()}
    assert {
        "day.md",
        "front.ipynb",
        "questions.md",
        "sheets.html",
        "timing.md",
        *(f"{lab.name}.md" for lab in FOLDERS),
    } == names
    assert json.loads((tmp_path / "w/trainer/front.ipynb").read_text())["nbformat"] == 4
    assert "keep them from learners" in capsys.readouterr().out
    with pytest.raises(KitError, match="an installed kit has no solutions"):
        write(tmp_path / "t", tmp_path)
