"""Mutants of the central rules: which changes are made, and which tests should notice them."""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from kitlib.conformance.runner import kinds
from tests import mutants
from tests.mutants import CASES, ROOT, RULES, Copy, Mutant, area, drawn, mutants_of


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("return a > b", ["return a >= b"]),
        ("return a not in b", ["return a in b"]),
        ("return a is not None", ["return a is None"]),
        ("return a and b", ["return a or b"]),
        ("return not a", ["return  a"]),
        ("return a - 1", ["return a + 1", "return a - 2"]),
        ("return (a) // (b)", ["return (a) * (b)"]),
        ("é = 'ü'; return a < b", ["é = 'ü'; return a <= b"]),
        ('"""Text 1."""', []),
        ("raise ValueError(1)", []),
        ("assert a > 1", []),
        ("x: Literal[1] = a", []),
    ],
)
def test_the_mutants_of_a_line(body: str, changed: list[str]) -> None:
    source = f"def f(a, b):\n    {body}\n"
    made = [source[: one.start] + one.text + source[one.end :] for one in mutants_of("x.py", source)]
    assert sorted(one.splitlines()[1].strip() for one in made) == sorted(changed)


def test_values_of_modules_are_tables_and_stay() -> None:
    assert mutants_of("x.py", "LIMIT = 1 + 2\n") == []


@pytest.mark.parametrize(
    ("file", "first", "also"),
    [
        ("api/podresources.py", "api/test_podresources.py", "api/test_selectors.py"),
        (
            "kubelet/images/image_gc.py",
            "kubelet/images/test_image_gc.py",
            "kubelet/images/test_container_gc.py",
        ),
        (
            "apiserver/validation/containers.py",
            "apiserver/validation/test_containers.py",
            "apiserver/test_validation_pods.py",
        ),
    ],
)
def test_a_modules_area(file: str, first: str, also: str) -> None:
    found = area(file)
    assert found[0] == f"tests/{first}" and f"tests/{also}" in found and len(found) == len(set(found))


def test_a_seed_draws_the_same_mutants() -> None:
    files = ["api/podresources.py", "api/selectors.py"]
    assert drawn(5, 1, files) == drawn(5, 1, files) != drawn(5, 2, files)


@pytest.mark.parametrize("pattern", RULES)
def test_every_pattern_names_files(pattern: str) -> None:
    assert list((ROOT / "kitlib").glob(pattern))


@pytest.mark.parametrize(
    ("area", "cases", "noticed"),
    [(False, True, "tests"), (True, False, "cases"), (True, True, "")],
    ids=["by the tests of the area", "by recorded cases alone", "by nothing"],
)
def test_recorded_cases_are_asked_after_the_tests_of_the_area(
    area: bool, cases: bool, noticed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kitlib/api/resource.py"
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n")

    class Trial(Copy):
        def __init__(self) -> None:
            self.folder = tmp_path

        def passes(self, tests: list[str], seconds: float) -> bool:
            assert path.read_text() == "x = 2\n"
            return cases if "test_vectors.py::" in tests[0] else area

    assert Trial().noticed_by(Mutant("api/resource.py", 4, 5, "2", 1, "1 -> 2"), 1) == noticed
    assert path.read_text() == "x = 1\n"


def test_every_kind_of_recorded_cases_exists() -> None:
    assert {kind for named in CASES.values() for kind in named} <= set(kinds())
    for pattern in CASES:
        assert any(
            fnmatch(path.relative_to(ROOT / "kitlib").as_posix(), pattern) for path in ROOT.glob("kitlib/*/**/*.py")
        )


@pytest.mark.parametrize(("failing", "code", "score"), [("api", 1, "of 6 mutants"), ("", 0, "of 12 mutants")])
def test_an_area_that_fails_without_a_mutant_is_not_counted(
    failing: str, code: int, score: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["api/selectors.py"] * 6 + ["scheduler/queue/heap.py"] * 6
    tried: list[str] = []

    class Trial:
        def __init__(self, folder: Path) -> None:
            assert folder.is_dir()

        def passes(self, tests: list[str], seconds: float) -> bool:
            assert not tried, "an area is tried without a mutant before any mutant is"
            return not (failing and tests[0].startswith(f"tests/{failing}/"))

        def noticed_by(self, mutant: Mutant, seconds: float) -> str:
            tried.append(mutant.file)
            return "tests"

    made = [Mutant(file, 0, 1, "", line, "x") for line, file in enumerate(files)]
    monkeypatch.setattr(mutants, "Copy", Trial)
    monkeypatch.setattr(mutants, "drawn", lambda count, seed, files: made)
    monkeypatch.setattr(sys, "argv", ["mutants", "--jobs", "1"])
    assert mutants.main() == code
    printed = capsys.readouterr().out
    assert score in printed
    assert printed.count("NOT COUNTED") == code
    assert tried == [file for file in files if not (failing and file.startswith(failing))]
