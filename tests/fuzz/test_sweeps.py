"""Sweeps: definitions and grids as files, scenarios with parameters, results files from which one goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitlib.api.errors import KitError
from kitlib.examples import sweeps as examples
from kitlib.study.sweeps import Results
from kitlib.study.sweeps.definition import SweepDefinition
from kitlib.study.sweeps.sweep import Sweep
from tests.fuzz.mutate import Mutator, fuzz, part, share, small

SMALL: dict[str, Any] = {
    "scenario": {
        "name": "small",
        "seconds": 1,
        "nodes": [{"count": "${n}", "name": "n${i}", "zone": "z-${i % 2}", "cpu": "${choice(1, 2)}", "memory": "4Gi"}],
        "pods": [{"count": 2, "name": "p${i}", "cpu": "${n * 250}m", "labels": {"app": "x"}}],
    },
    "grid": {"n": [1, 2]},
    "seeds": 2,
    "metric": ["pending", "zone_skew"],
    "chart": {"x": "n", "value": "pending"},
}
EXPRESSIONS = (
    "${n ** 9}",
    "${'a' * 10}",
    "${choice()}",
    "${between(3, 1)}",
    "${i}",
    "${n / 0}",
    "${[n]}",
    "${n",
    "${__import__}",
)


def definitions() -> list[Any]:
    folder = Path(examples.__file__).parent / "sweeps"
    return [SMALL, *(yaml.safe_load(one.read_text()) for one in sorted(folder.glob("*.yaml")))]


def test_definitions(note: Any, tmp_path: Path) -> None:
    known, path = definitions(), tmp_path / "sweep.yaml"

    def make(mutator: Mutator) -> bytes:
        data = mutator.value(share(known, mutator))
        text = json.dumps(data, default=str).encode("utf-8", "surrogatepass")
        return mutator.text(text) if mutator.random.random() < 0.3 else text

    def run(text: bytes) -> None:
        path.write_bytes(text)
        SweepDefinition.read(path).sweep()

    note(fuzz(make, run, KitError, part(100)))


def test_small_sweeps_run(note: Any) -> None:
    """What the definition lets pass is computed, or the row says what was wrong."""

    def make(mutator: Mutator) -> Any:
        data = (mutator.near if mutator.random.random() < 0.7 else mutator.value)(SMALL)
        if mutator.random.random() < 0.3:
            data = json.loads(
                json.dumps(data, default=str).replace("${n}", share(EXPRESSIONS, mutator).replace('"', "'"))
            )
        return small(data)

    def run(data: Any) -> None:
        if not isinstance(data, dict):
            return
        made = Sweep(data.get("scenario"), data.get("grid"), data.get("metric"), seeds=data.get("seeds") or ())
        made.points[8:] = []
        found = made.run(workers=0)
        assert len(found.rows) == len(made.points) and found.table() is not None
        assert not any("Traceback" in row.error for row in found.rows)

    note(fuzz(make, run, KitError, part(400)))


def test_a_name_that_utf8_cannot_hold_is_refused() -> None:
    with pytest.raises(KitError, match=r"scenario\.pods\[0\]: must be valid UTF-8 text"):
        Sweep({"pods": [{"\ud800": 1}]}, {"n": [1]}, ["pending"])


def test_results_files(note: Any, tmp_path: Path) -> None:
    """A damaged file is refused as it is, or every point has one row in the end."""
    path = tmp_path / "rows.jsonl"
    plain = {**SMALL["scenario"], "nodes": [{"name": "n", "cpu": 1, "memory": "1Gi"}], "pods": []}
    grid, metric = {"n": [1, 2]}, ["pending"]
    Sweep(plain, grid, metric).run(workers=0, file=path)
    whole = path.read_bytes()

    def make(mutator: Mutator) -> bytes:
        if mutator.random.random() < 0.5:
            return mutator.text(whole)
        lines = [json.loads(line) for line in whole.splitlines()]
        place = mutator.random.randrange(len(lines))
        lines[place] = mutator.value(lines[place])
        return b"".join(json.dumps(one, default=str).encode("utf-8", "surrogatepass") + b"\n" for one in lines)

    def run(content: bytes) -> None:
        path.write_bytes(content)
        try:
            found: Results = Sweep(plain, grid, metric).run(workers=0, file=path)
        except KitError:
            assert path.read_bytes() == content
            raise
        assert [row.point for row in found.rows] == [{"n": 1}, {"n": 2}] and found.complete
        assert found.table() and repr(found)

    note(fuzz(make, run, KitError, part(100)))
