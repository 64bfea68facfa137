"""Mutation testing of the central rules: small changes, each of which the tests of its own area should notice.

    python -m tests.mutants --count 300 --seed 43 --jobs 2

Draws mutants from the rules of kubelet, scheduler, API and validation with a seed, runs the tests of each one's area
on a copy of the tree, and prints the score and the survivors. What an area's own tests do not notice is tried on the
cases that Kubernetes computed for the area (`tests/vectors`, as many of each kind as the default tests check); these
are counted apart. Each area's tests run once without a mutant first: an area that fails then would notice everything,
so its mutants are not counted. `.ci/run nightly` runs this. Exits 1 below `--least` percent of the tests' own score, or
if an area fails without a mutant.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
RULES = (
    "api/defaults/*.py",
    "api/podresources.py",
    "api/resource.py",
    "api/selectors.py",
    "apiserver/validation/pod*.py",
    "kubelet/cm/**/*.py",
    "kubelet/eviction/*.py",
    "kubelet/images/*.py",
    "kubelet/loop/*.py",
    "kubelet/qos/*.py",
    "kubelet/util/*.py",
    "scheduler/plugins/**/*.py",
    "scheduler/queue/*.py",
)
"""Files of kitlib whose code decides something that a user depends on."""
CASES = {
    "api/resource.py": ("quantity",),
    "apiserver/validation/*": ("validation",),
    "kubelet/cm/cpumanager/*": ("cpu_manager", "cpu_manager_reconcile"),
    "kubelet/cm/*": (
        *("cgroup_names", "conversions", "kubelet_files", "node_allocatable", "pod_enforcement", "qos_cgroups"),
    ),
    "kubelet/eviction/*": ("eviction_ranking",),
    "kubelet/qos/*": ("eviction_ranking", "pod_enforcement"),
    "kubelet/loop/*": ("kubelet_dynamics",),
    "scheduler/plugins/dynamicresources/*": ("scheduler_dra",),
    "scheduler/plugins/default_preemption.py": ("preemption", "scheduler_fresh_preempt"),
    "scheduler/plugins/*volume*": ("scheduler_fresh_volumes", "timemachine_volumes"),
    "scheduler/plugins/*": (
        *("scheduler_filter_score", "scheduler_fresh_affinity", "scheduler_fresh_mixed", "scheduler_fresh_resources"),
        *("scheduler_fresh_spread", "scheduler_fresh_taints"),
    ),
    "scheduler/queue/*": ("queue", "scheduling_sequence"),
}
"""Files below kitlib -> the kinds of recorded cases about their rules; the first pattern that fits counts."""
OPERATORS = {
    ">": ">=",
    ">=": ">",
    "<": "<=",
    "<=": "<",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
    "and": "or",
    "or": "and",
    "+": "-",
    "-": "+",
    "//": "*",
}
_BETWEEN = re.compile(r"not\s+in|is\s+not|[<>=!]=|//|in|is|and|or|[<>+-]")


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        file: path below kitlib.
        start, end: offsets of the replaced text, in characters.
        text: what replaces it.
        line: number of the line.
        shown: the change in words.
    """

    file: str
    start: int
    end: int
    text: str
    line: int
    shown: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.shown}"


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return every mutant of a module: comparisons, logic, sums and whole numbers inside functions."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = source.encode()

    def at(line: int, column: int) -> int:
        return len(data[: starts[line - 1] + column].decode())

    def place(start: int, end: int, text: str, line: int) -> Mutant:
        before = " ".join(source[start:end].split())
        whole = source.splitlines()[line - 1].strip()
        return Mutant(file, start, end, text, line, f"{before} -> {text or 'nothing'} in `{whole}`")

    found: list[Mutant] = []
    for node in _of_functions(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=[right]):
                pair = (left, right)
            case ast.BoolOp(values=[first, second, *_]):
                pair = (first, second)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.FloorDiv(), right=right):
                pair = (left, right)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                start = at(node.lineno, node.col_offset)
                found.append(place(start, start + len("not"), "", node.lineno))
                assert inner
                continue
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                start, end = at(node.lineno, node.col_offset), at(node.end_lineno or 0, node.end_col_offset or 0)
                found.append(place(start, end, str(value + 1), node.lineno))
                continue
            case _:
                continue
        start = at(pair[0].end_lineno or 0, pair[0].end_col_offset or 0)
        end = at(pair[1].lineno, pair[1].col_offset)
        operator = _BETWEEN.search(source[start:end])
        if operator is not None:
            known = " ".join(operator[0].split())
            line = source.count("\n", 0, start + operator.start()) + 1
            found.append(place(start + operator.start(), start + operator.end(), OPERATORS[known], line))
    return sorted(found, key=lambda one: (one.start, one.text))


def _of_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of functions' bodies, without annotations, docstrings, messages of errors and assertions."""
    waiting: list[ast.AST] = [
        statement
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
        for statement in node.body
    ]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.FunctionDef):
            continue
        seen.add(id(node))
        yield node
        skipped = {id(node.annotation)} if isinstance(node, ast.AnnAssign) else set()
        waiting += [one for one in ast.iter_child_nodes(node) if id(one) not in skipped]


