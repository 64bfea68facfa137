"""The points of a sweep: every combination of the grid's values, and for each of them every seed.

A point is plain data (JSON types), so it can be sent to any process or machine and stored in a file. Its key is the
same text everywhere and identifies it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kitlib.api.boundary import SURROGATE
from kitlib.api.errors import KitError, shortened

MAX_POINTS = 1_000_000
SEED, RELEASE = "seed", "release"
Point = dict[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


def points(grid: Grid, seeds: int | Iterable[int] = ()) -> list[Point]:
    """Return the points in order: the last parameter changes fastest, and seeds faster than any parameter.

    Args:
        grid: values by parameter, or the points themselves.
        seeds: number of seeds, for the seeds 0, 1, …, or the seeds themselves; each becomes the parameter `seed`.

    Raises:
        KitError: there is no point, a value is not plain data, a parameter has no list of values, a point occurs twice,
            or there are more than MAX_POINTS.
    """
    wanted = _seeds(seeds)
    if isinstance(grid, Mapping):
        values = {_name(name): _values(name, given) for name, given in grid.items()}
        count = math.prod(map(len, values.values())) * max(1, len(wanted))
        _check_count(count)
        if wanted and SEED in values:
            raise KitError(f"grid.{SEED}: cannot be used together with seeds=, which sets this parameter")
        made = [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())] if values else []
    elif isinstance(grid, Sequence) and not isinstance(grid, str | bytes):
        _check_count(len(grid) * max(1, len(wanted)))
        made = [_listed(i, one) for i, one in enumerate(grid)]
    else:
        raise KitError(f"grid: must map parameters to lists of values, got {_shown(grid)}")
    if wanted:
        made = [{**one, SEED: seed} for one in made or [{}] for seed in wanted]
    if not made:
        raise KitError("grid: must have at least one parameter with one value, or seeds must be set")
    seen: set[str] = set()
    for one in made:
        if (text := key(one)) in seen:
            raise KitError(f"grid: the point {shortened(text, 200)} occurs twice; each point must be unique")
        seen.add(text)
    return made


def key(point: Mapping[str, Any]) -> str:
    """Return a point's identity: its JSON with sorted names."""
    return msgspec.json.encode(point, order="sorted").decode()


def plain(value: Any, where: str) -> Any:
    """Return a value as JSON decodes it: tuples become lists, numpy scalars become numbers.

    Raises:
        KitError: the value is not plain data, or is a number that is not finite.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise KitError(f"{where}: must be a finite number, got {value}")
    if isinstance(value, str) and SURROGATE.search(value):
        raise KitError(f"{where}: must be valid UTF-8 text, got {shortened(ascii(value), 80)}")
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if isinstance(value, Mapping):
        return {plain(str(name), where): plain(one, f"{where}.{name}") for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, f"{where}[{i}]") for i, one in enumerate(value)]
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        return plain(item(), where)
    try:
        return msgspec.to_builtins(value)
    except TypeError:
        raise KitError(
            f"{where}: must be a number, a string, a boolean, null, or a list or mapping of them, got "
            f"{type(value).__name__}"
        ) from None


def _seeds(seeds: int | Iterable[int]) -> list[int]:
    if isinstance(seeds, bool):
        raise KitError(f"seeds: must be a number of seeds or a list of them, got {seeds}")
    if isinstance(seeds, int):
        if seeds < 0:
            raise KitError(f"seeds: must be a non-negative number, got {seeds}")
        _check_count(seeds)
        return list(range(seeds))
    try:
        made = list(itertools.islice(seeds, MAX_POINTS + 1))
    except TypeError:
        raise KitError(f"seeds: must be a number of seeds or a list of them, got {_shown(seeds)}") from None
    for i, one in enumerate(made):
        if not isinstance(one, int) or isinstance(one, bool):
            raise KitError(f"seeds[{i}]: must be an integer, got {_shown(one)}")
    return made


def _values(name: str, given: Any) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise KitError(f"grid.{name}: must be a list of values, got {_shown(given)}")
    made = list(itertools.islice(given, MAX_POINTS + 1))
    if not made:
        raise KitError(f"grid.{name}: must have at least one value")
    return [plain(one, f"grid.{name}[{i}]") for i, one in enumerate(made)]


def _listed(place: int, one: Any) -> Point:
    if not isinstance(one, Mapping):
        raise KitError(f"grid[{place}]: must map parameters to values, got {_shown(one)}")
    return {_name(name): plain(value, f"grid[{place}].{name}") for name, value in one.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise KitError(f"grid: a parameter's name must be a valid Python identifier, got {_shown(name)}")
    return name


def _check_count(count: int) -> None:
    if count > MAX_POINTS:
        raise KitError(f"grid: {count} points are too many for one sweep; the maximum is {MAX_POINTS}")


def _shown(value: Any) -> str:
    return shortened(repr(value), 80)
