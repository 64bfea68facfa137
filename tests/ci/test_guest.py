"""The virtual machines' script names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"\$nodes/(test_\w+\.py)(?:::(\w+))?")


def test_every_test_that_a_machine_is_to_run_exists() -> None:
    named = NAMED.findall((ROOT / "tests/vm/guest/run").read_text())
    missing = []
    for file, test in named:
        path = ROOT / "tests/engine" / file
        if not path.exists() or (test and f"def {test}(" not in path.read_text()):
            missing.append(f"{file}::{test}")
    assert len(named) >= 15
    assert not missing
