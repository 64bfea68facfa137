"""How long the package and its command line take to start (the aim: import under 0.2 s)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest


@pytest.mark.parametrize("statement", ["pass", "import kitlib", "import kitlib.cluster", "import kitlib.cli"])
def test_start(benchmark: Any, statement: str) -> None:
    """`pass` is the interpreter alone: the reference that the others are read against."""
    command = [sys.executable, "-c", statement]
    benchmark.pedantic(lambda: subprocess.run(command, check=True), rounds=3, iterations=1, warmup_rounds=1)
