"""Tests of every command on terminals, pipes and files of every encoding: replacement, never a traceback."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.commands import streams
from tests.sizes import sampled

ENCODINGS = ("cp1252", "cp437", "cp932", "latin-1", "ascii")
DUMP = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: nœud-β}, status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: größer}
  spec: {containers: [{name: c, image: ギット, resources: {requests: {cpu: "3"}}}]}
"""
RUNS = {  # command -> arguments with which it says as much as it can, quickly
    "demo": ("--all",),
    "doctor": ("--no-engine",),
    "explain": ("-f", "dump.yaml"),
    "whatif": ("drain", "nœud-β", "-f", "dump.yaml"),
    "report": ("-f", "dump.yaml"),
    "mcp": ("--skill",),
    "sweep": ("sweep.yaml", "--workers", "0"),
    "conformance": ("quantity.jsonl",),
    "cheat-sheet": ("-o", "ž.html"),
    "room": (".",),
    "lab-report": (".",),
    "lab-export": ("course-ž", "01-make-it-guaranteed"),
    "workshop": ("recipe-ž", "--no-wheel"),
    "certificate": ("key", "ключ"),
    "bench": ("enforcement", "--pods", "20", "--runs", "1"),
    "lab": ("--copy-only", "курс"),
    "image": ("load", "ž.tar"),
    "bundle": ("ž.zip",),
    "site": ("--pyodide", "ž.tar.bz2", "site-ž"),
    "up": ("ž.yaml",),
}
SWEEP = """
scenario: {nodes: [{name: ä, allocatable: {cpu: "1", memory: 1Gi}}], pods: [{name: p, requests: {cpu: "$cpu"}}]}
grid: {cpu: ["1", "2"]}
metric: pending
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    (tmp_path / "dump.yaml").write_text(DUMP, encoding="utf-8")
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (tmp_path / "quantity.jsonl").write_text('{"op": "parse", "in": "é", "value": 2}\n', encoding="utf-8")
    (tmp_path / "lærer.jsonl").write_text("", encoding="utf-8")
    yield tmp_path


def test_every_command_is_tried() -> None:
    assert set(RUNS) == set(cli.COMMANDS)


@pytest.mark.parametrize("command", RUNS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_command_prints_in_any_encoding(
    encoding: str, command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    code = cli.main([command, *RUNS[command]])
    written = [one.buffer.getvalue().decode(encoding) for one in (out, err)]  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert code in (0, 1, 2) and any(written), written
    if command == "explain":
        assert "0/1 nodes are available" in written[0]
        assert ("größer" if encoding in ("cp1252", "cp437", "latin-1") else "gr") in written[0]


@pytest.mark.parametrize("command", sampled([pytest.param(one, id=one) for one in RUNS], 12, pytest.mark.thorough))
def test_a_posix_locale_means_ascii_and_is_enough(command: str, folder: Path) -> None:
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(Path.cwd())}
    posix["PYTHONPATH"] = str(Path(cli.__file__).parents[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    done = subprocess.run(
        [sys.executable, "-m", "kitlib", command, *RUNS[command]],
        env={**environment, **posix},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode in (0, 1, 2) and b"Traceback" not in done.stderr
    assert done.stdout or done.stderr
    said = done.stdout
    for given in RUNS[command]:  # a file name keeps its bytes
        said = said.replace(given.encode(), b"")
    assert said.isascii(), said


@pytest.mark.parametrize(
    ("encoding", "text", "written"),
    [
        ("ascii", "a − b × c ≥ d", "a - b x c >= d"),
        ("ascii", "├── x", "|-- x"),
        ("ascii", "größer, naïve", "grosser, naive"),
        ("cp1252", "é − 3", "é - 3"),
        ("cp437", "└── ≥", "└── ≥"),
        ("cp932", "ギット é", "ギット e"),
        ("ascii", "漢", "?"),
    ],
)
def test_what_an_encoding_does_not_have_is_written_in_plain_characters(encoding: str, text: str, written: str) -> None:
    streams.prepare()
    assert text.encode(encoding, streams.HANDLER).decode(encoding) == written


def test_the_bytes_of_a_file_name_are_written_as_they_are() -> None:
    streams.prepare()
    assert os.fsdecode(b"caf\xe9").encode("utf-8", streams.HANDLER) == b"caf\xe9"
