"""Who is at which lab and who is stuck, from progress files that nobody trusts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab.room import RoomDecisions
from kitlib.lab.room_view import ORDER, RoomView, seat, to_html, to_text
from kitlib.lab.submissions import Details, Submitted, course_labs

LAB = "make-it-guaranteed"
DEFINITION = course_labs()[LAB]
TASKS = DEFINITION.tasks
FIRST = TASKS[0]
NOW = 10_000.0


def check(task: Any, points: float | None = None, at: float = NOW - 60) -> Submitted:
    return Submitted("check", LAB, task.key, task.points if points is None else points, task.points, at)


def hint(task: Any, number: int, at: float = NOW - 30) -> Submitted:
    return Submitted("hint", LAB, task.key, 0, 0, at, Details(number=number))


def opened(place: str, at: float = NOW - 20) -> Submitted:
    return Submitted("open", place, "", 0, 0, at)


def call(wanted: bool = True, at: float = NOW - 60) -> Submitted:
    return Submitted("help", LAB, "", 0, 0, at, Details(wanted=wanted))


NOTEBOOK = "a-pod-becomes-cgroup-files"
ALL_HINTS = [hint(FIRST, number + 1) for number in range(len(FIRST.hints))]


@pytest.mark.parametrize(
    ("entries", "state", "why"),
    [
        ([], "quiet", "has run nothing"),
        ([check(FIRST, 0)], "works", ""),
        ([check(FIRST, 0), hint(FIRST, 1)], "hints", f"1 of {len(FIRST.hints)} hints taken"),
        ([check(FIRST, 0), hint(FIRST, 1), hint(FIRST, 1)], "hints", f"1 of {len(FIRST.hints)} hints taken"),
        ([check(FIRST, 0), *ALL_HINTS], "stuck", f"all {len(FIRST.hints)} hints taken, not solved, for 0 min"),
        ([check(FIRST, 0, at=NOW - 900 + n) for n in range(6)], "stuck", "6 checks without success, for 15 min"),
        ([check(FIRST, 0, at=NOW - 1200)], "quiet", "nothing for 20 minutes"),
        ([*ALL_HINTS, *[check(task) for task in TASKS]], "done", "all tasks solved"),
        ([*[check(task) for task in TASKS], opened("throttled-on-an-idle-node")], "works", ""),
        ([opened(NOTEBOOK)], "reads", ""),
        ([opened(NOTEBOOK, at=NOW - 1200)], "quiet", "nothing for 20 minutes"),
        ([call(at=NOW - 180)], "help", "asks for help since 3 min"),
        ([call(), call(False)], "works", ""),
        (
            [*ALL_HINTS, call()],
            "help",
            f"asks for help since 1 min; all {len(FIRST.hints)} hints taken, not solved, for 0 min",
        ),
    ],
    ids=[
        *("nothing", "one check", "a hint", "a hint twice", "all hints", "many checks", "long ago", "solved"),
        *(
            "the next lab opened",
            "a notebook",
            "a notebook long ago",
            "a call",
            "a call taken back",
            "a call when stuck",
        ),
    ],
)
def test_a_learner_is_where_the_entries_say(entries: list[Submitted], state: str, why: str) -> None:
    found = seat("ada", entries, NOW)
    assert (found.state, found.why) == (state, why)


def test_a_solved_tasks_hints_no_longer_count() -> None:
    found = seat("ada", [*ALL_HINTS, check(FIRST)], NOW)
    assert found.state == ("works" if len(TASKS) > 1 else "done") and found.solved == 1


DETAILS: dict[str, Any] = {
    "hint": lambda details: {"number": details.number},
    "help": lambda details: {"wanted": details.wanted},
    "prediction": lambda _: {"predicted": "an answer"},
}


def write(folder: Path, learner: str, entries: list[Submitted], at: float | None = None) -> None:
    (folder / learner).mkdir(exist_ok=True)
    lines = [
        {
            **{name: getattr(one, name) for name in ("kind", "lab", "task", "points", "of", "seconds")},
            "details": DETAILS.get(one.kind, lambda _: {})(one.details),
        }
        for one in entries
    ]
    file = folder / learner / "progress.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    written = max([one.seconds for one in entries], default=NOW) if at is None else at
    os.utime(file, (written, written))


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
    seats, room = RoomView(tmp_path).seats(NOW), RoomDecisions((), {LAB: 7})
    text = to_text(seats, room)
    assert "1 learners, 1 stuck" in text and f"{LAB}: 1 stuck, variant 7 (closed)" in text
    page = to_html(seats, room)
    assert "&lt;b&gt;bob" in page and "<b>bob" not in page and 'lang="en"' in page


def test_the_command_opens_closes_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "bob", [check(FIRST, 0)])
    assert cli.main(["room", str(tmp_path), "--close", "all", "--open", "01", "--seed", "01=7"]) == 0
    assert json.loads((tmp_path / "room.json").read_text()) == {"format": 1, "open": [LAB], "seeds": {LAB: 7}}
    assert f"{LAB}: 1 " in capsys.readouterr().out
    assert cli.main(["room", str(tmp_path), "--seed", "01=", "-o", str(tmp_path / "room.html")]) == 0
    assert json.loads((tmp_path / "room.json").read_text()) == {"format": 1, "open": [LAB]}
    assert "<table>" in (tmp_path / "room.html").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--open", "99"], "no lab '99'; valid values"),
        (["--seed", "01"], "--seed 01: must have the form LAB=N"),
        (["--seed", "01=x"], "seed of make-it-guaranteed: must be a whole number"),
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


@pytest.mark.parametrize("wrong", [7200, -7200, 0])
def test_a_wrong_clock_changes_nothing(tmp_path: Path, wrong: float) -> None:
    """Entries of a clock that is two hours ahead, behind, or right; the file was last written 20 minutes ago."""
    written = NOW - 1200
    write(tmp_path, "ada", [check(FIRST, 0, at=written + wrong)], at=written)
    tries = [check(FIRST, 0, at=written + wrong - 600 + n) for n in range(5)]
    write(tmp_path, "bob", [*tries, check(FIRST, 0, at=written + wrong)], at=written)
    bob, ada = RoomView(tmp_path).seats(NOW)
    assert (ada.state, ada.why, ada.idle) == ("quiet", "nothing for 20 minutes", 1200)
    assert (bob.state, bob.why, bob.waits) == ("stuck", "6 checks without success, for 30 min", 1796)


def test_the_roster_names_who_is_absent_and_an_answered_call_is_over(tmp_path: Path) -> None:
    write(tmp_path, "ada", [call(at=NOW - 60)])
    view = RoomView(tmp_path, {"ada": "Ada Lovelace", "bob": "Bob"})
    ada, bob = view.seats(NOW)
    assert (ada.state, ada.name, bob.state, bob.why) == ("help", "Ada Lovelace", "absent", "has run nothing")
    assert "1 ask for help, 1 absent" in to_text([ada, bob])
    assert view.seats(NOW, {"ada": NOW - 30})[0].state == "works"
    assert view.seats(NOW, {"ada": NOW - 90})[0].state == "help"


def test_the_rooms_predictions_are_counted_by_the_first_answers(tmp_path: Path) -> None:
    for name, points in (("ada", [0.0, 1.0]), ("bob", [1.0])):
        guesses = [Submitted("prediction", LAB, "before", one, 1, NOW) for one in points]
        write(tmp_path, name, guesses)
    assert RoomView(tmp_path).predictions() == {(LAB, "before"): (1, 2)}
