"""Tests stand where the code stands: tests/PACKAGE/test_MODULE.py, or test_MODULE_SUBJECT.py where there are more.

The logic is asked the other way round too: each of its modules has tests of its own.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.rooms import rooms

ROOT = Path(__file__).parents[2]
WITHOUT_TESTS = {"commands": "tests/cli runs the commands as a user does"}
"""A package -> where its tests are instead."""
ALLOWED = {
    "tests/conformance/test_kubelet_replay.py": "a command of the package as a whole",
    "tests/conformance/test_vectors.py": "the cases of every kind",
    "tests/lab/start/test_without_numpy.py": "the first cell where numpy is missing",
    "tests/lab/test_formats.py": "every file that users keep, of each version",
    "tests/lab/test_full_disk.py": "everything of a lesson that writes files",
    "tests/lab/test_labs.py": "every lab of `labs/`",
    "tests/widgets/test_base.py": "widgets/_parts/base.py",
    "tests/widgets/test_beside_cells.py": "widgets/_parts/beside_cells.py",
    "tests/widgets/test_grid.py": "widgets/_parts/grid.py",
    "tests/widgets/test_live_cluster.py": "widgets/_parts/live_cluster.py",
    "tests/widgets/test_node_widgets.py": "the widgets that show a node",
    "tests/widgets/test_release_widgets.py": "the widgets that show two releases",
    "tests/workshop/test_bundle.py": "lab/bundle.py, installed without an index",
    "tests/workshop/test_hub.py": "workshop/files, a hub of processes",
    "tests/workshop/test_hub_containers.py": "workshop/files, a hub of containers",
    "tests/workshop/test_kubespawner.py": "workshop/files, a hub on a cluster",
    "tests/workshop/test_recipe.py": "workshop/files, what a trainer types",
    "tests/workshop/test_site.py": "lab/site.py in a browser",
    "tests/apiserver/http/test_clients.py": "client libraries talk to the package as a whole",
    "tests/apiserver/http/test_kubectl.py": "the real kubectl and helm talk to the package as a whole",
    "tests/apiserver/http/test_kubectl_custom_resources.py": "custom objects as the real kubectl meets them",
    "tests/apiserver/http/test_kubectl_commands.py": "the recorded commands of kubectl, to the package as a whole",
    "tests/apiserver/http/test_kubectl_describe.py": "the real kubectl beside the kit's own descriptions",
    "tests/apiserver/http/test_kubectl_helm.py": "the real helm talks to the package as a whole",
    "tests/apiserver/http/test_kubectl_manifests.py": "manifests of charts, applied to the package as a whole",
    "tests/apiserver/http/test_kubectl_policies.py": "admission policies as the real kubectl meets them",
    "tests/cluster/test_guards.py": "a defect in any loop of a cluster stops one object only",
    "tests/cluster/test_two_threads.py": "two clusters as a whole in two threads",
    "tests/cluster/test_long_days.py": "a cluster as a whole over virtual days",
    "tests/apiserver/http/test_fuzz.py": "requests of every kind to the package as a whole",
}
"""Test file -> why it mirrors no module."""
LOGIC = ("api", "apiserver", "kubelet", "scheduler")


def modules(folder: Path) -> set[str]:
    """Names of the modules and packages of a folder, and its own name where it is a package."""
    if not folder.is_dir():
        return set()
    inside = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    return inside | {path.parent.name for path in folder.glob("*/__init__.py")} | {folder.name}


def mirrors(test: Path, root: Path = ROOT) -> bool:
    """Whether a module stands where the test says that it does."""
    subject = test.stem.removeprefix("test_")
    names = modules(root / "kitlib" / test.parent.relative_to(root / "tests"))
    return any(subject == name or subject.startswith(f"{name}_") for name in names)


@pytest.mark.parametrize("room", [room for room in rooms() if room not in WITHOUT_TESTS])
def test_every_test_file_mirrors_a_module(room: str) -> None:
    tests = sorted((ROOT / "tests" / room).rglob("test_*.py"))
    assert tests
    lost = [path.relative_to(ROOT).as_posix() for path in tests if not mirrors(path)]
    assert not [path for path in lost if path not in ALLOWED], "no module of that name"


def test_the_allow_list_names_only_files_that_need_it() -> None:
    assert not [path for path in ALLOWED if not (ROOT / path).is_file() or mirrors(ROOT / path)]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tests/room/test_module.py", True),
        ("tests/room/test_module_of_its_own_subject.py", True),
        ("tests/room/test_package.py", True),
        ("tests/room/test_modules.py", False),
        ("tests/room/test_other.py", False),
        ("tests/nowhere/test_module.py", False),
    ],
)
def test_a_file_without_its_module_is_found(tmp_path: Path, test: str, expected: bool) -> None:
    (tmp_path / "kitlib" / "room" / "package").mkdir(parents=True)
    (tmp_path / "kitlib" / "room" / "package" / "__init__.py").touch()
    (tmp_path / "kitlib" / "room" / "module.py").touch()
    assert mirrors(tmp_path / test, tmp_path) is expected


def has_tests(module: Path, root: Path = ROOT) -> bool:
    """Whether tests of its own mirror a module: tests/a/b/test_c.py, test_c_SUBJECT.py or tests/a/test_b_c.py."""
    folder = root / "tests" / module.relative_to(root / "kitlib").parent
    longer = [
        path.stem for path in module.parent.glob(f"{module.stem}_*.py")
    ]  # test_a_b.py is of a_b.py where it exists
    own = [
        test
        for test in (*folder.glob(f"test_{module.stem}.py"), *folder.glob(f"test_{module.stem}_*.py"))
        if not any(f"{test.stem}_".startswith(f"test_{name}_") for name in longer)
    ]
    return bool(own) or (folder.parent / f"test_{folder.name}_{module.stem}.py").is_file()


def declares_only(module: Path) -> bool:
    """Whether no function of a module does anything: types and constants have no behaviour of their own to test."""
    functions = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.FunctionDef)]
    return not any(not isinstance(statement, ast.Expr) for function in functions for statement in function.body)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A:\n    x: int = 1\n", True),
        ('class A:\n    def f(self) -> int:\n        """Return a number."""\n        ...\n', True),
        ("def f():\n    return 1\n", False),
        ("class A:\n    def f(self):\n        self.x = 1\n", False),
    ],
)
def test_a_module_that_does_something_is_found(tmp_path: Path, source: str, expected: bool) -> None:
    (tmp_path / "a.py").write_text(source)
    assert declares_only(tmp_path / "a.py") is expected


def test_a_module_of_the_logic_has_tests_of_its_own() -> None:
    modules = [path for room in LOGIC for path in sorted((ROOT / "kitlib" / room).rglob("*.py"))]
    names = {path.relative_to(ROOT / "kitlib").as_posix(): path for path in modules if path.name != "__init__.py"}
    lost = {name for name, path in names.items() if not has_tests(path) and not declares_only(path)}
    assert sorted(lost) == [], "write tests of their own"
