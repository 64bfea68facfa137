"""An experiment runs at once and shows its result after the guess; until then the notebook's file has no answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lesson, table
from kitlib.lab.progress import Progress

FOUND = {"web": 41, "db": 7}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Lesson]:
    return lambda **more: Lesson("test", "simulated", progress=Progress(tmp_path), **more)


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What an experiment displays, as it would stand in the notebook's file."""
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda one, raw=False: shown.append(one))
    return shown


def ask(lesson: Lesson) -> tuple[Any, Any]:
    return lesson.ask("web", "How many?", unit="pods"), lesson.ask("db", "Which?", choices=["few", "many"])


READ = {"web": lambda found: found["web"], "db": lambda found: "few" if found["db"] < 10 else "many"}


def test_it_runs_at_once_and_shows_nothing_of_the_answer_before_the_guess(make: Any, displayed: list[Any]) -> None:
    lesson = make()
    web, _ = ask(lesson)
    run = lesson.experiment("web", lambda: FOUND, observed=READ["web"], show=table)
    assert run.value == FOUND and run.waiting and run.verdicts == ()
    run._ipython_display_()
    told = re.sub(r"[0-9a-f]{32}", "", str(displayed)) + str(run)  # without the random names of widgets' models
    assert "41" not in told and "Answer the question above first" in str(displayed)
    box = run._output._box
    web.answer(40)
    assert not run.waiting and [verdict.right for verdict in run.verdicts] == [False]
    filled_table, verdict = box.children
    assert "<td" in filled_table.value and "observed: 41" in verdict.value


def test_after_the_guess_the_objects_come_first_and_then_the_reasons(make: Any, displayed: list[Any]) -> None:
    lesson = make()
    web, db = ask(lesson)
    web.answer(41)
    db.give_up()
    why = {"share": lambda found: found["web"] - found["db"]}
    run = lesson.experiment(
        ["web", "db"], lambda: FOUND, observed=READ, show=lambda found: ["text", table(found)], **why
    )
    run._ipython_display_()
    assert [sorted(one) for one in displayed] == [["text/plain"], *[["text/html", "text/plain"]] * 3]
    assert displayed[0]["text/plain"] == "text" and "Observed: few" in displayed[3]["text/plain"]
    assert [verdict.right for verdict in run.verdicts] == [True, False]


def test_of_several_questions_it_waits_for_each(make: Any) -> None:
    lesson = make()
    web, db = ask(lesson)
    run = lesson.experiment(["web", "db"], lambda: FOUND, observed=READ, show=table)
    web.answer(1)
    assert run.waiting and run.verdicts == () and "7" not in str(run)
    db.answer("few")
    assert [verdict.right for verdict in run.verdicts] == [False, True] and "7" in str(run)


def test_a_trainer_has_everything_shown_at_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = make(answers="shown")
    ask(lesson)
    assert "observed" in str(lesson.experiment("web", lambda: FOUND, observed=READ["web"])).lower()
    monkeypatch.setenv("KITLIB_ANSWERS", "shown")
    lesson = make()
    ask(lesson)
    assert not lesson.experiment("web", lambda: 41).waiting
    with pytest.raises(KitError, match="answers 'no': valid values: after, shown"):
        make(answers="no")


def test_a_question_that_was_not_asked_and_a_missing_reader_are_named(make: Any) -> None:
    lesson = make()
    ask(lesson)
    with pytest.raises(KitError, match="question 'x' has not been asked in this notebook"):
        lesson.experiment("x", lambda: 1)
    with pytest.raises(KitError, match="experiment: observed: Required value: a function for db"):
        lesson.experiment(["web", "db"], lambda: 1)
