"""A sweep in a file: what is read, and what is refused by its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.definition import SweepDefinition

TEXT = """
scenario: {nodes: [{name: a, cpu: 2}], pods: [{name: p, cpu: "${cpu}"}]}
grid: {cpu: [1, 3]}
seeds: 2
metric: [pending]
chart: {x: cpu, value: pending}
"""


def test_a_file_is_read_and_run(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(TEXT)
    found = SweepDefinition.read(tmp_path / "s.yaml").sweep().run(workers=0)
    assert found.mean("pending", "cpu") == {1: 0, 3: 1} and found.total == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("5", "the file: must be fields with values, got a whole number"),
        ("grid: {a: [1]}", "the file: Object missing required field 'scenario'"),
        ("{scenario: {}, grid: {a: [1]}, colour: red}", "the file: Object contains unknown field 'colour'"),
        ("{scenario: {}, seeds: many}", "seeds: must be "),
        ("{scenario: {}, chart: {x: a}}", "chart: Object missing required field 'value'"),
        ("{scenario: 'os:getpid'}", "'os:getpid': a sweep file can name only functions of kitlib"),
        ("{scenario: {}, metric: ['os:getpid']}", "'os:getpid': a sweep file can name only functions of kitlib"),
        ("{scenario: {}, metric: {x: 'os:getpid'}}", "'os:getpid': a sweep file can name only functions of kitlib"),
        ("", "the file is empty; a sweep must have scenario, grid and metric"),
        ("[" * 5000, "s.yaml"),
    ],
)
def test_what_is_no_sweep_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(KitError) as error:
        SweepDefinition.read(tmp_path / "s.yaml")
    assert says in str(error.value) and "s.yaml" in str(error.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"none.yaml: No such file"):
        SweepDefinition.read(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KitError, match=r"binary.yaml: not text in UTF-8: byte 0xff at position 0"):
        SweepDefinition.read(tmp_path / "binary.yaml")
