"""The simulated kernel answers as the real one does: the same writes, errors, roundings, refusals, kills.

`rules/v1.txt` and `rules/v2.txt` hold scripts, each under a sentence. Each script runs on both kernels; the outcomes
are compared line by line, and stand side by side in the artifact `kernel-rules-v1.md` (or v2).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitlib.node.real.mounts import kernel_log
from tests.vm.bench import Real, Simulated

VERSION = os.environ.get("KITLIB_VM", "v2")
RULES = Path(__file__).with_name("rules") / f"{VERSION}.txt"


def scripts() -> dict[str, str]:
    """Sentence -> script, of those that this kind of machine is to run.

    User Mode Linux has neither cpusets nor huge pages: a script that names one of them runs on the emulated machine,
    all others on User Mode Linux; with KITLIB_NIGHTLY the emulated machine runs them all.
    """
    blocks = RULES.read_text().removeprefix("# ").split("\n# ")
    found = dict(block.split("\n", 1) for block in blocks)
    emulated = {sentence for sentence, script in found.items() if "cpuset" in script or "hugetlb" in script}
    if os.environ.get("KITLIB_VM_MACHINE") == "uml":
        return {sentence: script for sentence, script in found.items() if sentence not in emulated}
    if os.environ.get("KITLIB_NIGHTLY"):
        return found
    return {sentence: script for sentence, script in found.items() if sentence in emulated}


@pytest.fixture(scope="module")
def table(artifacts: Path) -> Iterator[list[str]]:
    """Rows for the artifact."""
    rows: list[str] = []
    yield rows
    head = [f"# Cgroup {VERSION}: Linux {os.uname().release} and the simulated kernel", ""]
    operations = [row for row in rows if row.startswith("| `")]
    same = sum(row.endswith("| |") for row in operations)
    head += [f"{len(operations)} operations, {same} with the same outcome.", ""]
    (artifacts / f"kernel-rules-{VERSION}.md").write_text("\n".join(head + rows) + "\n")


def run_and_watch(real: Real, script: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The outcomes, and whom the kernel's log says the OOM killer killed meanwhile, in order."""
    before = len(kills())
    outcomes = real.run(script)
    names = {puppet.pid: name for name, puppet in real.made.items()}
    return outcomes, [names[pid] for pid in kills()[before:] if pid in names]


def kills() -> list[int]:
    """The process ids of all victims that the kernel's log names."""
    return [int(pid) for pid in re.findall(r"Killed process (\d+) ", "\n".join(kernel_log()[0]))]


@pytest.mark.parametrize("sentence", list(scripts()))
def test_the_simulated_kernel_answers_as_the_real_one(sentence: str, real: Real, table: list[str]) -> None:
    script = scripts()[sentence]
    model = Simulated(real.fs.version)
    here = model.run(script)
    there, victims = run_and_watch(real, script)
    wanted = [name for name, pid in model.made.items() if pid not in model.kernel.processes]
    for _ in range(2):
        # Only where the kernel log names a second victim that the rule does not: a first one that got no processor
        # for two seconds is given up (mm/oom_kill.c oom_reap_task, 6.1). The first victim has to be the same each time.
        if there == here or len(victims) <= len(wanted):
            break
        assert victims[0] in wanted, f"the first victim is {victims[0]}, of {wanted}"
        real.begin()
        there, victims = run_and_watch(real, script)
    table += [
        "",
        f"**{sentence[0].upper()}{sentence[1:]}**",
        "",
        "| operation | real | simulated | |",
        "|---|---|---|---|",
    ]
    for (operation, seen), (_, modelled) in zip(there, here, strict=True):
        table.append(f"| `{operation}` | {seen} | {modelled} |{' ' if seen == modelled else ' **differs** '}|")
    differences = [f"{o}: real {a}, simulated {b}" for (o, a), (_, b) in zip(there, here, strict=True) if a != b]
    assert not differences, "\n" + "\n".join(differences)
