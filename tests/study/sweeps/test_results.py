"""Results: tables, means, shares, a frame with its provenance."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.record import Provenance
from kitlib.study.sweeps.results import Results
from kitlib.study.sweeps.row import SweepRow

FROM = Provenance(
    kitlib="1", scenario="m:f", scenario_hash="0123456789abcdef", metrics=["x"], release="1.36", began="2026"
)
ROWS = [
    SweepRow({"skew": 1, "seed": 0}, {"x": 4, "who": "a"}),
    SweepRow({"skew": 1, "seed": 1}, {"x": 6, "who": "b"}),
    SweepRow({"skew": 2, "seed": 0}, {"x": 1, "who": "a"}),
    SweepRow({"skew": 2, "seed": 1}, {}, "KeyError: 'b'"),
]
FOUND = Results(ROWS, 4, FROM)


def test_the_table_has_parameters_values_and_errors() -> None:
    assert FOUND.table()[0] == {"skew": 1, "seed": 0, "x": 4, "who": "a", "error": ""}
    assert FOUND.table()[3] == {"skew": 2, "seed": 1, "x": None, "who": None, "error": "KeyError: 'b'"}


def test_means_and_shares_leave_errors_out() -> None:
    assert FOUND.mean("x", "skew") == {1: 5, 2: 1}
    assert FOUND.mean("x") == {(): pytest.approx(11 / 3)}
    assert FOUND.share("who", "skew") == {1: {"a": 0.5, "b": 0.5}, 2: {"a": 1.0}}
    assert FOUND.mean("x", "skew", "seed") == {(1, 0): 4, (1, 1): 6, (2, 0): 1}


def test_the_frame_carries_its_provenance() -> None:
    pytest.importorskip("pandas")
    frame = FOUND.frame()
    assert list(frame.columns) == ["skew", "seed", "x", "who", "error", "seconds", "release", "kitlib", "scenario_hash"]
    assert frame.attrs["scenario"] == "m:f" and set(frame["release"]) == {"1.36"}
    assert len(frame) == 4 and frame["x"].isna().sum() == 1


def test_it_says_what_it_is() -> None:
    assert repr(FOUND) == "Sweep of m:f: 4 points, 1 with an error" and FOUND.complete
    part = Results(ROWS[:2], 4, FROM, note="computed in this process: no reason")
    assert repr(part) == "Sweep of m:f: 2 of 4 points (computed in this process: no reason)" and not part.complete


def test_columns_that_there_are_not_are_named() -> None:
    with pytest.raises(KitError, match="no column 'y'; valid values: x, who"):
        FOUND.mean("y")
    with pytest.raises(KitError, match="no column 'zone'; valid values: skew, seed"):
        FOUND.mean("x", "zone")
    with pytest.raises(KitError, match="column 'who': must hold numbers, has 'a'"):
        FOUND.mean("who")
