"""A sweep's results file: what it keeps, what of it is read again, and what is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.record import Provenance, SweepRecord
from kitlib.study.sweeps.row import SweepRow

MINE = Provenance(
    kitlib="1", scenario="m:f", scenario_hash="abc", metrics=["x"], release="1.36", began="2026-01-01T00:00:00+00:00"
)
ROWS = [SweepRow({"a": 1}, {"x": 2}, "", 0.5), SweepRow({"a": 2}, {}, "KeyError: 'b'", 0.25)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = SweepRecord(tmp_path / "rows.jsonl", MINE)
    made.append(ROWS)
    made.close()
    return made.path


def test_rows_are_read_again_and_the_first_start_is_kept(path: Path) -> None:
    again = SweepRecord(path, msgspec.structs.replace(MINE, began="2027-01-01T00:00:00+00:00"))
    assert list(again.rows.values()) == ROWS and again.provenance == MINE
    again.close()


def test_the_line_that_a_killed_process_was_writing_is_cut_off(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"point":{"a":3},"val')
    again = SweepRecord(path, MINE)
    again.append([SweepRow({"a": 3}, {"x": 1})])
    again.close()
    assert path.read_bytes().startswith(whole) and len(path.read_bytes().splitlines()) == 4


def test_a_header_that_a_killed_process_was_writing_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(msgspec.json.encode(MINE)[:40])
    SweepRecord(path, MINE).close()
    assert path.read_bytes() == msgspec.json.encode(MINE) + b"\n"


def test_of_two_rows_of_a_point_the_later_one_counts(path: Path) -> None:
    again = SweepRecord(path, MINE)
    again.append([SweepRow({"a": 2}, {"x": 7})])
    again.close()
    third = SweepRecord(path, MINE)
    assert [row.values for row in third.rows.values()] == [{"x": 2}, {"x": 7}]
    third.close()


@pytest.mark.parametrize(
    ("field", "value"), [("kitlib", "2"), ("scenario", "m:g"), ("scenario_hash", "abd"), ("release", "1.30")]
)
def test_another_sweep_s_file_is_refused_and_left_as_it_is(path: Path, field: str, value: str) -> None:
    before = path.read_bytes()
    with pytest.raises(KitError, match=f"results of another sweep: {field} is .*, now {value}; name another file"):
        SweepRecord(path, msgspec.structs.replace(MINE, **{field: value}))
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["hello\n", "{}\n", "[" * 5000 + "\n", "no line end", "\x00\xff\n", "5\n"])
def test_what_is_no_results_file_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text(text)
    with pytest.raises(KitError, match=r"thesis.txt: not the results file of a sweep"):
        SweepRecord(path, MINE)
    assert path.read_text() == text


def test_a_line_that_is_no_row_is_named(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"point": 5}\n')
    with pytest.raises(KitError, match=r"line 4: not a row of results: Expected `object`, got `int`"):
        SweepRecord(path, MINE)


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="directory"):
        SweepRecord(tmp_path, MINE)
    with pytest.raises(KitError, match="No such file"):
        SweepRecord(tmp_path / "none" / "rows.jsonl", MINE)


def test_two_sweeps_do_not_write_to_one_file(path: Path) -> None:
    first = SweepRecord(path, MINE)
    with pytest.raises(KitError, match="another sweep is writing to it"):
        SweepRecord(path, MINE)
    first.close()
    SweepRecord(path, MINE).close()
