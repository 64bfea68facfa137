"""The text of each question as a Markdown cell above the cell that asks it: a notebook can be read where nothing runs.

    python tests/notebooks/written_questions.py

writes them anew after a question of `kitlib/lab/lessons` or a notebook has changed; a test holds both equal.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

from kitlib.lab.exercise import Question
from kitlib.lab.lessons import content

sys.path.insert(0, str(Path(__file__).parent))
from course import ASKED, NAMES, NOTEBOOKS


def text_of(question: Question) -> str:
    """Return a question as a block of Markdown: what is asked, then the choices or the unit."""
    lines = [f"> **Predict:** {_plain(question.text)}"]
    if question.choices:
        lines += [">", "> " + " · ".join(f"*{_plain(choice)}*" for choice in question.choices)]
    elif question.unit and question.unit not in question.text:
        lines[0] += f" ({_plain(question.unit)})"
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Escape what Markdown, or the formulas in it, would read as marks."""
    return re.sub(r"([\\`*_$<>|\[\]])", r"\\\1", text.strip())


def with_questions(name: str, notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with one Markdown cell above each question of its lesson, and no others that were written.

    Args:
        name: stem of its file, which is the lesson's name.
        notebook: in nbformat 4.
    """
    questions = content(name).questions
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        if "question" in cell["metadata"].get("kitlib", {}):
            continue
        if cell["cell_type"] == "code":
            cells += [_cell(name, questions[key]) for key in ASKED.findall("".join(cell["source"])) if key in questions]
        cells.append(cell)
    return {**notebook, "cells": cells}


def _cell(name: str, question: Question) -> dict[str, Any]:
    identity = hashlib.sha256(f"{name} {question.key}".encode()).hexdigest()[:8]
    return {
        "cell_type": "markdown",
        "id": identity,
        "metadata": {"kitlib": {"question": question.key}},
        "source": text_of(question).splitlines(keepends=True),
    }


def main() -> None:
    """Write the cells of all notebooks."""
    for name in NAMES:
        path = NOTEBOOKS / f"{name}.ipynb"
        notebook = with_questions(name, json.loads(path.read_text("utf-8")))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
