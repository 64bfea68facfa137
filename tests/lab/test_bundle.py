"""What a bundle is made from: the checkout where there is one, else what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitlib.lab.bundle import is_checkout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[project]\nname = "kitlib"\n', True),
        ('[project]\nname = "another"\n', False),
        ("[tool.isort]\n", False),
        ('project = "kitlib"\n', False),
        ("no [ TOML", False),
        (None, False),
    ],
    ids=["the kit's", "another package's, left in site-packages", "no project", "no table", "no TOML", "no file"],
)
def test_a_checkout_has_the_kits_own_project_file(tmp_path: Path, text: str | None, expected: bool) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    assert is_checkout(tmp_path) is expected