def area(file: str, root: Path = ROOT) -> list[str]:
    """Return the tests of a module's own area: first those that mirror it, then the others of its folder."""
    path = Path(file)
    folder, tests = path.parent, root / "tests"
    name = folder.name if path.stem == "__init__" else path.stem
    above = tests / folder.parent
    own = [*(tests / folder).glob(f"test_{name}.py"), *(tests / folder).glob(f"test_{name}_*.py")]
    near = [  # a package's tests may be a family of files, a folder, or both
        *sorted(above.glob(f"test_{folder.name}.py")),
        *sorted(above.glob(f"test_{folder.name}_*.py")),
        *sorted((tests / folder).glob("test_*.py")),
    ]
    found = dict.fromkeys([*sorted(own), *(near or sorted(above.glob("test_*.py")))])
    return [one.relative_to(root).as_posix() for one in found]


def cases(file: str) -> list[str]:
    """Return the tests of the recorded cases about a module's rules."""
    kinds = next((kinds for pattern, kinds in CASES.items() if fnmatch(file, pattern)), ())
    return [f"tests/conformance/test_vectors.py::test_every_case_comes_out_as_in_kubernetes[{kind}]" for kind in kinds]


def drawn(count: int, seed: int, files: list[str]) -> list[Mutant]:
    """Return so many mutants of these files, drawn with the seed."""
    every = [one for file in files for one in mutants_of(file, (ROOT / "kitlib" / file).read_text(encoding="utf-8"))]
    return random.Random(seed).sample(every, min(count, len(every)))


def counted(mutants: list[Mutant], failing: set[tuple[str, ...]]) -> list[Mutant]:
    """Return the mutants of the areas whose tests and recorded cases pass without a mutant."""
    return [one for one in mutants if not {tuple(sorted(area(one.file))), tuple(cases(one.file))} & failing]


class Copy:
    """A copy of the package beside links to everything else, in which mutants are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for path in ROOT.iterdir():
            if path.name not in ("kitlib", "artifacts"):
                (folder / path.name).symlink_to(path)
        shutil.copytree(ROOT / "kitlib", folder / "kitlib")

    def noticed_by(self, mutant: Mutant, seconds: float) -> str:
        """Return what notices a mutant: `tests`, `cases`, or "" for nothing; tests that take too long notice it."""
        path = self.folder / "kitlib" / mutant.file
        source, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(source[: mutant.start] + mutant.text + source[mutant.end :], encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + 1000))  # compiled files are known by it
        try:
            if not self.passes(area(mutant.file), seconds):
                return "tests"
            recorded = cases(mutant.file)
            return "cases" if recorded and not self.passes(recorded, seconds) else ""
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))

    def passes(self, tests: list[str], seconds: float) -> bool:
        """Whether these tests pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, timeout=seconds, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="number of mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=43, help="seed of the draw (default: 43)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants that are tried at once (default: 2)")
    parser.add_argument("--least", type=int, default=0, help="percent that must be noticed (default: 0)")
    parser.add_argument("--seconds", type=float, default=300, help="limit of one mutant's tests (default: 300)")
    parser.add_argument("files", nargs="*", default=RULES, help="patterns below kitlib (default: the central rules)")
    given = parser.parse_args()
    package = ROOT / "kitlib"
    files = sorted({path.relative_to(package).as_posix() for glob in given.files for path in package.glob(glob)})
    mutants, by = drawn(given.count, given.seed, files), Counter[str]()
    survivors: list[Mutant] = []
    print(f"{len(mutants)} mutants of {len(files)} files, seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kitlib-mutants-") as place, ThreadPoolExecutor(given.jobs) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(given.jobs):
            folder = Path(place, str(number))
            folder.mkdir()
            copies.put(Copy(folder))

        def passes(tests: tuple[str, ...]) -> bool:
            copy = copies.get()
            try:
                return copy.passes(list(tests), given.seconds)
            finally:
                copies.put(copy)

        areas = sorted({tuple(sorted(area(one.file))) for one in mutants} | {tuple(cases(one.file)) for one in mutants})
        areas = [tests for tests in areas if tests]
        failing = {tests for tests, passed in zip(areas, pool.map(passes, areas), strict=True) if not passed}
        for tests in sorted(failing):
            print(f"NOT COUNTED, fails without a mutant: {' '.join(tests)}", flush=True)
        mutants = counted(mutants, failing)

        def tried(mutant: Mutant) -> tuple[Mutant, str]:
            copy = copies.get()
            try:
                return mutant, copy.noticed_by(mutant, given.seconds)
            finally:
                copies.put(copy)

        for mutant, noticed in pool.map(tried, mutants):
            print(f"{noticed or 'SURVIVED':8} {mutant}", flush=True)
            by[noticed] += 1
            if not noticed:
                survivors.append(mutant)
    percent = 100 * by["tests"] // max(len(mutants), 1)
    print(f"\n{by['tests']} of {len(mutants)} mutants noticed by the tests of their own area: {percent}%")
    both = by["tests"] + by["cases"]
    print(f"{both} by these tests or by the area's recorded cases: {100 * both // max(len(mutants), 1)}%")
    print("\n".join(f"  {area(one.file)}: {one}" for one in survivors))
    return int(percent < given.least or bool(failing))


if __name__ == "__main__":
    sys.exit(main())
