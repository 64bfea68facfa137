"""A page for each learner."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitlib import cli
from kitlib.lab.feedback import page
from kitlib.lab.progress import Progress
from kitlib.lab.report import LearnerRow

LAB = "make-it-guaranteed"


def test_a_page_says_what_was_reached_and_what_to_look_at_again() -> None:
    row = LearnerRow(
        "<ada>",
        labs={LAB: (2, 3)},
        tries={LAB: 4},
        minutes={LAB: 12.4},
        predictions={LAB: {"before": False, "after": True}},
        not_confirmed=(f"{LAB} cgroup: 1 claimed, 0 confirmed (found <x>)",),
    )
    text = page(row)
    assert "<h1>&lt;ada&gt;</h1>" in text and "<td>2 of 3</td><td>4</td><td>0</td><td>12</td>" in text
    assert "1 of 2 right; look again at: before" in text and "found &lt;x&gt;" in text


def test_the_command_writes_a_page_for_each_learner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ada", "bob"):
        Progress(tmp_path / "room" / name).record("check", LAB, "guaranteed", 1, 2)
    assert cli.main(["lab-report", str(tmp_path / "room"), "--feedback", str(tmp_path / "pages")]) == 0
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["ada.html", "bob.html"]
    assert "the names are of good faith" in capsys.readouterr().err
