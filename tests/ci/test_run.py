"""`.ci/run` counts what failed: tests, skips, stages without a script, unknown names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the script is for bash")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the script and nothing else of the project."""
    (tmp_path / ".ci").mkdir()
    for name in ("run", "common"):
        shutil.copy(CI / name, tmp_path / ".ci" / name)
    return tmp_path


def script(checkout: Path, name: str, *lines: str, mode: int = 0o755) -> None:
    """A stage's script that prints lines; a line `exit N` ends it."""
    body = [line if line.startswith("exit") else f"echo '{line}'" for line in lines]
    path = checkout / ".ci" / name
    path.write_text("\n".join(["#!/bin/bash", *body, ""]))
    path.chmod(mode)


def run(checkout: Path, *stages: str) -> tuple[int, list[str]]:
    """Exit code, and the lines of both outputs."""
    environment = {**os.environ, "HOME": str(checkout), "ARTIFACTS": str(checkout / "artifacts")}
    done = subprocess.run(
        [checkout / ".ci" / "run", *stages], capture_output=True, text=True, timeout=60, env=environment
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.mark.parametrize(
    ("lines", "code", "total"),
    [
        (["3 passed in 0.10s"], 0, "3 passed, 0 failed"),
        (["== 3 passed, 2 deselected in 0.10s =="], 0, "3 passed, 0 failed"),
        (["2 failed, 3 passed in 61.10s (0:01:01)", "exit 1"], 1, "3 passed, 2 failed"),
        (["3 passed, 1 error in 0.10s", "exit 1"], 1, "3 passed, 1 failed"),
        (["3 passed, 2 skipped in 0.10s"], 1, "3 passed, 2 failed"),
        (["1 skipped in 0.10s"], 1, "0 passed, 1 failed"),
        (["3 passed, 1 xfailed in 0.10s"], 1, "3 passed, 1 failed"),
        (["3 passed in 0.10s", "4 passed in 0.20s"], 0, "7 passed, 0 failed"),
        (["3 passed in 0.10s", "exit 9"], 1, "3 passed, 1 failed"),
        (["nothing of a test"], 0, "1 passed, 0 failed"),
        (["nothing of a test", "exit 1"], 1, "0 passed, 1 failed"),
    ],
)
def test_the_last_line_counts_what_a_stage_reports(checkout: Path, lines: list[str], code: int, total: str) -> None:
    script(checkout, "notebooks", *lines)
    found, output = run(checkout, "notebooks")
    assert (found, output[-1]) == (code, total)
    assert any(line.startswith("notebooks ") and " s  (exit" in line for line in output)


def test_tests_that_needed_a_second_run_are_named_and_may_be_few(checkout: Path) -> None:
    lines = [f"RERUN tests/engine/test_a.py::test_{number} - AssertionError" for number in range(9)]
    script(checkout, "notebooks", *lines[:8], *lines[:8], "3 passed, 16 rerun in 0.10s")
    code, output = run(checkout, "notebooks")
    assert (code, output[-1]) == (0, "3 passed, 0 failed")
    assert output.count("  needed a second run (notebooks): tests/engine/test_a.py::test_3") == 1
    script(checkout, "browser", *lines[:1], "3 passed, 1 rerun in 0.10s")
    code, output = run(checkout, "notebooks", "browser")
    assert (code, output[-1]) == (1, "6 passed, 1 failed")


def failing(checkout: Path, stage: str, *tests: str, alone: str) -> None:
    """A stage's script whose tests fail, and that prints `alone` when it is run for the last try."""
    summary = [f"FAILED {test} - OSError: no space" for test in tests]
    repeated = [f"{word} {test}" for test in tests for word in ("RERUN", "RERUN", "FAILED")]
    lines = [*repeated, "=== short test summary info ===", *summary, f"{len(tests)} failed, 3 passed in 9.10s"]
    script(checkout, stage, *lines, "exit 1")
    path = checkout / ".ci" / stage
    first, _, rest = path.read_text().partition("\n")
    path.write_text(f'{first}\nif [ -n "${{KITLIB_LAST_TRY:-}}" ]; then cat "$KITLIB_LAST_TRY"; {alone}; fi\n{rest}')


def second(checkout: Path, stage: str, line: str) -> None:
    """Let a stage's script print a line in its second run of the whole stage, and nothing else."""
    path = checkout / ".ci" / stage
    whole = f"if [ -e again ]; then echo '{line}'; exit 0; fi; touch again"
    path.write_text(path.read_text().replace("#!/bin/bash", f"#!/bin/bash\n{whole}", 1))


SPACES = "tests/engine/test_a.py::test_lab[06-cpus: the solution]"


def test_what_failed_beside_others_is_tried_once_more_alone(checkout: Path) -> None:
    failing(checkout, "engine", SPACES, alone="echo '1 passed in 2.00s'; exit 0")
    code, output = run(checkout, "engine")
    assert (code, output[-1]) == (0, "4 passed, 0 failed")
    assert f"{SPACES} - OSError: no space" in output
    assert f"  passed only alone, after all else (engine): {SPACES} - OSError: no space" in output
    assert output.count(f"  needed a second run (engine): {SPACES}") == 1


@pytest.mark.parametrize("alone", ["echo '1 failed in 2.00s'; exit 1", "echo nothing ran; exit 0"])
def test_what_fails_alone_too_is_a_failure(checkout: Path, alone: str) -> None:
    failing(checkout, "engine", SPACES, alone=alone)
    code, output = run(checkout, "engine")
    assert (code, output[-1]) == (1, "3 passed, 1 failed")


MANY = [f"tests/engine/test_a.py::test_{number}" for number in range(4)]


def test_a_stage_that_failed_by_more_is_run_again_as_a_whole(checkout: Path) -> None:
    failing(checkout, "engine", *MANY, alone="echo '4 passed in 2.00s'; exit 0")
    second(checkout, "engine", "7 passed in 9.00s")
    code, output = run(checkout, "engine")
    assert (code, output[-1]) == (0, "7 passed, 0 failed")
    assert "  passed only alone, after all else: the whole stage engine" in output
    assert not [line for line in output if "needed a second run" in line]  # those of the run that does not count


@pytest.mark.parametrize(
    "again", ["7 passed, 1 failed in 9.00s", "6 passed, 1 skipped in 9.00s", "1 error in 0.10s", "nothing"]
)
def test_a_stage_that_fails_as_a_whole_too_is_a_failure(checkout: Path, again: str) -> None:
    failing(checkout, "engine", *MANY, alone="exit 1")
    second(checkout, "engine", again)
    code, output = run(checkout, "engine")
    assert (code, output[-1]) == (1, "3 passed, 4 failed")


def test_two_stages_or_one_of_another_kind_are_not_tried_again(checkout: Path) -> None:
    failing(checkout, "engine", SPACES, alone="echo '1 passed in 2.00s'; exit 0")
    assert run(checkout, "house", "engine")[1][-1] == "3 passed, 2 failed"
    for stage in ("engine", "browser"):
        failing(checkout, stage, *MANY, alone="exit 1")
    code, output = run(checkout, "engine", "browser")
    assert (code, output[-1]) == (1, "6 passed, 8 failed")
    assert not [line for line in output if "once more and alone" in line]


@pytest.mark.thorough  # a second of a processor
def test_a_stages_line_tells_the_processor_time_of_what_it_ran(checkout: Path) -> None:
    script(checkout, "notebooks")
    with (checkout / ".ci" / "notebooks").open("a") as file:
        file.write("python3 -c 'import time\nwhile time.process_time() < 1.2: pass'; echo '3 passed in 0.10s'\n")
    _, output = run(checkout, "notebooks")
    (line,) = [line for line in output if line.startswith("notebooks ")]
    used, seconds = map(int, re.findall(r"(\d+) s of a processor in +(\d+) s", line)[0])
    assert 1 <= used <= 2 * (seconds + 1)


def test_several_stages_are_summed(checkout: Path) -> None:
    script(checkout, "notebooks", "3 passed in 0.10s")
    script(checkout, "browser", "1 failed, 4 passed in 0.10s", "exit 1")
    assert run(checkout, "notebooks", "browser")[1][-1] == "7 passed, 1 failed"


def test_an_unknown_stage_is_an_error_and_nothing_runs(checkout: Path) -> None:
    script(checkout, "notebooks", "3 passed in 0.10s")
    code, output = run(checkout, "notebooks", "nosuchstage")
    assert code == 2
    assert "unknown stage 'nosuchstage'" in output[-1]
    assert not (checkout / "artifacts" / "notebooks.log").exists()


@pytest.mark.parametrize("stage", ["vm-v2", "engine", "kubectl", "browser", "notebooks", "workshop"])
def test_a_stage_without_its_script_fails(checkout: Path, stage: str) -> None:
    code, output = run(checkout, stage)
    assert (code, output[-1]) == (1, "0 passed, 1 failed")
    assert f".ci/{stage.partition('-')[0]}: no such script, or not executable" in output


def test_a_script_that_cannot_be_executed_fails(checkout: Path) -> None:
    script(checkout, "browser", "3 passed in 0.10s", mode=0o644)
    assert run(checkout, "browser")[1][-1] == "0 passed, 1 failed"


def test_a_file_of_cases_without_a_module_fails(checkout: Path) -> None:
    """The real command runs: a folder in place of the environment calls it."""
    import sys

    (checkout / "tests" / "vectors").mkdir(parents=True)
    (checkout / "tests" / "vectors" / "nosuchkind.jsonl.gz").write_bytes(b"")
    (checkout / ".venv" / "bin").mkdir(parents=True)
    command = checkout / ".venv" / "bin" / "kitlib"
    command.write_text(f'#!/bin/bash\nPYTHONPATH={CI.parent} exec {sys.executable} -m kitlib.cli "$@"\n')
    command.chmod(0o755)
    code, output = run(checkout, "conformance")
    assert (code, output[-1]) == (1, "0 passed, 1 failed")
    assert any("nosuchkind" in line for line in output)


def test_nightly_stands_alone(checkout: Path) -> None:
    code, output = run(checkout, "nightly", "notebooks")
    assert (code, output[-1]) == (2, ".ci/run: nightly stands alone")
