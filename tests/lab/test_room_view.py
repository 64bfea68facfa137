"""Who is at which lab and who is stuck, from progress files that nobody trusts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab.room import Room
from kitlib.lab.room_view import ORDER, RoomView, seat, to_html, to_text
from kitlib.lab.submissions import Details, Submitted, course_labs

LAB = "01-make-it-guaranteed"
DEFINITION = course_labs()[LAB]
TASKS = DEFINITION.tasks
FIRST = TASKS[0]
NOW = 10_000.0


def check(task: Any, points: float | None = None, at: float = NOW - 60) -> Submitted:
    return Submitted("check", LAB, task.key, task.points if points is None else points, task.points, at)


def hint(task: Any, number: int, at: float = NOW - 30) -> Submitted:
    return Submitted("hint", LAB, task.key, 0, 0, at, Details(number=number))


ALL_HINTS = [hint(FIRST, number + 1) for number in range(len(FIRST.hints))]


@pytest.mark.parametrize(
    ("entries", "state", "why"),
    [
        ([], "quiet", "has not begun a lab"),
        ([check(FIRST, 0)], "works", ""),
        ([check(FIRST, 0), hint(FIRST, 1)], "hints", f"1 of {len(FIRST.hints)} hints taken"),
        ([check(FIRST, 0), hint(FIRST, 1), hint(FIRST, 1)], "hints", f"1 of {len(FIRST.hints)} hints taken"),
        ([check(FIRST, 0), *ALL_HINTS], "stuck", f"all {len(FIRST.hints)} hints taken, not solved"),
        ([check(FIRST, 0)] * 5, "stuck", "5 checks without success"),
        ([check(FIRST, 0, at=NOW - 1200)], "quiet", "nothing for 20 minutes"),
        ([*ALL_HINTS, *[check(task) for task in TASKS]], "done", "all tasks solved"),
    ],
    ids=["nothing", "one check", "a hint", "a hint twice", "all hints", "many checks", "long ago", "solved"],
)
def test_a_learner_is_where_the_entries_say(entries: list[Submitted], state: str, why: str) -> None:
    found = seat("ada", entries, NOW)
    assert (found.state, found.why) == (state, why)


def test_a_solved_tasks_hints_no_longer_count() -> None:
    found = seat("ada", [*ALL_HINTS, check(FIRST)], NOW)
    assert found.state == ("works" if len(TASKS) > 1 else "done") and found.solved == 1


def write(folder: Path, learner: str, entries: list[Submitted]) -> None:
    (folder / learner).mkdir(exist_ok=True)
    lines = [
        {
            **{name: getattr(one, name) for name in ("kind", "lab", "task", "points", "of", "seconds")},
            "details": {"number": one.details.number} if one.kind == "hint" else {},
        }
        for one in entries
    ]
    (folder / learner / "progress.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_those_who_need_help_stand_first_and_a_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, "ada", [check(task) for task in TASKS])
    write(tmp_path, "bob", [check(FIRST, 0), *ALL_HINTS])
    write(tmp_path, "cy", [check(FIRST, 0)])
    (tmp_path / "dee.jsonl").write_text("not a progress file\n")
    view = RoomView(tmp_path)
    seats = view.seats(NOW)
    assert [one.learner for one in seats] == ["bob", "dee", "cy", "ada"]
    assert [one.state for one in seats] == sorted((one.state for one in seats), key=ORDER.index)
    assert "bad file" in seats[1].why
    write(tmp_path, "bob", [check(FIRST)])
    assert next(one for one in view.seats(NOW) if one.learner == "bob").solved == 1


def test_the_room_is_shown_as_text_and_as_a_page(tmp_path: Path) -> None:
    write(tmp_path, "<b>bob", [check(FIRST, 0), *ALL_HINTS])
    seats, room = RoomView(tmp_path).seats(NOW), Room((), {LAB: 7})
    text = to_text(seats, room)
    assert "1 learners, 1 stuck" in text and f"{LAB}: 1 stuck, variant 7 (closed)" in text
    page = to_html(seats, room)
    assert "&lt;b&gt;bob" in page and "<b>bob" not in page and 'lang="en"' in page


def test_the_command_opens_closes_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "bob", [check(FIRST, 0)])
    assert cli.main(["room", str(tmp_path), "--close", "all", "--open", "01", "--seed", "01=7"]) == 0
    assert json.loads((tmp_path / "room.json").read_text()) == {"open": [LAB], "seeds": {LAB: 7}}
    assert f"{LAB}: 1 " in capsys.readouterr().out
    assert cli.main(["room", str(tmp_path), "--seed", "01=", "-o", str(tmp_path / "room.html")]) == 0
    assert json.loads((tmp_path / "room.json").read_text()) == {"open": [LAB]}
    assert "<table>" in (tmp_path / "room.html").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--open", "99"], "lab '99': there is no such lab"),
        (["--seed", "01"], "--seed 01: LAB=N is expected"),
        (["--seed", "01=x"], "seed of 01-make-it-guaranteed: must be a whole number"),
        (["--watch", "0"], "--watch: must be a number, 1 or more, got '0'"),
        (["-o", "room.txt"], "a name ending in .html is expected"),
    ],
)
def test_a_word_that_cannot_be_is_named(
    tmp_path: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["room", str(tmp_path), *words]) != 0
    assert says in capsys.readouterr().err
    assert not (tmp_path / "room.json").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="not a folder"):
        RoomView(tmp_path / "nowhere")
