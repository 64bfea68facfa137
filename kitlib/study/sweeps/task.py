"""The work of a sweep at each point: a scenario and its metrics, as names and data that any process can import.

A scenario is a function that can be imported (`module:function`), called with the point's parameters by name, or data
(see `template`). A metric reads the scenario's result: a name of `metrics.METRICS`, or a function that can be imported.
A function that other processes cannot import (of a notebook's cell) runs in this process, or on Dask, which pickles it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from kitlib.api.boundary import SURROGATE
from kitlib.api.convert import decoder
from kitlib.api.errors import KitError, shortened
from kitlib.study.sweeps import template
from kitlib.study.sweeps.grid import Point, key, plain
from kitlib.study.sweeps.metrics import METRICS
from kitlib.study.sweeps.row import SweepRow

Scenario = Callable[..., Any] | Mapping[str, Any] | str
Metric = Callable[[Any], Any] | str | Sequence[str] | Mapping[str, "Callable[[Any], Any] | str"] | None
MAX_ERROR = 500


class Work(msgspec.Struct, frozen=True):
    """A task as plain data.

    Attributes:
        scenario: `module:function`, or the data of a template.
        metrics: (column, metric); a metric is a name of METRICS or `module:function`, column "" = its own columns.
    """

    scenario: str | dict[str, Any]
    metrics: list[tuple[str, str]]


class Task:
    """A scenario and its metrics, checked.

    Args:
        scenario, metric: arguments of `sweep`.

    Attributes:
        name: name of the scenario, for readers.
        work: the task as data; None if another process cannot import a function.
        why_local: why `work` is None.

    Raises:
        KitError: a function or metric is unknown, or the data is invalid.
    """

    def __init__(self, scenario: Scenario, metric: Metric = None) -> None:
        self._template: dict[str, Any] | None = None
        self._function: Callable[..., Any] | None = None
        if isinstance(scenario, Mapping):
            self._template = plain(scenario, "scenario")
            self.name = str(scenario.get("name") or scenario.get("title") or "scenario")
        else:
            self._function = imported(scenario, "scenario") if isinstance(scenario, str) else scenario
            if not callable(self._function):
                raise KitError(f"scenario: must be a function or a mapping, got {shortened(repr(scenario), 80)}")
            self.name = reference(self._function)
        self._metrics = _metrics(metric, self._template is not None)
        functions = [one for one in (self._function, *(m for _, m in self._metrics)) if one is not None]
        self.why_local = next((why for function in functions if (why := _not_importable(function))), "")
        self.work: Work | None = None
        if not self.why_local:
            named = [(column, _metric_name(one)) for column, one in self._metrics]
            self.work = Work(self._template if self._template is not None else self.name, named)

    @classmethod
    def of(cls, work: Work) -> Task:
        """Return the task of encoded work."""
        made = cls(work.scenario)
        made._metrics = [(column, _one_metric(one)) for column, one in work.metrics]
        return made

    def digest(self) -> str:
        """Return the SHA-256 of the scenario and its metrics: data by its contents, functions by name and source."""
        parts: list[Any] = [self._template] if self._template is not None else [_source(self._function)]
        parts += [[column, _metric_name(one), _source(one)] for column, one in self._metrics]
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()

    def metric_names(self) -> list[str]:
        """Return the columns' names, or the metrics' names if they have their own columns."""
        return [column or _metric_name(one) for column, one in self._metrics]

    def check(self, point: Point) -> None:
        """Check that the scenario's function accepts the point's parameters.

        Raises:
            KitError: it does not.
        """
        if self._function is None:
            return
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # a built-in function has none
            return
        try:
            signature.bind(**point)
        except TypeError as error:
            raise KitError(
                f"scenario {self.name}{signature}: {error}; the parameters of the grid are {', '.join(point)}"
            ) from None

    def evaluate(self, point: Point) -> SweepRow:
        """Return the row of a point; an exception becomes the row's error.

        Python's global random generator is seeded from the point's key, so that a row depends neither on the points
        before it nor on the process that computes it.
        """
        before, began = random.getstate(), time.perf_counter()
        random.seed(key(point))
        values: dict[str, Any] = {}
        error = ""
        try:
            values = self._values(point)
        except (Exception, SystemExit) as raised:
            error = SURROGATE.sub("?", shortened(f"{type(raised).__name__}: {raised}", MAX_ERROR))
        finally:
            random.setstate(before)
        return SweepRow(point, values, error, round(time.perf_counter() - began, 6))

    def _values(self, point: Point) -> dict[str, Any]:
        outcome = template.run(self._template, point) if self._template is not None else self._call(point)
        found: dict[str, Any] = {}
        measured = [(column or _column(metric), not column, metric(outcome)) for column, metric in self._metrics]
        for name, spread, value in measured or [("value", True, outcome)]:
            if isinstance(value, Mapping) and spread:
                found |= {str(one): plain(inside, str(one)) for one, inside in value.items()}
            else:
                found[name] = plain(value, name)
        clash = sorted(set(found) & {*point, "error", "seconds"})
        if clash:
            raise KitError(
                f"metric: column {clash[0]!r} has the same name as a parameter or another column of the sweep"
            )
        return found

    def _call(self, point: Point) -> Any:
        assert self._function is not None
        return self._function(**point)


@lru_cache(maxsize=8)
def task_of(work: bytes) -> Task:
    """Return the task of encoded work; it is created once a process."""
    return Task.of(decoder(Work).decode(work))


def imported(name: str, where: str) -> Callable[..., Any]:
    """Return the function `module:function`.

    Raises:
        KitError: the module or function cannot be imported.
    """
    module, _, path = name.partition(":")
    if not module or not path:
        raise KitError(f"{where}: must be module:function, got {shortened(name, 80)!r}")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise KitError(f"{where} {shortened(name, 80)!r}: {error}") from None
    except Exception as error:  # the module's own
        what = shortened(f"{type(error).__name__}: {error}", 200)
        raise KitError(f"{where} {shortened(name, 80)!r}: cannot be imported: {what}") from None
    if not callable(found):
        raise KitError(f"{where} {shortened(name, 80)!r}: must be a function, got {type(found).__name__}")
    return found


def reference(function: Callable[..., Any]) -> str:
    """Return a function's name in the form that `imported` reads."""
    module = getattr(function, "__module__", "") or "?"
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _metrics(metric: Metric, from_data: bool) -> list[tuple[str, Callable[[Any], Any]]]:
    if metric is None:
        return [("pending", METRICS["pending"])] if from_data else []
    if isinstance(metric, Mapping):
        return [(str(column), _one_metric(one)) for column, one in metric.items()]
    if isinstance(metric, str):
        return [(metric if metric in METRICS else "", _one_metric(metric))]
    if callable(metric):
        return [("", metric)]
    if isinstance(metric, Sequence):
        return [(one if isinstance(one, str) and one in METRICS else "", _one_metric(one)) for one in metric]
    raise KitError(f"metric: must be a name, a function or a mapping of them, got {shortened(repr(metric), 80)}")


