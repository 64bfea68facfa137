"""The logic keeps no state in modules: two clusters in two threads never influence each other.

Allowed are results of pure functions that `functools` keeps, and what belongs to the process by its nature (`ALLOWED`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rooms import KITLIB

ROOMS = ("api", "apiserver", "cel", "kubelet", "scheduler")
ALLOWED = {
    ("api/collector.py", "_full"): "Python has one garbage collector, whose thresholds clusters share",
    (
        "scheduler/incremental/signature_answers.py",
        "_KINDS",
    ): "numbers that only have to differ; a thread gets each once",
}
CHANGES = {
    *(
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
    ),
    *("popleft", "put", "remove", "setdefault", "sort", "update"),
}


def assigned(node: ast.AST) -> list[ast.expr]:
    """The targets of an assignment or deletion."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            return [target]
    return []


def of_module(tree: ast.Module) -> set[str]:
    """The names that a module defines as values, and those that it imports."""
    found = {one.id for node in tree.body for one in assigned(node) if isinstance(one, ast.Name)}
    imported = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    return found | {alias.asname or alias.name for alias in imported}


def changed_in(function: ast.AST, names: set[str]) -> Iterator[tuple[int, str]]:
    """The module's names that a function changes, with the line."""
    own = {arg.arg for node in ast.walk(function) if isinstance(node, ast.arguments) for arg in _all(node)}
    own |= {
        one.id
        for node in ast.walk(function)
        for target in [*assigned(node), *([node.target] if isinstance(node, ast.NamedExpr) else [])]
        for one in ast.walk(target)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            yield from ((node.lineno, name) for name in node.names)
        places: list[ast.expr] = [one for one in assigned(node) if isinstance(one, ast.Attribute | ast.Subscript)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            places.append(node.func)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next":
            places += [one for one in node.args[:1] if isinstance(one, ast.Attribute | ast.Name)]
        for place in places:
            while isinstance(place, ast.Attribute | ast.Subscript):
                place = place.value
            if isinstance(place, ast.Name) and place.id in names - own:
                yield node.lineno, place.id


def _all(arguments: ast.arguments) -> list[ast.arg]:
    more = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def state_of(text: str) -> list[tuple[int, str]]:
    """Line and name of each change of a module's value by a function of a module."""
    tree = ast.parse(text)
    names = of_module(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sorted({one for function in functions for one in changed_in(function, names)})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("budget = Namespace(left=0)\ndef charge(n):\n    budget.left -= n", ["budget"]),
        ("from a import budget\ndef charge(n):\n    budget.left -= n", ["budget"]),
        ("seen = set()\ndef meet(x):\n    seen.add(x)", ["seen"]),
        ("made: dict = {}\ndef of(x):\n    made[x] = 1", ["made"]),
        ("made = {}\ndef of(x):\n    made[x].pop()", ["made"]),
        ("numbers = count()\ndef number():\n    return next(numbers)", ["numbers"]),
        ("n = 0\ndef count():\n    global n\n    n += 1", ["n"]),
        ("TABLE = {}\ndef of(x):\n    return TABLE[x]", []),
        ("names = ()\ndef of():\n    names = []\n    names.append(1)", []),
        ("names = ()\ndef of(names):\n    names.append(1)", []),
    ],
)
def test_a_change_of_a_modules_value_is_found(text: str, found: list[str]) -> None:
    assert [name for _, name in state_of(text)] == found


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_keeps_state(room: str) -> None:
    found = []
    for path in sorted(Path(KITLIB, room).rglob("*.py")):
        file = path.relative_to(KITLIB).as_posix()
        found += [f"{file}:{line}: {name}" for line, name in state_of(path.read_text()) if (file, name) not in ALLOWED]
    assert not found, "state belongs to an object that a cluster or an evaluation owns:\n" + "\n".join(found)
