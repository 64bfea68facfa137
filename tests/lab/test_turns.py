"""Checks take turns in the order in which they came, one for each processor; no turn is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kitlib.lab import turns
from kitlib.lab.turns import turn

ROOT = Path(__file__).parents[2]


@pytest.fixture
def slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    def make(count: int) -> Path:
        folder = tmp_path / "turns"
        folder.mkdir()
        for name in (turns.QUEUE, *(f"slot-{number}" for number in range(count))):
            (folder / name).touch(0o444)
        monkeypatch.setenv("KITLIB_ROOM", str(tmp_path / "room.json"))
        return folder

    return make


def begin(order: list[int], number: int) -> threading.Thread:
    def wait() -> None:
        with turn(lambda _: None):
            order.append(number)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def waiting(folder: Path) -> int:
    """Return how many wait in flock: lines of /proc/locks that begin with an arrow."""
    node = (folder / turns.QUEUE).stat().st_ino
    return sum("->" in line and f":{node} " in line for line in Path("/proc/locks").read_text().splitlines())


def until(happened: Callable[[], bool]) -> None:
    ended = threading.Event()
    for _ in range(2000):
        if happened():
            return
        ended.wait(0.01)
    raise AssertionError("it does not happen")


def test_those_who_wait_come_in_their_order(slots: Callable[[int], Path]) -> None:
    folder, order = slots(1), list[int]()
    with turn():
        threads = []
        for number in range(5):
            threads.append(begin(order, number))
            until(lambda wanted=number: waiting(folder) == wanted)  # the first holds the queue itself
        assert order == []
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_as_many_run_at_once_as_there_are_slots(slots: Callable[[int], Path]) -> None:
    slots(2)
    order: list[int] = []
    with turn():
        begin(order, 1).join()
        assert order == [1]


def test_a_process_that_is_killed_gives_its_turn_back(slots: Callable[[int], Path]) -> None:
    slots(1)
    code = (
        "import sys, time; from kitlib.lab.turns import turn\nwith turn():\n print('in', flush=True); time.sleep(600)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as other:
        assert other.stdout is not None and other.stdout.readline() == "in\n"
        order: list[int] = []
        thread = begin(order, 1)
        other.kill()
        thread.join()
    assert order == [1]


def test_who_waits_long_is_told_and_in_the_end_does_not_wait(
    slots: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    slots(1)
    monkeypatch.setattr(turns, "PATIENCE", 0.3)
    monkeypatch.setattr(turns, "SHORT", 0.1)
    told: list[str] = []
    with turn(), turn(told.append):
        assert told == [turns.WAITING]


def test_a_queue_that_somebody_holds_ends_with_patience_too(
    slots: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = slots(1)
    monkeypatch.setattr(turns, "PATIENCE", 0.3)
    import fcntl

    with (folder / turns.QUEUE).open() as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)
        with turn(lambda _: None):
            pass
        fcntl.flock(queue, fcntl.LOCK_UN)
    until(lambda: waiting(folder) == 0)
    order: list[int] = []
    begin(order, 1).join()
    assert order == [1], "who gave up does not keep the queue"


@pytest.mark.parametrize("room", ["", "/nowhere/room.json"])
def test_without_a_room_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch, room: str) -> None:
    monkeypatch.setenv("KITLIB_ROOM", room)
    with turn(), turn():
        pass
