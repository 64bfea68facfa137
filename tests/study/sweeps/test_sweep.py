"""A sweep as a whole: the same rows wherever it is computed, resuming, cancelling, and what is refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kitlib import study
from kitlib.api.errors import KitError
from kitlib.study.sweeps import Results, Sweep, SweepProgress, sweep

DATA = {
    "name": "spread",
    "nodes": [{"count": 4, "name": "n${i}", "zone": "z${i % 2}", "cpu": "${choice(1, 2)}"}],
    "pods": [{"count": 5, "name": "p${i}", "cpu": 1, "labels": {"app": "web"}}],
    "order": "shuffled",
}


def what(found: Results) -> list[Any]:
    """Rows without the time that they took."""
    return [(row.point, row.values, row.error) for row in found.rows]


def test_the_same_rows_come_from_this_process_and_from_one_and_two_others() -> None:
    found = [sweep(DATA, {"a": [1]}, ["pending", "zone_skew"], seeds=12, workers=workers) for workers in (0, 1, 2)]
    assert what(found[0]) == what(found[1]) == what(found[2])
    assert found[0].complete and len(found[0].rows) == 12 and not found[0].errors
    assert len({row.values["pending"] for row in found[0].rows}) > 1, "the seed draws the nodes' sizes"
    assert study.sweep is sweep


def test_an_error_is_a_row_and_not_the_end(scenarios: ModuleType) -> None:
    for workers in (0, 1):
        found = sweep(scenarios.fails, {"x": [1, 2, 3, 4]}, workers=workers)
        assert [row.error for row in found.rows] == ["KeyError: 'no 1'", "", "KeyError: 'no 3'", ""]
        assert [row.values for row in found.rows] == [{}, {"value": 2}, {}, {"value": 4}]


def test_a_function_of_a_notebook_runs_in_this_process_and_says_so() -> None:
    def local(x: int) -> int:
        return x

    found = sweep(local, {"x": [1, 2]})
    assert found.complete and found.note.startswith("computed in this process: ")
    with pytest.raises(KitError, match=r"workers=: .* put it into a module, or use workers=0"):
        sweep(local, {"x": [1, 2]}, workers=2)


def test_rows_in_the_file_are_not_computed_again(scenarios: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    sweep(scenarios.noted, {"x": [1, 2, 3]}, workers=0, file=path)
    found = sweep(scenarios.noted, {"x": [2, 3, 4, 5]}, workers=0, file=path)
    assert [row.values["value"] for row in found.rows] == [2, 3, 4, 5]
    assert [line.split()[1] for line in scenarios.lines("computed")] == ["1", "2", "3", "4", "5"]
    assert len(path.read_text().splitlines()) == 6


def test_errors_are_computed_again_when_asked_for(scenarios: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    first = sweep(scenarios.fails, {"x": [1, 2]}, workers=0, file=path)
    again = sweep(scenarios.fails, {"x": [1, 2]}, workers=0, file=path, retry_errors=True)
    assert what(first) == what(again) and len(path.read_text().splitlines()) == 4


def test_what_was_changed_in_the_scenario_is_not_mixed_with_old_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    sweep(DATA, {"a": [1]}, workers=0, file=path)
    with pytest.raises(KitError, match="results of another sweep: scenario_hash is"):
        sweep({**DATA, "order": "given"}, {"a": [1]}, workers=0, file=path)


def test_a_cancelled_sweep_returns_what_it_has_and_goes_on_later(scenarios: ModuleType) -> None:
    cancel, seen = threading.Event(), list[SweepProgress]()

    def look(progress: SweepProgress) -> None:
        seen.append(progress)
        if progress.done == 2:
            cancel.set()

    run = Sweep(scenarios.noted, {"x": [1, 2, 3, 4]})
    part = run.run(workers=0, progress=look, cancel=cancel)
    assert len(part.rows) == 2 and not part.complete
    assert [one.done for one in seen] == [0, 1, 2] and seen[0].left is None and seen[2].left is not None
    whole = run.run(workers=0)
    assert whole.complete and len(scenarios.lines("computed")) == 4


def test_the_progress_line_says_how_far_it_is(capsys: pytest.CaptureFixture[str], scenarios: ModuleType) -> None:
    sweep(scenarios.fails, {"x": [1, 2]}, workers=0, progress=True)
    assert "2 of 2 points, 1 error" in capsys.readouterr().out
    assert str(SweepProgress(10, 2000, 2, 1.0, 199.0)) == "10 of 2,000 points, 2 errors, about 199 s left"


def test_provenance_names_scenario_release_and_kit(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    found = sweep({**DATA, "release": "1.30"}, {"a": [1]}, workers=0, file=path)
    kept = json.loads(path.read_text().splitlines()[0])
    assert kept["release"] == found.provenance.release == "1.30" and kept["scenario"] == "spread"
    assert kept["scenario_hash"] == found.provenance.scenario_hash and len(kept["scenario_hash"]) == 64


def test_releases_are_a_parameter_like_others() -> None:
    found = sweep(DATA, {"release": ["1.24", "1.36"]}, workers=0)
    assert [row.point["release"] for row in found.rows] == ["1.24", "1.36"] and not found.errors
    with pytest.raises(KitError, match=r"9\.99"):
        sweep(DATA, {"release": ["9.99"]}, workers=0)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"workers": -1}, "workers: must be a non-negative number of processes, got -1"),
        ({"workers": 1.5}, "workers: must be a non-negative number"),
        ({"workers": 5000}, "at most 1024"),
        ({"workers": 1, "client": "tcp://x"}, "workers= and client= cannot be used together"),
        ({"timeout": 0}, "timeout: must be a positive number of seconds, got 0"),
        ({"timeout": 1, "workers": 0}, "timeout= cannot be used with workers=0 or client="),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_runs(
    scenarios: ModuleType, more: dict[str, Any], says: str
) -> None:
    with pytest.raises(KitError, match=says):
        sweep(scenarios.noted, {"x": [1]}, **more)
    assert scenarios.lines("computed") == []


def test_a_parameter_that_the_scenario_does_not_take_is_refused(scenarios: ModuleType) -> None:
    with pytest.raises(KitError, match=r"sweep_scenarios:noted\(x\): got an unexpected keyword argument 'y'"):
        sweep(scenarios.noted, {"x": [1], "y": [2]})
