"""The best and the last points apart; predictions cost nothing, hints what the instructor says."""

import pytest

from kitlib.api.errors import KitError
from kitlib.lab.definition import LabFolder
from kitlib.lab.launch import in_course
from kitlib.lab.progress import Progress
from kitlib.lab.score import score, solved_in_one

NAME = "make-it-guaranteed"
DEFINITION = LabFolder.read(in_course("labs", NAME)).definition


def made(tmp_path, *entries):
    progress = Progress(tmp_path)
    for kind, task, points, details in entries:
        progress.record(kind, NAME, task, points, 2, **details)
    return score(progress, NAME, DEFINITION)


def test_the_best_and_the_last_check_are_apart(tmp_path):
    found = made(tmp_path, ("check", "guaranteed", 2, {}), ("check", "cgroup", 1, {}), ("check", "guaranteed", 0, {}))
    assert (found.best, found.last, found.of) == (3, 1, 3)
    assert str(found) == "This time 1 of 3 points, best 3"


def test_a_wrong_prediction_costs_no_point(tmp_path):
    found = made(tmp_path, ("check", "guaranteed", 2, {}), ("prediction", "before", 0, {"predicted": "Guaranteed"}))
    assert (found.best, found.of, found.predicted) == (2, 3, (0, 1))


def test_hints_are_free_unless_the_instructor_says_so(tmp_path, monkeypatch):
    hints = [("hint", "guaranteed", 0, {"number": number}) for number in (1, 2, 2)]
    assert made(tmp_path, ("check", "guaranteed", 2, {}), *hints).best == 2
    monkeypatch.setenv("KITLIB_HINT_COST", "0.5")
    assert made(tmp_path).best == 1, "the same hint twice costs once"
    monkeypatch.setenv("KITLIB_HINT_COST", "much")
    with pytest.raises(KitError, match="KITLIB_HINT_COST: must be a non-negative number"):
        made(tmp_path)


@pytest.mark.parametrize(("journals", "once"), [(("a", "a"), True), (("a", "b"), False)])
def test_tasks_of_different_attempts_give_points_and_no_certificate(tmp_path, journals, once):
    checks = [("check", t.key, t.points, {"journal": [j]}) for t, j in zip(DEFINITION.tasks, journals, strict=True)]
    progress = Progress(tmp_path)
    for kind, task, points, details in checks:
        progress.record(kind, NAME, task, points, points, **details)
    assert score(progress, NAME, DEFINITION).best == 3
    assert solved_in_one(progress, NAME, DEFINITION) is once
