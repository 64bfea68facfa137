"""Tables of types as text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kitlib.api.type_tables import read_types


def test_a_type_is_named_with_the_package_of_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tables_here").mkdir()
    (tmp_path / "tables_here/__init__.py").touch()
    (tmp_path / "tables_here/t.txt").write_text("[core.v1]\nPod: a=1; b: c\nEmpty: \n[apps.v1]\nPod: d\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_types("tables_here", "t.txt") == {
        "core.v1.Pod": "a=1; b: c",
        "core.v1.Empty": "",
        "apps.v1.Pod": "d",
    }
    sys.modules.pop("tables_here")
