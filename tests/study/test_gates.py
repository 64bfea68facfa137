"""The table of gates agrees with the releases, and the pages with the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kitlib
from kitlib.api.release import Release
from kitlib.study.changes import page as changes_page
from kitlib.study.gates import changed, gates, page, problems

DOCS = Path(kitlib.__file__).parent / "docs"
ROOT = Path(__file__).parents[2]


def test_the_table_says_what_the_releases_do_and_every_gate_is_followed_or_has_a_reason() -> None:
    assert list(problems()) == []


@pytest.mark.parametrize(
    ("gate", "minor", "stage"),
    [
        ("NodeDeclaredFeatures", 34, "None"),
        ("NodeDeclaredFeatures", 36, "Beta, on"),
        ("NodeDeclaredFeatures", 37, "GA, on, locked"),
        ("MemoryQoS", 36, "Alpha, off"),
        ("MemoryQoS", 37, "Beta, on"),
        ("TaintTolerationComparisonOperators", 37, "Alpha, off"),
        ("PodLevelResources", 37, "Beta, on"),
    ],
)
def test_a_gate_has_its_stage(gate: str, minor: int, stage: str) -> None:
    assert str(gates()[gate].stage(minor)) == stage


def test_what_is_on_by_default_since_1_37() -> None:
    assert [gate.name for gate in changed(Release("1.36"), Release("1.37"))] == [
        "DRADeviceTaintRules",
        "DRAFractionalCapacityRange",
        "HPAScaleToZero",
        "HugepageAwareEviction",
        "KubeletInUserNamespace",
        "MemoryQoS",
        "StorageCapacityScoring",
        "VolumeLimitScaling",
    ]


def test_a_stage_of_1_37_says_where_it_was_read_or_that_it_was_not() -> None:
    assert [name for name, gate in gates().items() if not gate.source and not gate.note] == []


def without_paths(text: str) -> str:
    return re.sub(r"`[a-z_/]+\.py`(, )?", "", text)


def test_the_pages_are_those_that_the_table_makes() -> None:
    """If this fails: `python -m kitlib.study.gates` and `python -m kitlib.study.changes` print the pages."""
    assert without_paths((DOCS / "gates.md").read_text(encoding="utf-8")) == without_paths(page((), ROOT))
    assert (DOCS / "changes-1.37.md").read_text(encoding="utf-8") == changes_page(Release("1.36"), Release("1.37"))


def test_every_file_that_the_page_of_gates_names_exists() -> None:
    named = re.findall(r"`([a-z_/]+\.py)`", (DOCS / "gates.md").read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not any((root / path).is_file() for root in (ROOT, ROOT / "kitlib"))] == []
