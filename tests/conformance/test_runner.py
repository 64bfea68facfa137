"""The replay itself: what it compares, what it says, and that it cannot be satisfied by looking away."""

import gzip
import json

import pytest

from kitlib.api.errors import KitError
from kitlib.conformance.runner import kind_of, run_file

CASE = {"op": "parse", "in": "500m", "string": "500m", "value": 1, "milli": 500, "sign": 1, "format": "DecimalSI"}


def file_of(tmp_path, *cases, name="quantity.jsonl"):
    path = tmp_path / name
    text = "\n".join(json.dumps(case) for case in cases)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_a_right_case_passes_plain_and_compressed(tmp_path):
    case = CASE | {"dec": "0.5"}
    for name in ("quantity.jsonl", "hidden-quantity-7.jsonl.gz"):
        result = run_file(file_of(tmp_path, case, name=name))
        assert (result.passed, result.failed) == (1, 0)


@pytest.mark.parametrize("field", ["string", "value", "milli", "sign", "format", "dec"])
def test_every_output_field_is_compared(tmp_path, field):
    case = CASE | {"dec": "0.5"}
    case[field] = 7 if isinstance(case[field], int) else "7"
    result = run_file(file_of(tmp_path, case))
    assert result.failed == 1
    assert result.differences[0].field == field


def test_an_output_that_the_case_does_not_have_is_a_difference(tmp_path):
    result = run_file(file_of(tmp_path, CASE))
    assert [d.field for d in result.differences] == ["dec"]


def test_a_field_that_is_not_checked_is_counted_and_named(tmp_path):
    result = run_file(file_of(tmp_path, CASE | {"dec": "0.5", "colour": "blue"}))
    assert str(result) == "quantity.jsonl: 1 passed, 0 failed; not checked: colour (1)"


def test_a_case_that_breaks_the_kit_fails_and_the_next_is_checked(tmp_path):
    result = run_file(file_of(tmp_path, {"op": "parse"}, CASE | {"dec": "0.5"}))
    assert (result.passed, result.failed) == (1, 1)
    assert "KeyError" in result.differences[0].found


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "no cases"), (b"[1]", "line 1: not a JSON object"), (b"{", "not JSON Lines")],
)
def test_a_file_that_is_none_is_refused(tmp_path, content, problem):
    path = tmp_path / "quantity.jsonl"
    path.write_bytes(content)
    with pytest.raises(KitError, match=problem):
        run_file(path)


def test_the_kind_is_the_longest_name_in_the_files_name(tmp_path):
    assert kind_of(tmp_path / "my-qos-cgroups.jsonl") == "qos_cgroups"
    with pytest.raises(KitError, match="say --kind"):
        kind_of(tmp_path / "what.jsonl")
