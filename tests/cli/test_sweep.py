"""`kitlib sweep`: means in the terminal, rows in a file, exit codes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kitlib.cli import main

TEXT = """
scenario: {nodes: [{name: a, cpu: 2}], pods: [{name: p, cpu: "${cpu}"}]}
grid: {cpu: [1, 3], zones: [1, 2]}
seeds: 2
metric: [pending, message]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(TEXT)
    return path


def test_means_of_numbers_and_shares_of_texts_are_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(file), "--workers", "0"]) == 0
    said = capsys.readouterr()
    assert [line.split()[:3] for line in said.out.splitlines()[:2]] == [["cpu", "zones", "pending"], ["1", "1", "0"]]
    assert "0/1 nodes are available" in said.out and "100%" in said.out
    assert "Sweep of scenario: 8 points" in said.err


def test_rows_are_written_and_kept(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, out = tmp_path / "rows.jsonl", tmp_path / "out.csv"
    command = ["sweep", str(file), "--workers", "0", "--results", str(kept), "-o", str(out)]
    assert main(command) == main(command) == 0
    rows = list(csv.DictReader(out.open()))
    assert len(rows) == 8 and rows[0] == {
        "cpu": "1",
        "zones": "1",
        "seed": "0",
        "pending": "0",
        "message": "",
        "error": "",
    }
    assert len(kept.read_text().splitlines()) == 9


@pytest.mark.parametrize(
    "chart",
    [
        "{x: cpu, y: zones, value: pending}",
        "{x: cpu, value: message}",
        "{x: cpu, y: zones, panel: seed, value: pending}",
    ],
)
def test_a_page_shows_the_picture_that_the_file_asks_for(file: Path, tmp_path: Path, chart: str) -> None:
    file.write_text(f"{TEXT}chart: {chart}\n")
    assert main(["sweep", str(file), "--workers", "0", "-o", str(tmp_path / "out.html")]) == 0
    page = (tmp_path / "out.html").read_text()
    assert "<svg" in page and "scenario_hash" in page and page.count("<tr>") == 9


def test_an_error_at_a_point_is_told_and_the_exit_code_is_1(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("[1, 3]", "[1, lots]"))
    assert main(["sweep", str(file), "--workers", "0"]) == 1
    assert "{'cpu': 'lots', 'zones': 1, 'seed': 0}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["-o", "x.txt"], "a name ending in .csv or .html is expected, got 'x.txt'"),
        (["--workers", "-1"], "argument --workers: must be a whole number, 0 or more, got '-1'"),
        (["--workers", "1", "--client", "tcp://x:1"], "workers= and client= cannot be used together"),
        (["--results", "."], "directory"),
    ],
)
def test_wrong_usage_ends_with_2(file: Path, more: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(file), *more]) == 2
    assert says in capsys.readouterr().err
