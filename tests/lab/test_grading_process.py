"""Journals are graded in a process apart: no request sees another one, and one that ends badly takes no other along."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import grading_process
from kitlib.lab.definition import LabFolder
from kitlib.lab.grading_process import grade_apart

ROOT = Path(__file__).parents[2]
FIRST = LabFolder.read(ROOT / "labs" / "01-make-it-guaranteed")
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
CHECK = """
import os, signal, time
from kitlib.lab.checks import Checks
checks = Checks()

@checks.check("only")
def only(facts):
    print("x" * 100_000)
    {does}
"""


def folder(place: Path, does: str) -> LabFolder:
    """A lab whose check does something; the learner of a notebook may edit it."""
    (place / "lab.toml").write_text('title = "x"\ndifficulty = 1\nminutes = 1\ntasks = [{key = "only", title = "a"}]\n')
    (place / "check.py").write_text(CHECK.format(does=does))
    return LabFolder.read(place)


@pytest.mark.thorough
def test_a_server_answers_again_ends_with_its_input_and_is_started_anew() -> None:
    applied = [{"action": "apply", "objects": [CONFIG]}]
    assert not grade_apart(FIRST, []).touched
    (first,) = grading_process._servers
    assert grade_apart(FIRST, applied).touched and grading_process._servers == [first]
    first._process.stdin.close()
    assert first._process.wait(60) == 0
    assert not grade_apart(FIRST, []).touched and grading_process._servers != [first]


def test_what_a_check_changes_is_gone_with_its_child(tmp_path: Path) -> None:
    one = folder(tmp_path, "os.environ['LEFT'] = os.environ.get('LEFT', '') + 'x'; assert len(os.environ['LEFT']) == 1")
    for _ in range(2):
        (result,) = grade_apart(one, [{"action": "apply", "objects": [CONFIG]}]).results
        assert result.passed, result.found


@pytest.mark.parametrize(
    ("does", "why", "seconds", "clock"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "the grader ended with -9", 60, 10),
        ("os._exit(3)", "the grader ended with 3", 60, 10),
        ("time.sleep(600)", "the check took longer than 1 s, but used less than 60 s of processor time", 60, 1 / 60),
        ("while True: pass", "the check used more than 0.2 s of processor time", 0.2, 3000),
        ("raise SystemExit", "the grader ended with 1", 60, 10),
    ],
)
def test_a_check_that_ends_its_process_is_one_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, why: str, seconds: float, clock: float
) -> None:
    monkeypatch.setattr(grading_process, "_CLOCK", clock)
    with pytest.raises(KitError, match=f"lab {tmp_path.name}: {why}"):
        grade_apart(folder(tmp_path, does), [], seconds=seconds)
    monkeypatch.undo()
    assert not grade_apart(FIRST, []).touched, "the next one is graded"


def test_a_check_cannot_write_a_file_or_take_all_memory(tmp_path: Path) -> None:
    written = f"os.write(os.open({str(tmp_path / 'trap')!r}, os.O_CREAT | os.O_WRONLY), b'x')"
    for does in (written, "bytearray(5 << 30)"):
        (result,) = grade_apart(folder(tmp_path, does), [{"action": "apply", "objects": [CONFIG]}]).results
        assert not result.passed and ("File too large" in result.found or "MemoryError" in result.found)
    assert not (tmp_path / "trap").exists() or not (tmp_path / "trap").read_bytes()


def test_a_check_that_waits_for_a_processor_says_so_in_a_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading_process, "_SLOW", 0.0)
    monkeypatch.setenv("KITLIB_ROOM", "room.json")
    told: list[str] = []
    said = threading.Event()

    def tell(text: str) -> None:
        told.append(text)
        said.set()

    with grading_process._patience(tell):
        assert said.wait(30)
    assert len(told) == 1 and "waits for a processor" in told[0]
    monkeypatch.setenv("KITLIB_ROOM", "")
    before = threading.active_count()
    with grading_process._patience(tell):
        assert threading.active_count() == before, "outside of a room nothing is told"
