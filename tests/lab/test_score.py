"""The best and the last points apart; predictions cost nothing, hints what the instructor says."""

import pytest

from kitlib.api.errors import KitError
from kitlib.lab.definition import LabFolder
from kitlib.lab.launch import in_course
from kitlib.lab.progress import Progress
from kitlib.lab.score import score

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
