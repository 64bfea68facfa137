"""Files that users keep: those of kitlib 0.1 and 1.0 are read, newer ones are refused with the way out.

The samples are what `tests/lab/format_samples.py` wrote with that version, and are never written again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster.journal import Journal
from kitlib.cluster.shared import packed, unpacked
from kitlib.lab import certificate, collected, launch, room, share, submissions
from kitlib.lab.progress import Progress
from kitlib.study import sweep
from kitlib.study.sweeps import Results

SAMPLES = Path(__file__).parent / "formats"
VERSIONS = sorted(path.name for path in SAMPLES.iterdir())
LAB = "make-it-guaranteed"
UPDATE = "is newer than 1, the newest that this kitlib reads: update kitlib"
GRID = {"spread": [0, 10]}


@pytest.fixture(params=VERSIONS)
def sample(request: pytest.FixtureRequest) -> Path:
    """The folder of a version's samples."""
    return SAMPLES / str(request.param)


def test_samples_of_each_version_are_kept() -> None:
    assert VERSIONS == ["0.1", "1.0"]
    assert len({tuple(sorted(path.name for path in (SAMPLES / name).iterdir())) for name in VERSIONS}) == 1


def newer(path: Path, into: Path) -> Path:
    """A copy of a JSON file as a later kit would write it: another format, a field that is not known here."""
    data = json.loads(path.read_text())
    into.write_text(json.dumps({**data, "format": 2, "later": True}))
    return into


class TestProgress:
    def test_a_learner_goes_on_with_the_file(self, sample: Path, tmp_path: Path) -> None:
        shutil.copy(sample / "progress.jsonl", tmp_path)
        progress = Progress(tmp_path)
        before = [entry.kind for entry in progress.entries()]
        assert before[:3] == ["open", "prediction", "hint"] and set(before[3:]) == {"check"}
        assert progress.score(LAB) == (3, 3)
        progress.record("hint", LAB, "guaranteed", 0, 0, number=2)
        assert [entry.kind for entry in Progress(tmp_path).entries()] == [*before, "hint"]
        assert json.loads((tmp_path / "progress.jsonl").read_text().splitlines()[-1])["format"] == 1

    def test_an_instructor_reads_it_and_confirms_it_by_a_replay(self, sample: Path) -> None:
        sent = submissions.read(sample / "progress.jsonl")
        assert sent.problems == () and sent.owners == ("ada",) and sent.hints == {LAB: 1}
        assert certificate.confirmed(sample / "progress.jsonl", "Ada", "Bob", LAB).points == 3

    def test_a_newer_line_is_kept_and_named(self, tmp_path: Path) -> None:
        line = json.loads((SAMPLES / "1.0" / "progress.jsonl").read_text().splitlines()[-1])
        text = json.dumps({**line, "format": 2, "later": True}) + "\n"
        (tmp_path / "progress.jsonl").write_text(text)
        progress = Progress(tmp_path)
        with pytest.warns(UserWarning, match=UPDATE):
            assert not list(progress.entries())
        progress.record("hint", LAB, "guaranteed", 0, 0)
        assert (tmp_path / "progress.jsonl").read_text().startswith(text)
        assert UPDATE in submissions.read(tmp_path / "progress.jsonl").problems[0]


class TestRoom:
    def test_it_is_read(self, sample: Path) -> None:
        assert room.read(sample / "room.json") == room.RoomDecisions((LAB,), {"sidecar-oom": 7})

    def test_a_newer_one_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(KitError, match=UPDATE):
            room.read(newer(SAMPLES / "1.0" / "room.json", tmp_path / "room.json"))


class TestCollected:
    def test_its_signature_holds_and_the_account_is_known(self, sample: Path) -> None:
        found = collected.read(sample / "collected", sample / "key.pem.pub")
        assert found is not None and found.files["ada"].name == "Ada L."
        assert collected.account_of(sample / "collected" / "ada.jsonl") == "ada"


class TestCertificate:
    def test_it_is_verified(self, sample: Path) -> None:
        found = certificate.verify(sample / "certificate.html", sample / "key.pem.pub")
        assert (found.name, found.points, found.earned_by) == ("Ada L.", 3, "ada")

    def test_a_newer_one_is_refused_with_the_way_out(self, tmp_path: Path) -> None:
        text = (SAMPLES / "1.0" / "certificate.html").read_text()
        (tmp_path / "later.html").write_text(text.replace('"format": 1', '"format": 2'))
        with pytest.raises(KitError, match=UPDATE):
            certificate.verify(tmp_path / "later.html", SAMPLES / "1.0" / "key.pem.pub")


class TestJournal:
    def test_it_is_read(self, sample: Path) -> None:
        found = Journal.from_json((sample / "journal.json").read_text())
        assert [entry["action"] for entry in found] == ["apply", "advance"]

    def test_what_is_written_is_read_again(self) -> None:
        made = Journal([{"action": "advance", "seconds": 5}])
        assert Journal.from_json(made.to_json()) == made

    def test_a_newer_one_is_refused(self) -> None:
        with pytest.raises(KitError, match=UPDATE):
            Journal.from_json('{"format": 2, "steps": []}')


class TestLink:
    def test_it_opens_the_cluster(self, sample: Path) -> None:
        with share.opened((sample / "link.txt").read_text()) as cluster:
            assert cluster.pod("web").status.phase == "Running"

    def test_a_newer_one_is_refused(self) -> None:
        state: Any = unpacked(share.state_in((SAMPLES / "1.0" / "link.txt").read_text()))
        with pytest.raises(KitError, match=UPDATE):
            share.opened(f"#kitlib={packed({**state, 'version': 2, 'later': True})}")


class TestResults:
    def test_rows_are_read_with_the_version_that_computed_them(self, sample: Path) -> None:
        found = Results.read(sample / "results.jsonl")
        assert found.complete and not found.errors and found.provenance.kitlib.startswith(sample.name)
        assert [row["victim"] for row in found.table()] == ["log", "log", "log", "web"]

    def test_another_versions_sweep_is_not_continued(self, tmp_path: Path) -> None:
        shutil.copy(SAMPLES / "0.1" / "results.jsonl", tmp_path)
        with pytest.raises(KitError, match=r"kitlib is 0\.1\.0, now .*name another file"):
            sweep("kitlib.advisor.first_victim:first_victim", GRID, seeds=2, workers=1, file=tmp_path / "results.jsonl")

    def test_a_newer_one_is_refused(self, tmp_path: Path) -> None:
        text = (SAMPLES / "1.0" / "results.jsonl").read_text()
        (tmp_path / "later.jsonl").write_text(text.replace('{"format":1', '{"later":1,"format":2', 1))
        with pytest.raises(KitError, match=UPDATE):
            Results.read(tmp_path / "later.jsonl")


class TestCourseFolder:
    def test_what_was_copied_before_is_known(self, sample: Path) -> None:
        """Without the record every old file would count as one that the learner has changed."""
        record = launch.recorded(sample / "kitlib-course.json")
        assert sorted(record) == [f"labs/01-{LAB}/{name}" for name in ("check.py", "lab.ipynb", "lab.toml")]
        assert all(len(digest) == 64 for digest in record.values())

    def test_a_newer_one_is_refused_and_nothing_is_copied(self, tmp_path: Path) -> None:
        newer(SAMPLES / "1.0" / "kitlib-course.json", tmp_path / ".kitlib-course.json")
        with pytest.raises(KitError, match=UPDATE):
            launch.make_course_folder(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [".kitlib-course.json"]
