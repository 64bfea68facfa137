"""Replay of cases that real Kubernetes computed: every output field of every case is compared.

A file of cases is JSON Lines, plain or compressed (`NAME.jsonl`, `NAME.jsonl.gz`). For each kind of file there is one
module in this package:

* `FILE`: the kind's name, the file's name without endings;
* `RELEASE`: the release that computed the cases, followed wherever none is named; "" = each case names its own;
* `check(case)`: a case's outputs under the case's own field names;
* `INPUTS` (optional): names of the fields that are inputs; the others are outputs;
* `NESTED_INPUTS` (optional): names of fields inside outputs that are inputs too; they are not compared;
* `prepare(path)` (optional): called once before the first case;
* `compare(case, field, expected, found)` (optional): True where two values of a field mean the same.
* `reduce(field, value)` (optional): a value without machine-specific parts; applied to both sides.
* `attribute(case, difference)` (optional, for observations): the reason of a difference that the runtime or the machine
  causes; "" = a failure. Attributed differences are counted by their reason.

A field that is neither an input nor computed is counted and reported by name.
"""

from __future__ import annotations

import gzip
import importlib
import json
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kitlib.api.boundary import not_utf8
from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES, Release

_NOT_KINDS = ("runner",)


@dataclass(frozen=True)
class CaseDifference:
    """A field of a case with an unexpected value.

    Attributes:
        line: the case's line in the file, from 1.
        field: path of the field, `containers[0].linux.cpuShares`.
        expected: the case's value as JSON; "" = missing.
        found: the kit's value as JSON; "" = missing.
    """

    line: int
    field: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.field}: expected {self.expected or 'nothing'}, found {self.found or 'nothing'}"


class KnownDifference(NamedTuple):
    """A difference between an observation and the kit that the kubelet does not cause.

    Attributes:
        reason: its cause: the observation, the machine or the runtime.
        holds: returns whether a difference of a case has this cause.
    """

    reason: str
    holds: Callable[[Mapping[str, Any], CaseDifference], bool]


@dataclass
class FileResult:
    """The results of one file.

    Attributes:
        path: the file.
        kind: name of the module that checked it.
        passed, failed: numbers of cases.
        unchecked: number of cases by output field that the kit does not compute.
        attributed: number of differences by reason, for reasons other than Kubernetes itself.
        differences: differences of the failed cases, in the order of the file.
    """

    path: Path
    kind: str
    passed: int = 0
    failed: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)
    attributed: Counter[str] = field(default_factory=Counter)
    differences: list[CaseDifference] = field(default_factory=list)

    def __str__(self) -> str:
        named = ", ".join(f"{name} ({count})" for name, count in sorted(self.unchecked.items()))
        text = f"{self.path.name}: {self.passed} passed, {self.failed} failed"
        if named:
            text += f"; not checked: {named}"
        for reason, count in sorted(self.attributed.items()):
            text += f"\n  {count} differences are not Kubernetes': {reason}"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the results as `--json` prints them."""
        return {
            "file": str(self.path),
            "kind": self.kind,
            "passed": self.passed,
            "failed": self.failed,
            "unchecked": dict(sorted(self.unchecked.items())),
            "attributed": dict(sorted(self.attributed.items())),
            "differences": [vars(d) for d in self.differences],
        }


def kinds() -> dict[str, str]:
    """Return the checking module's name by kind."""
    import kitlib.conformance as package

    names = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in _NOT_KINDS and m.name[0] != "_"]
    return {name: f"{package.__name__}.{name}" for name in names}


def kind_of(path: Path) -> str:
    """Return the kind of a file: the longest kind in its name (`hidden-quantity-2.jsonl.gz` is of kind `quantity`).

    Raises:
        KitError: the file's name contains no kind.
    """
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    known = kinds()
    fits = [kind for kind in known if kind in stem.replace("-", "_")]
    if not fits:
        raise KitError(
            f"{path}: the file name does not contain a kind of cases; use --kind with one of {', '.join(sorted(known))}"
        )
    return max(fits, key=len)


