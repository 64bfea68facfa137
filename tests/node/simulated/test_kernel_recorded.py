"""What a real kernel answered, recorded in the virtual machine of `.ci/vm`, is what the simulated kernel answers.

`recorded-v1.md` and `recorded-v2.md` are artifacts of such a run (tests/vm/test_kernel_rules.py): under each sentence a
table of operations with the real kernel's outcome. Here the simulated kernel runs the same operations anywhere.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from tests.vm.bench import Simulated

HERE = Path(__file__).parent
MACHINE = MachineInfo.declare(2, "3Gi", huge_pages={"2Mi": 8})
"""The virtual machine's processors, memory and huge pages."""
ROW = re.compile(r"\| `(.*)` \| (.*?) \| (.*?) \|.*\|")


def scripts(version: int) -> dict[str, str]:
    """Sentence -> script, as the virtual machine runs it."""
    text = (HERE.parents[1] / "vm" / "rules" / f"v{version}.txt").read_text()
    return dict(block.split("\n", 1) for block in text.removeprefix("# ").split("\n# "))


def recorded(version: int) -> dict[str, list[tuple[str, str]]]:
    """Sentence, lower case -> operations with the real kernel's outcomes."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (HERE / f"recorded-v{version}.md").read_text().splitlines():
        if line.startswith("**"):
            rows = found.setdefault(line.strip("*").lower(), [])
        elif row := ROW.fullmatch(line):
            rows.append((row[1], row[2]))
    return found


@pytest.mark.parametrize(
    ("version", "sentence"), [(version, sentence) for version in (1, 2) for sentence in scripts(version)]
)
def test_the_simulated_kernel_answers_as_a_real_one_was_recorded(version, sentence):
    real = recorded(version)[sentence.lower()]
    assert real, "nothing was recorded"
    assert Simulated(version, MACHINE).run(scripts(version)[sentence]) == real
