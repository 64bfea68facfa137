"""No test of the default suite asserts a time: such a test is of the stage `speed` (marker `speed`)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STAGES = ("benchmarks", "browser", "engine", "notebooks", "vm", "workshop")
"""Folders whose tests run in stages of their own."""
CLOCKS = {"monotonic", "perf_counter", "process_time", "time", "thread_time"}


def reads_clock(node: ast.AST) -> bool:
    """Whether an expression asks a clock of Python's module time."""
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in CLOCKS
        and isinstance(one.func.value, ast.Name)
        and one.func.value.id == "time"
        for one in ast.walk(node)
    )


def bounds(text: str) -> list[int]:
    """The lines of tests without the marker that compare a clock with a bound in an assertion."""
    found = []
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            if any("mark.speed" in ast.unparse(one) for one in function.decorator_list):
                continue
            found += [node.lineno for node in ast.walk(function) if isinstance(node, ast.Assert) and reads_clock(node)]
    return found


def test_a_bound_is_found() -> None:
    body = "def test_x():\n    assert time.monotonic() - began < 5\n"
    assert bounds(body) == [2]
    assert bounds("@pytest.mark.speed\n" + body) == []


@pytest.mark.parametrize(
    "folder", sorted(one.name for one in ROOT.iterdir() if one.is_dir() and one.name not in STAGES)
)
def test_no_test_asserts_a_time(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        for line in bounds(path.read_text())
    ]
    assert not found, f"mark these as pytest.mark.speed: {found}"
