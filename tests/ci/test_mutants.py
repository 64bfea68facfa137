"""Mutants of the central rules: which changes are made, and which tests should notice them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import mutants
from tests.mutants import ROOT, RULES, Mutant, area, drawn, mutants_of


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
            "apiserver/validation/pod_os.py",
            "apiserver/test_validation.py",
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

        def survives(self, mutant: Mutant, seconds: float) -> bool:
            tried.append(mutant.file)
            return False

    made = [Mutant(file, 0, 1, "", line, "x") for line, file in enumerate(files)]
    monkeypatch.setattr(mutants, "Copy", Trial)
    monkeypatch.setattr(mutants, "drawn", lambda count, seed, files: made)
    monkeypatch.setattr(sys, "argv", ["mutants", "--jobs", "1"])
    assert mutants.main() == code
    printed = capsys.readouterr().out
    assert score in printed
    assert printed.count("NOT COUNTED") == code
    assert tried == [file for file in files if not (failing and file.startswith(failing))]