def _one_metric(one: Any) -> Callable[[Any], Any]:
    if isinstance(one, str) and one in METRICS:
        return METRICS[one]
    if isinstance(one, str) and ":" in one:
        return imported(one, "metric")
    if callable(one):
        return one
    raise KitError(
        f"metric: {shortened(repr(one), 80)}: valid values: {', '.join(METRICS)}, module:function, or a function"
    )


def _metric_name(metric: Callable[[Any], Any]) -> str:
    return next((name for name, one in METRICS.items() if one is metric), None) or reference(metric)


def _column(metric: Callable[[Any], Any]) -> str:
    return str(getattr(metric, "__name__", "value"))


def _not_importable(function: Callable[..., Any]) -> str:
    """Return why another process cannot import a function; "" = it can."""
    name = reference(function)
    if getattr(function, "__module__", "") in ("", None, "__main__"):
        return f"{name.partition(':')[2]} is defined in this notebook or script, not in a module"
    try:
        same = imported(name, "scenario") is function
    except KitError:
        same = False
    return "" if same else f"{name} cannot be imported by its name"


def _source(function: Callable[..., Any] | None) -> str:
    if function is None:
        return ""
    try:
        return f"{reference(function)}\n{inspect.getsource(function)}"
    except (OSError, TypeError):
        return reference(function)