def read_cases(path: Path, every: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number, from 1, and the case of each non-empty line.

    Args:
        path: path of the file of cases.
        every: N to decode the first case and every Nth case after it; at least 1.

    Raises:
        KitError: the file cannot be read, or a line is not a JSON object.
    """
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8") if path.name.endswith(".gz") else open(path, encoding="utf-8") as f
        ):
            lines = ((number, line) for number, line in enumerate(f, start=1) if line.strip())
            for number, line in islice(lines, 0, None, every):
                case = json.loads(line)
                if not isinstance(case, dict):
                    raise KitError(f"{path}, line {number}: not a JSON object")
                yield number, case
    except (OSError, EOFError) as error:
        raise KitError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except UnicodeDecodeError as error:
        raise KitError(f"{path}: {not_utf8(error)}") from error
    except ValueError as error:
        raise KitError(f"{path}: not JSON Lines: {error}") from error


def run_file(path: str | Path, kind: str = "", every: int = 1) -> FileResult:
    """Check every case of a file.

    Args:
        path: path of the file of cases.
        kind: kind of the file; "" = by its name.
        every: N to check the first case and every Nth case after it; at least 1.

    Raises:
        KitError: the file cannot be read, or its kind is unknown.
    """
    file = Path(path)
    _check_readable(file)
    wanted = kind or kind_of(file)
    if wanted not in kinds():
        raise KitError(f"unsupported kind {wanted!r} of cases; valid values: {', '.join(sorted(kinds()))}")
    module = importlib.import_module(kinds()[wanted])
    inputs: frozenset[str] = getattr(module, "INPUTS", frozenset())
    nested: frozenset[str] = getattr(module, "NESTED_INPUTS", frozenset())
    same: Callable[..., bool] | None = getattr(module, "compare", None)
    reduce: Callable[[str, Any], Any] = getattr(module, "reduce", lambda name, value: value)
    attribute: Callable[..., str] | None = getattr(module, "attribute", None)
    if hasattr(module, "prepare"):
        module.prepare(file)
    result = FileResult(file, wanted)
    for number, case in read_cases(file, every):
        with Release(module.RELEASE or RELEASES[-1]).following():
            differences = list(_check(module.check, case, inputs, nested, same, number, result.unchecked, reduce))
        if attribute is not None:
            differences = _unexplained(differences, partial(attribute, case), result.attributed)
        if differences:
            result.failed += 1
            result.differences += differences
        else:
            result.passed += 1
    if not result.passed + result.failed:
        raise KitError(f"{file}: no cases in it")
    return result


def _check_readable(file: Path) -> None:
    """Raise an error for an unreadable file before its name is used to find the kind of its cases."""
    try:
        with open(file, "rb"):
            pass
    except OSError as error:
        raise KitError(f"{file}: {error.strerror or error}") from error


def run(paths: Iterable[str | Path], kind: str = "") -> list[FileResult]:
    """Check several files."""
    return [run_file(path, kind) for path in paths]


def _check(
    check: Callable[[dict[str, Any]], Mapping[str, Any]],
    case: dict[str, Any],
    inputs: frozenset[str],
    nested: frozenset[str],
    same: Callable[..., bool] | None,
    number: int,
    unchecked: Counter[str],
    reduce: Callable[[str, Any], Any],
) -> Iterator[CaseDifference]:
    try:
        found = check(case)
    except Exception as error:  # a case that breaks the kit is a failed case, and the next one is still checked
        yield CaseDifference(number, "(error)", "", f"{type(error).__name__}: {error}")
        return
    for name, expected in case.items():
        if name in inputs:
            continue
        if name not in found:
            unchecked[name] += 1
            continue
        expected = _without(expected, nested)
        if same is not None and same(case, name, expected, found[name]):
            continue
        yield from compare_values(number, name, reduce(name, expected), reduce(name, found[name]))
    for name in found:
        if name not in case:
            yield CaseDifference(number, name, "", _json(found[name]))


def _without(value: Any, names: frozenset[str]) -> Any:
    """Return a JSON value without the fields of these names, at any depth."""
    if not names:
        return value
    if isinstance(value, dict):
        return {key: _without(one, names) for key, one in value.items() if key not in names}
    return [_without(one, names) for one in value] if isinstance(value, list) else value


def _unexplained(
    differences: Iterable[CaseDifference], attribute: Callable[[CaseDifference], str], attributed: Counter[str]
) -> list[CaseDifference]:
    """Return the differences without a known reason; count the others by reason in `attributed`."""
    mistakes = []
    for difference in differences:
        reason = attribute(difference)
        if reason:
            attributed[reason] += 1
        else:
            mistakes.append(difference)
    return mistakes


def compare_values(number: int, path: str, expected: Any, found: Any) -> Iterator[CaseDifference]:
    """Yield the places where two JSON values differ; 1 and true are different, 1 and 1.0 are equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(k for k in found if k not in expected)]:
            below = f"{path}.{key}"
            if key not in found:
                yield CaseDifference(number, below, _json(expected[key]), "")
            elif key not in expected:
                yield CaseDifference(number, below, "", _json(found[key]))
            else:
                yield from compare_values(number, below, expected[key], found[key])
    elif isinstance(expected, list) and isinstance(found, list | tuple) and len(expected) == len(found):
        for i, (left, right) in enumerate(zip(expected, found, strict=True)):
            yield from compare_values(number, f"{path}[{i}]", left, right)
    elif isinstance(found, tuple):
        yield from compare_values(number, path, expected, list(found))
    # In Python True equals 1, in JSON it does not.
    elif expected != found or isinstance(expected, bool) != isinstance(found, bool):
        yield CaseDifference(number, path, _json(expected), _json(found))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
