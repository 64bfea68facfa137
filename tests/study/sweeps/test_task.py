"""A task: functions by their names, data, metrics, and what one point's row holds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.task import Task, imported, reference, task_of

NODES = {"nodes": [{"name": "a", "cpu": 1}], "pods": [{"name": "p", "cpu": "${cpu}"}]}


def test_data_is_measured_by_the_names_of_metrics() -> None:
    row = Task(NODES, ["pending", "nodes_used"]).evaluate({"cpu": 2})
    assert row.values == {"pending": 1, "nodes_used": 0} and row.error == "" and row.seconds > 0
    assert Task(NODES).evaluate({"cpu": 1}).values == {"pending": 0}
    assert Task(NODES, {"waits": "pending"}).evaluate({"cpu": 2}).values == {"waits": 1}


def test_what_a_function_returns_has_a_column_a_key() -> None:
    assert Task(lambda a: {"twice": 2 * a, "list": (a,)}).evaluate({"a": 3}).values == {"twice": 6, "list": [3]}
    assert Task(lambda a: a + 1).evaluate({"a": 3}).values == {"value": 4}


def test_a_metric_reads_what_the_scenario_returned() -> None:
    def half(outcome: float) -> float:
        return outcome / 2

    assert Task(lambda a: a, half).evaluate({"a": 3}).values == {"half": 1.5}
    assert Task(lambda a: a, {"h": half, "same": lambda x: x}).evaluate({"a": 3}).values == {"h": 1.5, "same": 3}


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda a: 1 // 0, "ZeroDivisionError: "),
        (lambda a: {}["x"], "KeyError: 'x'"),
        (lambda a: float("nan"), "KitError: value: must be a finite number, got nan"),
        (lambda a: object(), "KitError: value: must be a number, a string"),
        (lambda a: {"a": 1}, "KitError: metric: column 'a' has the same name as a parameter"),
        (lambda a: {"error": 1}, "KitError: metric: column 'error' has the same name"),
        (lambda a: exit(3), "SystemExit: 3"),
        (lambda a: {}["\udcff"], "KeyError: '\\udcff'"),
        (lambda a: Path("\udcff").read_text(), "FileNotFoundError: "),
        (lambda a: "\udcff", "KitError: value: must be valid UTF-8 text"),
    ],
)
def test_whatever_is_raised_stands_in_the_row(function: Any, error: str) -> None:
    row = Task(function).evaluate({"a": 1})
    assert row.error.startswith(error) and row.values == {}
    assert msgspec.json.decode(msgspec.json.encode(row)) == msgspec.to_builtins(row)


def test_the_global_random_generator_begins_anew_at_every_point_and_is_put_back() -> None:
    task = Task(lambda seed: random.random())
    random.seed(5)
    state = random.getstate()
    first = task.evaluate({"seed": 1}).values
    assert task.evaluate({"seed": 2}).values != first == task.evaluate({"seed": 1}).values
    assert random.getstate() == state


def test_a_task_travels_as_data() -> None:
    task = Task(NODES, {"waits": "pending", "full": "cpu_percent"})
    assert task.work is not None
    again = task_of(msgspec.json.encode(task.work))
    assert again.evaluate({"cpu": 1}).values == task.evaluate({"cpu": 1}).values == {"waits": 0, "full": 100.0}
    several = Task("math:sqrt", ["math:floor", "math:ceil"])
    assert several.work is not None and Task.of(several.work)._metrics == several._metrics


def test_a_function_that_cannot_be_imported_elsewhere_is_said_to_be_so() -> None:
    task = Task(lambda a: a)
    assert task.work is None and "cannot be imported by its name" in task.why_local
    assert Task(imported).work is not None and Task(imported).name == reference(imported)


def test_the_hash_follows_the_data_and_the_metric() -> None:
    digests = {
        Task(NODES).digest(),
        Task({**NODES, "order": "shuffled"}).digest(),
        Task(NODES, ["placed"]).digest(),
        Task(imported).digest(),
        Task(reference).digest(),
    }
    assert len(digests) == 5 and Task(NODES).digest() == Task(dict(reversed(NODES.items()))).digest()


@pytest.mark.parametrize(
    ("scenario", "metric", "says"),
    [
        ("no_such_module:f", None, "scenario 'no_such_module:f': No module named"),
        ("math:no_such", None, "scenario 'math:no_such': .*no_such"),
        ("math", None, "scenario: must be module:function, got 'math'"),
        ("math:pi", None, "scenario 'math:pi': must be a function, got float"),
        (5, None, "scenario: must be a function or a mapping, got 5"),
        ({"nodes": [object()]}, None, r"scenario.nodes\[0\]: must be a number, a string"),
        (NODES, "no_such", "metric: 'no_such': valid values: pending, placed"),
        (NODES, 5, "metric: must be a name, a function or a mapping of them, got 5"),
        (NODES, [5], "metric: 5: valid values"),
        (NODES, {"x": None}, "metric: None: valid values"),
    ],
)
def test_what_is_no_task_is_refused_by_name(scenario: Any, metric: Any, says: str) -> None:
    with pytest.raises(KitError, match=says):
        Task(scenario, metric)


def test_parameters_that_the_function_does_not_take_are_named_before_anything_runs() -> None:
    with pytest.raises(KitError, match=r"got an unexpected keyword argument 'b'; the parameters of the grid are a, b"):
        Task(lambda a: a).check({"a": 1, "b": 2})
    with pytest.raises(KitError, match=r"missing a required argument: 'b'; the parameters of the grid are a"):
        Task(lambda a, b: a).check({"a": 1})
