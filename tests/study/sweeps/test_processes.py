"""Worker processes: one that is killed loses nothing, one that hangs is ended, all of them end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps import SweepProgress, sweep
from kitlib.study.sweeps import processes as module
from kitlib.study.sweeps.processes import processors

XS = {"x": list(range(8))}


def until(happened: Callable[[], object]) -> None:
    """Wait for it, at most two minutes."""
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_that_is_killed_at_a_point_loses_nothing(scenarios: ModuleType) -> None:
    found = sweep(scenarios.dies_once, XS, workers=2)
    assert [row.values for row in found.rows] == [{"value": x} for x in range(8)]
    assert len(scenarios.lines("died")) == 1


@pytest.mark.thorough
def test_a_worker_that_is_killed_from_outside_loses_nothing_and_nothing_counts_twice(
    scenarios: ModuleType, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_one(progress: SweepProgress) -> None:
        if progress.done >= 50 and not killed:
            killed.append(int(scenarios.lines("computed")[0].split()[0]))
            os.kill(killed[0], signal.SIGKILL)

    path = tmp_path / "rows.jsonl"
    found = sweep(scenarios.noted, {"x": range(500)}, workers=2, file=path, progress=kill_one)
    assert [row.values["value"] for row in found.rows] == list(range(500)) and not found.errors
    assert killed and len(path.read_text().splitlines()) == 501, "a row a point, and the header"


@pytest.mark.thorough
def test_a_point_that_always_kills_its_worker_is_a_row_that_says_so(scenarios: ModuleType) -> None:
    found = sweep(scenarios.dies, XS, workers=1)
    assert [row.error for row in found.rows if row.error] == ["WorkerEnded: its process ended with signal 9 (3 times)"]
    assert found.rows[3].error and found.complete and len(scenarios.lines("died")) == 3


def test_how_a_worker_ended_by_itself_is_said(scenarios: ModuleType) -> None:
    found = sweep(scenarios.leaves, {"x": [1]}, workers=1)
    assert found.rows[0].error == "WorkerEnded: its process ended with code 7 (3 times)"


@pytest.mark.thorough
def test_a_point_that_takes_too_long_is_ended(scenarios: ModuleType) -> None:
    found = sweep(scenarios.waits, {"x": [1, 2, 3]}, workers=1, timeout=2)
    assert [row.error for row in found.rows] == ["", "Timeout: longer than 2 s", ""]
    assert not any(runs(int(pid)) for pid in scenarios.lines("waiting"))


def test_what_a_scenario_prints_is_no_message(scenarios: ModuleType) -> None:
    assert [row.values for row in sweep(scenarios.prints, XS, workers=1).rows] == [{"value": x} for x in range(8)]


def test_a_scenario_that_workers_cannot_import_is_said_to_be_so(scenarios: ModuleType) -> None:
    Path(scenarios.__file__ or "").write_text("raise ValueError('broken')")
    with pytest.raises(KitError, match="scenario 'sweep_scenarios:square': cannot be imported: ValueError: broken"):
        sweep(scenarios.square, XS, workers=2)


@pytest.mark.thorough
def test_an_interrupt_ends_all_workers(scenarios: ModuleType) -> None:
    def interrupt(progress: SweepProgress) -> None:
        if progress.done >= 1 and scenarios.lines("waiting"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(scenarios.waits, {"x": [1, 2]}, workers=2, progress=interrupt)
    assert not any(runs(int(pid)) for pid in scenarios.lines("waiting"))


START = """
import sys
sys.path[:0] = {path!r}
import sweep_scenarios
from kitlib.study import sweep
sweep(sweep_scenarios.{function}, {{"x": {xs!r}}}, workers=2, file={file!r})
"""


def started(scenarios: ModuleType, function: str, xs: list[int], file: Path) -> subprocess.Popen[bytes]:
    folder = str(Path(scenarios.__file__ or "").parent)
    code = START.format(path=[folder, *sys.path], function=function, xs=xs, file=str(file))
    return subprocess.Popen([sys.executable, "-c", code])


@pytest.mark.thorough
def test_a_killed_sweep_goes_on_from_its_file_and_leaves_no_worker(scenarios: ModuleType, tmp_path: Path) -> None:
    file, xs = tmp_path / "rows.jsonl", [1, 3, 4, 5, 2]
    process = started(scenarios, "waits", xs, file)
    until(lambda: scenarios.lines("waiting") and file.exists() and len(file.read_text().splitlines()) >= 4)
    process.kill()
    process.wait()
    until(lambda: not any(runs(int(pid)) for pid in scenarios.lines("waiting")))
    kept = file.read_bytes()
    found = sweep(scenarios.waits, {"x": [1, 3, 4, 5]}, workers=1, file=file)
    assert [row.values["value"] for row in found.rows] == [1, 3, 4, 5]
    assert file.read_bytes().startswith(kept) and len(file.read_text().splitlines()) == 5


@pytest.mark.thorough
def test_what_a_worker_has_started_ends_with_it(scenarios: ModuleType, tmp_path: Path) -> None:
    process = started(scenarios, "starts_another", [1], tmp_path / "rows.jsonl")
    until(lambda: scenarios.lines("waiting"))
    process.kill()
    process.wait()
    until(lambda: not any(runs(int(pid)) for name in ("waiting", "children") for pid in scenarios.lines(name)))


def test_processors_follow_the_quota_of_the_cgroup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    monkeypatch.setattr(module, "_two_numbers", lambda *paths: (150_000, 100_000) if len(paths) == 1 else (0, 0))
    assert processors() == 2
    monkeypatch.setattr(module, "_two_numbers", lambda *paths: (10_000, 100_000))
    assert processors() == 1
    monkeypatch.setattr(module, "_two_numbers", lambda *paths: (0, 0))
    assert processors() == 32


@pytest.mark.parametrize(
    ("text", "expected"), [("max 100000", (0, 0)), ("50000 100000", (50_000, 100_000)), ("", (0, 0))]
)
def test_a_quota_file_is_read(tmp_path: Path, text: str, expected: tuple[int, int]) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert module._two_numbers(str(tmp_path / "cpu.max")) == expected


def test_where_no_process_can_be_started_the_rows_come_from_this_one(
    scenarios: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **more: object) -> None:
        raise OSError("subprocess.Popen is not possible here")

    monkeypatch.setattr(module.subprocess, "Popen", refuse)
    found = sweep(scenarios.square, XS, seeds=2)
    assert found.complete and found.note.startswith("computed in this process: a worker process cannot be started")
    assert found.rows[-1].values == {"square": 49, "seeded": 7}
    with pytest.raises(KitError, match=r"cannot start worker processes: .*; use workers=0"):
        sweep(scenarios.square, XS, workers=2)
