"""Docstrings describe arguments by nouns; ruff's D401, D205, D417 and D419 check the rest."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"([A-Z]\w+):")
_ENTRY = re.compile(r"    ([\w*, `]+): (.*)")
_CLAUSE = re.compile(r"(whose|who|whom|which|that|what|where|how|when)\b")
_SUSPECT = re.compile(rf"^ +[\w*, `]+: {_CLAUSE.pattern}", re.MULTILINE)
"""A line that may be such an entry: a file without one need not be parsed."""


def relative_clauses(text: str) -> list[str]:
    """Return the lines of a docstring's Args and Attributes that describe a name by a relative clause."""
    found, section = [], ""
    for line in text.splitlines():
        head, entry = _SECTION.fullmatch(line), _ENTRY.fullmatch(line)
        section = head[1] if head else section
        if entry and section in ("Args", "Attributes") and _CLAUSE.match(entry[2]):
            found.append(line.strip())
    return found


def test_an_argument_is_described_by_a_noun() -> None:
    found = []
    for path in sorted((ROOT / "kitlib").rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if _SUSPECT.search(text) else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                lines = relative_clauses(ast.get_docstring(node) or "")
                found += [f"{path.relative_to(ROOT)}: {node.name}: {line}" for line in lines]
    assert not found, "\n".join(found)


def test_a_relative_clause_is_found_in_the_right_sections() -> None:
    text = "Do it.\n\nArgs:\n    log: whose.\n    pod: the pod.\n\nRaises:\n    KitError: what is not there."
    assert relative_clauses(text) == ["log: whose."]
