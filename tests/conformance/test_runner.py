"""The replay itself: what it compares, what it says, and that it cannot be satisfied by looking away."""

import gzip
import json
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.conformance.runner import kind_of, run_file

VECTORS = Path(__file__).parents[1] / "vectors"
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


def test_a_sample_is_the_first_case_and_every_nth_after_it(tmp_path):
    right, wrong = CASE | {"dec": "0.5"}, CASE | {"dec": "7"}
    path = file_of(tmp_path, right, wrong, right, wrong)
    assert [(r.passed, r.failed) for r in (run_file(path), run_file(path, every=2))] == [(2, 2), (2, 0)]
    assert run_file(path, every=99).passed == 1


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
    with pytest.raises(KitError, match="use --kind"):
        kind_of(tmp_path / "what.jsonl")


def sequences(change=None):
    """Cases of the CPU manager in which a pod is added; `change` is made to the expected results of its containers."""
    with gzip.open(VECTORS / "cpu_manager.jsonl.gz", "rt") as file:
        for case in map(json.loads, file):
            added = [step for step in case.get("steps", ()) if step["op"] == "addPod" and step["result"]]
            if added:
                for step in added if change else ():
                    change(step["result"])
                yield case


def drop_the_last(result):
    del result[-1]


def assign_otherwise(result):
    result[0]["assigned"] = "4000"


def another_default(result):
    result[-1]["default"] = "4000"


@pytest.mark.parametrize("change", [drop_the_last, assign_otherwise, another_default])
def test_an_expectation_of_the_cpu_manager_that_is_changed_fails_in_every_case(tmp_path, change):
    whole = run_file(file_of(tmp_path, *sequences(), name="cpu_manager.jsonl"))
    assert (whole.passed > 50, whole.failed) == (True, 0)
    result = run_file(file_of(tmp_path, *sequences(change), name="cpu_manager.jsonl"))
    assert (result.passed, result.failed) == (0, whole.passed)


def test_the_numa_nodes_of_a_case_are_an_input_and_decide_what_is_assigned(tmp_path):
    """A case whose topology manager had chosen other nodes comes out otherwise: the field is used, not echoed."""

    def move(result):
        for one in result:
            if one.get("numaAffinity") == [1] and one.get("assigned"):
                one["numaAffinity"] = [0]
                moved.append(one)

    moved = []
    cases = []
    for case in sequences():
        before = len(moved)
        for step in case["steps"]:
            move(step.get("result", ()))
        cases += [case] if len(moved) > before else []
    result = run_file(file_of(tmp_path, *cases, name="cpu_manager.jsonl"))
    assert len(cases) >= 5
    assert result.failed >= len(cases) - 1
