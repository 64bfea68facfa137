"""Ctrl-C in the middle of a command: exit code 130, no output, and no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kitlib import cli

SWEEP = """
scenario: {nodes: [{name: a, allocatable: {cpu: "8", memory: 8Gi}}], pods: [{name: p, requests: {cpu: "$cpu"}}]}
grid: {cpu: ["1", "2", "3", "4"]}
seeds: 5000
metric: pending
"""


@pytest.mark.thorough
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_sweep_ends_at_once_and_keeps_its_rows(workers: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SWEEP)
    rows = tmp_path / "rows"
    command = [sys.executable, "-m", "kitlib", "sweep", "s.yaml", "--workers", workers, "--results", str(rows)]
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    running = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    while running.poll() is None and not (rows.exists() and rows.read_bytes().count(b"\n") > 20):
        pass
    os.killpg(running.pid, signal.SIGINT)  # as the terminal does: to the workers too
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"")
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
    assert rows.read_bytes().count(b"\n") > 20


def test_what_an_interrupt_meets_while_the_arguments_are_read_is_as_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parser", interrupted)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr() == ("", "")
