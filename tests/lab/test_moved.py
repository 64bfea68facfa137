"""Points of old progress files belong to the notebooks that have the questions now, and old notebooks can still ask."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab.launch import course_source, in_course
from kitlib.lab.lesson import Lesson
from kitlib.lab.lessons import content
from kitlib.lab.moved import FILE, home_of, moved_from, plain
from kitlib.lab.progress import Progress
from kitlib.lab.submissions import entries
from tests.notebooks.course import NAMES, right

MOVED = [
    (old, key, new)
    for old, keys in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    if old != "names"
    for key, new in keys.items()
]
LABS = [path.parent.name for path in course_source("labs").glob("*/lab.toml")]
OLD, KEY, NEW = "04-memory-limits-oom-restarts", "lower-v1", "04b-memory-limits-by-hand"


@pytest.mark.parametrize(("old", "key", "new"), MOVED)
def test_what_has_moved_is_in_its_new_notebook_only(old: str, key: str, new: str) -> None:
    there, before = content(new), content(old)
    assert new in NAMES and (key in there.questions or key in there.exercises)
    assert key not in before.questions and key not in before.exercises
    assert home_of(old, key) == home_of(plain(old), key) == plain(new) and key in moved_from(old)
    assert not moved_from(new), "one step from any release to this one"


def test_points_of_an_old_progress_file_count_where_the_question_is_now(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.record("prediction", OLD, KEY, 1, 1, predicted="x")
    progress.record("prediction", OLD, "who", 1, 1, predicted="x")
    progress.record("check", OLD, "tmpfs", 1, 1, found="20")
    assert progress.score(NEW) == (2, 2) and progress.score(OLD) == (1, 1)
    new, old = "memory-limits-by-hand", "memory-limits-oom-restarts"
    assert {(entry.lab, entry.task) for entry in entries(progress.path)} == {(new, KEY), (old, "who"), (new, "tmpfs")}
    assert new not in progress.path.read_text(encoding="utf-8"), "the learner's file is not rewritten"


@pytest.mark.parametrize(("kind", "name"), [*(("labs", lab) for lab in LABS), *(("notebooks", one) for one in NAMES)])
def test_a_file_with_numbers_counts_and_new_entries_have_none(tmp_path: Path, kind: str, name: str) -> None:
    progress, number, known = Progress(tmp_path), name.partition("-")[0], plain(name)
    old = {"kind": "open", "lab": name, "task": "", "points": 0, "of": 0, "seconds": 1}
    progress.path.write_text(json.dumps(old) + "\n", encoding="utf-8")
    progress.record("prediction", name, "x", 1, 1, predicted="x")
    assert (
        [entry.lab for entry in progress.entries(name)]
        == [entry.lab for entry in entries(progress.path)]
        == [known] * 2
    )
    assert f'"lab": "{known}"' in progress.path.read_text("utf-8") and not known[0].isdigit()
    assert in_course(kind, name) == in_course(kind, number) and in_course(kind, name).stem == name
    assert in_course(kind, re.sub(r"^\w+?-", "", name)) == in_course(kind, name)


def test_no_two_have_one_name_and_names_that_are_none_are_refused() -> None:
    names = [plain(name) for name in (*LABS, *NAMES)]
    assert len(set(names)) == len(names)
    with pytest.raises(KitError, match="no lab '99'; valid values: 01-make-it-guaranteed, "):
        in_course("labs", "99")
    with pytest.raises(KitError, match=r"no notebook '\.\./labs/01'"):
        in_course("notebooks", "../labs/01")


@pytest.mark.parametrize("name", ["13-topology-spread", "topology-spread", "13"])
def test_a_lesson_is_opened_by_name_or_number(tmp_path: Path, name: str) -> None:
    lesson = Lesson(name, "simulated", progress=Progress(tmp_path))
    assert lesson.name == "13-topology-spread" and lesson.ask("old").lab == "13-topology-spread"


def test_an_older_copy_of_a_notebook_can_ask_and_check_what_has_moved(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    lesson = Lesson(OLD, "simulated", progress=progress)
    lesson.ask(KEY).answer(right(NEW)[KEY])
    lesson.reveal(KEY, ("Device or resource busy", "Running"))
    lesson.check("tmpfs", 20)
    assert progress.score(NEW) == (2, 2)
    assert str(lesson.done()).count("of 2") and "tmpfs" not in content(OLD).exercises
