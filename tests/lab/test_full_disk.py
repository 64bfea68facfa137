"""A notebook's machine whose disk is full: what was there stays whole, and the learner goes on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.cli import main
from kitlib.lab import files, launch
from kitlib.lab.progress import Progress

resource = pytest.importorskip("resource")


@contextmanager
def most(size: int) -> Iterator[None]:
    """No file of this process grows beyond that: as on a full disk, a write stops half-way with an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_progress_waits_in_memory_until_there_is_room(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    progress.record("check", "one", "a", 1, 1)
    before = progress.path.read_bytes()
    for task in ("b", "c"):
        with most(len(before) + 10), pytest.warns(UserWarning, match=r"progress.jsonl: .*is not saved until"):
            progress.record("check", "one", task, 1, 1)
        assert progress.path.read_bytes() == before
    assert progress.score("one") == (3, 3)
    progress.record("hint", "one", "a", 0, 0)
    assert Progress(tmp_path).score("one") == (3, 3)
    assert [(e.kind, e.task) for e in Progress(tmp_path).entries()] == [
        *(("check", task) for task in "abc"),
        ("hint", "a"),
    ]


def test_a_file_is_written_as_a_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    files.write_whole(target, "first")
    with most(100), pytest.raises(OSError, match="File too large"):
        files.write_whole(target, "second" * 100)
    assert target.read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_course_that_was_copied_half_is_finished_the_next_time(tmp_path: Path) -> None:
    """A notebook cut off in the middle would be taken for one that the learner has changed, and be kept for ever."""
    with most(20_000), pytest.raises(KitError, match=r"course folder .*: File too large"):
        launch.make_course_folder(tmp_path)
    done = launch.make_course_folder(tmp_path)
    assert not done.kept
    sources = {
        p.relative_to(launch.course_source("notebooks")): p for p in launch.course_source("notebooks").rglob("*.ipynb")
    }
    assert sources
    for name, source in sources.items():
        assert (tmp_path / "notebooks" / name).read_bytes() == source.read_bytes()


def test_a_report_that_has_no_room_is_an_error_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learners, target = tmp_path / "learners", tmp_path / "report.html"
    Progress(learners / "ann").record("check", "01-make-it-guaranteed", "qos", 1, 1)
    target.write_text("yesterday's")
    with most(64):
        code = main(["lab-report", str(learners), "--output", str(target)])
    assert (code, target.read_text()) == (2, "yesterday's")
    assert "report.html: File too large" in capsys.readouterr().err
