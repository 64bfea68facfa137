"""How modules may know each other: no circle of imports, and no module reads another one's private names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLIC_UNDERSCORES = {
    *("_replace", "_asdict", "_fields", "_make"),  # of named tuples
    *("_repr_html_", "_repr_mimebundle_", "_repr_png_"),  # IPython's protocol
    "_exit",  # os._exit: the way to end a process without its clean-up
}
ALLOWED = {
    ("kitlib/cel/re2.py", "_parser"): "the standard library's only parser of regular expressions",
    ("kitlib/charts/quick_start.py", "_not_importable"): "plotly has no public way to leave out an optional import",
    ("kitlib/node/real/engine.py", "_version"): "the Docker SDK negotiates the version of its API there only",
    ("kitlib/widgets/shared.py", "_handle_custom_msg"): "ipywidgets hands a widget a message of the page there only",
    ("kitlib/node/real/netlink.py", "_socket"): "the C part of `socket`, which loads in a hundredth of the time",
    ("kitlib/node/real/watchdog.py", "_signal"): "the C part of `signal`, which loads a third of the whole",
}
"""(file, name) -> why there is no public one."""


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / "kitlib").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def read() -> dict[str, tuple[set[str], list[tuple[str, int]]]]:
    """Name of each module -> its imports, and the private names of others: each file is read once for both tests."""
    known, found = modules(), {}
    for name, path in known.items():
        nodes = list(ast.walk(ast.parse(path.read_text())))
        found[name] = set(imports(nodes, known)) - {name}, list(foreign(nodes, name.rpartition(".")[0]))
    return found


def imports(nodes: list[ast.AST], known: dict[str, Path]) -> Iterator[str]:
    """All imports of a module: at the top, inside functions, and those for types alone."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in known or node.module in known:
                    yield whole if whole in known else node.module


def test_no_imports_form_a_circle_also_not_lazily_or_for_types() -> None:
    graph = {name: set(imported) for name, (imported, _) in read().items()}
    circles = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
            break
        except CycleError as error:
            circle = error.args[1]
            circles.append(" -> ".join(circle))
            graph[circle[1]].discard(circle[0])
    assert not circles, "\n".join(circles)


def defined(nodes: list[ast.AST]) -> set[str]:
    """Every name that a module itself gives to something: functions, variables, attributes of `self`."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            found.add(node.attr)
    return found


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC_UNDERSCORES


def foreign(nodes: list[ast.AST], package: str) -> Iterator[tuple[str, int]]:
    """Private names that a module takes from somewhere else, and their lines."""
    own = defined(nodes)
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            base = node.value
            inherited = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"
            if not inherited and not _is_self(base):
                yield node.attr, node.lineno
        elif (isinstance(node, ast.ImportFrom) and node.module != package) or isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if _is_private(alias.name))


def test_no_module_uses_a_private_name_of_another_one() -> None:
    found, used = [], set()
    paths = modules()
    for name, (_, foreign_names) in read().items():
        place = str(paths[name].relative_to(ROOT))
        for private, line in foreign_names:
            if (place, private) in ALLOWED:
                used.add((place, private))
            else:
                found.append(f"{place}:{line}: {private}")
    assert not found, "\n".join(found)
    assert used == set(ALLOWED), f"explained, but not used any more: {set(ALLOWED) - used}"
