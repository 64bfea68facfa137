"""Pods come and go on one real node, and what its owner, agent and control plane hold stays what it was.

A sample of twelve seconds; `KITLIB_NIGHTLY=1` or `KITLIB_SOAK_SECONDS` make it long. The figures of each minute are in
`soak.jsonl` among the artifacts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.engine.helpers import ROOT, outside

SECONDS = float(os.environ.get("KITLIB_SOAK_SECONDS") or ("7200" if os.environ.get("KITLIB_NIGHTLY") else "12"))
SETTLED = 3900.0
"""Seconds until nothing is held for the first time: events are kept for an hour, as by kube-apiserver."""
JOURNAL_KB = 1.5
"""KiB of the owner's memory for each entry of its journal, which is kept whole for replay."""


def test_what_is_held_stays_the_same_while_pods_come_and_go(engine: str, tmp_path: Path) -> None:
    file = Path(os.environ.get("ARTIFACTS", tmp_path)) / "soak.jsonl"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.engine.soak", str(SECONDS), str(file)]
    subprocess.run(command, cwd=ROOT, env=outside(), check=True, timeout=600 + 2 * SECONDS)
    *rows, end = [json.loads(line) for line in file.read_text().splitlines()]
    assert {key: end[key] for key in ("ready", "unready", "left")} == {"ready": "True", "unready": [], "left": 0}
    assert end["ended"] == rows[-1]["made"] > 0
    later = [row for row in rows if row["seconds"] >= (SETTLED if SECONDS > 1.5 * SETTLED else SECONDS / 4)]
    for name in ("owner", "agent", "plane"):
        first, last = later[0][name], later[-1][name]
        assert last["threads"] <= first["threads"] and last["descriptors"] <= first["descriptors"] + 2, (name, later)
        assert held(later[-1], name) <= 1.1 * held(later[0], name) + 1024, (name, later)


def held(row: dict[str, Any], name: str) -> float:
    """Return the private memory of a process in KiB, the owner's without its journal."""
    return float(row[name]["anon_kb"]) - (JOURNAL_KB * row["journal"] if name == "owner" else 0)
