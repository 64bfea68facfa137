"""A hub copies learners' files and signs the list; what was changed afterwards is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab import collected, report, signing
from kitlib.lab.progress import Progress

LAB = "make-it-guaranteed"


@pytest.fixture
def room(tmp_path: Path) -> Path:
    for account in ("ada", "bob"):
        Progress(tmp_path / "learners" / account).record("check", LAB, "guaranteed", 1, 2)
    (tmp_path / "learners" / "eve").mkdir()
    (tmp_path / "learners" / "eve" / "progress.jsonl").symlink_to(tmp_path / "learners" / "ada" / "progress.jsonl")
    collected.collect(
        tmp_path / "learners", tmp_path / "collected", tmp_path / "key.pem", names={"ada": "Ada Lovelace"}
    )
    return tmp_path


def test_files_are_copied_and_links_are_not_followed(room: Path) -> None:
    found = collected.read(room / "collected", room / "key.pem.pub")
    assert found is not None and list(found.files) == ["ada", "bob"] and not found.good_faith
    assert found.files["ada"].name == "Ada Lovelace"
    assert found.refused == {"eve": "the file is a symbolic link, which is not allowed"}
    assert (room / "key.pem").stat().st_mode & 0o077 == 0 and (room / "collected").stat().st_mode & 0o077 == 0
    assert collected.account_of(room / "collected" / "ada.jsonl") == "ada"


def test_the_report_names_what_was_changed_or_added_afterwards(room: Path) -> None:
    folder = room / "collected"
    (folder / "eve.jsonl").write_bytes((folder / "ada.jsonl").read_bytes())
    with (folder / "bob.jsonl").open("a") as file:
        file.write("\n")
    assert collected.account_of(folder / "bob.jsonl") == collected.account_of(folder / "eve.jsonl") == ""
    rows = {row.learner: row for row in report.read_learners(folder, key=room / "key.pem.pub")}
    assert rows["ada"].name == "Ada Lovelace" and rows["ada"].remarks == ("the file names no account",)
    assert "changed after the hub collected it" in rows["bob"].remarks
    assert "not among the files that the hub collected" in rows["eve"].remarks


@pytest.mark.parametrize(
    ("old", "new"), [('"ada"', '"eve"'), ("Ada Lovelace", "Eve"), ('"good_faith":false', '"good_faith":true')]
)
def test_a_changed_list_is_refused(room: Path, old: str, new: str) -> None:
    place = room / "collected" / collected.FILE
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new, 1))
    with pytest.raises(KitError, match=r"not signed with .*key.pem.pub, or was changed"):
        report.read_learners(room / "collected", key=room / "key.pem.pub")


def test_another_hubs_key_and_a_folder_that_no_hub_collected_are_refused(room: Path) -> None:
    signing.make_key(room / "other.pem")
    with pytest.raises(KitError, match="not signed with"):
        collected.read(room / "collected", room / "other.pem.pub")
    with pytest.raises(KitError, match="a hub did not collect this folder"):
        collected.read(room / "learners", room / "key.pem.pub")
    assert collected.read(room / "learners") is None


def test_what_is_no_list_is_named(room: Path) -> None:
    (room / "collected" / collected.FILE).write_text(json.dumps({"collection": {}, "signature": "x"}))
    with pytest.raises(KitError, match="not a list of collected files"):
        collected.read(room / "collected")


def test_the_command_checks_the_signature(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["lab-report", str(room / "collected"), "--key", str(room / "key.pem.pub")]
    assert cli.main(given) == 0
    assert "Ada Lovelace" in capsys.readouterr().out
    os.unlink(room / "collected" / collected.FILE)
    assert cli.main(given) != 0
