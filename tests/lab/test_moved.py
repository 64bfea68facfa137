"""Points of old progress files belong to the notebooks that have the questions now, and old notebooks can still ask."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kitlib.lab.lesson import Lesson
from kitlib.lab.lessons import content
from kitlib.lab.moved import FILE, home_of, moved_from
from kitlib.lab.progress import Progress
from kitlib.lab.submissions import entries
from tests.notebooks.course import NAMES, right

MOVED = [
    (old, key, new)
    for old, keys in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    for key, new in keys.items()
]
OLD, KEY, NEW = "04-memory-limits-oom-restarts", "lower-v1", "04b-memory-limits-by-hand"


@pytest.mark.parametrize(("old", "key", "new"), MOVED)
def test_what_has_moved_is_in_its_new_notebook_only(old: str, key: str, new: str) -> None:
    there, before = content(new), content(old)
    assert new in NAMES and (key in there.questions or key in there.exercises)
    assert key not in before.questions and key not in before.exercises
    assert home_of(old, key) == new and key in moved_from(old)
    assert not moved_from(new), "one step from any release to this one"


def test_points_of_an_old_progress_file_count_where_the_question_is_now(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.record("prediction", OLD, KEY, 1, 1, predicted="x")
    progress.record("prediction", OLD, "who", 1, 1, predicted="x")
    progress.record("check", OLD, "tmpfs", 1, 1, found="20")
    assert progress.score(NEW) == (2, 2) and progress.score(OLD) == (1, 1)
    assert {(entry.lab, entry.task) for entry in entries(progress.path)} == {(NEW, KEY), (OLD, "who"), (NEW, "tmpfs")}
    assert "04b" not in progress.path.read_text(encoding="utf-8"), "the learner's file is not rewritten"


def test_an_older_copy_of_a_notebook_can_ask_and_check_what_has_moved(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    lesson = Lesson(OLD, "simulated", progress=progress)
    lesson.ask(KEY).answer(right(NEW)[KEY])
    lesson.reveal(KEY, ("Device or resource busy", "Running"))
    lesson.check("tmpfs", 20)
    assert progress.score(NEW) == (2, 2)
    assert str(lesson.done()).count("of 2") and "tmpfs" not in content(OLD).exercises
