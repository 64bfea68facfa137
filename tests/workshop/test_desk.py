"""The trainer's desk over a day: who is where at five moments, help, labs, looks, the vote, what is collected."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import Lab, Lesson, room
from kitlib.lab.progress import Progress
from kitlib.lab.submissions import course_labs
from kitlib.workshop.desk import Desk, Settings

FIRST, SECOND = "make-it-guaranteed", "sidecar-oom"
NOTEBOOK = "a-pod-becomes-cgroup-files"
PEOPLE = {"ada": "Ada", "ada-2": "Ada", "bob": "Bob", "cy": "Cy", "dee": "Dee"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "room").mkdir()
    return Desk(
        Settings(
            learners=tmp_path / "learners",
            room=tmp_path / "room" / "room.json",
            collected=tmp_path / "collected",
            key=tmp_path / "key.pem",
            people=PEOPLE,
            places=5,
            good_faith=False,
        )
    )


def does(desk: Desk, account: str, kind: Any, lab: str, task: str = "", points: float = 0, **details: Any) -> None:
    Progress(desk.settings.learners / account).record(kind, lab, task, points, 2, **details)


def states(desk: Desk) -> dict[str, tuple[str, str]]:
    return {seat["learner"]: (seat["state"], seat["lab"]) for seat in desk.board()["seats"]}


def test_a_day_at_five_moments(desk: Desk) -> None:
    assert set(states(desk).values()) == {("absent", "")}
    for account in ("ada", "ada-2", "bob"):
        does(desk, account, "open", NOTEBOOK, owner=account)
    assert states(desk)["ada"] == ("reads", NOTEBOOK) and states(desk)["cy"] == ("absent", "")
    does(desk, "cy", "open", FIRST, owner="cy")
    for _ in range(5):
        does(desk, "bob", "check", FIRST, "guaranteed")
    assert states(desk)["cy"] == ("works", FIRST) and states(desk)["bob"] == ("stuck", FIRST)
    does(desk, "ada", "help", FIRST, wanted=True)
    desk.call("ada-2", True)
    board = desk.board()
    assert [seat["learner"] for seat in board["seats"]][:3] == ["ada", "ada-2", "bob"]
    assert board["counts"] == [["help", 2], ["stuck", 1], ["works", 1], ["absent", 1]]
    desk.answer("ada")
    desk.call("ada-2", False)
    assert "help" not in {state for state, _ in states(desk).values()}
    for task in course_labs()[FIRST].tasks:
        does(desk, "cy", "check", FIRST, task.key, task.points)
    assert states(desk)["cy"] == ("done", FIRST)
    does(desk, "cy", "open", SECOND, owner="cy")
    assert states(desk)["cy"] == ("works", SECOND), "who goes on is not done any more"


def test_a_clock_that_is_ahead_changes_no_minutes(desk: Desk) -> None:
    for _ in range(5):
        does(desk, "bob", "check", FIRST, "guaranteed")
    path = desk.settings.learners / "bob" / "progress.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    now = time.time()
    for number, line in enumerate(lines):
        line["seconds"] = now + 7200 - 60 * (len(lines) - number)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (now - 600, now - 600))
    (seat,) = [seat for seat in desk.seats() if seat.learner == "bob"]
    assert seat.state == "stuck" and round(seat.waits / 60) == 10 and round(seat.idle / 60) == 10


def test_a_broken_rooms_file_is_told_to_the_trainer_and_is_not_overwritten(desk: Desk) -> None:
    desk.settings.room.write_text("{")
    assert "not a room file" in desk.board()["problem"] and all(is_open for _, is_open in desk.board()["labs"])
    with pytest.raises(KitError, match="not a room file"):
        desk.decide(FIRST, False)
    assert desk.settings.room.read_text() == "{"


def test_labs_are_closed_and_opened(desk: Desk) -> None:
    desk.decide(FIRST, False)
    assert dict(desk.board()["labs"])[FIRST] is False and dict(desk.board()["labs"])[SECOND] is True
    desk.decide(FIRST, True)
    assert room.read(desk.settings.room).open == tuple(sorted(course_labs()))
    with pytest.raises(KitError, match="no lab '99'"):
        desk.decide("99", True)


def test_a_call_for_help_in_a_notebook_names_the_notebook(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a-pod-becomes-cgroup-files"
    monkeypatch.delenv("KITLIB_ROOM", raising=False)
    lesson = Lesson(name, "simulated", progress=Progress(desk.settings.learners / "bob"))
    assert "call_for_help" not in lesson._repr_html_(), "without a room there is no trainer"
    monkeypatch.setenv("KITLIB_ROOM", str(desk.settings.room))
    assert "<code>lesson.call_for_help()</code>" in lesson._repr_html_()
    lesson.call_for_help()
    assert [(seat.state, seat.lab) for seat in desk.seats() if seat.learner == "bob"] == [("help", name)]
    lesson.call_for_help(False)
    assert [(seat.state, seat.lab) for seat in desk.seats() if seat.learner == "bob"] == [("reads", name)]


@pytest.mark.thorough
def test_a_learners_cluster_is_looked_at(desk: Desk) -> None:
    lab = Lab(SECOND, "simulated", seed=5, progress=Progress(desk.settings.learners / "bob"))
    lab.call_for_help()
    assert desk.look("bob").startswith(f"{SECOND}, variant 5\n\nPOD ")
    with pytest.raises(KitError, match="learner 'nobody' has not run anything yet"):
        desk.look("nobody")


def test_every_prediction_of_the_course_can_be_put_to_the_room(desk: Desk) -> None:
    questions = desk.questions()
    assert len({(one.place, one.key) for one in questions}) == len(questions) > 100
    desk.vote("open", NOTEBOOK, next(one.key for one in questions if one.place == NOTEBOOK))
    assert desk.board()["vote"]["round"] == 1
    desk.vote("show")
    with pytest.raises(KitError, match="of the course has no question"):
        desk.vote("open", "x", "y")
    with pytest.raises(KitError, match="valid values: open, show, again, accounts, close"):
        desk.vote("explode")


def test_what_is_collected_is_said(desk: Desk) -> None:
    does(desk, "ada", "open", NOTEBOOK, owner="ada")
    (desk.settings.learners / "eve").mkdir()
    (desk.settings.learners / "eve" / "progress.jsonl").symlink_to("/etc/passwd")
    said = desk.collect()
    assert said.startswith("1 files copied") and said.endswith("1 refused: eve")
