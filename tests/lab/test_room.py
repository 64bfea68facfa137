"""Which labs are open for the room, which variants are fixed, and that a learner's lab obeys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import room
from kitlib.lab.lab import Lab
from kitlib.lab.progress import Progress
from kitlib.lab.room import RoomDecisions

FIRST = "make-it-guaranteed"
COURSE = ("make-it-guaranteed", "two-sidecars", "third")


def test_without_a_file_every_lab_is_open(tmp_path: Path) -> None:
    room.read(tmp_path / "room.json").require_open(FIRST)
    assert room.current() == RoomDecisions()


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    decided = RoomDecisions().opened([FIRST]).seeded({FIRST: 7})
    room.write(tmp_path / "new" / "room.json", decided)
    assert room.read(tmp_path / "new" / "room.json") == RoomDecisions((FIRST,), {FIRST: 7})


@pytest.mark.parametrize(
    ("decided", "is_open"),
    [
        (RoomDecisions(), COURSE),
        (RoomDecisions().opened([COURSE[1]]), COURSE[1:2]),
        (RoomDecisions().closed([COURSE[0]], COURSE), COURSE[1:]),
        (RoomDecisions().closed(COURSE, COURSE), ()),
        (RoomDecisions().closed(COURSE, COURSE).opened([COURSE[2]]), COURSE[2:]),
    ],
)
def test_labs_are_opened_and_closed(decided: RoomDecisions, is_open: tuple[str, ...]) -> None:
    for lab in COURSE:
        if lab in is_open:
            decided.require_open(lab)
        else:
            with pytest.raises(KitError, match=f"lab {lab} is closed"):
                decided.require_open(lab)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a room file"),
        ('{"open": "all"}', "not a room file"),
        ('{"opened": []}', "not a room file"),
        ('{"seeds": {"01": -1}}', "seed of 01: must be a whole number"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "room.json").write_text(text)
    with pytest.raises(KitError, match=says):
        room.read(tmp_path / "room.json")


def test_a_learners_lab_obeys_the_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "room.json"
    monkeypatch.setenv("KITLIB_ROOM", str(file))
    room.write(file, RoomDecisions().opened([FIRST]).seeded({FIRST: 7}))
    own: dict[str, Any] = {"progress": Progress(tmp_path)}
    lab = Lab(FIRST, "simulated", **own)
    assert lab.seed == 7 and Lab(FIRST, "simulated", seed=3, **own).seed == 3
    with pytest.raises(KitError, match="is closed until your instructor opens it"):
        Lab(_another(), "simulated", **own)
    room.write(file, RoomDecisions().closed([FIRST], [FIRST]))
    with pytest.raises(KitError, match=f"lab 01-{FIRST} is closed"):
        lab.check()
    assert list(own["progress"].entries()) == []


def test_a_rooms_file_that_cannot_be_read_stops_no_learner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kitlib import cli

    learners, file = tmp_path / "learners", tmp_path / "room" / "room.json"
    learners.mkdir()
    file.parent.mkdir()
    file.write_text('{"open": [')
    assert room.file_of(learners) == file
    with monkeypatch.context() as patched:
        patched.setenv("KITLIB_ROOM", str(file))
        assert Lab(FIRST, "simulated", progress=Progress(tmp_path)).seed is not None
    assert cli.main(["room", str(learners)]) == 0
    assert f"{file}: not a room file" in capsys.readouterr().out
    assert cli.main(["room", str(learners), "--close", "all"]) == 2
    assert "fix or delete the file" in capsys.readouterr().err
    file.unlink()
    assert cli.main(["room", str(learners), "--close", "all"]) == 0
    assert room.read(file).open == ()


def _another() -> str:
    from kitlib.lab.submissions import course_labs

    return next(name for name in course_labs() if name != FIRST)
