"""What a rehearsal says of its measures, and a small one with a real hub."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from unittest import mock

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.workshop.rehearsal import RehearsalResult, _kill_processes_of, rehearse
from tests.workshop.hub import Place

GB = 10**9
GOOD = {"page": [2.0], "first widget": [20.0], "first check": [13.0]}


def measured(**changes: object) -> RehearsalResult:
    made = RehearsalResult(30, processors=2, memory=16 * GB, available=14 * GB, least=8 * GB, seconds=dict(GOOD))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (measured(), []),
        (measured(least=1 * GB), ["Memory: 1.0 GB of 16.0 GB were left. At most 28 learners, or 16.6 GB"]),
        (measured(refused=3), ["3 times a page had to ask again: raise c.JupyterHub.concurrent_spawn_limit"]),
        (
            measured(seconds={**GOOD, "page": [1.0, 45.0]}),
            ["page: the last learner waited 45 s (more than 20): start servers beforehand"],
        ),
        (measured(seconds={**GOOD, "first check": [70.0]}), ["first check: the last learner waited 70 s"]),
        (
            measured(problems=["ada: server: status 429"], least=1 * GB),
            ["1 of 30 learners met an error: ada: server: status 429", "Memory"],
        ),
    ],
    ids=["a room that starts", "little memory", "pages that asked again", "slow pages", "slow checks", "errors first"],
)
def test_what_breaks_first_is_said_with_what_to_change(found: RehearsalResult, says: list[str]) -> None:
    told = found.findings()
    assert len(told) == len(says) and all(a.startswith(b) for a, b in zip(told, says, strict=True)), told


def test_the_memory_carries_so_many_learners() -> None:
    found = measured()
    assert found.per_learner == 0.2 * GB and found.carries() == 62, "(14 GB less a tenth of 16) / 0.2"
    assert "62" in str(found) and "Nothing to change." in str(found)


def test_processors_grow_with_the_time_that_is_too_long() -> None:
    (said,) = measured(seconds={**GOOD, "first check": [75.0]}).findings()
    assert said.endswith(", 5")  # 2 processors, 75 s instead of 30


def test_a_killed_hub_leaves_no_process(tmp_path: Path) -> None:
    left = subprocess.Popen(["sleep", "60"], env={"KITLIB_HUB_FOLDER": str(tmp_path / "learners")})
    other = subprocess.Popen(["sleep", "60"], env={"KITLIB_HUB_FOLDER": "elsewhere"})
    try:
        _kill_processes_of(tmp_path)
        assert left.wait(10) == -signal.SIGKILL and other.poll() is None
    finally:
        left.kill()
        other.kill()


def test_what_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KitError, match=r"jupyterhub_config.py: no such file; create it with kitlib workshop"):
        rehearse(tmp_path, 3)
    (tmp_path / "jupyterhub_config.py").write_text("")
    with mock.patch.dict(os.environ, {"PATH": ""}), pytest.raises(KitError, match="jupyterhub is not on PATH"):
        rehearse(tmp_path, 3)
    assert cli.main(["workshop", "--rehearse", "3"]) != 0
    assert "--rehearse requires the FOLDER of a recipe" in capsys.readouterr().err


if os.environ.get("KITLIB_NIGHTLY"):  # the gate lives its day on the hub of test_hub.py

    @pytest.mark.workshop
    @pytest.mark.parametrize("expected", [True, False])
    def test_two_learners_rehearse(place: Place, monkeypatch: pytest.MonkeyPatch, expected: bool) -> None:
        monkeypatch.setenv("PATH", place.environment["PATH"])
        monkeypatch.setenv("KITLIB_HUB_SPAWNER", "process")
        said: list[str] = []
        found = rehearse(place.folder / "recipe", 2, said.append, expected=expected)
        assert found.problems == [] and found.refused == 0
        assert (said[0] == "The hub runs; servers are started beforehand.") == (found.beforehand > 0) == expected
        assert 0 < found.least <= found.available
