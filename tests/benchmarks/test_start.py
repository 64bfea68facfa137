"""How long the package and its command line take to start, beside the interpreter alone, measured in the same run.

The aim is an import of kitlib under 0.2 s where the interpreter starts in 0.02 s. The ratios to the
interpreter alone, in processor time, were 1.1 (kitlib), 24 to 27 (kitlib.cluster), 2.1 (kitlib.cli) on a machine with
other work.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

pytestmark = pytest.mark.speed

ROUNDS = 5


def seconds(statement: str) -> float:
    """Processor time of an interpreter with one statement: other work on the machine hardly changes it."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


@pytest.mark.parametrize(
    ("statement", "at_most"), [("import kitlib", 1.8), ("import kitlib.cluster", 35.0), ("import kitlib.cli", 4.0)]
)
def test_an_import_takes_so_many_times_what_the_interpreter_takes(statement: str, at_most: float) -> None:
    alone: list[float] = []
    taken: list[float] = []

    def both() -> None:
        alone.append(seconds("pass"))
        taken.append(seconds(statement))

    for _ in range(ROUNDS):
        both()
    ratio = min(taken) / min(alone)  # other work on the machine only ever adds
    print(f"\n{statement}: {min(taken) * 1000:.0f} ms, {ratio:.2f} times the interpreter alone")
    assert 0.8 < ratio < at_most
