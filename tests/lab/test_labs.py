"""The labs: reference solutions pass, untouched starts fail, and every wrong answer fails with a message of its own."""

from pathlib import Path

import pytest

from kitlib.lab import Lab
from kitlib.lab.definition import LabFolder
from kitlib.lab.grader import grade_journal, prepare, timed
from kitlib.lab.progress import Progress

LABS = Path(__file__).parents[2] / "labs"
FOLDERS = [LabFolder.read(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
BY_NAME = [pytest.param(folder, id=folder.name) for folder in FOLDERS]
WRONG = [
    pytest.param(folder, text, id=f"{folder.name}: {text}") for folder in FOLDERS for text in folder.answers().wrong
]


def journal_of(folder, action):
    """What a learner who does `action` leaves behind."""
    cluster = prepare(folder)
    action(cluster)
    return list(cluster.journal)


@pytest.mark.parametrize("folder", BY_NAME)
def test_the_untouched_start_fails(folder):
    grade = grade_journal(folder, [])
    assert not grade.passed
    assert all(result.found and result.expected for result in grade.results if not result.passed)


@pytest.mark.parametrize("folder", BY_NAME)
def test_the_reference_solution_passes(folder):
    grade = grade_journal(folder, journal_of(folder, folder.answers().reference))
    assert grade.passed, "\n".join(map(str, grade.results))
    assert all(result.evidence for result in grade.results)
    assert set(grade.observed) == {p.key for p in folder.definition.predictions}


@pytest.mark.parametrize(("folder", "text"), WRONG)
def test_a_wrong_answer_fails_with_its_own_message(folder, text):
    grade = grade_journal(folder, journal_of(folder, folder.answers().wrong[text]))
    assert not grade.passed
    said = "\n".join(str(result) for result in grade.results if not result.passed)
    assert text in said, said


@pytest.mark.parametrize("folder", BY_NAME)
def test_a_lab_is_complete(folder):
    definition = folder.definition
    assert len(folder.answers().wrong) >= 3
    assert 1 <= definition.difficulty <= 3 and definition.minutes > 0
    assert all(task.hints for task in definition.tasks)
    assert all(p.why and (p.choices or p.unit) for p in definition.predictions)
    assert (folder.path / "lab.ipynb").exists()


def test_the_time_that_passed_on_real_nodes_passes_in_the_replay():
    did = [
        {"action": "apply", "objects": [], "at": 12.0},
        {"action": "advance", "seconds": 30, "at": 42.0},
        {"action": "delete", "kind": "Pod", "name": "a", "namespace": "b", "at": 50.5},
    ]
    assert timed(did, 10.0, 60.0) == [
        {"action": "advance", "seconds": 2.0},
        {"action": "apply", "objects": []},
        {"action": "advance", "seconds": 30.0},
        {"action": "advance", "seconds": 8.5},
        {"action": "delete", "kind": "Pod", "name": "a", "namespace": "b"},
        {"action": "advance", "seconds": 9.5},
    ]


def test_a_lab_that_needs_the_simulated_kernel_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("KITLIB_NODES", "docker")
    lab = Lab(LABS / "09-pending-three-reasons", progress=Progress(tmp_path))
    assert (lab.kernel, lab.why.partition(":")[0]) == (
        "simulated",
        "this lab needs what only the simulated kernel gives",
    )
