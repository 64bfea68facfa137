"""The house stands: rooms import downwards only, the pure rooms stay pure, files stay readable in one sitting."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.rooms import ACTS, pure_files, pure_rooms

ROOT = Path(__file__).parents[1]
KITLIB = ROOT / "kitlib"
NOT_IN_A_BROWSER = {"threading", "_thread", "socket", "subprocess", "multiprocessing", "asyncio", "select", "ctypes"}
HEAVY = ("docker", "IPython", "ipywidgets", "anywidget", "pandas", "plotly", "kubernetes", "jupyterlab", "rich", "yaml")


def files(room: str = "") -> list[Path]:
    return sorted((KITLIB / room).rglob("*.py"))


@cache
def imported(path: Path) -> tuple[tuple[str, int, bool], ...]:
    """Name of every imported module, its line, and whether the import is done when the module is loaded."""
    return tuple(_imported(ast.parse(path.read_text()), True))


def _imported(tree: ast.AST, loaded: bool) -> Iterator[tuple[str, int, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, loaded
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno, loaded
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or for_types
            yield from _imported(node, loaded and not later)


def test_rooms_import_downwards_only() -> None:
    pytest.importorskip("importlinter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_does_more_than_compute_is_there() -> None:
    assert all((KITLIB / part).exists() for part in ACTS)


@pytest.mark.parametrize("room", pure_rooms())
def test_a_pure_room_imports_only_the_standard_library_numpy_and_msgspec(room: str) -> None:
    allowed = set(sys.stdlib_module_names) - NOT_IN_A_BROWSER | {"kitlib", "numpy", "msgspec"}
    found = []
    for path in pure_files(room):
        for name, line, at_the_top in imported(path):
            top = name.partition(".")[0]
            reads_yaml = path.name.startswith("serialize") or path.name == "yaml_reader.py"
            lazy_yaml = top in ("yaml", "ryml") and reads_yaml and not at_the_top
            lazy_re2 = top == "re2" and path.name == "re2.py" and not at_the_top  # where it is missing, our own does it
            asked_for = top == "pandas" and not at_the_top  # a frame is made on request
            locks = top == "threading" and path.name in (
                "convert.py",
                "collector.py",
            )  # a browser has locks, and no second thread
            if locks:
                continue
            if top not in allowed and not lazy_yaml and not lazy_re2 and not asked_for:
                found.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not found, "\n".join(found)


def test_heavy_packages_are_imported_inside_functions_only() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in files()
        for name, line, at_the_top in imported(path)
        if at_the_top
        and name.partition(".")[0] in HEAVY
        and path.relative_to(KITLIB).parts[0] not in ("widgets", "views", "charts")
    ]
    assert not found, "\n".join(found)


def test_importing_kitlib_and_its_command_line_loads_nothing_heavy() -> None:
    code = (
        "import sys, kitlib, kitlib.cli; "
        f"print([m for m in {[*HEAVY, 'numpy']} if m in sys.modules]); "
        "print(sum(1 for m in sys.modules if m.startswith('kitlib')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines()[0] == "[]"


def test_the_top_level_holds_only_the_rooms_of_the_house() -> None:
    allowed = {"pyproject.toml", "README.md", "LICENSE", "notebooks", "kitlib", "labs", "tests", "binder"}
    tracked = subprocess.run(["git", "ls-tree", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    extra = {name for name in tracked.stdout.split() if not name.startswith(".")} - allowed
    assert not extra, extra


def test_nothing_is_left_unfinished() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "Not" + "ImplementedError")
    found = [f"{p.relative_to(ROOT)}: {w}" for p in files() for w in words if w in p.read_text()]
    assert not found, "\n".join(found)
