"""What style forbids is written nowhere: identifiers, docstrings, messages, notebooks, README. The list is data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("phrases.toml")
PHRASES: list[dict[str, Any]] = tomllib.loads(LIST.read_text())["phrase"]
FOLDERS = ("kitlib", "tests", "labs", "notebooks", "binder", ".ci", ".github")
SKIPPED = {"__pycache__", ".hypothesis", "vectors", "prose"}


@cache
def texts() -> dict[str, str]:
    """Path from the top -> text, of every file that people read."""
    found = {}
    for path in [ROOT / "README.md", ROOT / "pyproject.toml", *(p for f in FOLDERS for p in (ROOT / f).rglob("*"))]:
        if path.is_file() and not SKIPPED & set(path.relative_to(ROOT).parts):
            try:
                found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return found


def places(phrase: dict[str, Any]) -> Iterator[str]:
    """`file:line: the line` wherever a phrase stands."""
    pattern, files = re.compile(phrase["pattern"]), re.compile(phrase.get("files", ""))
    anywhere = re.compile(phrase["pattern"], re.MULTILINE)  # line by line takes far longer, and few files have it
    for name, text in texts().items():
        if files.search(name) and anywhere.search(text):
            for number, line in enumerate(text.splitlines(), start=1):
                if pattern.search(line):
                    yield f"{name}:{number}: {line.strip()[:120]}"


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase["instead"])
def test_a_phrase_is_written_nowhere(phrase: dict[str, Any]) -> None:
    found = list(places(phrase))
    assert not found, f"write {phrase['instead']!r}:\n" + "\n".join(found)


def test_the_list_is_searched_in_every_kind_of_file() -> None:
    kinds = {Path(name).suffix for name in texts()}
    assert {".py", ".ipynb", ".md", ".js", ".toml", ".css"} <= kinds
    assert len(texts()) > 800
